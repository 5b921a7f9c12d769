"""A picture on a face beside its twin in NumPy, which is written from docs/design/overlay.md in real numbers: it solves
the affine map of three points, looks the picture up and mixes it into frames of every format."""
import os
import subprocess

import numpy as np
import pytest

from programs import BUILD
from twin_frames import FORMATS, GREY, MATRICES, PACKED, RGB, random_frame

# Of kernels/overlay/picture_rules.h: where a chin is by the mouth and by the nose, and all by a box.
CHIN_BY_MOUTH, CHIN_BY_NOSE = 1.78, 2.37
BOX_EYES, BOX_EYES_Y, BOX_CHIN_Y = 0.19, -0.1, 0.57


# ---- faces: what the program is told, and where its eyes and chin are ---------------------------------------------------

def turned(points, angle, centre):
    turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    return (np.asarray(points, float) @ turn + centre).astype(np.float32)


def face(random, kind, centre, size):
    """(box, roll, keypoints or None, landmarks, the eye to the left, the other one, the chin)"""
    angle = random.uniform(-0.9, 0.9)
    eyes_and_chin = turned([(-0.5 * size, 0), (0.5 * size, 0), (random.uniform(-0.2, 0.2) * size, 1.6 * size)], angle, centre)
    left, right, chin = eyes_and_chin.astype(float)
    box = np.float32([centre[0] - size, centre[1] - size, 2 * size, 2.2 * size])
    roll = np.float32([np.cos(angle), np.sin(angle)])
    if kind == "68":
        landmarks = random.uniform(0, 300, (68, 2)).astype(np.float32)
        landmarks[8] = chin
        for first, eye in ((36, left), (42, right)):
            around = random.uniform(-0.1, 0.1, (6, 2)) * size
            landmarks[first:first + 6] = eye + around - around.mean(0)
        return box, roll, None, landmarks, *(landmarks[i:i + 6].astype(float).mean(0) for i in (36, 42)), chin
    middle = (left + right) / 2
    if kind == "5":
        nose = middle + (chin - middle) / CHIN_BY_NOSE
        corners = [right + (4, 0), right - (4, 0), left - (4, 0), left + (4, 0)]
        return box, roll, None, np.float32([*corners, nose]), left, right, chin
    if kind == "keypoints":
        mouth = middle + (chin - middle) / CHIN_BY_MOUTH
        points = np.float32([left, right, (1, 2), mouth - (7, 1), mouth + (7, 1)])
        # A scheme without known eyes leaves the word to them.
        return box, roll, points, random.uniform(0, 90, (7, 2)).astype(np.float32), left, right, chin
    # The eyes of these landmarks lie on one spot.
    landmarks = np.full((68, 2), 50, np.float32) if kind == "bad landmarks" else np.zeros((0, 2), np.float32)
    x, y, w, h = box.astype(float)
    at = turned([(-BOX_EYES * w, BOX_EYES_Y * h), (BOX_EYES * w, BOX_EYES_Y * h), (0, BOX_CHIN_Y * h)], angle,
                (x + w / 2 - 0.5, y + h / 2 - 0.5)).astype(float)
    return box, roll, None, landmarks, *at


KINDS = ("68", "5", "keypoints", "box", "bad landmarks")


# ---- the drawing ----------------------------------------------------------------------------------------------------

