"""Training beside its twin in NumPy, which is written from docs/design/boost.md: the four boostings, trees and
trimming, on small sets. Features are masks of pixels here, and there is no integral picture.
"""
import json
import subprocess

import numpy as np
import pytest

from programs import BUILD

DISCRETE, REAL, LOGIT, GENTLE = range(4)
BASIC, CORE, ALL = range(3)
SIDE = 9
GAP = np.float32(2 * np.finfo(np.float32).eps)
F = np.float32


def upright(x, y, w, h):
    mask = np.zeros((SIDE, SIDE), np.int64)
    mask[y:y + h, x:x + w] = 1
    return mask


def tilted(x, y, w, h):
    """Pixels between the four edges of a rectangle whose top corner is (x, y), whose side w runs down to the right and
    whose side h runs down to the left. Their sums and differences of coordinates lie in two intervals."""
    rows, columns = np.mgrid[:SIDE, :SIDE]
    along, across = rows + columns, rows - columns
    return ((along >= x + y - 1) & (along < x + y - 1 + 2 * w) & (across > y - x)
            & (across <= y - x + 2 * h)).astype(np.int64)


def shapes(x, y, w, h, mode):
    """(mask, has its place in the window) in the order of the bank."""
    def part(columns, rows, *heavy):
        inside = x + w * columns <= SIDE and y + h * rows <= SIDE
        return (lambda: -upright(x, y, w * columns, h * rows) + sum(f * upright(x + w * i, y + h * j, w * m, h * n)
                                                                 for i, j, m, n, f in heavy)), inside

    def lean(right, left, at_right, at_left, m, n, factor):
        inside = x + right * w <= SIDE and x - left * h >= 0 and y + right * w + left * h <= SIDE
        return (lambda: -tilted(x, y, right * w, left * h)
                + factor * tilted(x + at_right * w - at_left * h, y + at_right * w + at_left * h, m * w, n * h)), inside

    core, every = mode != BASIC, mode == ALL
    return [shape for shape, wanted in [
        (part(2, 1, (1, 0, 1, 1, 2)), True), (part(1, 2, (0, 1, 1, 1, 2)), True),
        (part(3, 1, (1, 0, 1, 1, 3)), True), (part(1, 3, (0, 1, 1, 1, 3)), True),
        (part(4, 1, (1, 0, 2, 1, 2)), core), (part(1, 4, (0, 1, 1, 2, 2)), core),
        (part(2, 2, (0, 0, 1, 1, 2), (1, 1, 1, 1, 2)), True), (part(3, 3, (1, 1, 1, 1, 9)), core),
        (lean(2, 1, 0, 0, 1, 1, 2), every), (lean(1, 2, 0, 0, 1, 1, 2), every),
        (lean(3, 1, 1, 0, 1, 1, 3), every), (lean(1, 3, 0, 1, 1, 1, 3), every),
        (lean(4, 1, 1, 0, 2, 1, 2), every), (lean(1, 4, 0, 1, 1, 2, 2), every)] if wanted]


def features(mode):
    masks = [make().ravel() for x in range(SIDE) for y in range(SIDE) for w in range(1, SIDE + 1)
             for h in range(1, SIDE + 1) for make, inside in shapes(x, y, w, h, mode) if inside]
    return np.array(masks)


def values_of(windows, masks):
    """A row a feature, a column a sample."""
    inner = windows.reshape(-1, SIDE, SIDE)[:, 1:-1, 1:-1].reshape(len(windows), -1).astype(np.int64)
    area = (SIDE - 2) ** 2
    variance = area * (inner ** 2).sum(1) - inner.sum(1) ** 2
    inverse = (1 / np.sqrt(np.maximum(variance, 1).astype(float))).astype(F)
    inverse[(variance <= 0) | ~(area * inverse.astype(float) < 0.1)] = 0
    return (masks @ windows.T.astype(np.int64)).astype(F) * inverse + F(0)


def exponential(x):
    """The polynomial of kernels/common/exponential.h, in float."""
    x = np.clip(np.asarray(x, F), F(-80), F(80))
    n = (x * F(1.44269504) + F(12582912)) - F(12582912)
    r = (x - n * F(0.693359375)) - n * F(-2.12194440e-4)
    p = np.full_like(r, F(1.9875691500e-4))
    for c in (1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1):
        p = p * r + F(c)
    return ((p * r) * r + r + F(1)) * np.ldexp(F(1), n.astype(int))


