"""Motion beside its twin in NumPy [S1.16], which is written from docs/design/motion.md and the published algorithms 2
and 3, whole pictures at a time. What listing 6 prints otherwise than algorithm 2 is here alone, and is counted.
"""
import functools
import itertools
import os
import subprocess
import sys

import numpy as np
import pytest

from programs import BUILD, SOURCE

sys.path.insert(0, str(SOURCE / "tests/quality"))
import motion_scenes  # noqa: E402

MILLION = 1_000_000


def shifted(picture, dy, dx, outside):
    """picture[y + dy, x + dx], and `outside` where that is none."""
    out = np.full_like(picture, outside)
    height, width = picture.shape
    y0, y1, x0, x1 = max(0, -dy), min(height, height - dy), max(0, -dx), min(width, width - dx)
    if y0 < y1 and x0 < x1:
        out[y0:y1, x0:x1] = picture[y0 + dy:y1 + dy, x0 + dx:x1 + dx]
    return out


def window(picture, reach, outside, join):
    across = picture
    for dx in range(1, reach + 1):
        across = join(across, join(shifted(picture, 0, dx, outside), shifted(picture, 0, -dx, outside)))
    out = across
    for dy in range(1, reach + 1):
        out = join(out, join(shifted(across, dy, 0, outside), shifted(across, -dy, 0, outside)))
    return out


# The methods. Each gives the mask of a frame, whether it changed as a whole, or no mask where nothing is compared.

def edges(then, now, beta, symmetric):
    """Algorithm 2: a pixel that differs, unless within beta of it the former map is as the latter is there."""
    if symmetric:
        come = now & ~window(then, beta, False, np.logical_or)
        return come | (then & ~window(now, beta, False, np.logical_or))
    edge_near = window(then, beta, False, np.logical_or)
    none_near = window(~then, beta, False, np.logical_or)
    return (then != now) & ~np.where(now, edge_near, none_near)


def edges_as_printed(then, now, beta):
    """Listing 6: 8 pixels of the border at the left and above, 7 at the others; row and column 0 are never near."""
    height, width = now.shape
    inner = np.zeros_like(now)
    inner[8:height - 7, 8:width - 7] = True
    edge, none = then.copy(), ~then
    for plane in (edge, none):
        plane[0], plane[:, 0] = False, False
    near = np.where(now, window(edge, beta, False, np.logical_or), window(none, beta, False, np.logical_or))
    return inner & (then != now) & ~near


def majority(bits, reach=3, least=22):
    return window(bits.astype(np.int64), reach, 0, np.add) >= least


def differences(then, now):
    return majority(np.abs(now.astype(int) - then.astype(int)) > 15)


