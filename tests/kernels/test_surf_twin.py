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


def by_sums(grey, x, y, size, angle, floats):
    """The same of Haar wavelets, twice the scale wide, a scale apart."""
    cells = round((floats / 4) ** 0.5)
    side, scale = 5 * cells, size * 1.2 / 9
    width = 2 * max(1, round(scale))
    half = width // 2
    across, down = places(x, y, scale, angle, side)
    left, top = (np.rint(at - (width - 1) / 2).astype(int) for at in (across, down))
    dx, dy = np.zeros((side, side)), np.zeros((side, side))
    for at in np.ndindex(side, side):
        if 0 <= left[at] <= WIDTH - width and 0 <= top[at] <= HEIGHT - width:
            part = grey[top[at]:top[at] + width, left[at]:left[at] + width].astype(float)
            dx[at] = part[:, half:].mean() - part[:, :half].mean()
            dy[at] = part[half:].mean() - part[:half].mean()
    return turned_sums(dx, dy, angle, cells)


def places(x, y, scale, angle, side):
    """Where gradients are, a scale apart along the direction."""
    place = (np.arange(side) - (side - 1) / 2) * scale
    v, u = np.meshgrid(place, place, indexing="ij")
    sine, cosine = np.sin(np.radians(angle)), np.cos(np.radians(angle))
    return x + u * cosine - v * sine, y + u * sine + v * cosine


def turned_sums(dx, dy, angle, cells):
    sine, cosine = np.sin(np.radians(angle)), np.cos(np.radians(angle))
    weights = np.outer(gaussian(5 * cells, 3.3), gaussian(5 * cells, 3.3))
    along, across = (dx * cosine + dy * sine) * weights, (dy * cosine - dx * sine) * weights
    sums = [values.reshape(cells, 5, cells, 5).sum((1, 3)) for values in (along, across, np.abs(along), np.abs(across))]
    out = np.stack(sums, -1).ravel()
    return out / np.linalg.norm(out)


def mipmap(grey):
    """Levels of means, of the picture padded with black to powers of two."""
    width, height = (1 << (side - 1).bit_length() for side in (WIDTH, HEIGHT))
    levels = [np.pad(grey.astype(float), ((0, height - HEIGHT), (0, width - WIDTH)))]
    while min(levels[-1].shape) > 1:
        rows, columns = levels[-1].shape
        levels.append(levels[-1].reshape(rows // 2, 2, columns // 2, 2).mean((1, 3)))
    return levels


def read(levels, x, y, level):
    """Means around places: between four of each of two levels."""
    def between(means, side):
        u, v = (x + 0.5) / side - 0.5, (y + 0.5) / side - 0.5
        left, top = np.floor(u).astype(int), np.floor(v).astype(int)
        a, b = u - left, v - top
        def mean(i, j):
            return means[np.clip(top + j, 0, means.shape[0] - 1), np.clip(left + i, 0, means.shape[1] - 1)]
        return (mean(0, 0) * (1 - a) + mean(1, 0) * a) * (1 - b) + (mean(0, 1) * (1 - a) + mean(1, 1) * a) * b
    lower = int(np.floor(level))
    share = level - lower
    return between(levels[lower], 2 ** lower) * (1 - share) + between(levels[lower + 1], 2 ** (lower + 1)) * share


def by_mipmap(levels, x, y, size, angle, floats):
    """The same of means: each quarter of a wavelet is one."""
    cells = round((floats / 4) ** 0.5)
    scale = size * 1.2 / 9
    across, down = places(x, y, scale, angle, 5 * cells)
    quarter = {(i, j): read(levels, across + i * scale / 2, down + j * scale / 2, np.log2(scale))
               for i in (-1, 1) for j in (-1, 1)}
    dx = quarter[1, -1] + quarter[1, 1] - quarter[-1, -1] - quarter[-1, 1]
    dy = quarter[-1, 1] + quarter[1, 1] - quarter[-1, -1] - quarter[1, -1]
    return turned_sums(dx, dy, angle, cells)


def found(upright, floats, sampling):
    """The picture, and of each keypoint its values and its descriptor."""
    grey = picture()
    done = subprocess.run([PROGRAM, *map(str, (WIDTH, HEIGHT, upright, floats, sampling))], input=grey.tobytes(), check=True,
                          stdout=subprocess.PIPE)
    lines = [np.array(line.split(), float) for line in done.stdout.splitlines()]
    assert len(lines) >= 150 and all(len(line) == 4 + floats for line in lines), f"{len(lines)} keypoints"
    return grey, lines


def hold(worst):
    print(f"median {np.median(worst):.2g}, 90 % {np.quantile(worst, 0.9):.2g}, worst {max(worst):.2g}")
    assert np.median(worst) < 1e-4 and np.quantile(worst, 0.9) < 2e-3 and max(worst) < 0.02


@pytest.mark.parametrize("floats", (64, 36))
@pytest.mark.parametrize("upright", (0, 1))
def test_descriptors_by_sums_are_the_twins(floats, upright):
    grey, lines = found(upright, floats, 1)
    some = lines[::4]  # they take a while
    hold([np.abs(line[4:] - by_sums(grey, *line[:4], floats)).max() for line in some])


@pytest.mark.parametrize("floats", (64, 36))
@pytest.mark.parametrize("upright", (0, 1))
def test_descriptors_by_a_mipmap_are_the_twins(floats, upright):
    grey, lines = found(upright, floats, 2)
    levels = mipmap(grey)
    hold([np.abs(line[4:] - by_mipmap(levels, *line[:4], floats)).max() for line in lines])


@pytest.mark.parametrize("floats", (64, 36))
@pytest.mark.parametrize("upright", (0, 1))
def test_descriptors_are_the_twins(floats, upright):
    grey, lines = found(upright, floats, 0)
    hold([np.abs(line[4:] - descriptor(grey, *line[:4], upright, floats)).max() for line in lines])
