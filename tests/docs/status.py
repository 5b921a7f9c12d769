#!/usr/bin/python3
"""docs/status.md, made of docs/status.json: the goals that are missed, and what is open.

A row of "missed" has its figure, or says where in docs/results it was measured: a measure of quality.json, a goal of
gate.json by engine and what, a confidence's by its file and keys, or a benchmark of gpu.json or gpu-part.json by what and size.

`status.py --update` writes the page; test_status.py holds it.
"""
import functools
import json
import pathlib
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[2]

DOCS = SOURCE / "docs"
PAGE = DOCS / "status.md"


def read(name):
    return json.loads((DOCS / name).read_text(encoding="utf-8"))


def quality_rows():
    return [row for part in read("results/quality.json")["parts"].values() for row in part["rows"]]


def gate_rows():
    return read("results/gate.json")["goals"]


def figure(row):
    """The number of a row."""
    where = row.get("from")
    if not where:
        return row["figure"]
    if "measure" in where:
        return next(found["ours"] for found in quality_rows() if found["measure"] == where["measure"])
    if "engine" in where:
        return next(found["ours"] for found in gate_rows() if all(found[key] == where[key] for key in ("engine", "what")))
    if "file" in where:
        return functools.reduce(lambda found, key: found[key], where["keys"], read(f"results/{where['file']}.json"))
    key = where.get("key", "us")
    rows = (found for file in ("gpu", "gpu-part") for found in read(f"results/{file}.json")["benchmarks"])
    return next(found[key] for found in rows
                if key in found and all(found.get(name) == where[name] for name in ("what", "size") if name in where))


def is_met(row):
    """Of some goals more is better."""
    return figure(row) >= row["goal"] if row["unit"] == "times" or row.get("more") else figure(row) <= row["goal"]


def shown(number, goal):
    """With as many digits as tell it from the goal."""
    return f"{number:,.0f}" if number >= 1000 else next((text for text in (f"{number:.3g}", f"{number:.4g}") if text != f"{goal}"), f"{number}")


def table(head, rows):
    return "".join(f"| {' | '.join(row)} |\n" for row in (head, ["---"] * len(head), *rows))


def page():
    status = read("status.json")
    missed = [(row["what"], f"{row['goal']} {row['unit']}".strip(), f"{shown(figure(row), row['goal'])} {row['unit']}".strip(), row["next"],
               f"[{row['page'].partition('/')[2].removesuffix('.md')}]({row['page']})") for row in status["missed"]]
    still_open = [(row["what"], f"[{row['why']}]({row['page']})") for row in status["open"]]
    return ("# Status\n\n`tests/docs/status.py` makes this page of `docs/status.json`. All other goals are met.\n\n"
            "## Goals that are missed\n\n" + table(("what", "goal", "figure", "what would be next", "page"), missed)
            + "\n## What is open\n\n" + table(("what", "why"), still_open))


if __name__ == "__main__":
    if sys.argv[1:] != ["--update"]:
        sys.exit(__doc__)
    PAGE.write_text(page(), encoding="utf-8")
