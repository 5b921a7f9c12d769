#!/usr/bin/python3
"""Measures how well a cascade of cuface-train finds faces, beside one that opencv_traincascade has trained from the same
samples, and OpenCV's frontal ones, on pictures that neither training saw.

  tests/quality/training.py [--splits N] [--folder FOLDER] [--table]
  tests/quality/training.py --full-samples FOLDER
  tests/quality/training.py --full-result CASCADE.xml REPORT.json

Writes docs/results/training.json, the plot beside it and the tables of docs/results/training.md. --table only makes
these again from the JSON. FOLDER (default: ~/.cache/gst-cuface/training) keeps what each split has trained; what is
there is not trained again.

--full-samples writes the samples of a training of full size, of the first split: positives.vec and negatives/, for
tests/full/train_cascade on a machine with a GPU. --full-result takes what that gave, measures the cascade on the split's
other pictures, and writes docs/results/training-full.json and its tables.

Faces are those of HELEN in the test data ($CUFACE_DATA), which `cuface-train data` splits. Backgrounds are photographs
of Debian's mate-backgrounds, which apt-get downloads; opencv_traincascade is built by tests/full/traincascade. A
cascade's score of a face is the number of windows in its group. Needs a build, and Debian's python3-opencv.
"""
import argparse
import importlib.machinery
import importlib.util
import json
import pathlib
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree

import chains
import clips
import measures
import pages
from training_samples import DATA, PROGRAM, SHARE, Split, write_backgrounds, write_faces

sys.path.insert(0, str(chains.SOURCE / "tests"))
import plots  # noqa: E402

RESULT = chains.SOURCE / "docs/results/training.json"
FULL_RESULT = RESULT.with_name("training-full.json")
PAGE = chains.SOURCE / "docs/results/training.md"
PLOT = RESULT.with_suffix(".svg")
CASCADES = pathlib.Path(chains.CASCADE).parent
OURS, PEER, ALT, DEFAULT = "cuface-train", "opencv_traincascade", "frontalface_alt", "frontalface_default"

SIDE, STAGES, NEGATIVES = 20, 12, 1000
FULL_SIDE, FULL_POSES = 24, 24
SPARE = 0.9            # opencv_traincascade takes new samples for those that a stage has lost
TOO_FEW_NEGATIVES = 3  # exit status of cuface-train, with the stages before written
LEVELS = 0.1, 0.3, 1.0  # false alarms a picture at which hit rates are compared
STAGES_TOLD = 1, 5, 10, 15, 20, 25
CLIP_STEP = 10          # frames of a clip


def noted(text):
    print(text, file=sys.stderr, flush=True)


# ---- trainings ----------------------------------------------------------------------------------

def run(command, log):
    with open(log, "w", encoding="utf-8") as out:
        done = subprocess.run(list(map(str, command)), stdout=out, stderr=subprocess.STDOUT, check=False)
    assert done.returncode in (0, TOO_FEW_NEGATIVES), f"{log} says why {command[0]} failed"


def peer_program():
    path = str(chains.SOURCE / "tests/full/traincascade")
    loader = importlib.machinery.SourceFileLoader("traincascade", path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("traincascade", loader))
    loader.exec_module(module)
    folder = chains.MODELS / "traincascade"
    folder.mkdir(parents=True, exist_ok=True)
    return module.built(folder)


def trained(split):
    """{name: file} of both trainings."""
    ours, peer = split.folder / "ours.xml", split.folder / "peer/cascade.xml"
    if not ours.exists():
        run([PROGRAM, "cascade", "--positives", split.set / "train.vec", "--negatives", split.tiles, "--output", ours,
             "--size", f"{SIDE}x{SIDE}", "--stages", STAGES, "--negatives-per-stage", NEGATIVES], split.folder / "ours.log")
    if not peer.exists():
        peer.parent.mkdir(exist_ok=True)
        names = sorted(str(path) for path in split.tiles.iterdir())
        (split.folder / "negatives.txt").write_text("\n".join(names) + "\n", encoding="utf-8")
        command = [
            peer_program(), "-data", peer.parent, "-vec", split.set / "train.vec", "-bg", split.folder / "negatives.txt",
            "-numPos", int(SPARE * split.samples()), "-numNeg", NEGATIVES, "-w", SIDE, "-h", SIDE,
            "-precalcValBufSize", 1024, "-precalcIdxBufSize", 1024, "-numStages"]
        # It ends where its false alarms are those of all stages that it was asked for. Asked for more of them it goes on,
        # and what it has then is made a cascade.
        last = peer.with_name(f"stage{STAGES - 1}.xml")
        with open(split.folder / "peer.log", "w", encoding="utf-8") as log, \
                subprocess.Popen(list(map(str, [*command, 2 * STAGES])), stdout=log) as process:
            while process.poll() is None and not last.exists():
                time.sleep(1)
            time.sleep(1)
            process.terminate()
        run([*command, STAGES], split.folder / "peer-end.log")
    return {OURS: ours, PEER: peer}


def weak_classifiers(path):
    root = xml.etree.ElementTree.parse(path)
    return [len(stage.find("weakClassifiers")) for stage in root.find("cascade/stages")]


