"""S3.E8: shapes before and after alignment, the mean shape and its first modes."""
import csv
import subprocess

import numpy as np

from experiments import BUILD
from model_file import blocks

TOOL = BUILD / "models/train/cuface-train"
SHOWN = 10  # shapes of the first two panels
MODES = 3
LINES = ((0, 17, False), (17, 22, False), (22, 27, False), (27, 31, False), (31, 36, False), (36, 42, True), (42, 48, True),
         (48, 60, True), (60, 68, True))


def aligned(shape, mean):
    """Moved, turned and scaled onto the mean; both are complex."""
    shape, mean = shape - shape.mean(), mean - mean.mean()
    return shape * (shape.conj() @ mean) / (shape.conj() @ shape).real


def drawn_heads(folder, count):
    """The file of their labels."""
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run([TOOL, "heads", "--output", folder, "--count", str(count), "--size", "160x160"], check=True)
    return folder / "labels.csv"


def train(file, labels, *settings):
    """Anew: what another version of the program has begun is of no use."""
    file.with_name(f"{file.name}.checkpoint").unlink(missing_ok=True)
    subprocess.run([TOOL, "shape", "--images", labels, "--output", file, "--quiet", "--mirror", "--confidence-folds", "0", *settings],
                   check=True)


def measure(run):
    file = run.folder / "shape-heads.cuface"
    drawn = drawn_heads(run.folder / "shape-heads", 12 if run.quick else 200)
    train(file, drawn, "--profiles", "lines", "--size", "40", "--levels", "2")
    _, table = blocks(file)
    mean = table("mean_shape").reshape(-1, 2) @ (1, 1j)
    values = table("eigenvalues")
    vectors = table("eigenvectors").reshape(len(mean), 2, len(values))
    with open(drawn, encoding="utf-8") as labels:
        rows = list(csv.DictReader(labels))[:SHOWN]
    shapes = [np.array([complex(float(row[f"x{i}"]), float(row[f"y{i}"])) for i in range(len(mean))]) for row in rows]

    def rounded(shape):
        return [[round(float(p.real), 1), round(float(p.imag), 1)] for p in shape]
    modes = [[rounded(mean + side * 3 * values[k] ** 0.5 * (vectors[:, 0, k] + 1j * vectors[:, 1, k])) for side in (-1, 1)]
             for k in range(min(MODES, len(values)))]
    spread = np.std([aligned(s, mean) for s in shapes], axis=0)
    return {"seeds": [1], "modes": len(values), "most_stable_point": int(np.argmin(spread)), "least_stable_point": int(np.argmax(spread)),
            "plot": {"before": [rounded(s) for s in shapes], "after": [rounded(aligned(s, mean)) for s in shapes],
                     "mean": rounded(mean), "modes": modes}}


def draw(axis, shape, **style):
    for first, end, closed in LINES:
        part = shape[first:end] + (shape[first:first + 1] if closed else [])
        axis.plot(*zip(*part), **style)


def plot(pyplot, shown):
    figure, axes = pyplot.subplots(1, 2 + len(shown["modes"]), figsize=(11, 2.6), layout="constrained")
    for axis, title, key in zip(axes, ("as labelled", "aligned"), ("before", "after")):
        for shape in shown[key]:
            axis.plot(*zip(*shape), ".", color="#27a", markersize=1)
        axis.set_title(title, fontsize=9)
    for k, (axis, (low, high)) in enumerate(zip(axes[2:], shown["modes"])):
        draw(axis, shown["mean"], color="#888", linewidth=0.8)
        draw(axis, low, color="#27a", linewidth=0.8)
        draw(axis, high, color="#c44", linewidth=0.8)
        axis.set_title(f"mode {k + 1}: -3 and +3", fontsize=9)
    for axis in axes:
        axis.invert_yaxis()
        axis.set_aspect("equal")
        axis.set_axis_off()
    return figure
