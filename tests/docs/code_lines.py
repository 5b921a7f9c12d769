#!/usr/bin/python3
"""Lines of code, neither blank nor comment, of kernels/ and gst/.

  tests/docs/code_lines.py COMMIT...        of each commit
  tests/docs/code_lines.py FROM..TO         what each commit of the range adds or takes away
"""
import functools
import re
import subprocess
import sys

# Comments, and what may look like one: a raw string, a string, a character.
TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\[^\']+|[^\\\'\n])\'', re.S)


def lines_of(text):
    def without(match):
        token = match.group(0)
        return re.sub(r"[^\n]", "", token) if token.startswith(("//", "/*")) else token
    return sum(bool(line.strip()) for line in TOKEN.sub(without, text).split("\n"))


def git(*arguments):
    return subprocess.run(["git", *arguments], capture_output=True, check=True).stdout.decode("utf-8", "replace")


@functools.cache
def lines_of_blob(blob):
    return lines_of(git("cat-file", "blob", blob))


@functools.cache
def lines_of_commit(commit):
    entries = (line.split(None, 3) for line in git("ls-tree", "-r", commit, "--", "kernels", "gst").splitlines())
    return sum(lines_of_blob(blob) for _, _, blob, path in entries if path.endswith((".h", ".cc", ".cu", ".cuh")))


def main():
    for what in sys.argv[1:]:
        if ".." not in what:
            print(lines_of_commit(what), what)
            continue
        for commit in git("log", "--first-parent", "--reverse", "--format=%h %s", what).splitlines():
            name = commit.split()[0]
            change = lines_of_commit(name) - lines_of_commit(name + "^")
            if change:
                print(f"{lines_of_commit(name)} {change:+} {commit}")


if __name__ == "__main__":
    main()