# ---- what they find -----------------------------------------------------------------------------

def judged(classifier, pictures):
    """(score, is a true face) of all that is found, and how many faces there are."""
    found, faces = [], 0
    for _, picture, truth in pictures:
        boxes, scores = classifier.detectMultiScale2(picture, scaleFactor=1.1, minNeighbors=1)
        boxes = [dict(zip("xywh", map(float, each))) for each in boxes]
        # A face counts once, for its best box.
        order = sorted(range(len(boxes)), key=lambda i: -int(scores[i]))
        pairs = measures.match([boxes[i] for i in order], truth)
        found += [(int(scores[i]), k in pairs) for k, i in enumerate(order)]
        faces += len(truth)
    return found, faces


def curve(found):
    """[(false alarms, hits)] as the least score falls."""
    points = [(0, 0)]
    for score in sorted({score for score, _ in found}, reverse=True):
        kept = [true for other, true in found if other >= score]
        points.append((len(kept) - sum(kept), sum(kept)))
    return points


def hits_at(points, most):
    return max(hits for false, hits in points if false <= most)


def measured(splits, folder):
    import cv2
    labelled = write_faces(folder / "faces")
    write_backgrounds(folder / "backgrounds")
    found, faces, pictures, trainings = {}, 0, 0, []
    for seed in range(1, splits + 1):
        split = Split(folder / f"split-{seed}", seed, folder / "faces", folder / "backgrounds", labelled, SIDE)
        files = trained(split)
        files |= {name: CASCADES / f"haarcascade_{name}.xml" for name in (ALT, DEFAULT)}
        shown = list(split.pictures())
        for name, file in files.items():
            of_split, count = judged(cv2.CascadeClassifier(str(file)), shown)
            found.setdefault(name, []).extend(of_split)
        faces, pictures = faces + count, pictures + len(shown)
        counts = {name: weak_classifiers(files[name]) for name in (OURS, PEER)}
        trainings.append({"split": seed, "samples": split.samples(), "backgrounds": len(list(split.tiles.iterdir())),
                          "test_faces": count, "test_pictures": len(shown),
                          "stages": {name: len(stages) for name, stages in counts.items()},
                          "trees": {name: sum(stages) for name, stages in counts.items()}})
        noted(trainings[-1])
    curves = {name: curve(of_name) for name, of_name in found.items()}
    result = pages.origin("hit rate at equal false alarms; tests/quality/training.py", f"1 to {splits}")
    return result | {"settings": {"window": SIDE, "stages": STAGES, "negatives_per_stage": NEGATIVES, "test_share": SHARE},
                     "trainings": trainings, "faces": faces, "pictures": pictures,
                     "rates": [rates_at(curves, level, faces, pictures) for level in LEVELS],
                     "curves": {name: thinned(points) for name, points in curves.items()}}


def percent_at(curves, level, faces, pictures):
    return {name: round(100 * hits_at(points, level * pictures) / faces, 1) for name, points in curves.items()}


def rates_at(curves, level, faces, pictures):
    percent = percent_at(curves, level, faces, pictures)
    return {"false_alarms_a_picture": level, "percent": percent, "reached": percent[OURS] >= percent[PEER]}


def full_split(folder):
    labelled = write_faces(folder / "full-faces", FULL_POSES)
    write_backgrounds(folder / "backgrounds")
    return Split(folder / "full", 1, folder / "full-faces", folder / "backgrounds", labelled, FULL_SIDE)


def write_full_samples(split, folder):
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(split.set / "train.vec", folder / "positives.vec")
    shutil.copytree(split.tiles, folder / "negatives", dirs_exist_ok=True)


def on_clips(cascade):
    """How many frames of each clip there are, what cufacedetect finds in them by a cascade, and in how many of them
    cv::CascadeClassifier finds anything else."""
    import cv2
    classifier, rows = cv2.CascadeClassifier(str(cascade)), []
    for path in sorted((DATA / "videos").iterdir()):
        clip = clips.every(clips.given(DATA, path.name), CLIP_STEP)
        with clip.file(chains.CACHE) as frames:
            ours = chains.ours(clip, frames, f"cufacedetect cascade={cascade} max-faces=1000")
        other = 0
        for frame, faces in zip(clip.make(), ours, strict=True):
            theirs = classifier.detectMultiScale(frame, scaleFactor=1.1, minNeighbors=3)
            other += sorted(tuple(face[side] for side in "xywh") for face in faces) != sorted(map(tuple, theirs))
        rows.append({"clip": path.name, "frames": clip.length, "faces": sum(map(len, ours)), "frames_that_differ": other})
        noted(rows[-1])
    return rows


