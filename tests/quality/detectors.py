#!/usr/bin/python3
"""Measures which faces the cascade and the network find, each picture searched alone.

  tests/quality/detectors.py [--table]

Writes docs/results/detectors.json and the tables of docs/guide/which-detector.md. --table only makes the tables again
from the JSON. Ours goes through cufacedetect; the peers are OpenCV's FaceDetectorYN and MediaPipe's face detection,
which are installed into ~/.cache/gst-cuface. All read the same pictures in colour.

Needs the test data ($CUFACE_DATA) with models/yunet.onnx, the plugin, and a cuface-model that reads ONNX.
"""
import argparse
import datetime
import json
import os
import pathlib
import subprocess
import sys

import chains
import clips
import measures
import pages

DATA = pathlib.Path(os.environ.get("CUFACE_DATA", chains.SOURCE / "../shared/data")).resolve()
RESULT = chains.SOURCE / "docs/results/detectors.json"
PAGE = chains.SOURCE / "docs/guide/which-detector.md"
ONNX = DATA / "models/yunet.onnx"
CUFACE = chains.CACHE / "yunet.cuface"
PEER = pathlib.Path(__file__).with_name("peer_detectors.py")
FRANCK_STEP = 8       # every so many frames of the longest clip
ROLLED = "female-and-male"
MOST = 5000           # faces of a frame: more than any has
HAAR, HAAR_24, NETWORK, INT16 = "Haar", "Haar, 24 px", "network", "network, int16"
YUNET, MEDIAPIPE = "FaceDetectorYN", "MediaPipe"
OURS = {HAAR: f"cufacedetect max-faces={MOST}", HAAR_24: f"cufacedetect max-faces={MOST} min-size=24",
        NETWORK: f"cufacedetect max-faces={MOST} model={CUFACE}",
        INT16: f"cufacedetect max-faces={MOST} model={CUFACE} precision=int16"}
PEERS = {YUNET: ("opencv-4.10.0.84", "opencv-python-headless==4.10.0.84", ONNX),
         MEDIAPIPE: ("mediapipe", "mediapipe==0.10.21", "mediapipe")}


def noted(text):
    print(text, file=sys.stderr, flush=True)


def python_of(folder, package):
    """A Python of its own with the package; None where it cannot be had."""
    python = chains.MODELS / folder / "bin/python"
    try:
        if not python.exists():
            noted(f"installing {package}")
            subprocess.run([sys.executable, "-m", "venv", python.parents[1]], check=True)
            subprocess.run([python, "-m", "pip", "install", "-q", package], check=True)
        return python
    except (OSError, subprocess.CalledProcessError) as error:
        noted(f"without {package}: {error}")
        return None


def found_by(clip):
    """{detector: the faces of each frame}"""
    with clip.file(chains.CACHE) as path:
        found = {name: chains.ours(clip, path, chain) for name, chain in OURS.items()}
        for name, (folder, package, model) in PEERS.items():
            python = python_of(folder, package)
            if not python:
                continue

            def run(lines, python=python, model=model):
                with open(path, "rb") as frames, open(lines, "wb") as out:
                    subprocess.run([python, PEER, model, str(clip.width), str(clip.height)], stdin=frames, stdout=out,
                                   stderr=subprocess.DEVNULL, check=True)
            lines = chains.cached(clip, path, (PEER, package), run)
            found[name] = [line["objects"] for line in lines]
    return found


def tight(points):
    low, high = points.min(axis=0), points.max(axis=0)
    return dict(zip("xywh", (*low, *(high - low))))


def counted(total, found, truth):
    """Adds what each detector has found of a clip's {frame: [true faces]}."""
    for name, frames in found.items():
        count = measures.detection(frames, truth)
        into = total.setdefault(name, dict.fromkeys(count, 0))
        for key, value in count.items():
            into[key] += value


def recall_row(faces, total):
    count = next(iter(total.values()))["faces"]
    return {"faces": faces, "count": count,
            "found": {name: counts["found"] for name, counts in total.items()},
            "false": {name: counts["false"] for name, counts in total.items()}}


def labelled_rows():
    for kind, what in (("helen", "faces of HELEN"), (None, "labelled faces, these and eight others")):
        total = {}
        for clip in clips.labelled_clips(DATA, True, kind):
            truth = {i: [tight(points)] for i, points in enumerate(clip.truth["points"])}
            counted(total, found_by(clip), truth)
        yield recall_row(what, total)


def clip_rows():
    """For each clip the frames in which a detector sees a face, and the recall of the faces drawn by hand."""
    drawn, rolled, difficult, rows = {}, {}, {}, []
    truth = clips.hand_drawn()
    for path in sorted((DATA / "videos").iterdir()):
        clip = clips.coloured(DATA, path.name, FRANCK_STEP if "franck" in path.name else 1)
        found = found_by(clip)
        rows.append({"clip": path.name, "frames": clip.length,
                     "with_a_face": {name: measures.frames_with_face(frames) for name, frames in found.items()},
                     "faces": {name: sum(map(len, frames)) for name, frames in found.items()}})
        noted(rows[-1])
        if path.name in truth:
            name, true = truth[path.name]
            counted(drawn, found, true)
            if name == ROLLED:
                counted(rolled, found, true)
    for name, counts in drawn.items():
        difficult[name] = {"faces": counts["difficult"], "found": counts["difficult_found"], "false": None}
    return rows, [recall_row("faces drawn in clips", drawn), recall_row("of these rolled heads of 72 px", rolled),
                  recall_row("difficult faces drawn in clips", difficult)]


def on_drawing():
    return {name: measures.frames_with_face(frames)
            for name, frames in found_by(clips.drawing(DATA, colour=True)).items()}


