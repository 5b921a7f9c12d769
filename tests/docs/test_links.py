"""What the documentation points at is there: links, headings, files and folders named in the text."""
import re

from programs import DOCUMENTS, SOURCE

LOG = SOURCE / "docs/log"
FOLDERS = ("kernels", "models", "gst", "pipelines", "tests", "docs", "debian")
# What a reader replaces, and the installed header.
PLACEHOLDER = re.compile(r"[*<>{}$]|NAME|^gst/cuface/")


def prose(path):
    """The text without blocks of code."""
    return re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.M | re.S)


def anchor(heading):
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def test_links_lead_somewhere():
    """The log's pages link to what was there then."""
    count = 0
    for path in DOCUMENTS:
        if path.parent == LOG:
            continue
        for target in re.findall(r"\]\(([^)\s]+)\)", prose(path)):
            if re.match(r"\w+:", target):
                continue
            name, _, fragment = target.partition("#")
            there = (path.parent / name).resolve() if name else path
            assert there.exists(), f"{path.relative_to(SOURCE)}: {target} is not there"
            if fragment:
                headings = re.findall(r"^#+ (.*)$", there.read_text(encoding="utf-8"), flags=re.M)
                assert fragment in map(anchor, headings), f"{path.relative_to(SOURCE)}: no heading {target}"
            count += 1
    assert count >= 40, f"only {count} links"


def test_files_named_in_the_text_are_there():
    """The log names files as they were called then."""
    count = 0
    for path in DOCUMENTS:
        if path.parent == LOG:
            continue
        for name in re.findall(rf"`((?:{'|'.join(FOLDERS)})/[\w./*{{}},-]*)", prose(path)):
            if PLACEHOLDER.search(name):
                continue
            there = (SOURCE / name).exists() or list(SOURCE.glob(name + ".*"))  # a source and its header
            assert there, f"{path.relative_to(SOURCE)}: {name} is not there"
            count += 1
    assert count >= 30, f"only {count} files"
    print(f"{count} files and folders")


def test_every_page_is_in_the_index():
    index = SOURCE / "docs/README.md"
    linked = {(index.parent / target.partition("#")[0]).resolve()
              for target in re.findall(r"\]\(([^)\s]+)\)", prose(index))}
    pages = set((SOURCE / "docs").rglob("*.md")) - {index}
    log = {path for path in LOG.glob("*.md") if path.name != "README.md"}
    listed = set(re.findall(r"\]\(([\w-]+\.md)\)", prose(LOG / "README.md")))
    assert {path.name for path in log} == listed, f"docs/log/README.md lists {sorted(listed)}"
    pages -= log
    assert pages <= linked, f"not in docs/README.md: {sorted(str(p) for p in pages - linked)}"
    assert len(pages) >= 18, f"{len(pages)} pages"
