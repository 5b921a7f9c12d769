"""SURF's descriptors beside their twin in NumPy, which is written from docs/design/surf.md and the published formulas
[S2.04 to S2.08, S2.14, S2.15]: in double. The twin's window may differ by a grey level where rounding does.
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


def cells_of(floats):
    return round((floats / 4) ** 0.5)


def side_of(floats, overlap):
    """Gradients along a side of a window."""
    return 5 * cells_of(floats) + (4 if overlap else 0)


def plain_gaussian(size, sigma):
    """Of both directions; the middle has a weight of 1."""
    distance = np.arange(size) - (size - 1) / 2
    weights = np.exp(-distance ** 2 / (2 * sigma * sigma))
    return np.outer(weights, weights)


def cut(values, bits):
    """The published code: a whole part of a byte, and `bits` of a fraction. None: all of it."""
    return values if bits is None else np.clip(np.floor(values * 2 ** bits) / 2 ** bits, -128, 128 - 0.5 ** bits)


def sums_of_cells(dx, dy, floats, overlap, bits=None):
    """The descriptor of gradients: cells of 5 x 5, or of 9 x 9 that overlap by four, each with a Gaussian, and all with
    another one. With `bits` every step is cut; gradients of a grey level of 255 are 64 then, less what a Gaussian takes."""
    cells, side = cells_of(floats), side_of(floats, overlap)
    width = 9 if overlap else 5
    of_all = np.outer(gaussian(side, 3.3), gaussian(side, 3.3))
    of_cell, of_cells = plain_gaussian(9, 2.5), plain_gaussian(cells, 1.5)
    most = of_cell.max() if overlap else of_all.max()
    largest = of_cell.sum() if overlap else max(of_all[y:y + 5, x:x + 5].sum() for y in range(0, side, 5) for x in range(0, side, 5))
    out = []
    for row in range(cells):
        for column in range(cells):
            part = np.s_[5 * row:5 * row + width, 5 * column:5 * column + width]
            weights = of_cell if overlap else of_all[part]
            both = [values[part] * weights for values in (dx, dy)]
            if bits is not None:
                both = [cut(values * 128 / (510 * most), min(bits, 8)) for values in both]
            sums = np.array([values.sum() for values in (*both, *map(np.abs, both))])
            if bits is not None:
                sums = cut(sums * most / largest, bits)
            out.append(sums * of_cells[row, column] if overlap else sums)
    out = np.concatenate(out)
    length = np.linalg.norm(out)
    return out / length if bits is None else cut(out / cut(length, bits), bits)


def descriptor(grey, x, y, size, angle, upright, floats, overlap=False, bits=None):
    side = side_of(floats, overlap)
    pixels = int((side + 1) * size * 1.2 / 9 + 1e-4)
    areas = shares(pixels, side + 1)
    patch = np.rint(areas @ window(grey, x, y, angle, pixels, upright) @ areas.T)
    dx = patch[:-1, 1:] - patch[:-1, :-1] + patch[1:, 1:] - patch[1:, :-1]
    dy = patch[1:, :-1] - patch[:-1, :-1] + patch[1:, 1:] - patch[:-1, 1:]
    return sums_of_cells(dx, dy, floats, overlap, bits)


def by_sums(grey, x, y, size, angle, floats, overlap=False, bits=None):
    """The same of Haar wavelets, twice the scale wide, a scale apart."""
    side, scale = side_of(floats, overlap), size * 1.2 / 9
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
    return turned_sums(dx, dy, angle, floats, overlap, bits)


def places(x, y, scale, angle, side):
    """Where gradients are, a scale apart along the direction."""
    place = (np.arange(side) - (side - 1) / 2) * scale
    v, u = np.meshgrid(place, place, indexing="ij")
    sine, cosine = np.sin(np.radians(angle)), np.cos(np.radians(angle))
    return x + u * cosine - v * sine, y + u * sine + v * cosine


def turned_sums(dx, dy, angle, floats, overlap=False, bits=None):
    sine, cosine = np.sin(np.radians(angle)), np.cos(np.radians(angle))
    return sums_of_cells(dx * cosine + dy * sine, dy * cosine - dx * sine, floats, overlap, bits)


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
    scale = size * 1.2 / 9
    across, down = places(x, y, scale, angle, side_of(floats, False))
    quarter = {(i, j): read(levels, across + i * scale / 2, down + j * scale / 2, np.log2(scale))
               for i in (-1, 1) for j in (-1, 1)}
    dx = quarter[1, -1] + quarter[1, 1] - quarter[-1, -1] - quarter[-1, 1]
    dy = quarter[-1, 1] + quarter[1, 1] - quarter[-1, -1] - quarter[1, -1]
    return turned_sums(dx, dy, angle, floats)


def around(x, y, scale):
    """Places a scale apart in a circle of six: their distances in scales, and where they are."""
    u, v = np.meshgrid(np.arange(-6, 7), np.arange(-6, 7))
    inside = u * u + v * v <= 36
    u, v = u[inside], v[inside]
    return u, v, x + u * scale, y + v * scale


def box_means(sums, left, top, width, height):
    return (sums[top + height, left + width] - sums[top, left + width] - sums[top + height, left] + sums[top, left]) / (width * height)


def sums_of(grey):
    return np.pad(grey.astype(np.int64).cumsum(0).cumsum(1), ((1, 0), (1, 0)))


def gradients_around(grey, x, y, size):
    """Haar wavelets four scales wide in a circle, weighted: their values, down and to the right."""
    scale = size * 1.2 / 9
    width = 2 * round(2 * scale)
    u, v, across, down = around(x, y, scale)
    left, top = (np.rint(at - (width - 1) / 2).astype(int) for at in (across, down))
    good = (left >= 0) & (top >= 0) & (left < WIDTH + 1 - width) & (top < HEIGHT + 1 - width)
    u, v, left, top, half, sums = u[good], v[good], left[good], top[good], width // 2, sums_of(grey)
    weights = np.exp(-(u * u + v * v) / (2 * 2.5 ** 2))
    dx = box_means(sums, left + half, top, half, width) - box_means(sums, left, top, half, width)
    dy = box_means(sums, left, top + half, width, half) - box_means(sums, left, top, width, half)
    return dx * weights, dy * weights


def longest_window(grey, x, y, size):
    """The direction of the longest sum in a window of 60 degrees that begins at a gradient."""
    dx, dy = gradients_around(grey, x, y, size)
    angles = np.degrees(np.arctan2(dy, dx)) % 360
    # Ours has y up where it compares directions, so its windows go the other way round.
    members = ((angles[:, None] - angles[None]) % 360) < 60
    across, down = members @ dx, members @ dy
    best = np.argmax(across ** 2 + down ** 2)
    return np.degrees(np.arctan2(down[best], across[best])) % 360


def to_centroid(grey, x, y, size):
    scale = size * 1.2 / 9
    width = max(1, round(scale))
    u, v, across, down = around(x, y, scale)
    left, top = (np.rint(at - (width - 1) / 2).astype(int) for at in (across, down))
    good = (left >= 0) & (top >= 0) & (left + width < WIDTH + 1) & (top + width < HEIGHT + 1)
    means = box_means(sums_of(grey), left[good], top[good], width, width)
    return np.degrees(np.arctan2((v[good] * means).sum(), (u[good] * means).sum())) % 360


PRECISIONS = "fp32", "fp16", 8, 10, 13, 16, 23, 24
HAAR, SLIDING, CENTROID = range(3)


def found(upright, floats, sampling, orientation=HAAR, overlap=False, precision="fp32"):
    """The picture, and of each keypoint its values and its descriptor."""
    grey = picture()
    settings = WIDTH, HEIGHT, upright, floats, sampling, orientation, int(overlap), PRECISIONS.index(precision)
    done = subprocess.run([PROGRAM, *map(str, settings)], input=grey.tobytes(), check=True, stdout=subprocess.PIPE)
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


@pytest.mark.parametrize("floats", (64, 36))
def test_descriptors_of_overlapping_cells_are_the_twins(floats):
    grey, lines = found(0, floats, 0, overlap=True)
    hold([np.abs(line[4:] - descriptor(grey, *line[:4], False, floats, True)).max() for line in lines])
    grey, lines = found(0, floats, 1, overlap=True)
    hold([np.abs(line[4:] - by_sums(grey, *line[:4], floats, True)).max() for line in lines[::6]])


def test_cut_descriptors_are_the_twins():
    """A rounding of ours may be another step of theirs, which is 2^-8 for gradients: of whole grey levels most agree."""
    errors = {}
    for precision in (8, 10, 13, 16, 23, 24):
        grey, lines = found(0, 64, 0, precision=precision)
        worst = [np.abs(line[4:] - descriptor(grey, *line[:4], False, 64, bits=precision)).max() for line in lines]
        errors[precision] = np.median([np.abs(line[4:] - descriptor(grey, *line[:4], False, 64)).max() for line in lines])
        # Multiples of the step, in nine digits.
        steps = np.concatenate([line[4:] for line in lines]) * 2.0 ** precision
        assert np.abs(steps - np.rint(steps)).max() < 0.05
        assert np.median(worst) <= 1.01 * 0.5 ** min(precision, 13), f"{precision}: {np.median(worst)}"
        print(f"{precision} bits: {np.median(worst):.2g} from the twin, {errors[precision]:.2g} from floats")
    assert errors[8] > errors[10] > errors[16] and errors[24] > 1e-5, errors
    grey, lines = found(0, 64, 0, precision="fp16")
    worst = [np.abs(line[4:] - descriptor(grey, *line[:4], False, 64)).max() for line in lines]
    assert 1e-5 < np.median(worst) < 1e-3 and max(worst) < 0.01, f"{np.median(worst)}, {max(worst)}"
    values = np.concatenate([line[4:] for line in lines]).astype(np.float32)
    assert (values == values.astype(np.float16).astype(np.float32)).all(), "all are halves"


@pytest.mark.parametrize("orientation, twin", ((SLIDING, longest_window), (CENTROID, to_centroid)))
def test_directions_are_the_twins(orientation, twin):
    grey, lines = found(0, 64, 1, orientation)
    away = np.array([abs((line[3] - twin(grey, *line[:3]) + 180) % 360 - 180) for line in lines])
    print(f"median {np.median(away):.2g} degrees, 95 % {np.quantile(away, 0.95):.2g}, worst {away.max():.2g}")
    # Two windows of one length are one rounding apart.
    assert np.median(away) < 0.02 and np.quantile(away, 0.95) < 0.1