def log_odds(p):
    p = min(max(p, 1e-5), 1 - 1e-5)
    return np.log(p / (1 - p))


class Twin:
    def __init__(self, windows, labels, mode, boosting, max_depth, weight_trim_rate):
        self.values = values_of(windows, features(mode))
        self.order = np.argsort(self.values, axis=1, kind="stable")
        ranked = np.take_along_axis(self.values, self.order, 1)
        self.apart = ranked[:, :-1] + GAP < ranked[:, 1:]
        self.boosting, self.depth, self.rate = boosting, max_depth, weight_trim_rate
        self.labels = np.where(labels, 1, -1)
        self.weights = np.full(len(labels), 1 / len(labels))
        self.targets = self.labels * 2.0
        self.sums = np.zeros(len(labels))

    def integers(self):
        weights = np.rint(self.weights * 2 ** 30).astype(np.int64)
        if self.rate < 1:
            ascending = np.sort(weights)
            before = np.concatenate([[0], np.cumsum(ascending)[:-1]])
            weights[weights < ascending[np.argmax(before >= np.rint((1 - self.rate) * 2 ** 30))]] = 0
        if self.boosting == LOGIT:
            responses = np.where(weights > 0, np.rint(self.weights * self.targets * 2 ** 26), 0).astype(np.int64)
        else:
            responses = weights * self.labels
        return weights, responses

    def quality(self, weight, response, left_weight, left_response):
        if self.boosting == DISCRETE:
            positive = (weight + response) // 2
            return np.maximum(positive - left_response, weight - positive + left_response)
        l, r, d, e = (F(v) for v in (left_weight, weight - left_weight, left_response, response - left_response))
        with np.errstate(invalid="ignore", divide="ignore"):
            return (d * d * r + e * e * l) / (l * r)

    def split(self, weights, responses):
        """(feature, threshold), or None."""
        weight, response = weights.sum(), responses.sum()
        qualities = self.quality(weight, response, np.cumsum(weights[self.order], 1)[:, :-1],
                                 np.cumsum(responses[self.order], 1)[:, :-1])
        if self.boosting == DISCRETE:
            own = max(weight + response, weight - response) // 2
            qualities = np.where(self.apart, qualities, -1)
        else:
            own = F(response) * F(response) / F(weight)
            qualities = np.where(self.apart & ~np.isnan(qualities), qualities, F(-1))
        feature = int(np.argmax(qualities.max(1).astype(F)))
        if not F(qualities[feature].max()) > F(own):
            return None
        place = int(np.argmax(qualities[feature]))
        order, values = self.order[feature], self.values[feature]
        lower = max(values[i] for i in order[:place + 1] if weights[i])
        upper = min(values[i] for i in order[place + 1:] if weights[i])
        middle = (lower + upper) * F(0.5)
        return feature, middle if middle > lower else upper

    def leaf(self, weight, response):
        if self.boosting == DISCRETE:
            return F(1 if response > 0 else -1)
        if self.boosting == REAL:
            return F(0.5 * log_odds((weight + response) / 2 / weight))
        return F(response / weight * (16 if self.boosting == LOGIT else 1))

    def tree(self):
        weights, responses = self.integers()
        place, places, nodes, leaves, at = np.zeros(len(weights), int), [(0, None)], [], [], {}
        for p, (depth, parent) in enumerate(places):  # grows on the way
            here = place == p
            w, r = np.where(here, weights, 0), np.where(here, responses, 0)
            pure = self.boosting != LOGIT and not ((r > 0).any() and (r < 0).any())
            found = self.split(w, r) if depth < self.depth and (w > 0).sum() > 10 and not pure else None
            if found:
                child, (feature, threshold) = len(nodes), found
                nodes.append([feature, threshold, None, None])
                place[here] = np.where(self.values[feature][here] < threshold, len(places), len(places) + 1)
                places += [(depth + 1, (child, 2)), (depth + 1, (child, 3))]
            else:
                child, at[p] = -len(leaves), len(leaves)
                leaves.append(self.leaf(int(w.sum()), int(r.sum())))
            if parent:
                nodes[parent[0]][parent[1]] = child
        return nodes, np.array(leaves, F), np.array([at[p] for p in place])

    def add(self):
        """A round: nodes and leaves, or None where no split is better than none."""
        nodes, leaves, at = self.tree()
        if not nodes:
            return None
        if self.boosting == DISCRETE:
            wrong = np.sign(leaves)[at] != self.labels
            integers = np.rint(self.weights * 2 ** 30).astype(np.int64)
            right = 1 - int(integers[wrong].sum()) / int(integers.sum())
            bounded = min(max(right, 1e-5), 1 - 1e-5)
            self.weights[wrong] *= bounded / (1 - bounded)
            leaves = np.sign(leaves) * F(log_odds(right))
        elif self.boosting == LOGIT:
            e = exponential(F(-2 * (0.5 * (self.sums + leaves[at].astype(float))))).astype(float)
            p, q = 1 / (1 + e), e / (1 + e)
            self.weights = np.maximum(p * q, float(np.finfo(np.float32).eps))
            self.targets = self.labels * np.minimum(1 / np.where(self.labels > 0, p, q), 10)
        else:
            self.weights = self.weights * exponential(-self.labels.astype(F) * leaves[at]).astype(float)
        self.weights = self.weights * (2.0 ** 44 / np.rint(self.weights * 2 ** 44).astype(np.int64).sum())
        self.sums += leaves[at].astype(float)
        return nodes, leaves

    def rates(self, min_hit_rate):
        positives = np.sort(self.sums[self.labels > 0].astype(F))
        threshold = positives[int((F(1) - F(min_hit_rate)) * F(len(positives)))]
        passes = ~(self.sums < float(threshold - F(1e-5)))
        return threshold, passes[self.labels > 0].mean(), passes[self.labels < 0].mean()