def picture(random, width, height):
    """Smooth colours under a smooth alpha, with a hard hole; red, green, blue and alpha of 8 bits."""
    small = random.uniform(0, 255, (5, 5, 4))
    rows, columns = np.linspace(0, 4, height), np.linspace(0, 4, width)
    tall = np.apply_along_axis(lambda line: np.interp(rows, np.arange(5), line), 0, small)
    out = np.apply_along_axis(lambda line: np.interp(columns, np.arange(5), line), 1, tall)
    out[..., 3] = out[..., 3] * 2 - 60
    out[height // 3:height // 2, width // 4:width // 2, 3] = 0
    out[:height // 8, :, 3] = 255
    return np.clip(np.rint(out), 0, 255).astype(np.uint8)


def in_samples(rgb, name, matrix, full):
    """The colours as samples of a format, in real numbers."""
    kind, bits, *_ = PACKED[name]
    top = 2.0 ** bits - 1
    r, g, b = (rgb[..., i] / 255.0 for i in range(3))
    if kind == RGB:
        return [r * top, g * top, b * top]
    kr, kb = (float(w) for w in MATRICES[matrix][1:])
    y = kr * r + (1 - kr - kb) * g + kb * b
    unit = 2.0 ** (bits - 8)
    luma = y * top if full else (16 + 219 * y) * unit
    reach = top if full else 224 * unit
    chroma = [128 * unit + (b - y) / (2 - 2 * kb) * reach, 128 * unit + (r - y) / (2 - 2 * kr) * reach]
    return [luma] if kind == GREY else [luma, *(np.minimum(c, top) for c in chroma)]


def halved(planes):
    height, width = planes.shape[:2]
    even = np.pad(planes, ((0, height % 2), (0, width % 2), (0, 0)))
    return (even[0::2, 0::2] + even[0::2, 1::2] + even[1::2, 0::2] + even[1::2, 1::2]) / 4


def looked_up(planes, u, v):
    """Between four pixels, from edge to edge; transparent outside."""
    height, width = planes.shape[:2]
    padded = np.pad(planes, ((2, 2), (2, 2), (0, 0)))
    u, v = np.clip(u - 0.5, -2, width + 0.999) + 2, np.clip(v - 0.5, -2, height + 0.999) + 2
    x, y = np.floor(u).astype(int), np.floor(v).astype(int)
    fx, fy = (u - x)[..., None], (v - y)[..., None]
    above = padded[y, x] * (1 - fx) + padded[y, x + 1] * fx
    below = padded[y + 1, x] * (1 - fx) + padded[y + 1, x + 1] * fx
    return above * (1 - fy) + below * fy


def drawn(samples, name, matrix, full, rgba, place, points):
    """The samples of each component with the picture on the face, in real numbers, and what is seen of it (alpha)."""
    height, width = samples[0].shape
    tall, wide = rgba.shape[:2]
    distance, eyes_y, chin_y = place
    # Pictures are measured from edges, and pixels of the frame by their centres.
    source = np.array([((0.5 - distance / 2) * wide, eyes_y * tall), ((0.5 + distance / 2) * wide, eyes_y * tall),
                       (0.5 * wide, chin_y * tall)])
    to_picture = np.linalg.solve(np.column_stack([np.array(points, float), np.ones(3)]), source).T
    y, x = np.mgrid[0:height, 0:width]
    u, v = (row[0] * x + row[1] * y + row[2] for row in to_picture)
    alpha = rgba[..., 3:].astype(float) / 255
    planes = np.dstack([np.stack(in_samples(rgba, name, matrix, full), -1) * alpha, alpha])
    step, scale = (to_picture[:, :2] ** 2).sum(0).max(), 1
    while step > 2 and max(planes.shape[:2]) > 1:
        planes, step, scale = halved(planes), step / 4, scale * 2
    seen = looked_up(planes, u / scale, v / scale)
    out = []
    for i, old in enumerate(samples):
        _, _, sub_x, sub_y, _ = PACKED[name]
        rows, columns = (1, 1) if i == 0 else (1 << sub_y, 1 << sub_x)
        value, cover = (mean_of_blocks(seen[..., k], rows, columns) for k in (i, -1))
        out.append((old * (1 - cover) + value, cover))
    return out


def mean_of_blocks(values, rows, columns):
    """The last block of an odd size has fewer pixels."""
    def summed(array):
        array = np.add.reduceat(array, np.arange(0, array.shape[0], rows), 0)
        return np.add.reduceat(array, np.arange(0, array.shape[1], columns), 1)
    return summed(values) / summed(np.ones_like(values))


# ---- the program ----------------------------------------------------------------------------------------------------

def numbers(*values):
    return " ".join(f"{v:.9g}" for v in np.concatenate([np.ravel(value) for value in values]).astype(float))


def run(cases, version):
    environment = {**os.environ, **({"CUFACE_SIMD": version} if version else {})}
    done = subprocess.run([BUILD / "tests/kernels/overlay_pictures"], input=b"".join(cases), capture_output=True,
                          check=False, env=environment)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def samples_in(frame, lines, shapes):
    """Each component's samples where its line says that they are."""
    for line, (height, width) in zip(lines, shapes):
        offset, stride, step, depth, shift, *_ = map(int, line.split())
        dtype = np.dtype("u1" if depth == 8 else "<u2")
        yield np.ndarray((height, width), dtype, frame, offset, (stride, step)).astype(int) >> shift


@pytest.fixture(name="cases", scope="module")
def cases_and_twins():
    random = np.random.default_rng(1)
    cases, expected = [], []
    for name in FORMATS:
        kind = PACKED[name][0]
        for number in range(10 if kind != RGB else 5):
            matrix, full = number % 3, number >= 5 or kind == RGB
            width, height = (137, 90) if number % 2 else (96, 111)
            samples, frame, lines = random_frame(random, name, width, height)
            size = float(random.choice([9, 30, 55]))
            box, roll, keypoints, landmarks, *points = face(random, KINDS[number % 5], random.uniform(20, 90, 2), size)
            wide, tall = int(random.integers(20, 150)), int(random.integers(20, 150))
            rgba, place = picture(random, wide, tall), (0.4, 0.4, 1.0) if number % 3 else (0.3, 0.55, 0.8)
            cases.append(" ".join([
                f"{width} {height} {int(kind == RGB)} {int(full)} {matrix} {len(frame)} {wide} {tall}", numbers(place),
                numbers(box, roll), f"{int(keypoints is not None)} {len(landmarks)}",
                *([numbers(keypoints)] if keypoints is not None else []), *([numbers(landmarks)] if len(landmarks) else []),
                str(len(lines)), *lines, "\n"]).encode() + frame + rgba[..., [2, 1, 0, 3]].tobytes())
            expected.append((f"{name} full={full} {MATRICES[matrix][0]} {KINDS[number % 5]} size {size}", frame, lines,
                             [s.shape for s in samples], PACKED[name][1],
                             drawn([s.astype(float) for s in samples], name, matrix, full, rgba, place, points)))
    return cases, expected


@pytest.mark.parametrize("version", ["scalar", ""])
def test_every_format_range_matrix_and_kind_of_face(cases, version):
    cases, expected = cases
    frames, at, compared, mean, most, pixels = run(cases, version), 0, 0, 0.0, 0.0, 0
    for what, frame, lines, shapes, bits, twin in expected:
        made, at = frames[at:at + len(frame)], at + len(frame)
        for component, before, (want, cover) in zip(samples_in(made, lines, shapes), samples_in(frame, lines, shapes), twin):
            away = np.abs(component - want) / 2 ** (bits - 8)
            # Weights of 8 bits, colours in whole samples, and one rounding.
            assert away.max() < 2.2, f"{what}: {away.max():.2f} levels away at {np.unravel_index(away.argmax(), away.shape)}"
            assert np.array_equal(component[cover == 0], before[cover == 0]), f"{what}: drawn outside"
            seen = cover > 0
            mean, most = mean + away[seen].sum(), max(most, away.max())
            compared, pixels = compared + np.count_nonzero(seen), pixels + seen.size
    assert at == len(frames)
    print(f"{compared} of {pixels} samples drawn on, {mean / compared:.3f} levels away, at most {most:.2f}")
    assert compared > 1_000_000 and mean / compared < 0.4
