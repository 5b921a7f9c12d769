#!/usr/bin/python3
"""Counts the cases of a meson JUnit report: tests/count.py testlog.junit.xml

Names what failed and what was skipped, and why; the last line is `N passed, N failed, N skipped`.
A report without a single passed case is a failure: then nothing was tested.
"""
import re
import sys
import xml.etree.ElementTree as ElementTree

LINES_OF_A_FAILURE = 20


def reason(case, suite):
    """What a case says of its result: in itself (GoogleTest, pytest), or among the lines before its own (TAP)."""
    for tag in ("failure", "error", "skipped"):
        if (found := case.find(tag)) is not None and (text := found.get("message") or found.text):
            return found.text if text == "collection skipped" else text
    output = case.findtext("system-out") or case.findtext("system-err") or suite.findtext("system-out") or ""
    number = re.match(r"\d+", case.get("name", ""))
    comments = []
    for line in output.splitlines():
        if number and re.match(rf"(not )?ok {number[0]}\b", line):
            return "\n".join(comments)
        comments = comments + [line] if line.startswith("#") else []
    return case.findtext("system-out") or output


def main(path):
    passed, failed, skipped = 0, [], []
    for suite in ElementTree.parse(path).getroot().iter("testsuite"):
        for case in suite.iter("testcase"):
            name = f"{case.get('classname', '')}.{case.get('name', '')}".strip(".")
            if case.find("failure") is not None or case.find("error") is not None:
                failed.append((name, reason(case, suite)))
            elif case.find("skipped") is not None or case.get("result") == "skipped":
                skipped.append((name, reason(case, suite)))
            else:
                passed += 1
    for name, why in skipped:
        print(f"skipped: {name}: {' '.join(why.split())}")
    for name, why in failed:
        print("FAILED:", name)
        for line in why.splitlines()[-LINES_OF_A_FAILURE:]:
            print("   ", line)
    print(f"{passed} passed, {len(failed)} failed, {len(skipped)} skipped")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
