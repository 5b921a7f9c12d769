#!/usr/bin/python3
"""What the whole chain makes of each test clip, held against the committed summary.

  tests/pipelines/clips.py             TAP: a case a clip; worse than docs/results/clips.json fails
  tests/pipelines/clips.py --update    measures again and writes docs/results/clips.json

Measures: `with_face` frames with at least one face; `ids` distinct ids; `appearances` and `blinks` as in
tests/quality/measures.py.
"""
import json
import sys

import tap

sys.path.insert(0, str(tap.SOURCE / "tests/quality"))
import measures  # noqa: E402  pylint: disable=wrong-import-position

SUMMARY = tap.SOURCE / "docs/results/clips.json"
SCHEMA = tap.SOURCE / "docs/reference/faces.schema.json"
FACELESS = "vtest.avi",  # every face found in these is a false one
CHAIN = "cufacedetect ! culktrack ! cufacelandmark"


def summarise(lines):
    frames = [line["objects"] for line in lines]
    return {
        "frames": len(frames),
        "with_face": measures.frames_with_face(frames),
        "ids": len({face["id"] for faces in frames for face in faces}),
        "appearances": measures.count_appearances(frames),
        "blinks": measures.count_blinks(frames),
    }


def faces_of(clip, chain=CHAIN):
    """Runs the chain over a clip; the parsed lines of its faces.jsonl."""
    with tap.Folder() as folder:
        path = folder / "faces.jsonl"
        done = tap.gst_launch(f"filesrc location={clip} ! decodebin ! videoconvert ! {chain} "
                              f"! cufacepublish location={path} ! fakesink sync=false", timeout=900)
        tap.need(done.returncode == 0, f"gst-launch failed: {done.stdout}")
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def validate(lines):
    import jsonschema
    validator = jsonschema.Draft7Validator(json.loads(SCHEMA.read_text(encoding="utf-8")))
    for number, line in enumerate(lines):
        errors = list(validator.iter_errors(line))
        tap.need(not errors, f"line {number} breaks the schema: {errors[0].message if errors else ''}")
        tap.need(line["frame"] == number, f"line {number} is of frame {line['frame']}")


def check_clip(clip, committed):
    tap.need_models()
    lines = faces_of(clip)
    validate(lines)
    found = summarise(lines)
    print(f"# {clip.name}: {found}")
    tap.need(committed is not None, f"{clip.name} has no entry in {SUMMARY.name}; run with --update")
    tap.need(found["frames"] == committed["frames"], f"{found['frames']} lines for {committed['frames']} frames")
    if clip.name in FACELESS:
        tap.need(found["with_face"] <= committed["with_face"], f"more false faces: {found}, was {committed}")
    else:
        tap.need(found["with_face"] >= committed["with_face"], f"fewer frames with a face: {found}, was {committed}")
    for measure in ("ids", "appearances", "blinks"):
        tap.need(found[measure] <= committed[measure], f"more {measure}: {found}, was {committed}")


def clips():
    return sorted((tap.DATA / "videos").iterdir())


def update():
    summary = {}
    for clip in clips():
        lines = faces_of(clip)
        validate(lines)
        summary[clip.name] = summarise(lines)
        print(clip.name, summary[clip.name], flush=True)
    SUMMARY.write_text(json.dumps({"chain": CHAIN, "clips": summary}, indent=2) + "\n", encoding="utf-8")


def no_data():
    raise tap.Skip("no test data: set CUFACE_DATA")


def main():
    if "--update" in sys.argv:
        update()
    elif not tap.DATA.is_dir():
        tap.run_cases(("clips", no_data))
    else:
        committed = json.loads(SUMMARY.read_text(encoding="utf-8"))["clips"]
        tap.run_cases(*((clip.name, lambda clip=clip: check_clip(clip, committed.get(clip.name))) for clip in clips()))


if __name__ == "__main__":
    main()