def windows_of(seed, count):
    """Clutter; every other one with a dark bar across."""
    random = np.random.default_rng(seed)
    labels = np.arange(count) % 2 == 0
    windows = random.integers(60, 200, (count, SIDE, SIDE))
    windows += random.integers(-40, 40, (count, SIDE, 1)) + random.integers(-40, 40, (count, 1, SIDE))
    windows[labels, 3:5, 1:8] -= random.integers(10, 70, (labels.sum(), 1, 1))
    return np.clip(windows, 0, 255).astype(np.uint8).reshape(count, -1), labels


CASES = [(boosting, depth, rate, mode) for boosting in (DISCRETE, REAL, LOGIT, GENTLE)
         for depth, rate, mode in ((1, 1, ALL), (1, 0.9, BASIC), (4, 0.95, CORE))]


@pytest.mark.parametrize("boosting,depth,rate,mode", CASES)
def test_stages_are_the_twins(boosting, depth, rate, mode):
    windows, labels = windows_of(10 * boosting + depth, 140 if depth == 1 else 280)
    options = {"boosting": boosting, "max_depth": depth, "weight_trim_rate": rate, "mode": mode, "max_weak_count": 6,
               "min_hit_rate": 0.97, "max_false_alarm": 0.0001}
    out = subprocess.run([BUILD / "tests/kernels/boost_stage", str(SIDE), str(len(labels)),
                          *(f"{k}={v}" for k, v in options.items())], check=True, capture_output=True,
                         input=labels.astype(np.uint8).tobytes() + windows.tobytes()).stdout
    stage = json.loads(out)
    assert len(stage["trees"]) >= 3
    most = max(len(tree["nodes"]) for tree in stage["trees"])
    assert most >= 2 ** (depth - 1)  # more splits than a tree of less depth can have
    twin = Twin(windows, labels, mode, boosting, depth, rate)
    for number, tree in enumerate(stage["trees"]):
        nodes, leaves = twin.add()
        assert [n[:1] + n[2:] for n in tree["nodes"]] == [n[:1] + n[2:] for n in nodes], f"tree {number}"
        assert [F(n[1]) for n in tree["nodes"]] == [n[1] for n in nodes], f"tree {number}"
        # A library's logarithm may differ in its last bit.
        np.testing.assert_array_max_ulp(np.array(tree["leaves"], F), leaves, 0 if boosting in (LOGIT, GENTLE) else 1)
    threshold, hit_rate, false_alarm = twin.rates(0.97)
    assert F(stage["threshold"]) == pytest.approx(threshold, abs=2e-6)
    assert stage["hit_rate"] == pytest.approx(hit_rate, abs=1e-6)
    assert stage["false_alarm"] == pytest.approx(false_alarm, abs=1e-6)
    assert len(stage["trees"]) == 6 or false_alarm == 0 or twin.add() is None
