"""The boxes drawn by hand are whole: on every 5th frame, and inside the picture but for difficult ones."""
import json
import pathlib

import pytest

FILES = sorted((pathlib.Path(__file__).parent / "truth").glob("*.json"))


def boxes_of(clip):
    return sum(len(frame["faces"]) for frame in clip["frames"])


@pytest.fixture(name="clips", scope="module")
def all_clips():
    return {file.name: json.loads(file.read_text(encoding="utf-8")) for file in FILES}


def test_there_are_enough(clips):
    assert len(clips) == 5 and sum(map(boxes_of, clips.values())) >= 190


@pytest.mark.parametrize("name", [file.name for file in FILES])
def test_boxes(clips, name):
    clip = clips[name]
    assert [frame["frame"] for frame in clip["frames"]] == list(range(0, clip["length"], 5))
    for frame in clip["frames"]:
        people = [box["person"] for box in frame["faces"]]
        assert len(set(people)) == len(people), f"frame {frame['frame']}"
        for box in frame["faces"]:
            x, y, w, h = box["box"]
            assert w == h and w > 0, f"frame {frame['frame']}: {box} is not square"
            inside = x >= 0 and y >= 0 and x + w <= clip["width"] and y + h <= clip["height"]
            assert inside or box.get("difficult"), f"frame {frame['frame']}: {box} is outside"
