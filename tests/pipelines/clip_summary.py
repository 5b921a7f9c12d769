#!/usr/bin/python3
"""What the whole chain makes of each test clip. `clip_summary.py --update` writes docs/results/clips.json.

Measures: `with_face` frames with at least one face; `ids` distinct ids; `appearances` and `blinks` as in
tests/quality/measures.py.
"""
import json
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "tests/quality"))
import measures  # noqa: E402

SUMMARY = SOURCE / "docs/results/clips.json"
SCHEMA = SOURCE / "docs/reference/faces.schema.json"
CLIPS = pathlib.Path(os.environ.get("CUFACE_DATA", SOURCE / "../shared/data")) / "videos"
CHAIN = "cufacedetect ! culktrack ! cufacelandmark"


def faces_of(clip):
    """Runs the chain over a clip; the parsed lines of JSON, which keep to the schema."""
    import jsonschema
    with tempfile.TemporaryDirectory(prefix="cuface-test-") as folder:
        path = pathlib.Path(folder) / "faces.jsonl"
        done = subprocess.run(["gst-launch-1.0", "-q", *shlex.split(
            f"filesrc location={clip} ! decodebin ! videoconvert ! {CHAIN} ! cufacepublish location={path}"
            " ! fakesink sync=false")], timeout=900, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            check=False)
        assert done.returncode == 0, f"gst-launch failed: {done.stdout}"
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    validator = jsonschema.Draft7Validator(json.loads(SCHEMA.read_text(encoding="utf-8")))
    for number, line in enumerate(lines):
        errors = list(validator.iter_errors(line))
        assert not errors, f"line {number} breaks the schema: {errors[0].message}"
        assert line["frame"] == number, f"line {number} is of frame {line['frame']}"
    return lines


def summary_of(clip):
    frames = [line["objects"] for line in faces_of(clip)]
    return {
        "frames": len(frames),
        "with_face": measures.frames_with_face(frames),
        "ids": len({face["id"] for faces in frames for face in faces}),
        "appearances": measures.count_appearances(frames),
        "blinks": measures.count_blinks(frames),
    }


def clips():
    return sorted(CLIPS.iterdir()) if CLIPS.is_dir() else []


def update():
    summary = {}
    for clip in clips():
        summary[clip.name] = summary_of(clip)
        print(clip.name, summary[clip.name], flush=True)
    SUMMARY.write_text(json.dumps({"chain": CHAIN, "clips": summary}, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:] != ["--update"]:
        sys.exit(__doc__)
    update()
