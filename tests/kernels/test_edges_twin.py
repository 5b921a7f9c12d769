"""Edges beside their twin in NumPy [S1.16], which is written from docs/design/edges.md and the published algorithm 1,
whole pictures at a time. What listing 4 prints otherwise than algorithm 1 means is here alone, and is counted.
"""
import os
import subprocess

import numpy as np
import pytest

from programs import BUILD

SOBEL, SCHARR, PREWITT = range(3)
L1, L2 = range(2)
GRADIENT, SECTORS = range(2)
HYSTERESIS, APRON, NONE = range(3)
OPENCV, FULL = range(2)
GAIN = {(SOBEL, 3): 4, (SOBEL, 5): 48, (SOBEL, 7): 40, (SCHARR, 3): 16, (PREWITT, 3): 3}
DEFAULTS = {"kernel_size": 5, "sigma": 0, "op": SOBEL, "aperture": 3, "norm": L1, "low": 50, "high": 150,
            "linking": HYSTERESIS, "apron": 2, "thinning": GRADIENT,
            "convolution": OPENCV}


def gaussian(size, sigma):
    """Weights in 1/256; what rounding leaves of one goes to the next, and the middle takes the rest."""
    if sigma == 0 and size <= 7:
        return {1: [256], 3: [64, 128, 64], 5: [16, 64, 96, 64, 16], 7: [8, 28, 56, 72, 56, 28, 8]}[size]
    sigma = sigma or 0.3 * ((size - 1) / 2 - 1) + 0.8
    exact = np.exp(-((np.arange(size) - size // 2) ** 2) / (2 * sigma * sigma))
    exact *= 256 / exact.sum()
    half, left = [], 0.0
    for value in exact[:size // 2]:
        half.append(round(value + left))
        left += value - half[-1]
    return [*half, 256 - 2 * sum(half), *reversed(half)]


def correlate(picture, across, down, mode):
    """Two passes over a picture that is padded so."""
    half = len(across) // 2
    height, width = picture.shape
    padded = np.pad(picture.astype(np.int64), half, mode)
    rows = sum(w * padded[:, i:i + width] for i, w in enumerate(across))
    return sum(w * rows[i:i + height] for i, w in enumerate(down))


def blur(picture, size, sigma):
    weights = gaussian(size, sigma)
    return (correlate(picture, weights, weights, "reflect") + 32768) >> 16


def blur_full(picture, size, sigma, margin):
    """The published convolution: zeros outside, and results cut; `margin` pixels around the picture with it."""
    weights = gaussian(size, sigma)
    return correlate(np.pad(picture, margin), weights, weights, "constant") >> 16


def filters(op, aperture):
    if op == SCHARR:
        return [3, 10, 3], [-1, 0, 1]
    if op == PREWITT:
        return [1, 1, 1], [-1, 0, 1]
    smooth, slope = np.array([1]), np.array([-1, 1])
    for _ in range(aperture - 1):
        smooth = np.convolve(smooth, [1, 1])
    for _ in range(aperture - 2):
        slope = np.convolve(slope, [1, 1])
    return smooth.tolist(), slope.tolist()


def gradients(picture, op, aperture):
    smooth, slope = filters(op, aperture)
    both = correlate(picture, slope, smooth, "edge"), correlate(picture, smooth, slope, "edge")
    return [np.rint(g / 16).astype(np.int64) for g in both] if aperture == 7 else both


def shifted(picture, x, y):
    """picture[row + y, column + x], and 0 outside."""
    height, width = picture.shape
    padded = np.pad(picture, 1)
    return padded[1 + y:1 + y + height, 1 + x:1 + x + width]


def directions(dx, dy, thinning):
    """0: across columns, 1: across rows, 2: along the main diagonal, 3: along the other one."""
    x, y = np.abs(dx), np.abs(dy)
    if thinning == SECTORS:
        degrees = np.degrees(np.arctan2(y, x))
        flat, steep = degrees < 30, degrees > 60
    else:
        flat = y * 32768 < x * 13573
        steep = y * 32768 > x * (13573 + 65536)
    return np.where(flat, 0, np.where(steep, 1, np.where((dx < 0) == (dy < 0), 2, 3)))


def ridges(magnitude, which, thinning):
    out = np.zeros(magnitude.shape, bool)
    for direction, (x, y) in enumerate(((1, 0), (0, 1), (1, 1), (-1, 1))):
        after = shifted(magnitude, x, y)
        wins = magnitude >= after if thinning == GRADIENT and direction < 2 else magnitude > after
        out |= (which == direction) & wins & (magnitude > shifted(magnitude, -x, -y))
    return out


def grown(mask, reach):
    height, width = mask.shape
    padded = np.pad(mask, reach)
    span = range(2 * reach + 1)
    rows = np.any([padded[:, i:i + width] for i in span], axis=0)
    return np.any([rows[i:i + height] for i in span], axis=0)


def edges(picture, **changes):
    """The map, the magnitude and the angle."""
    c = {**DEFAULTS, **changes}
    # Wider than any filter and apron: what is linked outside of the picture belongs to the full convolution.
    margin = 40 if c["convolution"] == FULL else 0
    smooth = (blur_full(picture, c["kernel_size"], c["sigma"], margin) if margin else
              blur(picture, c["kernel_size"], c["sigma"]))
    dx, dy = gradients(smooth, c["op"], c["aperture"])
    low, high = sorted((c["low"], c["high"]))
    if c["aperture"] == 7:
        low, high = low / 16, high / 16
    squares = dx * dx + dy * dy
    magnitude = np.abs(dx) + np.abs(dy)
    length = magnitude
    if c["norm"] == L2:
        low, high = min(low, 32767) ** 2, min(high, 32767) ** 2
        magnitude, length = squares, np.floor(np.sqrt(squares)).astype(np.int64)
    above_low, above_high = magnitude > np.floor(low), magnitude > np.floor(high)
    ridge = ridges(magnitude, directions(dx, dy, c["thinning"]), c["thinning"])
    found = ridge & above_high
    if c["linking"] == APRON:
        found = found | (grown(found, c["apron"]) & above_low)
    elif c["linking"] == HYSTERESIS:
        before = None
        while before is None or not np.array_equal(before, found):
            before, found = found, found | (grown(found, 1) & ridge & above_low)
    shown = np.minimum(length // GAIN[c["op"], c["aperture"]], 255)
    angle = np.rint(np.arctan2(dy, dx) * 128 / np.pi).astype(int) % 256
    height, width = picture.shape
    return [plane[margin:margin + height, margin:margin + width] for plane in (found, shown, angle)]


def as_printed(picture, low, high):
    """Listing 4: all lies three pixels further to the right and below, by the filters that came before. There a border of
    two rows and columns at the top and left has no ridge, nor has what is beyond the picture's size less one; an angle of
    exactly pi is in no sector, and the apron leaves out row and column 0. Without its two strides; put back into place."""
    height, width = picture.shape
    dx, dy = gradients(blur_full(picture, 5, 5, 3), SOBEL, 3)
    magnitude = dx * dx + dy * dy
    found = ridges(magnitude, directions(dx, dy, SECTORS), SECTORS) & (magnitude > high * high)
    found &= ~((dx < 0) & (dy == 0))
    inner = np.zeros_like(found)
    inner[2:height - 1, 2:width - 1] = True
    found &= inner
    near = grown(found, 2) & (magnitude > low * low)
    near[0], near[:, 0] = False, False
    near[height:], near[:, width:] = False, False
    return (found | near)[3:3 + height, 3:3 + width]


def run(picture, version="", **changes):
    height, width = picture.shape
    environment = {**os.environ, **({"CUFACE_SIMD": version} if version else {})}
    command = [BUILD / "tests/kernels/edge_planes", str(width), str(height),
               *(f"{key}={value}" for key, value in changes.items())]
    done = subprocess.run(command, input=picture.tobytes(), capture_output=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr.decode()
    return np.frombuffer(done.stdout, np.uint8).reshape(4, height, width)


def pictures(random, height, width):
    """Noise, blobs, and boxes with sharp vertical and horizontal sides."""
    noise = random.integers(0, 256, (height, width), dtype=np.uint8)
    blobs = blur(blur(noise, 9, 3), 9, 3)
    spread = max(int(blobs.max()) - int(blobs.min()), 1)
    blobs = ((blobs - blobs.min()) * 255 // spread).astype(np.uint8)
    boxes = np.full((height, width), 90, np.uint8)
    for _ in range(12):
        x, y = random.integers(0, width), random.integers(0, height)
        boxes[y:y + random.integers(1, 30), x:x + random.integers(1, 30)] = random.integers(0, 256)
    return noise, blobs, boxes


def random_changes(random):
    op = int(random.integers(0, 3))
    aperture = int(random.choice([3, 5, 7])) if op == SOBEL else 3
    most = {3: 900, 5: 12000, 7: 80000}[aperture]
    return {"kernel_size": int(random.choice([1, 3, 5, 11])), "sigma": float(random.choice([0, 0.7, 5])), "op": op,
            "aperture": aperture, "norm": int(random.integers(0, 2)), "thinning": int(random.integers(0, 2)),
            "linking": int(random.integers(0, 3)), "apron": int(random.integers(0, 5)), "convolution": int(random.integers(0, 2)),
            "low": round(float(random.random()) * most / 2, 2), "high": round(float(random.random()) * most, 2)}


def compare(picture, version, changes):
    found, shown, angle = edges(picture, **changes)
    map_, magnitude, direction, bits = run(picture, version, **changes)
    assert np.array_equal(map_, found * 255), (picture.shape, changes)
    assert np.array_equal(bits, map_), (picture.shape, changes)
    assert np.array_equal(magnitude, shown), (picture.shape, changes)
    assert np.array_equal(direction, angle), (picture.shape, changes)
    return np.count_nonzero(found), picture.size


@pytest.mark.parametrize("version", ["scalar", ""])
def test_every_setting(version):
    random, found, compared = np.random.default_rng(1), 0, 0
    for size in [(1, 1), (1, 7), (9, 1), (2, 2), (5, 64), (33, 65)] + [(47, 90), (70, 131)] * 8:
        # NumPy reflects a side of one pixel only without a blur to pad for.
        for picture in pictures(random, *size) if min(size) > 1 else [random.integers(0, 256, size, dtype=np.uint8)]:
            changes = random_changes(random)
            more, pixels = compare(picture, version, changes)
            found, compared = found + more, compared + pixels
    assert compared > 300_000 and found > 20_000, (compared, found)


@pytest.mark.parametrize("version", ["scalar", ""])
def test_the_published_settings_and_what_is_printed(version):
    """With the settings of the published figures 3 to 12 and 13 to 19. Motion leaves out 7 pixels along each side."""
    random, corrected, differ, inside, rounded = np.random.default_rng(2), 0, 0, 0, 0
    for low, high in ((70, 80), (15, 25)):
        changes = {"sigma": 5, "norm": L2, "thinning": SECTORS, "linking": APRON, "low": low, "high": high,
                   "convolution": FULL}
        for picture in pictures(random, 120, 160):
            corrected += compare(picture, version, changes)[0]
            other, ours = as_printed(picture, low, high) != edges(picture, **changes)[0], edges(picture, **changes)[0]
            differ, inside = differ + np.count_nonzero(other), inside + np.count_nonzero(other[7:-7, 7:-7])
            rounded += np.count_nonzero((edges(picture, **{**changes, "convolution": OPENCV})[0] != ours)[7:-7, 7:-7])
    print(f"{corrected} edge pixels; as printed, {differ} are otherwise, {inside} of them 7 pixels from the sides; rounded "
          f"instead of cut, {rounded} there")
    assert 0 < inside < differ < corrected / 4 and 0 < rounded < corrected / 4
