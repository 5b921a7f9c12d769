"""SURF's descriptors beside their twin in NumPy, which is written from docs/design/surf.md and the published formulas
[S2.04 to S2.07]: of given keypoints, in double. The twin's window may differ by a grey level where rounding does.
"""
import subprocess

import numpy as np
import pytest

from programs import BUILD

PROGRAM = BUILD / "tests/kernels/surf_floats"
WIDTH, HEIGHT = 300, 220


def picture():
    """Random greys, enlarged eight times and smoothed: blobs."""
    random = np.random.default_rng(4)
    out = np.kron(random.integers(0, 256, (HEIGHT // 8 + 1, WIDTH // 8 + 1)), np.ones((8, 8)))[:HEIGHT, :WIDTH]
    for _ in range(4):
        for axis in (0, 1):
            out = (np.roll(out, 1, axis) + out + np.roll(out, -1, axis)) / 3
    return out.astype(np.uint8)


def window(grey, x, y, angle, size, upright):
    """size x size grey levels around a place, turned."""
    i, j = np.mgrid[:size, :size]
    offset = -(size - 1) / 2
    if upright:
        columns, rows = np.rint(x + offset) + i, np.rint(y - offset) - j
        return grey[np.clip(rows, 0, HEIGHT - 1).astype(int), np.clip(columns, 0, WIDTH - 1).astype(int)].astype(float)
    sine, cosine = -np.sin(np.radians(angle)), np.cos(np.radians(angle))
    u = x + offset * cosine + offset * sine + i * sine + j * cosine
    v = y - offset * sine + offset * cosine + i * cosine - j * sine
    left, top = np.floor(u).astype(int), np.floor(v).astype(int)
    inside = (left >= 0) & (top >= 0) & (left < WIDTH - 1) & (top < HEIGHT - 1)
    l, t = np.where(inside, left, 0), np.where(inside, top, 0)
    a, b = u - left, v - top
    between = ((grey[t, l] * (1 - a) + grey[t, l + 1] * a) * (1 - b) + (grey[t + 1, l] * (1 - a) + grey[t + 1, l + 1] * a) * b)
    nearest = grey[np.clip(np.rint(v), 0, HEIGHT - 1).astype(int), np.clip(np.rint(u), 0, WIDTH - 1).astype(int)]
    return np.rint(np.where(inside, between, nearest))


def shares(size, to):
    """A row a new pixel: how much of it each old one is."""
    edges = np.arange(to + 1) * size / to
    starts = np.arange(size)
    overlap = np.minimum(edges[1:, None], starts + 1) - np.maximum(edges[:-1, None], starts)
    return np.clip(overlap, 0, None) * to / size


def gaussian(size, sigma):
    """Of an even number of weights the two in the middle are those of the middle itself."""
    distance = np.abs(np.arange(size) - (size - 1) / 2)
    if size % 2 == 0:
        distance[size // 2 - 1:size // 2 + 1] = 0
    weights = np.exp(-distance ** 2 / (2 * sigma * sigma))
    return weights / weights.sum()


def descriptor(grey, x, y, size, angle, upright, floats):
    cells = round((floats / 4) ** 0.5)
    side = 5 * cells
    pixels = int((side + 1) * size * 1.2 / 9 + 1e-4)
    areas = shares(pixels, side + 1)
    patch = np.rint(areas @ window(grey, x, y, angle, pixels, upright) @ areas.T)
    weights = np.outer(gaussian(side, 3.3), gaussian(side, 3.3))
    dx = (patch[:-1, 1:] - patch[:-1, :-1] + patch[1:, 1:] - patch[1:, :-1]) * weights
    dy = (patch[1:, :-1] - patch[:-1, :-1] + patch[1:, 1:] - patch[:-1, 1:]) * weights
    sums = [values.reshape(cells, 5, cells, 5).sum((1, 3)) for values in (dx, dy, np.abs(dx), np.abs(dy))]
    out = np.stack(sums, -1).ravel()
    return out / np.linalg.norm(out)


@pytest.mark.parametrize("floats", (64, 36))
@pytest.mark.parametrize("upright", (0, 1))
def test_descriptors_are_the_twins(floats, upright):
    grey = picture()
    done = subprocess.run([PROGRAM, str(WIDTH), str(HEIGHT), str(upright), str(floats)], input=grey.tobytes(), check=True,
                          stdout=subprocess.PIPE)
    lines = [np.array(line.split(), float) for line in done.stdout.splitlines()]
    assert len(lines) >= 150, f"{len(lines)} keypoints"
    worst = [np.abs(line[4:] - descriptor(grey, *line[:4], upright, floats)).max() for line in lines]
    assert all(len(line) == 4 + floats for line in lines)
    print(f"median {np.median(worst):.2g}, 90 % {np.quantile(worst, 0.9):.2g}, worst {max(worst):.2g}")
    assert np.median(worst) < 1e-4 and np.quantile(worst, 0.9) < 2e-3 and max(worst) < 0.02