def landmark_rows():
    """Error of the default landmarks in the boxes of each engine, on people's labels; `same` on faces both find."""
    errors = {name: [] for name in (HAAR, NETWORK)}
    for clip in clips.labelled_clips(DATA, True):
        with clip.file(chains.CACHE) as path:
            for name, into in errors.items():
                found = chains.ours(clip, path, f"{OURS[name]} ! cufacelandmark")
                into += [measures.nme_of_best(faces, points)
                         for faces, points in zip(found, clip.truth["points"], strict=True)]
    same = [i for i, both in enumerate(zip(*errors.values())) if None not in both]
    for name, values in errors.items():
        all_rows = measures.accuracy(values)
        yield {"boxes": name, "faces": all_rows["rows"], "missed": all_rows["missed"], "error_percent": all_rows["mean"],
               "same": len(same), "error_of_same_percent": measures.accuracy([values[i] for i in same])["mean"],
               "over_10_percent": all_rows["failures"] - all_rows["missed"]}


def score_of(face):
    return face["score"] if "score" in face else face["detection"]["confidence"]


def pairs_of(one, other):
    """Each face of one with that of the other that it overlaps most, none twice."""
    left = list(range(len(other)))
    for i, face in enumerate(one):
        best = max(left, key=lambda j: measures.overlap(face, other[j]))
        left.remove(best)
        yield i, best


def same_faces(one, other):
    """What a detector finds beside what another does, on every test picture. Faces stand in the order of their scores."""
    result = {"pictures": 0, "faces": 0, "least_iou": 1.0, "score_difference": 0.0, "other_order": 0, "other_counts": []}
    for clip in clips.picture_clips(DATA):
        found = found_by(clip)
        for name, ours, peer in zip(clip.truth["names"], found[one], found.get(other, []), strict=True):
            result["pictures"] += 1
            result["faces"] += len(peer)
            scores = [[score_of(face) for face in faces] for faces in (ours, peer)]
            if len(ours) != len(peer):
                result["other_counts"].append({"picture": name, "ours": scores[0], "peer": scores[1]})
                continue
            pairs = list(pairs_of(ours, peer))
            result["other_order"] += any(i != j for i, j in pairs)
            for i, j in pairs:
                result["least_iou"] = min(result["least_iou"], measures.overlap(ours[i], peer[j]))
                result["score_difference"] = max(result["score_difference"], abs(scores[0][i] - scores[1][j]))
    result["least_iou"], result["score_difference"] = round(result["least_iou"], 6), float(f"{result['score_difference']:.2g}")
    return result


def measured():
    chains.CACHE.mkdir(parents=True, exist_ok=True)
    subprocess.run([chains.BUILD / "models/cuface-model", "convert", ONNX, CUFACE], check=True, stdout=subprocess.DEVNULL)
    landmarks = [{key: round(value, 3) for key, value in row.items() if key != "boxes"} | {"boxes": row["boxes"]}
                 for row in landmark_rows()]
    labelled = []
    for row in labelled_rows():
        labelled.append(row)
        noted(row)
    rows, drawn = clip_rows()
    for row in drawn:
        noted(row)
    return {"what": "faces found in single pictures, at an intersection over union of 0.4; tests/quality/detectors.py",
            "date": datetime.date.today().isoformat(), "commit": pages.commit(),
            "detectors": {**{name: chain.replace(str(CUFACE), CUFACE.name) for name, chain in OURS.items()},
                          **{name: package for name, (_, package, _) in PEERS.items()}},
            "recall": labelled + drawn, "landmarks": landmarks, "clips": rows, "drawing_of_10_frames": on_drawing(), "same_faces": same_faces(NETWORK, YUNET),
            "integers": same_faces(INT16, NETWORK)}


def as_json(result):
    """A row a line."""
    def block(value):
        if isinstance(value, list) and value:
            return "[\n" + ",\n".join("    " + json.dumps(row) for row in value) + "\n  ]"
        return json.dumps(value)
    return "{\n" + ",\n".join(f"  {json.dumps(key)}: {block(value)}" for key, value in result.items()) + "\n}\n"


def tables(result):
    names = list(result["recall"][0]["found"])

    def cell(row, name):
        false = row["false"][name]
        share = f"{100 * row['found'][name] / row['count']:.1f} %"
        return share if false is None else f"{share} / {false}"
    recall = [[f"{row['count']} {row['faces']}", *(cell(row, name) for name in names)] for row in result["recall"]]
    frames = [[f"{row['clip']}, {row['frames']} frames",
               *(f"{100 * row['with_a_face'][name] / row['frames']:.1f} %" for name in names)] for row in result["clips"]]
    frames.append(["a drawing without a face", *(f"{10 * result['drawing_of_10_frames'][name]} %" for name in names)])
    landmarks = [[row["boxes"], row["missed"], f"{row['error_percent']:.2f} %", f"{row['error_of_same_percent']:.2f} %",
                  row["over_10_percent"]] for row in result["landmarks"]]
    first = result["landmarks"][0]
    head = ["boxes", f"missed of {first['faces']}", "error, found faces", f"error, the {first['same']} both find",
            "error over 10 %"]
    return {"recall": pages.table(["what", *names], recall), "landmarks": pages.table(head, landmarks), "clips": pages.table(["clip", *names], frames)}


def with_tables(page, result):
    return pages.with_tables(page, tables(result), "tests/quality/detectors.py")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--table", action="store_true")
    if not parser.parse_args().table:
        if not ONNX.exists():
            raise SystemExit(f"no {ONNX}: set CUFACE_DATA")
        RESULT.write_text(as_json(measured()), encoding="utf-8")
    if PAGE.exists():
        result = json.loads(RESULT.read_text(encoding="utf-8"))
        PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8"), result), encoding="utf-8")


if __name__ == "__main__":
    main()
