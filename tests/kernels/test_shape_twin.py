"""Costs of patches and the iterated constraint beside their twin in NumPy, which is written from the published formulas:
r = m + P P^T (g - m) - g and D2 = r^T S^-1 r with S's own inverse, D3 = (c - I) D2 [S3.03 to S3.05], and algorithm 1 on
complex numbers [S3.09].
"""
import subprocess

import numpy as np
import pytest

from programs import BUILD

FORWARD, MAGNITUDE, TURNS = range(3)


def run(what, data, **settings):
    done = subprocess.run([BUILD / "tests/kernels/shape_costs", what, *(f"{k}={v!r}" for k, v in settings.items())],
                          input=b"".join(np.asarray(d, np.float64).tobytes() for d in data), capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return np.frombuffer(done.stdout)


def sampled(plane, x, y, bilinear):
    """A plane whose rim goes on for ever, at one place."""
    def at(u, v):
        return plane[np.clip(v, 0, plane.shape[0] - 1), np.clip(u, 0, plane.shape[1] - 1)]
    if not bilinear:
        return at(np.rint(x).astype(int), np.rint(y).astype(int))
    u, v = np.floor(x).astype(int), np.floor(y).astype(int)
    a, b = x - u, y - v
    return ((1 - a) * (1 - b) * at(u, v) + a * (1 - b) * at(u + 1, v) + (1 - a) * b * at(u, v + 1) + a * b * at(u + 1, v + 1))


def planes(picture, gradient):
    """Gradients of each kind that a patch has, and intensities of edges, with a rim so wide that what lies beyond it is flat or
    goes on."""
    p = np.pad(picture.astype(float), 40, "edge")

    def moved(x, y):
        return np.roll(p, (-y, -x), (0, 1))
    if gradient == FORWARD:
        kinds = [moved(1, 0) + moved(0, 1) - 2 * p]
    elif gradient == TURNS:
        kinds = [moved(1, 0) - p, moved(0, 1) - p]
    else:
        kinds = [np.hypot(moved(1, 0) - moved(-1, 0), moved(0, 1) - moved(0, -1))]
    sx = sum(w * (moved(1, i) - moved(-1, i)) for i, w in ((-1, 1), (0, 2), (1, 1)))
    sy = sum(w * (moved(i, 1) - moved(i, -1)) for i, w in ((-1, 1), (0, 2), (1, 1)))
    sobel = np.hypot(sx, sy)
    inside = sobel[40:-40, 40:-40]
    return [g[2:-2, 2:-2] for g in kinds], sobel[2:-2, 2:-2] / max(inside.max(), 1e-300)


def patch(kinds, x, y, side, q, bilinear):
    """Of two kinds the first is on the fields of a chessboard that the corner is of."""
    half = side // 2
    v, u = np.mgrid[-half:half + 1, -half:half + 1]
    if not bilinear:
        x, y = np.rint(x), np.rint(y)
    of_kinds = [sampled(plane, x + u + 38, y + v + 38, bilinear) for plane in kinds]
    g = np.where((u + v) % 2 == 0, of_kinds[0], of_kinds[-1])
    return (g / (np.abs(g) + q)).ravel()


def trained(samples, kept):
    """A mean, a covariance of full rank, its leading eigenvectors, and the residual's whitening matrix."""
    mean, cov = samples.mean(0), np.cov(samples.T)
    values, vectors = np.linalg.eigh(cov)
    leading, rest = vectors[:, -kept:], vectors[:, :-kept]
    return mean, cov, leading, (rest / np.sqrt(values[:-kept])).T


def noise_picture(random, edge):
    picture = random.integers(0, 256, (47, 61))
    if edge:  # most of it flat, so that intensities differ
        picture = np.where(random.random(picture.shape) < 0.97, 100, picture)
    return picture


def noise_samples(random, size):
    return random.normal(size=(2 * size, size)) @ random.normal(size=(size, size)) / size


def smooth_picture(random):
    """Grey levels that change slowly from pixel to pixel, with a camera's noise."""
    picture = random.normal(size=(67, 81))
    for axis in (0, 1):
        for _ in range(2):
            picture = np.apply_along_axis(np.convolve, axis, picture, np.ones(5), "valid")
    picture = picture[:47, :61]
    return np.clip(np.rint(128 + 40 * picture / picture.std() + random.normal(size=picture.shape)), 0, 255).astype(int)


def smooth_samples(random, side, gradient, q):
    pictures = [planes(smooth_picture(random), gradient)[0] for _ in range(20)]
    return np.array([patch(pictures[n % 20], *random.uniform((8, 8), (52, 38)), side, q, True) for n in range(2 * side * side)])


@pytest.mark.parametrize("gradient", [FORWARD, MAGNITUDE, TURNS])
@pytest.mark.parametrize("bilinear", [1, 0])
@pytest.mark.parametrize("smooth", [0, 1])
@pytest.mark.parametrize("told", [0, 4])
def test_costs(gradient, bilinear, smooth, told):
    random, compared, moved, edges, off = np.random.default_rng(7), 0, 0, 0, []
    q = 31.5
    for side, reach, step, edge in ((13, 2, 1, 0), (13, 2, 1, 2), (5, 3, 2, 2), (1, 1, 1, 0)):
        if side == 1:
            mean, cov, leading, matrix = np.zeros(1), np.eye(1), np.zeros((1, 0)), np.eye(1)
        else:
            samples = smooth_samples(random, side, gradient, q) if smooth else noise_samples(random, side * side)
            mean, cov, leading, matrix = trained(samples, side * side // 2)
        inverse = np.linalg.inv(cov)
        # Likelihoods differ about as much as distances do; the base is what the least cost lacks to 0.
        likelihood = 8 * np.random.default_rng(side).normal(size=side * side) if told else np.zeros(0)
        base = [np.square(likelihood @ np.linalg.pinv(matrix) / 2).sum()] if told else []
        picture = smooth_picture(random) if smooth else noise_picture(random, edge)
        points = random.uniform((-3, -3), (64, 50), (14, 2)).round(3)
        points[:4] = (0, 0), (60, 46), (12, 20), (30.5, 7.5)
        settings = {"side": side, "reach": reach, "step": step, "gradient": gradient, "bilinear": bilinear, "q": q, "edge": edge,
                    "rows": len(matrix), "width": 61, "height": 47, "points": len(points), "likelihood": told}
        numbers = [mean, matrix, likelihood, base, points, picture]
        found = run("costs", numbers, **settings, float=0)
        best_in_integers = run("costs", numbers, **settings, float=1).reshape(len(points), -1)[:, -3:]
        offsets = [(x, y) for y in range(-reach, reach + 1, step) for x in range(-reach, reach + 1, step)]
        kinds, intensity = planes(picture, gradient)
        for (x, y), ours, in_integers in zip(points, found.reshape(len(points), -1), best_in_integers):
            expected, tell, size_of_parts = [], [], []
            for dx, dy in offsets:
                px, py = (x + dx, y + dy) if bilinear else (np.rint(x) + dx, np.rint(y) + dy)
                g = patch(kinds, px, py, side, q, bilinear)
                r = mean + leading @ leading.T @ (g - mean) - g
                at = float(sampled(intensity, np.array(px + 38), np.array(py + 38), bilinear))
                weight, unlikely = edge - at if edge else 1, -(likelihood @ (g - mean)) if told else 0
                expected.append(weight * (r @ inverse @ r + unlikely + (base[0] if told and edge else 0)))
                tell.append(weight * (r @ inverse @ r) + told * unlikely)
                size_of_parts.append(weight * (r @ inverse @ r) + told * abs(unlikely))
                edges += edge and 0.05 < at < 1
            assert np.allclose(ours[:-3], expected, rtol=1e-4, atol=1e-9), (x, y)
            best = int(np.argmin(expected))
            assert tuple(ours[-3:-1]) == offsets[best] and ours[-1] == pytest.approx(tell[best], rel=1e-4, abs=1e-9), (x, y)
            # In integers flat patches cost the same to the bit, in double they differ by rounding.
            at = offsets.index(tuple(in_integers[:2]))
            assert expected[at] == pytest.approx(expected[best], abs=3e-3 * size_of_parts[best]), (x, y)
            # A gradient is rounded to 1/16384: much for a patch of a single one.
            assert in_integers[2] == pytest.approx(tell[at], abs=3e-3 * size_of_parts[at] + 1e-5), (x, y)
            if side > 1 and not told:
                off.append(abs(in_integers[2] / tell[at] - 1))
            compared, moved = compared + len(offsets), moved + (offsets[best] != (0, 0))
    # What integers round off cancels out where gradients change slowly; in white noise it adds up.
    assert told or np.mean(off) < (4e-4 if smooth else 6e-4), off
    assert compared > 1000 and moved > 30 and (smooth or edges > 25), (compared, moved, edges)


def algorithm_1(mean, vectors, values, limit, weights, given, likely=None, noise=0):
    """On complex numbers; `mean` is centred. A point of which it is known how likely it is goes so much of its way. Where points
    have noise, modes' weights are those of ridge regression: of Gaussian modes and noise the likeliest."""
    b, sure = np.zeros(len(values)), np.ones(len(given)) if likely is None else likely
    each = np.repeat(weights, 2)
    weights = weights * sure
    for _ in range(100):
        x = (mean + vectors @ b).reshape(-1, 2) @ (1, 1j)
        w = weights / weights.sum()
        centre, target = w @ x, w @ given
        turn = (w * (x - centre).conj()) @ (given - target) / (w @ np.abs(x - centre) ** 2)
        y = x + sure * ((given - target) / turn + centre - x)
        y = np.column_stack([y.real, y.imag]).ravel()
        y = y * (mean @ (each * mean)) / (y @ (each * mean))
        weighed = vectors.T * each
        b = np.linalg.solve(weighed @ vectors + np.diag(noise ** 2 / values), weighed @ (y - mean))
    b = np.clip(b, -limit * np.sqrt(values), limit * np.sqrt(values))
    x = (mean + vectors @ b).reshape(-1, 2) @ (1, 1j)
    centre, target = w @ x, w @ given
    turn = (w * (x - centre).conj()) @ (given - target) / (w @ np.abs(x - centre) ** 2)
    return turn * (x - centre) + target, b


@pytest.mark.parametrize("noise", [0, 1.5])
def test_algorithm_1(noise):
    random, compared, cut = np.random.default_rng(3), 0, 0
    for points in (5, 20, 68):
        for level in (0, 2):
            weights = random.uniform(0.2, 1, points)
            mean = random.normal(size=(points, 2)) * 40
            mean -= weights @ mean / weights.sum()
            # Modes as of aligned shapes: no shift, and at right angles to each other and the mean, where points weigh so much.
            basis = np.column_stack([np.tile((1, 0), points), np.tile((0, 1), points), mean.ravel(),
                                     random.normal(size=(2 * points, 4))])
            roots = np.repeat(np.sqrt(weights), 2)[:, None]
            vectors = np.linalg.qr(roots * basis)[0][:, 3:] / roots
            values = np.array([300, 90, 30, 9.0])
            shape = mean.ravel() + vectors @ (random.normal(size=4) * np.sqrt(values) * 1.5)
            given = (shape.reshape(-1, 2) @ (1, 1j)) / 2 ** level * (0.9 + 0.4j) + (120 + 80j)
            given = given + (random.normal(size=points) + 1j * random.normal(size=points)) * 2 / 2 ** level
            shifted = mean + (7, -11)  # in a file the mean shape's origin is the middle of the box
            found = run("constrain", [shifted, values, vectors, weights, given.real[:, None] * (1, 0) + given.imag[:, None] * (0, 1)],
                        points=points, modes=4, limit=1.0, level=level, noise=noise)
            there = values / 4 ** level
            expected, b = algorithm_1(mean.ravel() / 2 ** level, vectors, there, 1.0, weights, given, noise=noise)
            # Ours rests where no weight moves by 1e-3.
            assert np.allclose(found[:2 * points].reshape(-1, 2) @ (1, 1j), expected, atol=1e-3)
            assert np.allclose(found[2 * points:], b * np.sqrt(1 + noise ** 2 / there), atol=1e-3)
            compared, cut = compared + points, cut + np.count_nonzero(np.isclose(np.abs(b), np.sqrt(values) / 2 ** level))
    assert compared > 150 and cut > 3, (compared, cut)


def test_a_legal_shape_stays():
    random = np.random.default_rng(4)
    mean = random.normal(size=(12, 2)) * 30
    mean -= mean.mean(0)
    basis = np.column_stack([np.tile((1, 0), 12), np.tile((0, 1), 12), mean.ravel(), random.normal(size=(24, 2))])
    vectors = np.linalg.qr(basis)[0][:, 3:]
    shape = mean.ravel() + vectors @ (10, -6)
    given = shape.reshape(-1, 2) @ np.array([[0.8, 0.6], [-0.6, 0.8]]) * 1.7 + (50, 90)
    found = run("constrain", [mean, (100, 100), vectors, np.ones(12), given], points=12, modes=2, limit=3.0, level=0)
    assert np.allclose(found[:24], given.ravel(), atol=1e-4)


def covered_shape(random, points, share):
    """A legal shape of which some points lie elsewhere, as those do that nothing of the face holds: mean, modes, the points as
    they should be and as they were found, and which are off."""
    mean = random.normal(size=(points, 2)) * 40
    mean -= mean.mean(0)
    basis = np.column_stack([np.tile((1, 0), points), np.tile((0, 1), points), mean.ravel(), random.normal(size=(2 * points, 3))])
    vectors = np.linalg.qr(basis)[0][:, 3:]
    legal = (mean.ravel() + vectors @ (random.normal(size=3) * 10)).reshape(-1, 2) @ (1, 1j) * (0.9 + 0.3j) + (100 + 70j)
    off = np.zeros(points, bool)
    off[random.permutation(points)[:int(share * points)]] = True
    return mean, vectors, legal, legal + off * (12 + 9j + random.normal(size=points)), off


def constrained(mean, vectors, given, costs, **settings):
    found = run("constrain", [mean, np.full(3, 400.0), vectors, np.ones(len(given)),
                              np.column_stack([given.real, given.imag]), *([] if costs is None else [costs])],
                points=len(given), modes=3, limit=3.0, level=0, **settings)
    return found[:2 * len(given)].reshape(-1, 2) @ (1, 1j)


def test_unlikely_points_weigh_less():
    random, compared, gains = np.random.default_rng(5), 0, []
    for points, share in ((20, 0.3), (68, 0.33), (68, 0.5)):
        mean, vectors, legal, given, off = covered_shape(random, points, share)
        # Costs beyond what a likelihood can be, too, and one that is no number.
        costs = np.where(off, random.uniform(-0.2, 0.3, points), random.uniform(-1.2, -0.8, points))
        costs[np.flatnonzero(off)[0]] = np.nan
        likely = np.clip(np.nan_to_num(-costs, nan=0), 0.05, 1)
        found = constrained(mean, vectors, given, costs, least=0.05)
        expected, _ = algorithm_1(mean.ravel(), vectors, np.full(3, 400.0), 3.0, np.ones(points), given, likely)
        assert np.allclose(found, expected, atol=1e-3)
        alike = constrained(mean, vectors, given, None)
        gains.append(np.abs(alike - legal)[~off].mean() / np.abs(found - legal)[~off].mean())
        compared += points
    assert compared == 156 and min(gains) > 2, gains
