"""Clips of a room that people enter, stay in and leave, with known truth: whose face is where, and when something moves.

Heads are cut with soft edges from the clips of the test data and from its labelled pictures, and put on bodies in front
of a still room: a wall, or one of dead leaves. The camera's noise is in all clips; in some the light changes, or the
camera turns and shakes for a while. Everything depends on the kind, the seed and the test data alone.

Constants of search=motion are chosen on CHOOSING; figures are those of REPORTED.
"""
import functools

import numpy as np

import clips
import scenes
from motion_scenes import dead_leaves, sampled

WIDTH, HEIGHT, FPS, LENGTH = 480, 272, 25, 300
MARGIN = 48  # px of the room around the picture, for the camera
KINDS = "room", "lights", "camera"
CHOOSING = *range(1, 13), *range(301, 309), *range(1001, 1011)  # 90 clips of three kinds
REPORTED = range(4001, 4033)                                    # 96
SHARE = 0.3, 0.8         # of the frames with a visible face
VISIBLE = 0.6            # of a face's box, from which it counts as visible
FEWEST, LEAST = 130, 10  # something moves where so many pixels change by more grey levels from frame to frame


@functools.lru_cache
def room(data, seed):
    random = np.random.default_rng([seed, 1])
    shape = HEIGHT + 2 * MARGIN, WIDTH + 2 * MARGIN
    if random.random() < 0.5:
        high = shape[0] - scenes.HEIGHT
        picture = np.pad(scenes.wall(data), [(0, high), (0, 0)], mode="symmetric")[:, :shape[1]]
        return picture[:, ::-1] if random.random() < 0.5 else picture
    return random.uniform(90, 150) + dead_leaves(random, *shape, 4, 80, random.uniform(20, 40))


@functools.lru_cache
def labelled(data):
    return [(picture.astype(np.float32), points) for kind, picture, points, _ in clips.labelled(data)
            if kind == "helen"]


def still_head(data, number):
    """As scenes.head(), of a labelled picture: its one frame, and the face box's side besides."""
    picture, points = labelled(data)[number]
    low, high = points.min(axis=0), points.max(axis=0)
    (x, y), (width, height) = (low + high) / 2, high - low
    rows, columns = np.mgrid[0:picture.shape[0], 0:picture.shape[1]]
    alpha = np.clip((1 - np.hypot((columns - x) / (0.62 * width), (rows - y) / (0.68 * height))) * 8, 0, 1)
    side = 1.1 * max(width, height)
    top, left = np.argwhere(alpha > 0).min(axis=0)
    bottom, right = np.argwhere(alpha > 0).max(axis=0) + 1
    box = x - side / 2 - left, y - 0.03 * side - side / 2 - top
    return [picture[top:bottom, left:right]], alpha[top:bottom, left:right].astype(np.float32), box, side


