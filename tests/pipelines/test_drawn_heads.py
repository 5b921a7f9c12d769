"""From drawn heads to points in a pipeline: nothing is fetched, and no picture of a person is needed."""
import csv
import json
import shutil
import subprocess

import numpy as np
import pytest

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
    """The mean distance of found points from drawn ones, in widths of the face's box, how many faces were found, and how sure
    their points are."""
    lines = folder / "lines.jsonl"
    done = programs.gst_launch(
        f"multifilesrc location={folder}/frame-%d.png caps=image/png,framerate=1/1 ! pngdec ! videoconvert"
        f" ! cufacedetect cascade={CASCADE} redetect-interval=1 ! cufacelandmark model={model}"
        f" ! cufacepublish location={lines} ! fakesink")
    assert done.returncode == 0, done.stdout
    frames = [json.loads(line)["objects"] for line in lines.read_text(encoding="utf-8").splitlines()]
    assert len(frames) == OTHERS
    errors, sure = [], []
    for faces, (_, points) in zip(frames, labels_of(folder)):
        near = [np.linalg.norm(np.array(face["landmarks"]) - points, axis=1).mean() / face["w"] for face in faces]
        if near and min(near) < 0.5:
            errors.append(min(near))
            sure += faces[np.argmin(near)].get("landmark_confidences", [])
    return np.mean(errors), len(errors), sure


@pytest.fixture(name="heads", scope="module")
def drawn_heads(tmp_path_factory):
    """The labels of heads to train with, and a folder of others."""
    folder = tmp_path_factory.mktemp("heads")
    train("heads", "--output", folder / "train", "--count", 100)
    train("heads", "--output", folder / "other", "--count", OTHERS, "--first", 1000)
    for i, (name, _) in enumerate(labels_of(folder / "other")):
        shutil.copy(folder / "other" / name, folder / "other" / f"frame-{i}.png")
    return folder / "train/labels.csv", folder / "other"


def test_a_model_of_drawn_heads_finds_those_it_has_not_seen(heads, tmp_path):
    """With our detector's boxes it was trained, and in a pipeline it gets them."""
    labels, others = heads
    stages = {}
    for count in 1, 6:
        train("forest", "--images", labels, "--mirror", "--boxes", CASCADE, "--oversampling-amount", 5,
              "--num-trees-per-cascade-level", 40, "--cascade-depth", count, "--output", tmp_path / f"{count}.cuface")
        stages[count], found, _ = error_in_pipeline(others, tmp_path / f"{count}.cuface")
        print(f"{count} stages: {100 * stages[count]:.2f} % of the box, {found} of {OTHERS} heads")
        assert found >= OTHERS // 2
    assert stages[6] < 0.06 and stages[6] < 0.75 * stages[1]


@pytest.mark.parametrize("profiles, folds", [("hats", 2), ("patches", 0), ("lines", 0)])
def test_a_shape_model_of_drawn_heads_needs_its_file_alone(heads, tmp_path, profiles, folds):
    labels, others = heads
    errors = {}
    for levels, iterations in (1, 1), (3, 5):
        model = tmp_path / f"{iterations}.cuface"
        train("shape", "--images", labels, "--mirror", "--boxes", CASCADE, "--profiles", profiles, "--size", 40, "--levels", levels,
              "--iterations", iterations, "--confidence-folds", folds if levels > 1 else 0, "--output", model)
        errors[iterations], found, sure = error_in_pipeline(others, model)
        print(f"{profiles}, {iterations} iterations: {100 * errors[iterations]:.2f} % of the box, {found} of {OTHERS} heads")
        assert found >= OTHERS // 2
        assert len(sure) == (68 * found if folds and levels > 1 else 0) and all(0 <= c <= 1 for c in sure)
    assert errors[5] < 0.045 and errors[5] < 0.8 * errors[1]
