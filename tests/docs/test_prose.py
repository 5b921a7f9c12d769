"""The pages are as short as docs/prose.py asks for."""
import re

import pytest

from programs import SOURCE
from prose import faults, faults_of_pages


def test_pages_are_short():
    found = faults_of_pages()
    bad = {page: what for page, what in found.items() if what}
    assert not bad, "\n".join(f"{page}: {fault}" for page, what in bad.items() for fault in what[:5])
    assert len(found) >= 40, f"only {len(found)} pages"
    print(f"{len(found)} pages")


def test_the_readme_has_no_figures_of_its_own():
    """Its numbers with units stand in the part that is made of docs/results."""
    text = (SOURCE / "README.md").read_text(encoding="utf-8")
    own = re.sub(r"<!-- generated.*?<!-- end of the generated part -->|^```.*?^```", "", text, flags=re.M | re.S)
    found = re.findall(r"\d[\d.,]* (?:us|ms|s|fps|MiB|MB|GiB|%|times)\b|\d[\d.,]* %", own)
    assert own != text and not found, f"not from docs/results: {found}"


LONG_SENTENCE, LONG_CELL = "word " * 25 + "end.", "| short | " + "word " * 13 + "|\n"


@pytest.mark.parametrize("page, text, count", [
    ("docs/a.md", f"{LONG_SENTENCE} Short.\n- {LONG_SENTENCE}\n", 2), ("docs/a.md", "word " * 24 + "end. Short.\n", 0),
    ("docs/a.md", "word " * 20 + "`a b c d e f g` [text](a-b-c).\n", 0), ("docs/a.md", LONG_CELL, 1),
    ("docs/a.md", f"# {LONG_SENTENCE}\n```sh\n{LONG_SENTENCE}\n```\n", 0),
    ("docs/design/a.md", "\n" * 151, 1), ("docs/guide/a.md", "\n" * 151, 0), ("README.md", "\n" * 121, 1),
    ("docs/design/a.md", "x" * 161, 1),
    ("docs/glossary.md", "| a | b |\n" * 42, 1), ("docs/glossary.md", "| a | b |\n" * 41, 0)])
def test_what_is_too_long_is_found(page, text, count):
    assert len(faults(page, text)) == count, faults(page, text)
