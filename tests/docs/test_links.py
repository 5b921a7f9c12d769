#!/usr/bin/python3
"""What the documentation points at is there: links, headings, files and folders named in the text."""
import re
import sys

from staged import tap

sys.path.insert(0, str(tap.SOURCE / "tests"))
import rooms  # noqa: E402

DOCUMENTS = sorted({tap.SOURCE / "README.md", tap.SOURCE / "CONTRIBUTING.md", *(tap.SOURCE / "docs").rglob("*.md"),
                    *(tap.SOURCE / "pipelines").rglob("*.md")})
LOG = tap.SOURCE / "docs/log"
FOLDERS = ("kernels", "models", "gst", "pipelines", "tests", "docs", "debian")
# What a reader replaces, and the installed header.
PLACEHOLDER = re.compile(r"[*<>{}$]|NAME|^gst/cuface/")


def prose(path):
    """The text without blocks of code."""
    return re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.M | re.S)


def anchor(heading):
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def links_lead_somewhere():
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
            tap.need(there.exists(), f"{path.relative_to(tap.SOURCE)}: {target} is not there")
            if fragment:
                headings = re.findall(r"^#+ (.*)$", there.read_text(encoding="utf-8"), flags=re.M)
                tap.need(fragment in map(anchor, headings), f"{path.relative_to(tap.SOURCE)}: no heading {target}")
            count += 1
    tap.need(count >= 40, f"only {count} links")
    print(f"# {count} links")


def files_named_in_the_text_are_there():
    """The log names files as they were called then."""
    count = 0
    for path in DOCUMENTS:
        if path.parent == LOG:
            continue
        for name in re.findall(rf"`((?:{'|'.join(FOLDERS)})/[\w./*{{}},-]*)", prose(path)):
            if PLACEHOLDER.search(name):
                continue
            there = (tap.SOURCE / name).exists() or list(tap.SOURCE.glob(name + ".*"))  # a source and its header
            tap.need(there, f"{path.relative_to(tap.SOURCE)}: {name} is not there")
            count += 1
    tap.need(count >= 30, f"only {count} files")
    print(f"# {count} files and folders")


def every_page_is_in_the_index():
    index = tap.SOURCE / "docs/README.md"
    linked = {(index.parent / target.partition("#")[0]).resolve()
              for target in re.findall(r"\]\(([^)\s]+)\)", prose(index))}
    pages = set((tap.SOURCE / "docs").rglob("*.md")) - {index}
    log = {path for path in LOG.glob("*.md") if path.name != "README.md"}
    listed = set(re.findall(r"\]\(([\w-]+\.md)\)", prose(LOG / "README.md")))
    tap.need({path.name for path in log} == listed, f"docs/log/README.md lists {sorted(listed)}")
    pages -= log
    tap.need(pages <= linked, f"not in docs/README.md: {sorted(str(p) for p in pages - linked)}")
    tap.need(len(pages) >= 18, f"{len(pages)} pages")


# Rooms of several parts, or whose parts other stages' tests and benchmarks are about.
TESTED_AS = {"faces": ["track", "detect"], "levels": ["detect"], "landmark_samples": ["samples"],
             "landmark_filter": ["inertia", "smooth"]}


def every_stage_has_what_contributing_asks_for():
    lists = {folder: (tap.SOURCE / folder / "meson.build").read_text(encoding="utf-8")
             for folder in ("kernels", "tests/kernels", "tests/bench")}
    listed = re.search(r"foreach stage : \[(.*?)\]", lists["kernels"], flags=re.S)[1]
    # A room without a reference, such as faces, only holds what others share.
    stages = [name for name in re.findall(r"'(\w+)'", listed) if (tap.SOURCE / f"kernels/{name}/{name}.cc").is_file()]
    tap.need(len(stages) >= 10, f"stages {stages}")
    for name in stages:
        parts = TESTED_AS.get(name)
        files = [f"kernels/{name}/meson.build", *(f"tests/kernels/test_{part}.cc" for part in parts or [name])]
        if not parts:
            files += [f"kernels/{name}/{name}.h"]
            benchmarks = [tap.SOURCE / f"tests/bench/{kind}_{name}.cc" for kind in ("bench", "cpu")]
            tap.need(sum(file.is_file() for file in benchmarks) == 1, f"no benchmark of {name}, or two")
        for file in files:
            tap.need((tap.SOURCE / file).is_file(), f"no {file}")
        for folder, text in lists.items():
            if folder != "tests/bench" or not parts:
                for part in [name] if folder == "kernels" else parts or [name]:
                    tap.need(f"'{part}'" in text, f"{folder}/meson.build does not list {part}")


