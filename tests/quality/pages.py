"""Tables in Markdown, and pages that scripts fill: each table behind a comment that names it and the script."""
import argparse
import datetime
import json
import subprocess

import chains

END = "<!-- end -->\n"


def commit():
    return subprocess.run(["git", "-C", chains.SOURCE, "describe", "--always"], check=True, text=True,
                          stdout=subprocess.PIPE).stdout.strip()


def origin(what, seeds):
    """What a result begins with."""
    return {"what": what, "date": datetime.date.today().isoformat(), "commit": commit(), "seeds": str(seeds)}


def show(tables):
    for name, text in tables.items():
        print(f"{name}\n{text}")


def write(path, result):
    path.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


def fill(page, result, filled):
    """The page of the JSON `result`, both paths: filled(page's text, result) is its new text."""
    page.write_text(filled(page.read_text(encoding="utf-8"), json.loads(result.read_text(encoding="utf-8"))),
                    encoding="utf-8")


def parser(doc):
    """Of a script that measures and fills its page; report() obeys."""
    made = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--choosing", action="store_true")
    made.add_argument("--table", action="store_true")
    return made


def report(arguments, measured, tables, result, page, filled):
    """measured(choosing) gives what is shown, or else written as `result` and put into `page`."""
    if not arguments.table:
        got = measured(arguments.choosing)
        if arguments.choosing:
            show(tables(got))
            return
        write(result, got)
    fill(page, result, filled)


def table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(map(str, line))} |\n" for line in lines)


def with_tables(page, tables, script):
    """The page with these tables, {name: text}, in their places."""
    for name, text in tables.items():
        begin = f"<!-- {name}, made by {script} -->\n"
        before, rest = page.split(begin)
        page = before + begin + "\n" + text + "\n" + END + rest.split(END, 1)[1]
    return page
