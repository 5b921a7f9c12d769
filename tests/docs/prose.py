#!/usr/bin/python3
"""How long the documentation's sentences, table cells and pages are.

A sentence has at most 25 words, a table cell 12, a design page 150 lines, the README 120, the glossary 40 entries.
A piece of inline code is one word, headings and blocks of code do not count. Entries of docs/log stay as they were
written, so the rules do not hold there.

`prose.py PAGE` prints all faults of the pages whose path contains PAGE.
"""
import pathlib
import re
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[2]

PAGES = sorted({SOURCE / "README.md", SOURCE / "CONTRIBUTING.md", *(SOURCE / "docs").rglob("*.md"),
                *(SOURCE / "pipelines").rglob("*.md")} - set((SOURCE / "docs/log").glob("*.md")))
WORDS_OF_A_SENTENCE, WORDS_OF_A_CELL, LINES_OF_A_DESIGN, LINES_OF_THE_README, ENTRIES_OF_THE_GLOSSARY = 25, 12, 150, 120, 40
LETTERS_OF_A_LINE = 160  # of a design page, whose lines are counted


def words(text):
    """A piece of inline code is one word; what has neither letter nor digit is none."""
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", re.sub(r"`[^`]*`", "code", text))
    return sum(bool(re.search(r"\w", word)) for word in text.split())


def sentences(block):
    return re.split(r"(?<=[.!?])[\"')\]*]*\s+", block)


def blocks_and_cells(text):
    """(paragraphs and list items, each in one line; cells of tables)"""
    text = re.sub(r"^```.*?^```|<!--.*?-->", "", text, flags=re.M | re.S)
    blocks, cells, open_block = [], [], False
    for line in text.splitlines():
        line = line.strip()
        if line.startswith("|"):
            cells += re.sub(r"`[^`]*`", "code", line).strip("|").split("|")
            open_block = False
        elif not line or line.startswith("#"):
            open_block = False
        elif open_block and not re.match(r"[-*] |\d+\. ", line):
            blocks[-1] += " " + line
        else:
            blocks.append(re.sub(r"^([-*]|\d+\.) ", "", line))
            open_block = True
    return blocks, cells


def faults(path, text):
    """What is too long in a page."""
    blocks, cells = blocks_and_cells(text)
    found = [f"{words(s)} words: {s[:90]}" for block in blocks for s in sentences(block) if words(s) > WORDS_OF_A_SENTENCE]
    found += [f"a cell of {words(cell)} words: {cell.strip()[:90]}" for cell in cells if words(cell) > WORDS_OF_A_CELL]
    lines, name = text.count("\n"), str(path)
    most = LINES_OF_THE_README if name == "README.md" else LINES_OF_A_DESIGN if name.startswith("docs/design/") else lines
    if lines > most:
        found.append(f"{lines} lines, at most {most}")
    if name.startswith("docs/design/"):
        found += [f"a line of {len(line)} characters: {line[:60]}" for line in text.splitlines()
                  if len(line) > LETTERS_OF_A_LINE and not line.startswith("|")]
    entries = len(re.findall(r"^\| ", text, flags=re.M)) - 1 if name == "docs/glossary.md" else 0
    if entries > ENTRIES_OF_THE_GLOSSARY:
        found.append(f"{entries} entries, at most {ENTRIES_OF_THE_GLOSSARY}")
    return found


def faults_of_pages():
    pages = {path.relative_to(SOURCE): path.read_text(encoding="utf-8") for path in PAGES}
    return {str(path): faults(path, text) for path, text in pages.items()}


if __name__ == "__main__":
    for shown, what in faults_of_pages().items():
        if any(word in shown for word in sys.argv[1:]):
            print("\n".join(f"{shown}: {fault}" for fault in what) or f"{shown}: none")
