"""From drawn heads to points in a pipeline: nothing is fetched, and no picture of a person is needed."""
import csv
import json
import shutil
import subprocess

import numpy as np

import programs

TRAIN = programs.BUILD / "models/train/cuface-train"
CASCADE = "/usr/share/opencv4/haarcascades/haarcascade_frontalface_alt.xml"
OTHERS = 40


def train(*arguments):
    done = subprocess.run([TRAIN, *map(str, arguments)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def labels_of(folder):
    """For each picture the drawn head's points."""
    rows = list(csv.reader((folder / "labels.csv").read_text().splitlines()))
    first = rows[0].index("x0")
    return [(row[0], np.array(row[first:first + 136], float).reshape(68, 2)) for row in rows[1:]]


def error_in_pipeline(folder, model):
    """The mean distance of found points from drawn ones, in widths of the face's box, and how many faces were found."""
    lines = folder / "lines.jsonl"
    done = programs.gst_launch(
        f"multifilesrc location={folder}/frame-%d.png caps=image/png,framerate=1/1 ! pngdec ! videoconvert"
        f" ! cufacedetect cascade={CASCADE} redetect-interval=1 ! cufacelandmark model={model}"
        f" ! cufacepublish location={lines} ! fakesink")
    assert done.returncode == 0, done.stdout
    frames = [json.loads(line)["objects"] for line in lines.read_text(encoding="utf-8").splitlines()]
    assert len(frames) == OTHERS
    errors = []
    for faces, (_, points) in zip(frames, labels_of(folder)):
        near = [np.linalg.norm(np.array(face["landmarks"]) - points, axis=1).mean() / face["w"] for face in faces]
        if near and min(near) < 0.5:
            errors.append(min(near))
    return np.mean(errors), len(errors)


def test_a_model_of_drawn_heads_finds_those_it_has_not_seen(tmp_path):
    """With our detector's boxes it was trained, and in a pipeline it gets them."""
    train("heads", "--output", tmp_path / "train", "--count", 100)
    train("heads", "--output", tmp_path / "other", "--count", OTHERS, "--first", 1000)
    for i, (name, _) in enumerate(labels_of(tmp_path / "other")):
        shutil.copy(tmp_path / "other" / name, tmp_path / "other" / f"frame-{i}.png")
    stages = {}
    for count in 1, 6:
        train("forest", "--images", tmp_path / "train/labels.csv", "--mirror", "--boxes", CASCADE, "--oversampling-amount", 5,
              "--num-trees-per-cascade-level", 40, "--cascade-depth", count, "--output", tmp_path / f"{count}.cuface")
        stages[count], found = error_in_pipeline(tmp_path / "other", tmp_path / f"{count}.cuface")
        print(f"{count} stages: {100 * stages[count]:.2f} % of the box, {found} of {OTHERS} heads")
        assert found >= OTHERS // 2
    assert stages[6] < 0.06 and stages[6] < 0.75 * stages[1]
