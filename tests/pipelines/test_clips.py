"""What the whole chain makes of each test clip is no worse than docs/results/clips.json says."""
import json

import pytest

import clip_summary

FACELESS = "vtest.avi",  # every face found in these is a false one


@pytest.fixture(name="committed", scope="module")
def committed_summary():
    return json.loads(clip_summary.SUMMARY.read_text(encoding="utf-8"))["clips"]


@pytest.mark.parametrize("clip", [pytest.param(clip, id=clip.name) for clip in clip_summary.clips()])
def test_clip(data, committed, clip):
    found, before = clip_summary.summary_of(clip), committed.get(clip.name)
    print(f"{clip.name}: {found}")
    assert before, f"{clip.name} has no entry in {clip_summary.SUMMARY.name}; run with --update"
    assert found["frames"] == before["frames"]
    if clip.name in FACELESS:
        assert found["with_face"] <= before["with_face"], "more false faces"
    else:
        assert found["with_face"] >= before["with_face"], "fewer frames with a face"
    for measure in ("ids", "appearances", "blinks"):
        assert found[measure] <= before[measure], f"more {measure}"
