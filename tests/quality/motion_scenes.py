"""Clips in which it is known, for each pixel of each frame, whether an object that moves is there.

Objects cross a made-up background, and something else disturbs the picture from the first frame to the last: a camera
that shakes, light that is switched, rain, a tree in the wind. What disturbs is no motion. The background is one of
dead leaves [Lee, Mumford, Huang 2001]: shapes that cover each other, with sizes of a power law, have the statistics
of natural pictures. Nothing is read from files, and everything depends on the kind and the seed alone.

Constants of kernels/motion are chosen on CHOOSING; figures are those of REPORTED.
"""
import numpy as np

WIDTH, HEIGHT, FPS = 320, 240, 25
LEARN, BEFORE, DURING, AFTER = 60, 50, 80, 60  # frames: to learn from, and before, while and after there are objects
LENGTH = LEARN + BEFORE + DURING + AFTER
GRACE = 10   # frames after the last object, in which a motion may still end
MARGIN = 24  # px of background around the picture
KINDS = "still", "shake", "light-20", "light-60", "rain", "tree"
CHOOSING = range(1, 21)
REPORTED = range(101, 121)
SHAKE = 2.0  # px


def dead_leaves(random, height, width, smallest, largest, contrast):
    """Discs and rectangles from the back to the front, of mean 0, and a fine texture on each."""
    canvas = random.normal(0, contrast, (height, width))
    count = int(3.0 * height * width / (np.pi * smallest * largest)) + 20
    low, high = smallest ** -2.0, largest ** -2.0
    radii = (low + random.random(count) * (high - low)) ** -0.5  # a density of r to the power of -3
    middles = random.random((count, 2)) * (height, width)
    for radius, (y, x) in zip(np.concatenate([np.full(count // 8, largest), radii]),
                              np.concatenate([random.random((count // 8, 2)) * (height, width), middles])):
        reach = 1.5 * radius + 1
        top, bottom = max(0, int(y - reach)), min(height, int(y + reach) + 1)
        left, right = max(0, int(x - reach)), min(width, int(x + reach) + 1)
        if top >= bottom or left >= right:
            continue
        dy, dx = np.mgrid[top - y:bottom - y, left - x:right - x][:, :bottom - top, :right - left]
        if random.random() < 0.5:
            inside = dx * dx + dy * dy <= radius * radius
        else:
            turn, side = random.random() * np.pi, radius * (0.4 + random.random())
            along, across = dx * np.cos(turn) + dy * np.sin(turn), dy * np.cos(turn) - dx * np.sin(turn)
            inside = (np.abs(along) <= radius) & (np.abs(across) <= min(side, 1.1 * radius))
        grey, slope = random.normal(0, contrast), random.normal(0, contrast / 4, 2) / radius
        texture = random.normal(0, contrast * 0.08 * random.random(), inside.shape)
        shade = grey + slope[0] * dx + slope[1] * dy + texture
        canvas[top:bottom, left:right][inside] = shade[inside]
    return softened(canvas)


def softened(picture):
    """As a lens does: [1 2 1] / 4 both ways."""
    edged = np.pad(picture, 1, mode="edge")
    rows = (edged[:-2] + 2 * edged[1:-1] + edged[2:]) / 4
    return (rows[:, :-2] + 2 * rows[:, 1:-1] + rows[:, 2:]) / 4


def sampled(picture, y, x):
    """Between pixels, linearly; outside of the picture its nearest."""
    y, x = np.clip(y, 0, picture.shape[0] - 1.001), np.clip(x, 0, picture.shape[1] - 1.001)
    row, column = y.astype(np.int64), x.astype(np.int64)
    dy, dx = y - row, x - column
    upper = picture[row, column] * (1 - dx) + picture[row, column + 1] * dx
    lower = picture[row + 1, column] * (1 - dx) + picture[row + 1, column + 1] * dx
    return upper * (1 - dy) + lower * dy


class Object:
    """A head on a body, with a texture and a mean of its own, on its way through the picture and out again."""

    def __init__(self, random):
        self.height = int(random.uniform(22, 90))
        self.width = max(8, int(self.height * random.uniform(0.35, 0.8)))
        y, x = np.mgrid[0:self.height, 0:self.width]
        y, x = (y + 0.5) / self.height, (x + 0.5) / self.width
        head = np.hypot((x - 0.5) / 0.28, (y - 0.16) / 0.16)
        body = np.maximum(np.abs(x - 0.5) / 0.5, np.abs(y - 0.64) / 0.36) ** 4
        reach = np.minimum(head, body)
        self.alpha = np.clip((1 - reach) * min(self.width, self.height) / 3, 0, 1)
        mean = 128 + random.choice([-1, 1]) * random.uniform(20, 75)
        self.picture = mean + dead_leaves(random, self.height, self.width, 2, max(4, self.width / 4), 22)
        self.begin = random.integers(0, DURING // 4)
        self.end = DURING - random.integers(1, DURING // 8)
        self.floor = random.uniform(0.3, 1.0) * HEIGHT - self.height / 2
        self.bob, self.pace = random.uniform(0, 2), random.uniform(0.3, 0.8)
        from_left = random.random() < 0.5
        outside = (-self.width, WIDTH) if from_left else (WIDTH, -self.width)
        inside = random.uniform(0.15, 0.75) * WIDTH
        if random.random() < 0.3:  # looks in and goes back, slowly
            near = 0.75 * self.width + random.uniform(0, 40)
            inside = outside[0] + (near if from_left else -near)
            outside = outside[0], outside[0]
        halt = random.choice([0, 10, 25])
        middle = (self.begin + self.end) / 2
        self.times = self.begin, middle - halt / 2, middle + halt / 2 + 0.01, self.end
        self.places = outside[0], inside, inside, outside[1]

    def place(self, t):
        """(left, top) or None"""
        if not self.begin <= t <= self.end:
            return None
        x = np.interp(t, self.times, self.places)
        return x, self.floor - self.height / 2 + self.bob * np.sin(self.pace * t)

    def draw(self, canvas, truth, t):
        """Into the canvas with its margin."""
        at = self.place(t)
        if at is None:
            return
        left, top = int(np.floor(at[0])) + MARGIN, int(np.floor(at[1])) + MARGIN
        y, x = np.mgrid[0:self.height + 1, 0:self.width + 1].astype(np.float64)
        y, x = y - (at[1] - np.floor(at[1])) + 1, x - (at[0] - np.floor(at[0])) + 1
        alpha = sampled(np.pad(self.alpha, 1), y, x)
        picture = sampled(np.pad(self.picture, 1, mode="edge"), y, x)
        y0, y1 = max(top, 0), min(top + self.height + 1, canvas.shape[0])
        x0, x1 = max(left, 0), min(left + self.width + 1, canvas.shape[1])
        if y0 < y1 and x0 < x1:
            part = slice(y0 - top, y1 - top), slice(x0 - left, x1 - left)
            under = canvas[y0:y1, x0:x1]
            under += alpha[part] * (picture[part] - under)
            truth[y0:y1, x0:x1] |= alpha[part] > 0.5


class Tree:
    """Foliage that waves by some pixels, in gusts."""

    def __init__(self, random, shape):
        self.height, self.width = int(0.8 * shape[0]), int(random.uniform(0.3, 0.45) * shape[1])
        self.left = int(random.uniform(0, 1) * (shape[1] - self.width))
        self.picture = random.uniform(70, 120) + dead_leaves(random, self.height, self.width, 2, 7, 35)
        y, x = np.mgrid[0:self.height, 0:self.width]
        self.alpha = np.zeros((self.height, self.width))
        for _ in range(6):
            middle = random.uniform(0.2, 0.6) * self.height, random.uniform(0.25, 0.75) * self.width
            radius = random.uniform(0.25, 0.4) * self.height, random.uniform(0.2, 0.4) * self.width
            reach = np.hypot((y - middle[0]) / radius[0], (x - middle[1]) / radius[1])
            reach += 0.1 * np.sin(0.35 * x) * np.sin(0.31 * y)
            self.alpha = np.maximum(self.alpha, np.clip((1 - reach) * 20, 0, 1))
        self.y, self.x = y.astype(np.float64), x.astype(np.float64)
        self.amplitude = random.uniform(1.5, 4.0)
        self.waves = [(random.uniform(0.2, 0.9), random.uniform(0, 2 * np.pi), *random.normal(0, 0.05, 2),
                       random.uniform(0.4, 1.0)) for _ in range(4)]
        self.gust, self.gust_phase = random.uniform(0.02, 0.06), random.uniform(0, 2 * np.pi)

    def draw(self, canvas, t):
        strength = self.amplitude * (0.6 + 0.4 * np.sin(self.gust * t + self.gust_phase))
        turns = [speed * t + phase + across * self.x + down * self.y for speed, phase, across, down, _ in self.waves]
        way = strength * sum(wave[4] * np.sin(turn) for wave, turn in zip(self.waves, turns)) / 1.5
        rise = 0.4 * strength * sum(wave[4] * np.cos(1.3 * turn) for wave, turn in zip(self.waves, turns)) / 1.5
        alpha = sampled(self.alpha, self.y + rise, self.x + way)
        under = canvas[:self.height, self.left:self.left + self.width]
        under += alpha * (sampled(self.picture, self.y + rise, self.x + way) - under)


def draw_rain(canvas, random, drops, lean):
    """Bright streaks, other ones on each frame."""
    for _ in range(random.poisson(drops)):
        length = int(random.uniform(8, 24))
        y = random.uniform(0, canvas.shape[0] - length) + np.arange(length)
        x = np.clip(random.uniform(0, canvas.shape[1] - 1) + lean * np.arange(length), 0, canvas.shape[1] - 2)
        row, column = y.astype(np.int64), x.astype(np.int64)
        strength, right = random.uniform(0.2, 0.6), x - column
        for at, share in ((column, 1 - right), (column + 1, right)):
            canvas[row, at] += strength * share * (230 - canvas[row, at])


class Scene:
    """`frame(t)` is (frame, truth): grey, uint8, and whether a pixel is of an object."""

    def __init__(self, kind, seed):
        assert kind in KINDS
        self.kind, self.seed = kind, seed
        random = np.random.default_rng([KINDS.index(kind), seed])
        shape = HEIGHT + 2 * MARGIN, WIDTH + 2 * MARGIN
        slope = np.linspace(-1, 1, shape[1]) * random.uniform(-20, 20)
        self.background = random.uniform(95, 150) + slope + dead_leaves(random, *shape, 3, 60, random.uniform(25, 45))
        self.objects = [Object(random) for _ in range(random.integers(1, 4))]
        self.noise = random.uniform(1, 3)
        self.tree = Tree(random, shape) if kind == "tree" else None
        self.drops, self.lean = (random.uniform(40, 140), random.uniform(-0.3, 0.3)) if kind == "rain" else (0, 0)
        self.shifts = np.zeros((LENGTH, 2))
        if kind == "shake":
            for t in range(1, LENGTH):
                self.shifts[t] = np.clip(0.5 * self.shifts[t - 1] + random.normal(0, 1.2, 2), -SHAKE, SHAKE)
        # Light rises and falls in turn: by as much for all pixels, or in proportion to them.
        self.steps = {}
        self.in_proportion = seed % 2 == 1
        if kind.startswith("light"):
            step, sign = int(kind.split("-")[1]), random.choice([-1, 1])
            for i, middle in enumerate((LEARN + 20, LEARN + BEFORE + 40, LENGTH - 25)):
                self.steps[middle + int(random.integers(-10, 11))] = step * sign * (-1) ** i

    def frame(self, t):
        random = np.random.default_rng([KINDS.index(self.kind), self.seed, 1, t])
        canvas, truth = self.background.copy(), np.zeros(self.background.shape, bool)
        if self.tree:
            self.tree.draw(canvas, t)
        for one in self.objects:
            one.draw(canvas, truth, t - LEARN - BEFORE)
        if self.drops:
            draw_rain(canvas, random, self.drops, self.lean)
        y, x = np.mgrid[MARGIN:MARGIN + HEIGHT, MARGIN:MARGIN + WIDTH].astype(np.float64)
        y, x = y + self.shifts[t, 0], x + self.shifts[t, 1]
        picture = sampled(canvas, y, x) if self.shifts[t].any() else canvas[MARGIN:-MARGIN, MARGIN:-MARGIN]
        shown = truth[np.rint(y).astype(np.int64), np.rint(x).astype(np.int64)]
        light = sum(step for begin, step in self.steps.items() if t >= begin)
        picture = picture * (1 + light / self.background.mean()) if self.in_proportion else picture + light
        picture = picture + random.normal(0, self.noise, picture.shape)
        return np.rint(picture).clip(0, 255).astype(np.uint8), shown

    def frames(self):
        return map(self.frame, range(LENGTH))


def scenes(seeds, kinds=KINDS):
    for kind in kinds:
        for seed in seeds:
            yield Scene(kind, seed)
