"""What pages and comments quote is so: publications by their key, messages as the elements say them."""
import re

from programs import SOURCE

LOG = SOURCE / "docs/log"


def test_published_rows_are_cited_by_their_key():
    """As [S0.12], whose key is in CONTRIBUTING.md; nothing else of the publications is referred to by a number."""
    key = (SOURCE / "CONTRIBUTING.md").read_text(encoding="utf-8")
    count = 0
    for folder in ("kernels", "models", "gst", "tests", "docs"):
        for path in (SOURCE / folder).rglob("*"):
            if path.suffix not in (".h", ".cc", ".cu", ".cuh", ".md") or path.parent == LOG:
                continue
            text = path.read_text(encoding="utf-8")
            where = path.relative_to(SOURCE)
            for citation in re.findall(r"\[S\d\.\d+[^\]]*\]", text):
                for source in re.findall(r"S\d(?=\.)", citation):
                    assert f"| {source} |" in key, f"{where}: CONTRIBUTING.md has no key {source}"
                    count += 1
            rest = re.sub(r"\[S\d\.\d+[^\]]*\]", "", text)
            loose = re.search(r"\bS\d\.\d\d\b|\b(?:trap|thesis)\s+(?://\s*)?\d", rest)
            assert not loose, f"{where}: cite '{loose and loose[0]}' as [S0.12]"
    assert count >= 30, f"only {count} citations"
    print(f"{count} citations")


def test_symptoms_quote_what_the_elements_say():
    """Each element's page has symptoms, and where one is a message (in quotes, of several words), the code says it."""
    code = " ".join(path.read_text(encoding="utf-8") for folder in ("gst", "models")
                    for path in (SOURCE / folder).rglob("*.cc"))
    code = re.sub(r"\s+", " ", re.sub(r'"\s+"', "", code)).lower()
    messages = 0
    for path in sorted((SOURCE / "docs/reference/elements").glob("*.md")):
        part = re.search(r"^## Symptoms\n(.*?)^(?:##|<!--)", path.read_text(encoding="utf-8"), flags=re.M | re.S)
        rows = re.findall(r"^\| (.+?) \| .+ \|$", part[1] if part else "", flags=re.M)[1:]
        assert len(rows) >= 5, f"{path.name}: {len(rows)} symptoms"
        for text in (text for row in rows for text in re.findall(r"`([^`]+ [^`]+)`", row)):
            # "no X: looked in ..." is put together for each kind of file.
            assert text.lower().removeprefix("no ") in code, f"{path.name}: no element says '{text}'"
            messages += 1
    assert messages >= 4, f"only {messages} messages"
    print(f"{messages} messages")
