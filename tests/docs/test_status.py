"""docs/status.md is what its file says, and the file has each missed goal and no other."""
from status import DOCS, PAGE, gate_rows, is_met, page, quality_rows, read


def test_the_page_is_what_the_file_says():
    assert PAGE.read_text(encoding="utf-8") == page(), "docs/status.md is stale; tests/docs/status.py --update mends it"


def test_what_is_listed_is_missed():
    met = [row["what"] for row in read("status.json")["missed"] if is_met(row)]
    assert not met, f"these goals are met: {met}"


def test_what_quality_misses_is_listed():
    missed = {row["measure"] for row in quality_rows() if row["reached"] is False}
    listed = {row["from"]["measure"] for row in read("status.json")["missed"] if "measure" in row.get("from", {})}
    assert listed == missed, f"missed {sorted(missed)}, listed {sorted(listed)}"


def test_what_the_gate_misses_is_listed():
    missed = {(row["engine"], row["what"]) for row in gate_rows() if not row["reached"]}
    listed = {(row["from"]["engine"], row["from"]["what"]) for row in read("status.json")["missed"]
              if "engine" in row.get("from", {})}
    assert listed == missed, f"missed {sorted(missed)}, listed {sorted(listed)}"


def test_what_confidences_miss_is_listed():
    missed, compared = set(), 0
    for path in (DOCS / "results").glob("confidence*.json"):
        found = read(f"results/{path.name}")
        part = next(key for key in ("all", "samples=4", "weighed_by_cost") if key in found)
        for key, goal in found["goals"].items():
            figure, compared = found[part][key], compared + 1
            if figure > goal if "error" in key else figure < goal:
                missed.add((path.stem, part, key))
    listed = {(row["from"]["file"], *row["from"]["keys"]) for row in read("status.json")["missed"] if "file" in row.get("from", {})}
    assert listed == missed and compared >= 14, f"missed {sorted(missed)}, listed {sorted(listed)}"
