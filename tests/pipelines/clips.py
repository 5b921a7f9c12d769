#!/usr/bin/python3
"""What the whole chain makes of each test clip, held against the committed summary.

  tests/pipelines/clips.py             TAP: a case a clip; worse than docs/results/clips.json fails
  tests/pipelines/clips.py --update    measures again and writes docs/results/clips.json

Measures: `with_face` frames with at least one face; `ids` distinct ids; `appearances` faces that have no
predecessor (IoU > 0.3) in the frame before; `blinks` faces missing for 1 to 5 frames between two frames
that have them in the same place (IoU > 0.3).
"""
import json
import sys

import tap

SUMMARY = tap.SOURCE / "docs/results/clips.json"
SCHEMA = tap.SOURCE / "docs/faces.schema.json"
LONGEST_BLINK = 5
CHAIN = "cufacedetect ! culktrack ! cufacelandmark"


def overlap(a, b):
    """Intersection over union of two objects of a line."""
    w = min(a["x"] + a["w"], b["x"] + b["w"]) - max(a["x"], b["x"])
    h = min(a["y"] + a["h"], b["y"] + b["h"]) - max(a["y"], b["y"])
    if w <= 0 or h <= 0:
        return 0.0
    return w * h / (a["w"] * a["h"] + b["w"] * b["h"] - w * h)


def has(face, faces):
    return any(overlap(face, other) > 0.3 for other in faces)


def count_blinks(frames):
    blinks = 0
    for t, faces in enumerate(frames):
        for face in faces:
            if t + 1 >= len(frames) or has(face, frames[t + 1]):
                continue
            later = frames[t + 2:t + 2 + LONGEST_BLINK]
            blinks += any(has(face, candidates) for candidates in later)
    return blinks


def summarise(lines):
    frames = [line["objects"] for line in lines]
    return {
        "frames": len(frames),
        "with_face": sum(bool(faces) for faces in frames),
        "ids": len({face["id"] for faces in frames for face in faces}),
        "appearances": sum(not has(face, frames[t - 1] if t else []) for t, faces in enumerate(frames) for face in faces),
        "blinks": count_blinks(frames),
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
    lines = faces_of(clip)
    validate(lines)
    found = summarise(lines)
    print(f"# {clip.name}: {found}")
    tap.need(committed is not None, f"{clip.name} has no entry in {SUMMARY.name}; run with --update")
    tap.need(found["frames"] == committed["frames"], f"{found['frames']} lines for {committed['frames']} frames")
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