def divided(a, b):
    """As C does: towards zero."""
    return np.sign(a) * (np.abs(a) // b)


def halved(grey):
    """Means of 2 x 2; a last row or column that is alone counts twice."""
    height, width = grey.shape
    even = np.pad(grey.astype(int), ((0, height % 2), (0, width % 2)), mode="edge")
    return (even[::2, ::2] + even[::2, 1::2] + even[1::2, ::2] + even[1::2, 1::2] + 2) // 4


class Mixture:
    """Of half the picture; look() takes and gives whole ones."""
    LEAST, SPREADS, FIRST, ENOUGH, UNSURE = 5, 3, 32, 50, 12

    def __init__(self):
        self.frames = 0

    def begin(self, grey):
        shape = (3, *grey.shape)
        self.mean, self.weight = np.zeros(shape, int), np.zeros(shape, int)
        self.spread = np.full(shape, self.FIRST)
        self.mean[0], self.weight[0] = grey * 256, self.ENOUGH + 1
        self.restless = np.zeros(grey.shape, int)
        self.was, self.unsure, self.moved = (np.zeros(grey.shape, bool) for _ in range(3))
        self.frames, self.unsure_frames = 1, 0

    def background(self):
        return np.minimum((self.mean[0] + 128) >> 8, 255)

    def samples(self, grey):
        height, width = grey.shape
        step = next(s for s in itertools.count(4) if (width // s) * (height // s) <= 20000)
        return self.background()[step // 2::step, step // 2::step].ravel(), grey[step // 2::step, step // 2::step].ravel()

    def table(self, ground, off):
        bins, near = ground >> 3, np.ones(len(off), bool)
        for limit in (24, 12, None):
            count = np.bincount(bins[near], minlength=32)
            total = np.array([off[near & (bins == b)].sum() for b in range(32)])
            if limit:
                near = np.abs(off * count[bins] - total[bins]) <= limit * count[bins]
        known = np.flatnonzero(count >= 8)
        if not len(known):
            return np.zeros(256, int)
        add = np.array([divided(total[k] * 256, count[k]) for k in
                        (min(known, key=lambda k, b=b: (abs(k - b), k)) for b in range(32))])
        grey = np.arange(256)
        first = np.maximum(grey - 4, 0) >> 3
        part = np.where(grey < 4, 0, grey - 4 - 8 * first)
        return add[first] + divided((add[np.minimum(first + 1, 31)] - add[first]) * part, 8)

    def change_of_all(self, grey):
        ground, seen = self.samples(grey)
        off = seen - ground
        if 2 * np.count_nonzero(np.abs(off) > 12) <= len(off):
            return False
        table = self.table(ground, off)
        if 2 * np.count_nonzero(np.abs(off * 256 - table[ground]) <= 12 * 256) <= len(off):
            self.frames = 0
            return True
        self.mean = np.clip(self.mean + table[self.mean >> 8], 0, 255 * 256)
        self.unsure |= window(self.moved, 2, False, np.logical_or)
        self.unsure_frames = 60
        return True

    def take(self, grey, relit):
        n = self.frames
        shift = 2 if n < 7 else 3 if n < 23 else 4 if n < 63 else 5
        relight = ~self.unsure if relit else np.zeros_like(self.unsure)
        learn = np.ones_like(relight) if n < 32 else relight
        off = np.abs(grey * 256 - self.mean)
        fits = (self.weight > 0) & (off <= self.LEAST * 256 + self.SPREADS * 16 * self.spread)
        which = np.where(fits.any(axis=0), fits.argmax(axis=0), 3)
        weight_of = np.take_along_axis(self.weight, np.minimum(which, 2)[None], 0)[0]
        background = np.where(which < 3, weight_of > self.ENOUGH, learn)
        for k in range(3):
            hit, other = which == k, which != k
            if k == 2:
                other = other & (which != 3)
            step = off[k] >> np.where(relight, 0, shift)
            self.mean[k] += np.where(hit, np.where(grey * 256 > self.mean[k], step, -step), 0)
            spread = np.where(relight, np.maximum(self.spread[k], self.FIRST), self.spread[k])
            adapted = np.where(off[k] >> 4 > spread, np.minimum(spread + 1, 255), np.maximum(spread - 1, 0))
            self.spread[k] = np.where(hit, adapted, self.spread[k])
            more = np.minimum(self.weight[k] + 1, 255)
            more = np.where(self.unsure & (more > self.UNSURE) & (more <= self.ENOUGH), self.ENOUGH + 1, more)
            least = np.minimum(self.weight[k], 1 if k == 0 else 0)
            less = np.maximum(self.weight[k] - 1, least) if n % 4 == 3 else self.weight[k]
            self.weight[k] = np.where(hit, more, np.where(other, less, self.weight[k]))
        new = which == 3
        self.mean[2][new], self.spread[2][new] = grey[new] * 256, self.FIRST
        self.weight[2][new] = np.where(learn, self.ENOUGH + 1, 1)[new]
        for k in (1, 0):
            heavier = self.weight[k + 1] > self.weight[k]
            for plane in (self.mean, self.weight, self.spread):
                plane[k], plane[k + 1] = (np.where(heavier, plane[k + 1], plane[k]),
                                          np.where(heavier, plane[k], plane[k + 1]))
        return ~background

    def look(self, whole):
        mask, changed = self.look_at_half(halved(whole))
        height, width = whole.shape
        return None if mask is None else mask.repeat(2, 0).repeat(2, 1)[:height, :width], changed

    def look_at_half(self, grey):
        if self.frames == 0:
            self.begin(grey)
            return None, False
        whole = self.change_of_all(grey)
        if self.frames == 0:
            self.begin(grey)
            return self.moved, True
        if self.unsure_frames > 0:
            self.unsure_frames -= 1
            if self.unsure_frames == 0:
                self.unsure[:] = False
        ground = self.background()
        low = window(ground, 2, 255, np.minimum)
        high = window(ground, 2, 0, np.maximum)
        near = window(self.restless, 2, 0, np.maximum)
        foreground = self.take(grey, whole)
        self.frames += 1
        self.restless = np.minimum(np.maximum(self.restless - 1, 0) + 16 * (foreground != self.was), 255)
        self.was = foreground
        stirs = np.maximum(near, self.restless) >= 80
        around = (grey >= low - self.LEAST) & (grey <= high + self.LEAST)
        stayed = window(self.moved, max(2, grey.shape[1] // 40), False, np.logical_or)
        self.moved = majority(foreground & ~(stirs & around), 2, 11)
        return self.moved & stayed, whole


class Cells:
    def __init__(self, height, width, columns=10, rows=6, threshold=10_000, min_frames=2, published=False):
        self.of = (rows * np.arange(height) // height)[:, None] * columns + columns * np.arange(width) // width
        self.shape, self.threshold, self.min_frames, self.published = (rows, columns), threshold, min_frames, published
        self.block = (width // columns) * (height // rows)
        self.streak = np.zeros(self.shape, int)
        self.before = np.zeros((height, width), bool)

    def stirred(self, mask):
        """Of the method background."""
        stirred = np.bincount(self.of[mask != self.before], minlength=self.of.max() + 1).reshape(self.shape)
        self.before = mask
        near = sum(shifted(stirred, dy, dx, 0) for dy in (-1, 0, 1) for dx in (-1, 0, 1))
        return near * MILLION > self.threshold * np.bincount(self.of.ravel()).reshape(self.shape)

    def active(self, mask):
        changed = np.bincount(self.of[mask], minlength=self.of.max() + 1).reshape(self.shape)
        pixels = np.bincount(self.of.ravel()).reshape(self.shape)
        if self.published:
            return changed * 1000 * MILLION >= self.threshold * self.block
        return changed * MILLION > self.threshold * pixels

    def moving(self, active, whole):
        if whole:
            self.streak[:] = 0
            return np.zeros(self.shape, bool)
        longest = window(self.streak, 1, 0, np.maximum)
        self.streak = np.where(active, longest + 1, 0)
        return self.streak >= self.min_frames


def boxes_of(moving):
    """Of cells that touch, in the order of their first cells: (left, top, right, bottom, cells)."""
    left = {(int(r), int(c)) for r, c in np.argwhere(moving)}
    boxes = []
    while left:
        stack = [min(left)]
        left.remove(stack[0])
        part = []
        while stack:
            r, c = stack.pop()
            part.append((r, c))
            for cell in itertools.product((r - 1, r, r + 1), (c - 1, c, c + 1)):
                if cell in left:
                    left.remove(cell)
                    stack.append(cell)
        rows, columns = zip(*part)
        boxes.append((min(columns), min(rows), max(columns) + 1, max(rows) + 1, len(part)))
    return boxes


def run(method, pictures, version, **options):
    """[(numbers, boxes, active, moving, mask)] that the program makes."""
    height, width = pictures[0].shape
    columns, rows = options.get("columns", 10), options.get("rows", 6)
    environment = {**os.environ, **({"CUFACE_SIMD": version} if version else {})}
    command = [BUILD / "tests/kernels/motion_masks", method, str(width), str(height),
               *(f"{key}={value}" for key, value in options.items())]
    done = subprocess.run(command, input=b"".join(p.tobytes() for p in pictures), capture_output=True, check=False,
                          env=environment)
    assert done.returncode == 0, done.stderr.decode()
    rest, results = done.stdout, []
    while not rest.startswith(b"finish"):
        line, rest = rest.split(b"\n", 1)
        values = list(map(int, line.split()))
        count = values[8]
        boxes = [tuple(values[9 + 6 * i:15 + 6 * i]) for i in range(count)]
        active, moving = np.array(values[9 + 6 * count:], bool).reshape(2, rows, columns)
        mask, rest = np.frombuffer(rest[:width * height], np.uint8).reshape(height, width) > 0, rest[width * height:]
        results.append((values[:9], boxes, active, moving, mask))
    return results


VERSIONS = pytest.mark.parametrize("version", ["scalar", ""])
NOW = 40_000_000  # between frames


def maps(random, count, height, width, share):
    """Edge maps that move by a pixel or two and change a little: bytes that are 0 or 255."""
    whole = random.random((height + 8, width + 8)) < share
    out = []
    for _ in range(count):
        dy, dx = random.integers(0, 5, 2)
        changed = whole ^ (random.random(whole.shape) < 0.01)
        out.append((changed[dy:dy + height, dx:dx + width] * 255).astype(np.uint8))
    return out


@VERSIONS
@pytest.mark.parametrize("share", [0.02, 0.3, 0.9])
def test_edges(version, share):
    random, compared = np.random.default_rng(1), 0
    for height, width in ((6, 10), (40, 70), (97, 131)):
        pictures = maps(random, 6, height, width, share)
        for beta, symmetric in itertools.product((1, 3, 12), (True, False)):
            results = run("edges", pictures, version, interval=0, tolerance=beta, symmetric=int(symmetric),
                          find_global_changes=0)
            assert results[0][0][0] == 0
            cells = Cells(height, width)
            for i in range(1, len(pictures)):
                mask = edges(pictures[i - 1] > 0, pictures[i] > 0, beta, symmetric)
                active = cells.active(mask)
                moving = cells.moving(active, False)
                numbers, boxes, *got = results[i]
                for mine, theirs in zip(got, (active, moving, mask)):
                    assert np.array_equal(mine, theirs), (height, width, beta, symmetric, i)
                assert [box[1:] for box in boxes] == boxes_of(moving)
                assert numbers[5] == np.count_nonzero(mask) and numbers[6] == mask.size
                compared += mask.size
    assert compared > 400_000


@VERSIONS
def test_the_published_preset_and_what_is_printed(version):
    """The listing ignores one row and column more and never looks into row and column 0; the corrected rule does."""
    random = np.random.default_rng(2)
    pictures = maps(random, 12, 90, 120, 0.05)
    results = run("published", pictures, version, tolerance=3)
    cells, printed, corrected = Cells(90, 120, min_frames=1, published=True), 0, 0
    for i in range(1, len(pictures)):
        then, now = pictures[i - 1] > 0, pictures[i] > 0
        mask = edges(then, now, 3, False)
        inner = np.zeros_like(mask)
        inner[7:-7, 7:-7] = True
        mask &= inner
        active = cells.active(mask)
        _, _, *got = results[i]
        for mine, theirs in zip(got, (active, active, mask)):
            assert np.array_equal(mine, theirs)
        as_printed = edges_as_printed(then, now, 3)
        assert np.array_equal(mask[8:-7, 8:-7], as_printed[8:-7, 8:-7]), "beta is less than the border"
        printed, corrected = printed + np.count_nonzero(as_printed), corrected + np.count_nonzero(mask)
    print(f"{corrected} pixels changed, {printed} as printed")
    assert 0.9 * corrected < printed < corrected


@VERSIONS
@pytest.mark.parametrize("step", [NOW, 7_000_000])
def test_differences_over_the_interval(version, step):
    pictures = scene_of("still", 4, 130, 150)
    results = run("difference", pictures, version, interval=3 * NOW, step=step,
                  find_global_changes=0)
    compared, kept = 0, []
    for i, (numbers, _, _, _, mask) in enumerate(results):
        old = [k for k in kept if (i - k) * step >= 3 * NOW]
        if not kept or (i - kept[-1]) * step >= 3 * NOW // 8:
            kept.append(i)
        assert numbers[0] == bool(old)
        if old:
            assert np.array_equal(mask, differences(pictures[old[-1]], pictures[i])), i
            compared += 1
    assert compared >= (17 if step == NOW else 2)


@functools.lru_cache
def scene_of(kind, seed, first, last):
    """A quarter of the pixels, in a width that is no vector's, and odd sizes."""
    scene = motion_scenes.Scene(kind, seed)
    return [np.ascontiguousarray(scene.frame(t)[0][2::2, 2::2]) for t in range(first, last)]


@VERSIONS
@pytest.mark.parametrize("kind", motion_scenes.KINDS)
def test_the_mixture(version, kind):
    # Seven rows of cells: some have an odd number of pixels, so borders part pixels that change together.
    pictures = scene_of(kind, 3, 90, 164)
    results = run("background", pictures, version, rows=7)
    mixture, cells, changed, wholes = Mixture(), Cells(*pictures[0].shape, rows=7), 0, 0
    for i, (picture, (numbers, boxes, *got)) in enumerate(zip(pictures, results, strict=True)):
        mask, whole = mixture.look(picture)
        assert numbers[:2] == [mask is not None, whole], i
        if mask is None or whole:
            mask = np.zeros(picture.shape, bool)
        active = cells.active(mask) & cells.stirred(mask)
        moving = cells.moving(active, whole)
        for mine, theirs in zip(got, (active, moving, mask)):
            assert np.array_equal(mine, theirs), i
        assert [box[1:] for box in boxes] == boxes_of(moving), i
        changed, wholes = changed + np.count_nonzero(mask), wholes + whole
    assert changed > 500 and (wholes > 0) == kind.startswith("light"), (changed, wholes)


@VERSIONS
def test_the_mixture_of_extremes(version):
    random = np.random.default_rng(3)
    pictures = [random.choice(np.array([0, 255], np.uint8), (30, 40)) if i % 9 else np.full((30, 40), 255 * (i % 2), np.uint8)
                for i in range(60)]
    mixture, wholes = Mixture(), 0
    for i, (picture, (numbers, *_, mask)) in enumerate(zip(pictures, run("background", pictures, version), strict=True)):
        expected, whole = mixture.look(picture)
        wholes += whole
        assert numbers[:2] == [expected is not None, whole], i
        if expected is not None and not whole:
            assert np.array_equal(mask, expected), i
    assert wholes > 5