def the_house_is_as_its_page_says():
    page = (tap.SOURCE / "docs/design/house.md").read_text(encoding="utf-8")
    rows = [(int(floor), room) for floor, room in re.findall(r"^\| (\d+) \| `([\w/.]+)` \|", page, flags=re.M)]
    stands = [(number, room) for number, floor in enumerate(rooms.FLOORS, 1) for room in floor]
    tap.need(sorted(rows) == sorted(stands), f"differ: {sorted(set(rows) ^ set(stands))}")


def published_rows_are_cited_by_their_key():
    """As [S0.12], whose key is in CONTRIBUTING.md; nothing else of the publications is referred to by a number."""
    key = (tap.SOURCE / "CONTRIBUTING.md").read_text(encoding="utf-8")
    count = 0
    for folder in ("kernels", "models", "gst", "tests", "docs"):
        for path in (tap.SOURCE / folder).rglob("*"):
            if path.suffix not in (".h", ".cc", ".cu", ".cuh", ".md") or path.parent == LOG:
                continue
            text = path.read_text(encoding="utf-8")
            where = path.relative_to(tap.SOURCE)
            for citation in re.findall(r"\[S\d\.\d+[^\]]*\]", text):
                for source in re.findall(r"S\d(?=\.)", citation):
                    tap.need(f"| {source} |" in key, f"{where}: CONTRIBUTING.md has no key {source}")
                    count += 1
            rest = re.sub(r"\[S\d\.\d+[^\]]*\]", "", text)
            loose = re.search(r"\bS\d\.\d\d\b|\b(?:trap|thesis)\s+(?://\s*)?\d", rest)
            tap.need(not loose, f"{where}: cite '{loose and loose[0]}' as [S0.12]")
    tap.need(count >= 30, f"only {count} citations")
    print(f"# {count} citations")


def symptoms_quote_what_the_elements_say():
    """Each element's page has symptoms, and where one is a message (in quotes, of several words), the code says it."""
    code = " ".join(path.read_text(encoding="utf-8") for folder in ("gst", "models")
                    for path in (tap.SOURCE / folder).rglob("*.cc"))
    code = re.sub(r"\s+", " ", re.sub(r'"\s+"', "", code)).lower()
    messages = 0
    for path in sorted((tap.SOURCE / "docs/reference/elements").glob("*.md")):
        part = re.search(r"^## Symptoms\n(.*?)^(?:##|<!--)", path.read_text(encoding="utf-8"), flags=re.M | re.S)
        rows = re.findall(r"^\| (.+?) \| .+ \|$", part[1] if part else "", flags=re.M)[1:]
        tap.need(len(rows) >= 5, f"{path.name}: {len(rows)} symptoms")
        for text in (text for row in rows for text in re.findall(r"`([^`]+ [^`]+)`", row)):
            # "no X: looked in ..." is put together for each kind of file.
            tap.need(text.lower().removeprefix("no ") in code, f"{path.name}: no element says '{text}'")
            messages += 1
    tap.need(messages >= 4, f"only {messages} messages")
    print(f"# {messages} messages")


if __name__ == "__main__":
    sys.exit(tap.run_cases(links_lead_somewhere, files_named_in_the_text_are_there, every_page_is_in_the_index,
                           the_house_is_as_its_page_says,
                           published_rows_are_cited_by_their_key,
                           symptoms_quote_what_the_elements_say, every_stage_has_what_contributing_asks_for))
