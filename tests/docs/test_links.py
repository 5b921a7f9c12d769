"""What the documentation points at is there: links, headings, files and folders named in the text."""
import json
import re
import shutil
import subprocess

import pytest

from programs import CACHE, DOCUMENTS, SOURCE

LOG = SOURCE / "docs/log"
FOLDERS = ("kernels", "models", "gst", "pipelines", "tests", "docs", "debian")
# What a reader replaces, and the installed header.
PLACEHOLDER = re.compile(r"[*<>{}$]|NAME|^gst/cuface/")


def prose(path):
    """The text without blocks of code."""
    return re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.M | re.S)


@pytest.fixture(name="check", scope="module")
def link_checker():
    """lychee, which pipelines/setup --tests fetches; it reads files only."""
    program = next(CACHE.glob("lychee-*/bin/lychee"), None) or shutil.which("lychee")
    if not program:
        pytest.skip("no lychee: run pipelines/setup --tests")

    def check(*pages):
        done = subprocess.run([program, "--offline", "--include-fragments", "--no-progress", "--format", "json", *pages],
                              stdout=subprocess.PIPE, text=True, check=False)
        return json.loads(done.stdout)
    return check


def test_links_lead_somewhere(check):
    """The log's pages link to what was there then."""
    found = check(*(page for page in DOCUMENTS if page.parent != LOG))
    assert not found["errors"], found["error_map"]
    assert found["successful"] >= 250


def test_what_is_broken_is_found(check, tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# Here it is\n\n[good](#here-it-is) [a file](gone.md) [a heading](#gone) [by name][name]\n\n[name]: gone.sh\n")
    found = check(page)
    assert (found["successful"], found["errors"]) == (1, 3)


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