def resized(picture, scale):
    """To `scale` times its size; shrunk ones are means first."""
    while scale <= 0.5 and min(picture.shape) > 8:
        even = picture[:picture.shape[0] // 2 * 2, :picture.shape[1] // 2 * 2]
        picture, scale = (even[::2, ::2] + even[1::2, ::2] + even[::2, 1::2] + even[1::2, 1::2]) / 4, 2 * scale
    height, width = (max(2, round(n * scale)) for n in picture.shape)
    y, x = np.mgrid[0:height, 0:width]
    return sampled(picture, (y + 0.5) / scale - 0.5, (x + 0.5) / scale - 0.5).astype(np.float32)


class Person:
    """Walks in from one side, stays, and walks out again."""

    def __init__(self, data, random):
        self.side = random.uniform(44, 90)
        if random.random() < 0.5:
            frames, alpha, box = scenes.head(data, sorted(scenes.ACTORS)[random.integers(len(scenes.ACTORS))])
            side = scenes.SIDE
        else:
            frames, alpha, box, side = still_head(data, int(random.integers(len(labelled(data)))))
        scale = self.side / side
        self.frames, self.alpha = [resized(frame, scale) for frame in frames], resized(alpha, scale)
        self.box = scale * box[0], scale * box[1]
        self.phase = int(random.integers(len(frames)))
        width, height = round(2.2 * self.side), HEIGHT
        y, x = np.mgrid[0:height, 0:width]
        reach = np.maximum(np.abs(x - width / 2) / (width / 2), 0) ** 4 + np.clip(1 - y / (0.5 * self.side), 0, 1) ** 2
        self.body_alpha = np.clip((1 - reach) * 8, 0, 1).astype(np.float32)
        self.body = (random.uniform(40, 200) + dead_leaves(random, height, width, 3, width / 3, 15)).astype(np.float32)
        self.y = MARGIN + random.uniform(0.1, 0.4) * (HEIGHT - self.side)
        inside = MARGIN + random.uniform(0.15, 0.85) * WIDTH
        outside = [MARGIN + (-1.5 * self.side if random.random() < 0.5 else WIDTH + 1.5 * self.side) for _ in range(2)]
        ways = [abs(inside - end) / random.uniform(2.5, 7) for end in outside]
        begin, stay = random.uniform(15, LENGTH / 2), random.uniform(30, LENGTH / 2)
        self.times = np.cumsum([begin, ways[0], stay, ways[1]])
        self.places = outside[0], inside, inside, outside[1]
        self.sway, self.pace = random.uniform(0, 1.5), random.uniform(0.05, 0.2)

    def place(self, t):
        """The middle and the top of the face box in the room, or None."""
        if not self.times[0] <= t <= self.times[-1]:
            return None
        return np.interp(t, self.times, self.places) + self.sway * np.sin(self.pace * t), self.y

    def draw(self, canvas, t):
        """Returns the face box in the room and the columns that the person covers, or None."""
        at = self.place(t)
        if at is None:
            return None
        x, y = at
        cycle = max(1, 2 * len(self.frames) - 2)
        number = (int(t) + self.phase) % cycle
        head = self.frames[min(number, cycle - number)] if len(self.frames) > 1 else self.frames[0]
        left, top = round(x - self.side / 2 - self.box[0]), round(y - self.box[1])
        put(canvas, self.body, self.body_alpha, round(x - self.body.shape[1] / 2), round(y + 0.95 * self.side))
        put(canvas, head, self.alpha, left, top)
        return left + self.box[0], top + self.box[1]


def put(canvas, picture, alpha, left, top):
    y0, y1 = max(top, 0), min(top + picture.shape[0], canvas.shape[0])
    x0, x1 = max(left, 0), min(left + picture.shape[1], canvas.shape[1])
    if y0 < y1 and x0 < x1:
        part = slice(y0 - top, y1 - top), slice(x0 - left, x1 - left)
        canvas[y0:y1, x0:x1] += alpha[part] * (picture[part] - canvas[y0:y1, x0:x1])


def overlap(a, b):
    """The area that two boxes (left, top, right, bottom) share."""
    return max(0, min(a[2], b[2]) - max(a[0], b[0])) * max(0, min(a[3], b[3]) - max(a[1], b[1]))


class Scene:
    """`frames()` gives (frame, truth): grey, uint8; truth has `faces`, {person: (face, visible share)}, and whether
    something `moves` and whether the `camera` does."""

    def __init__(self, data, kind, seed):
        assert kind in KINDS
        self.kind, self.seed = kind, seed
        random = np.random.default_rng([KINDS.index(kind), seed])
        self.room = room(data, int(random.integers(1 << 30)))
        self.noise = random.uniform(1, 3)
        while True:
            self.people = [Person(data, random) for _ in range(random.integers(1, 4))]
            if SHARE[0] <= np.mean([self.someone(t) for t in range(LENGTH)]) <= SHARE[1]:
                break
        self.shifts = np.zeros((LENGTH, 2))
        if kind == "camera":
            self.turn(random)
        self.light = np.zeros(LENGTH)
        self.in_proportion = bool(random.random() < 0.5)
        if kind == "lights":
            for middle in np.linspace(0, LENGTH, 5)[1:-1]:
                begin, frames = int(middle + random.integers(-25, 26)), int(random.choice([1, 1, 5, 30]))
                step = random.uniform(15, 60) * (1 if self.light[-1] <= 0 else -1)
                self.light += step * np.clip((np.arange(LENGTH) - begin) / frames, 0, 1)

    def someone(self, t):
        return any(at and MARGIN < at[0] < MARGIN + WIDTH for at in (person.place(t) for person in self.people))

    def turn(self, random):
        """Two turns, the second one back in part, and a second of shaking."""
        for middle in (0.3 * LENGTH, 0.7 * LENGTH):
            begin, frames = int(middle + random.integers(-30, 31)), int(random.integers(15, 45))
            way = np.clip((np.arange(LENGTH) - begin) / frames, 0, 1)[:, None]
            target = random.uniform(-0.8, 0.8, 2) * (MARGIN, MARGIN)
            self.shifts += (target - self.shifts[-1]) * (way * way * (3 - 2 * way))
        begin = int(random.integers(0, LENGTH - FPS))
        for t in range(begin, begin + FPS):
            self.shifts[t] = np.clip(self.shifts[t] + random.normal(0, 1.2, 2), -MARGIN + 2, MARGIN - 2)

    def draw(self, t):
        """(picture without noise, {person: (face, visible share)})"""
        canvas = self.room.astype(np.float32)
        dy, dx = self.shifts[t]
        faces = {}
        for number, person in enumerate(self.people):
            corner = person.draw(canvas, t)
            if corner is None:
                continue
            side = person.side
            left, top = corner[0] - MARGIN - dx, corner[1] - MARGIN - dy
            covers = left - 0.6 * side, top, left + 1.6 * side, HEIGHT
            for other, (face, seen) in faces.items():
                whole = face["x"], face["y"], face["x"] + face["w"], face["y"] + face["h"]
                faces[other] = face, max(0.0, seen - overlap(whole, covers) / face["w"] ** 2)
            seen = overlap((left, top, left + side, top + side), (0, 0, WIDTH, HEIGHT)) / side ** 2
            faces[number] = dict(x=left, y=top, w=side, h=side), seen
        if self.shifts[t].any():
            y, x = np.mgrid[0:HEIGHT, 0:WIDTH].astype(np.float64)
            picture = sampled(canvas, y + MARGIN + dy, x + MARGIN + dx)
        else:
            picture = canvas[MARGIN:-MARGIN, MARGIN:-MARGIN]
        light = self.light[t]
        return picture * (1 + light / 128) if self.in_proportion else picture + light, faces

    def frames(self):
        before = None
        for t in range(LENGTH):
            picture, faces = self.draw(t)
            picture = picture.clip(0, 255)
            moves = before is not None and np.count_nonzero(np.abs(picture - before) > LEAST) >= FEWEST
            camera = t > 0 and bool(np.abs(self.shifts[t] - self.shifts[t - 1]).max() >= 0.5)
            before = picture
            random = np.random.default_rng([KINDS.index(self.kind), self.seed, 1, t])
            noisy = picture + random.normal(0, self.noise, picture.shape)
            yield (np.rint(noisy).clip(0, 255).astype(np.uint8),
                   {"faces": faces, "moves": bool(moves), "camera": camera})
