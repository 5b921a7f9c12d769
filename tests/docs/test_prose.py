#!/usr/bin/python3
"""How long the documentation's sentences, table cells and pages are.

A sentence has at most 25 words, a table cell 12, a design page 150 lines, the README 120, the glossary 40 entries.
A piece of inline code is one word, headings and blocks of code do not count. Entries of docs/log stay as they were
written, so the rules do not hold there.

`test_prose.py PAGE` prints all faults of the pages whose path contains PAGE.
"""
import re
import sys

from staged import tap

PAGES = sorted({tap.SOURCE / "README.md", tap.SOURCE / "CONTRIBUTING.md", *(tap.SOURCE / "docs").rglob("*.md"),
                *(tap.SOURCE / "pipelines").rglob("*.md")} - set((tap.SOURCE / "docs/log").glob("*.md")))
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
    pages = {path.relative_to(tap.SOURCE): path.read_text(encoding="utf-8") for path in PAGES}
    return {str(path): faults(path, text) for path, text in pages.items()}


def pages_are_short():
    found = faults_of_pages()
    bad = {page: what for page, what in found.items() if what}
    tap.need(not bad, "\n".join(f"{page}: {fault}" for page, what in bad.items() for fault in what[:5]))
    tap.need(len(found) >= 40, f"only {len(found)} pages")
    print(f"# {len(found)} pages")


def the_readme_has_no_figures_of_its_own():
    """Its numbers with units stand in the part that is made of docs/results."""
    text = (tap.SOURCE / "README.md").read_text(encoding="utf-8")
    own = re.sub(r"<!-- generated.*?<!-- end of the generated part -->|^```.*?^```", "", text, flags=re.M | re.S)
    found = re.findall(r"\d[\d.,]* (?:us|ms|s|fps|MiB|MB|GiB|%|times)\b|\d[\d.,]* %", own)
    tap.need(own != text and not found, f"not from docs/results: {found}")


def what_is_too_long_is_found():
    long_sentence, long_cell = "word " * 25 + "end.", "| short | " + "word " * 13 + "|\n"
    for page, text, count in (
            ("docs/a.md", f"{long_sentence} Short.\n- {long_sentence}\n", 2), ("docs/a.md", "word " * 24 + "end. Short.\n", 0),
            ("docs/a.md", "word " * 20 + "`a b c d e f g` [text](a-b-c).\n", 0), ("docs/a.md", long_cell, 1),
            ("docs/a.md", f"# {long_sentence}\n```sh\n{long_sentence}\n```\n", 0),
            ("docs/design/a.md", "\n" * 151, 1), ("docs/guide/a.md", "\n" * 151, 0), ("README.md", "\n" * 121, 1),
            ("docs/design/a.md", "x" * 161, 1),
            ("docs/glossary.md", "| a | b |\n" * 42, 1), ("docs/glossary.md", "| a | b |\n" * 41, 0)):
        tap.need(len(faults(page, text)) == count, f"{page} {text[:60]!r}: {faults(page, text)}")


if __name__ == "__main__":
    if sys.argv[1:]:
        for page, what in faults_of_pages().items():
            if any(word in page for word in sys.argv[1:]):
                print("\n".join(f"{page}: {fault}" for fault in what) or f"{page}: none")
    else:
        sys.exit(tap.run_cases(pages_are_short, the_readme_has_no_figures_of_its_own, what_is_too_long_is_found))
