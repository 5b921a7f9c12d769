"""What the plugin of this build says of itself is what is written down (reference.py)."""
import difflib
import re

import pytest

from programs import SOURCE

pytest.importorskip("gi")
import reference  # noqa: E402
from reference import Gst  # noqa: E402


@pytest.fixture(name="plugin", scope="module")
def plugin_of_this_build():
    return reference.scan()


@pytest.fixture(name="whole", scope="module")
def plugin_of_all_builds(plugin):
    """With what this build lacks."""
    return reference.keep_conditional(plugin, reference.written_cache())


def same(path, written, now):
    if written != now:
        diff = difflib.unified_diff(written.splitlines(), now.splitlines(), "written", "this build", lineterm="", n=0)
        raise AssertionError(f"{path.relative_to(SOURCE)} is stale; tests/docs/reference.py --update mends it:\n"
                             + "\n".join(list(diff)[:20]))


def test_the_cache_is_what_the_plugin_says(plugin, whole):
    assert len(whole["elements"]) == 12, f"{len(whole['elements'])} elements"
    count = sum(len(e["properties"]) for group in ("elements", "other-types") for e in plugin[group].values()
                if "properties" in e)
    assert count >= 40, f"{count} properties"
    same(reference.CACHE, reference.CACHE.read_text(encoding="utf-8"), reference.cache_text(whole))
    print(f"{len(plugin['elements'])} elements, {count} properties in this build")


def test_every_page_is_what_the_plugin_says(plugin, whole):
    written = {path.stem for path in reference.PAGES.glob("*.md")}
    assert written == set(whole["elements"]), f"pages {sorted(written)}"
    for path, part in reference.pages(whole).items():
        if path.stem in reference.SURF_ELEMENTS and "cusurf" not in plugin["elements"]:
            continue  # the cache has no order of properties
        same(path, reference.split_page(path)[1], part)


def test_the_fields_of_stats_are_those_described(plugin):
    with_cuda = Gst.ElementFactory.make("cufacedetect").find_property("cuda-device-id") is not None
    for name in plugin["elements"]:
        described = [field for field in reference.stats_of(name) if with_cuda or field not in reference.CUDA_STATS]
        stats = Gst.ElementFactory.make(name).get_property("stats")
        fields = [stats.nth_field_name(i) for i in range(stats.n_fields())]
        assert fields == described, f"{name}: {fields}"


def test_every_property_is_explained(plugin):
    for group in ("elements", "other-types"):
        for name, entry in plugin[group].items():
            for prop, value in entry.get("properties", {}).items():
                assert len(value["blurb"]) > 20, f"{name} {prop}: {value['blurb']}"
                lengths = [len(sentence.split()) for sentence in value["blurb"].split(". ")]
                assert len(lengths) <= 2 and max(lengths) <= 20, f"{name} {prop}: sentences of {lengths} words"
                assert not value["writable"] or value["mutable"] in ("ready", "playing"), f"{name} {prop}: mutable?"


@pytest.mark.parametrize("ours, theirs", [("cuedgedetect", "edgedetect"), ("cumotiondetect", "motioncells")])
def test_each_property_of_gst_opencvs_element_has_its_place(plugin, ours, theirs):
    """In the table that says which of ours it is, and which is one there."""
    peer = Gst.ElementFactory.make(theirs)
    if not peer or peer.__gtype__.name.startswith("GstCuface"):
        pytest.skip(f"no {theirs} of gst-opencv")
    table = re.search(rf"^## Beside {theirs}.*?(?=^## |\Z|^<!-- gen)", (reference.PAGES / f"{ours}.md").read_text(encoding="utf-8"), re.M | re.S)
    assert table, f"{ours}.md has no part of {theirs}"
    lines = [line for line in table[0].splitlines() if line.startswith("| `") or line.startswith("| message")]
    left = set(re.findall(r"`([a-z0-9-]+)", " ".join(line.split(" | ")[0] for line in lines)))
    has = {prop.name for prop in peer.list_properties() if prop.owner_type.name == peer.__gtype__.name}
    assert len(has) >= 4 and has <= left, f"not in the table: {sorted(has - left)}"
    right = set(re.findall(r"`([a-z0-9-]+)", " ".join(line.split(" | ")[1] for line in lines if "| none" not in line)))
    known = {*plugin["elements"][ours]["properties"], ours, "cuface-motion"}
    assert right <= known, f"no property of {ours}: {sorted(right - known)}"
