#!/usr/bin/python3
"""Counts the cases of a meson JUnit report: tests/count.py testlog.junit.xml

Names what failed and what was skipped, and why; the last line is `N passed, N failed, N skipped`.
A report without a single passed case is a failure: then nothing was tested.
"""
import collections
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


def cases(path):
    """(test, name of the case, "passed", "failed" or "skipped", why) of each case of meson's report."""
    for suite in ElementTree.parse(path).getroot().iter("testsuite"):
        for case in suite.iter("testcase"):
            name = f"{case.get('classname', '')}.{case.get('name', '')}".strip(".")
            # "PROJECT.PROJECT:SUITE / TEST.X", with meson 1.12 "PROJECT.SUITE - PROJECT:TEST.X". But all tests that
            # have no cases stand in "PROJECT".
            whole = (suite if ":" in suite.get("name") else case).get("name")
            test = re.split("/ |:", whole)[-1].split(".")[0]
            if case.find("failure") is not None or case.find("error") is not None:
                yield test, name, "failed", reason(case, suite)
            elif case.find("skipped") is not None or case.get("result") == "skipped":
                yield test, name, "skipped", reason(case, suite)
            else:
                yield test, name, "passed", ""


def main(path):
    found = list(cases(path))
    for _, name, state, why in found:
        if state == "skipped":
            print(f"skipped: {name}: {' '.join(why.split())}")
    for _, name, state, why in found:
        if state == "failed":
            print("FAILED:", name)
            for line in why.splitlines()[-LINES_OF_A_FAILURE:]:
                print("   ", line)
    count = collections.Counter(state for _, _, state, _ in found)
    print(f"{count['passed']} passed, {count['failed']} failed, {count['skipped']} skipped")
    return 1 if count["failed"] or not count["passed"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
