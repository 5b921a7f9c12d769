"""docs/status.md is what its file says, and the file has each missed goal and no other."""
from status import PAGE, figure, gate_rows, page, quality_rows, read


def test_the_page_is_what_the_file_says():
    assert PAGE.read_text(encoding="utf-8") == page(), "docs/status.md is stale; tests/docs/status.py --update mends it"


def test_what_is_listed_is_missed():
    met = [row["what"] for row in read("status.json")["missed"]
           if (figure(row) >= row["goal"]) == (row["unit"] == "times")]
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