def full_result(split, cascade, report):
    """The report of a training, with what its cascade finds beside OpenCV's."""
    import cv2
    shown = list(split.pictures())
    files = {OURS: cascade} | {name: CASCADES / f"haarcascade_{name}.xml" for name in (ALT, DEFAULT)}
    judgements = {name: judged(cv2.CascadeClassifier(str(file)), shown) for name, file in files.items()}
    faces = judgements[OURS][1]
    curves = {name: curve(found) for name, (found, _) in judgements.items()}
    rates = [{"false_alarms_a_picture": level, "percent": percent_at(curves, level, faces, len(shown))} for level in LEVELS]
    return pages.origin("a training of full size; tests/quality/training.py --full-result", "1") | {
        "faces": faces, "pictures": len(shown), "rates": rates, "clips": on_clips(cascade),
        "training": json.loads(report.read_text(encoding="utf-8"))}


def thinned(points):
    """Those at which hits change: the others are on lines between them."""
    return [point for i, point in enumerate(points)
            if i in (0, len(points) - 1) or points[i - 1][1] != point[1] or points[i + 1][1] != point[1]]


def as_json(result):
    """A curve a line."""
    head = json.dumps({key: value for key, value in result.items() if key != "curves"}, indent=1)
    curves = ",\n".join(f"  {json.dumps(name)}: {json.dumps(points)}" for name, points in result["curves"].items())
    return f'{head[:-2]},\n "curves": {{\n{curves}\n }}\n}}\n'


# ---- the page -----------------------------------------------------------------------------------

def full_tables(result):
    training = result["training"]
    names = list(result["rates"][0]["percent"])
    rates = [[f"{row['false_alarms_a_picture']:g}", *(f"{row['percent'][name]:.1f}" for name in names)] for row in result["rates"]]
    seconds = [[what, f"{training[key]:.1f}"] for what, key in (
        ("loading", "load_seconds"), ("mining", "mining_seconds"), ("boosting", "boosting_seconds"))]
    stages = []
    for number in STAGES_TOLD:
        if number > len(training["stages"]):
            continue
        stage = training["stages"][number - 1]
        rate = stage["windows"] / max(stage["mining_seconds"], 1e-3)
        stages.append([number, stage["trees"], f"{stage['windows'] / 1e6:,.1f}", f"{stage['mining_seconds']:.2f}",
                       f"{rate / 1e6:,.0f}", f"{stage['prepare_seconds']:.2f}", f"{stage['search_seconds']:.3f}"])
    return {"full": pages.table(["what", "seconds"], seconds),
            "full-stages": pages.table(["stage", "trees", "million windows", "s of mining", "million windows a second",
                                        "s of set-up", "s of search"], stages),
            "full-rates": pages.table(["false alarms a picture", *names], rates)}


def tables(result):
    names = list(result["curves"])
    rates = [[f"{row['false_alarms_a_picture']:g}", *(f"{row['percent'][name]:.1f}" for name in names),
              f"≥ {PEER}", "yes" if row["reached"] else "**no**"] for row in result["rates"]]
    trainings = []
    for row in result["trainings"]:
        for name in (OURS, PEER):
            trainings.append([row["split"], name, row["samples"], row["backgrounds"], row["stages"][name], row["trees"][name],
                              row["test_faces"], row["test_pictures"]])
    return {"rates": pages.table(["false alarms a picture", *names, "goal", "reached"], rates),
            "trainings": pages.table(["split", "program", "samples", "backgrounds", "stages", "trees", "faces of the test",
                                      "pictures of the test"], trainings)}


def figure(pyplot, shown):
    drawn, axes = pyplot.subplots(figsize=(6, 3.4), layout="constrained")
    for name, points in shown["curves"].items():
        axes.plot([false / shown["pictures"] for false, _ in points], [100 * hits / shown["faces"] for _, hits in points],
                  label=name, drawstyle="steps-post")
    axes.set_xscale("symlog", linthresh=0.1)
    axes.set_xlim(left=0)
    axes.set_xlabel("false alarms a picture")
    axes.set_ylabel("faces found, %")
    axes.legend(frameon=False)
    return drawn


def plotted(result):
    return {key: result[key] for key in ("curves", "faces", "pictures")}


def with_tables(page, result):
    return pages.with_tables(page, tables(result), "tests/quality/training.py")


def with_full_tables(page, result):
    return pages.with_tables(page, full_tables(result), "tests/quality/training.py --full-result")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--splits", type=int, default=2)
    parser.add_argument("--folder", type=pathlib.Path, default=chains.MODELS / "training")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--full-samples", type=pathlib.Path)
    parser.add_argument("--full-result", type=pathlib.Path, nargs=2)
    arguments = parser.parse_args()
    if arguments.full_samples:
        write_full_samples(full_split(arguments.folder.resolve()), arguments.full_samples)
        return
    if arguments.full_result:
        result = full_result(full_split(arguments.folder.resolve()), *arguments.full_result)
        FULL_RESULT.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
        pages.fill(PAGE, FULL_RESULT, with_full_tables)
        return
    if not arguments.table:
        RESULT.write_text(as_json(measured(arguments.splits, arguments.folder.resolve())), encoding="utf-8")
    pages.fill(PAGE, RESULT, with_tables)
    pages.fill(PAGE, FULL_RESULT, with_full_tables)
    plots.draw(PLOT, plotted(json.loads(RESULT.read_text(encoding="utf-8"))), figure)


if __name__ == "__main__":
    main()
