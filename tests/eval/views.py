"""S1.E7: each step on a picture with noise, as pictures. All are made up: leaves that cover each other, as
tests/quality/motion_scenes.py has them, and a disc that moves."""
import pathlib
import subprocess
import tempfile

import numpy as np

import experiments  # noqa: F401, for the paths
import chain
import motion_scenes
import png

SEED = 1
NOISE = 12.0  # standard deviation, as of a camera in the dark
LARGE, SMALL = (5312, 2988), (240, 136)
BLUR = 5, 5.0  # pixels and sigma of the published pictures
PLAIN = "kernel-size=1 norm=l2 thinning=sectors linking=apron low=70 high=80"
BLURRED = "kernel-size=5 sigma=5 norm=l2 thinning=sectors linking=apron low=15 high=25"
MOTION = "cumotiondetect method=edges interval=0 symmetric=false border=7 global-changes=false min-frames=1"


def frames_of(size):
    """Two noisy frames, between which a disc moves."""
    width, height = size
    random = np.random.default_rng(SEED)
    unit = width / SMALL[0]
    leaves = 128 + motion_scenes.dead_leaves(random, height, width, 4 * unit, 60 * unit, 40)
    y, x = np.mgrid[:height, :width]
    for place in (0.3, 0.42):
        frame = leaves.copy()
        frame[(x - place * width) ** 2 + (y - 0.6 * height) ** 2 < (30 * unit) ** 2] = 235
        yield np.clip(frame + random.normal(0, NOISE, frame.shape), 0, 255).astype(np.uint8)


def through(elements, frames):
    """The frames behind some elements."""
    height, width = frames[0].shape
    with tempfile.TemporaryDirectory() as folder:
        before, behind = (pathlib.Path(folder) / name for name in ("in.gray", "out.gray"))
        # Rows of raw video are multiples of four bytes.
        edged = [np.pad(frame, [(0, 0), (0, -width % 4)], mode="edge") for frame in frames]
        before.write_bytes(b"".join(frame.tobytes() for frame in edged))
        text = (f"filesrc location={before} blocksize={edged[0].size} ! rawvideoparse format=gray8 width={edged[0].shape[1]} "
                f"height={height} framerate=25/1 ! {elements} ! filesink location={behind}")
        subprocess.run(["gst-launch-1.0", "-q", *text.split()], check=True, env=chain.command(text)[1])
        found = np.fromfile(behind, np.uint8).reshape(len(frames), height, -1)
    return found[:, :, :width]


def blurred(frame):
    """What the edges are taken from, in NumPy: the element shows none."""
    size, sigma = BLUR
    weights = np.exp(-((np.arange(size) - size // 2) ** 2) / (2 * sigma * sigma))
    weights /= weights.sum()
    out = frame.astype(float)
    for axis in (0, 1):
        out = sum(weight * np.roll(out, shift - size // 2, axis) for shift, weight in enumerate(weights))
    return out


def spectrum(frame):
    """Logarithm of its strength, the lowest frequency in the middle."""
    return np.log1p(np.abs(np.fft.fftshift(np.fft.fft2(frame - np.mean(frame)))))


def pictures_of(size):
    """{name: picture} in the order of the published ones."""
    frames = list(frames_of(size))
    edges = f"cuedgedetect {BLURRED}"
    smooth = blurred(frames[0])
    cells = through(f"{edges} output=meta ! {MOTION} output=cells", frames)[1]
    difference = through(f"{edges} output=meta ! {MOTION} output=mask", frames)[1]
    rows, columns = 6, 10
    density = [[float(np.mean(part > 0)) for part in np.array_split(row, columns, axis=1)]
               for row in np.array_split(difference, rows, axis=0)]
    return {"with noise": frames[0], "blurred": smooth, "spectrum": spectrum(frames[0]), "its spectrum, blurred": spectrum(smooth),
            "gradient": through(f"{edges} output=gradient", frames)[0],
            "edges without blur": through(f"cuedgedetect {PLAIN}", frames)[0], "edges with blur": through(edges, frames)[0],
            "difference of two frames": difference, "density of the cells": np.array(density), "motion area": cells}


def measure(run):
    pictures = pictures_of(SMALL if run.quick else LARGE)
    folder = run.folder / "S1.E7"
    folder.mkdir(parents=True, exist_ok=True)
    for name, picture in pictures.items():
        (folder / f"{name.replace(' ', '-').replace(',', '')}.png").write_bytes(png.encoded(png.scaled(picture)))
    print(f"pictures in {folder}", flush=True)
    result = run.program("edges", "S1.E7")
    mosaic = pathlib.Path(tempfile.gettempdir()) / "cuface-bench/mosaic1080.raw"  # which the program has made
    if not run.quick:
        grey = np.fromfile(mosaic, np.uint8).reshape(1080, 1920)
        (folder / "faces.png").write_bytes(png.encoded(through("cufacedetect min-neighbors=5 ! cufaceoverlay draw=box", [grey])[0]))
    point = result.pop("curves")[0]["points"][0]
    share = {name: 100 * float(np.mean(pictures[f"edges {name} blur"] > 0)) for name in ("without", "with")}
    return {**result, "seeds": [SEED], "plot": {"seed": SEED, "size": SMALL, "settings": [PLAIN, BLURRED, MOTION]}, "figures": {
        "first call of the edges, 5312x2988": {"ours": point["ours_first_us"] / 1e3, "peer": point["peer_first_us"] / 1e3},
        "later calls": {"ours": point["ours_us"] / 1e3, "peer": point["peer_us"] / 1e3},
        **{f"edge pixels {name} blur": {"ours": value, "peer": None} for name, value in share.items()}}}


def plot(pyplot, _):
    """The small scene, step by step."""
    figure, axes = pyplot.subplots(2, 5, figsize=(11, 3.2), layout="constrained")
    for axis, (name, picture) in zip(axes.flat, pictures_of(SMALL).items()):
        axis.imshow(picture, cmap="gray", interpolation="nearest", aspect="auto")
        axis.set_title(name, fontsize=8)
        axis.set_axis_off()
    return figure
