#!/usr/bin/python3
"""Counts the cases of a meson JUnit report: tests/count.py testlog.junit.xml

Names what failed and what was skipped, and why; the last line is `N passed, N failed, N skipped`.
A report without a single passed case is a failure: then nothing was tested.
"""
import sys
import xml.etree.ElementTree as ElementTree


def main(path):
    passed, failed, skipped = 0, [], []
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        name = f"{case.get('classname', '')}.{case.get('name', '')}".strip(".")
        if case.find("failure") is not None or case.find("error") is not None:
            failed.append(name)
        elif case.find("skipped") is not None or case.get("result") == "skipped":
            why = case.find("skipped")
            skipped.append(f"{name}: {(why.get('message') or '') if why is not None else ''}")
        else:
            passed += 1
    for name in skipped:
        print("skipped:", name.strip().replace("\n", " "))
    for name in failed:
        print("FAILED:", name)
    print(f"{passed} passed, {len(failed)} failed, {len(skipped)} skipped")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
