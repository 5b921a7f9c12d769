"""Clips put together from the given ones, with known truth: who is where, and from when a face is gone.

Four heads are cut out of their clips with soft edges, made equally large and moved over a part of a wall, behind
bars, and across each other. Their boxes and outlines were drawn by hand on frames of the part that is used, where
each of them moves by less than a sixth of the box.
"""
import functools
import itertools

import numpy as np

from clips import Clip, decode, given

WIDTH, HEIGHT, SIDE = 640, 360, 90  # px; SIDE is that of the face boxes
VISIBLE, GONE = 0.6, 0.1            # of the head within the face box
BEGIN = 50                          # frames in which nothing happens yet

# clip, first frame, frames, face box (x, y, side), head's outline (centre x, y, radius x, y)
ACTORS = {
    "franck": ("franck.mp4", 0, 60, (134, 78, 136), (197, 132, 85, 118)),
    "night": ("night.mkv", 0, 60, (265, 100, 70), (300, 126, 48, 66)),
    "book": ("book.mkv", 20, 60, (262, 97, 68), (298, 125, 48, 60)),
    "pexels": ("WolfgangLanger_Pexels.mp4", 240, 60, (318, 15, 265), (450, 165, 150, 175)),
}


@functools.lru_cache
def wall(data):
    """A part of book.mkv without anybody, enlarged."""
    frame = next(decode(data / "videos/book.mkv", 0, 1, (1408, 1056)))
    return frame[30:30 + HEIGHT, 750:750 + WIDTH].astype(np.float32)


@functools.lru_cache
def head(data, name):
    """(frames, alpha, box): the head's pictures, what of them is head, and its face box within them."""
    clip, first, count, (x, y, side), (centre_x, centre_y, radius_x, radius_y) = ACTORS[name]
    k = SIDE / side
    path = data / "videos" / clip
    size = given(data, clip)
    frames = list(decode(path, first, count, (round(size.width * k), round(size.height * k))))
    rows, columns = np.mgrid[0:frames[0].shape[0], 0:frames[0].shape[1]]
    distance = np.hypot((columns - k * centre_x) / (k * radius_x), (rows - k * centre_y) / (k * radius_y))
    alpha = np.clip((1 - distance) * 12, 0, 1).astype(np.float32)
    inside = np.argwhere(alpha > 0)
    top, left = inside.min(axis=0)
    bottom, right = inside.max(axis=0) + 1
    frames = [frame[top:bottom, left:right].astype(np.float32) for frame in frames]
    return frames, alpha[top:bottom, left:right], (k * x - left, k * y - top)


def layers_of(data, scene, t):
    """(who, picture, alpha, left, top, box) of each layer of a frame, from the back; the middle of a face's box is put
    where the scene says."""
    for kind, *place in scene:
        if kind == "bar":
            x, width = place
            stripes = 60 + 25 * ((np.mgrid[0:HEIGHT, 0:width][0] // 15) % 2).astype(np.float32)
            yield None, stripes, np.ones_like(stripes), x, 0, None
        else:
            frames, alpha, (box_x, box_y) = head(data, kind)
            cycle = 2 * len(frames) - 2
            number = min(t % cycle, cycle - t % cycle)
            left, top = (round(middle - SIDE / 2 - edge) for middle, edge in zip(place, (box_x, box_y)))
            yield kind, frames[number], alpha, left, top, (left + box_x, top + box_y)


def part(alpha, left, top, box):
    """The share of a head within its face box that `alpha`, placed there in the whole picture, still shows."""
    x, y = (round(v) for v in box)
    return alpha[max(y, 0):max(y + SIDE, 0), max(x, 0):max(x + SIDE, 0)].sum()


def draw(data, scene, t):
    """A frame, and {person: (face, visible part)}."""
    canvas, people = wall(data).copy(), {}
    for who, picture, alpha, left, top, box in layers_of(data, scene, t):
        y0, y1 = max(top, 0), min(top + picture.shape[0], HEIGHT)
        x0, x1 = max(left, 0), min(left + picture.shape[1], WIDTH)
        if y0 < y1 and x0 < x1:
            mask = alpha[y0 - top:y1 - top, x0 - left:x1 - left]
            canvas[y0:y1, x0:x1] += mask * (picture[y0 - top:y1 - top, x0 - left:x1 - left] - canvas[y0:y1, x0:x1])
            for shown, *_ in people.values():
                shown[y0:y1, x0:x1] *= 1 - mask
        if who:
            shown = np.zeros_like(canvas)
            if y0 < y1 and x0 < x1:
                shown[y0:y1, x0:x1] = mask
            whole = part(alpha, 0, 0, (box[0] - left, box[1] - top))
            people[who] = shown, whole, box
    truth = {who: (dict(x=box[0], y=box[1], w=SIDE, h=SIDE), float(part(shown, 0, 0, box) / whole))
             for who, (shown, whole, box) in people.items()}
    return np.rint(canvas).clip(0, 255).astype(np.uint8), truth


def composite(data, name, scenes):
    """A clip of a list of scenes, one a frame: each a list of layers from the back, ("bar", left, width) or (actor,
    middle x, middle y of the face box). Truth: `people` (for each frame {person: face}, of those who are seen), and
    `gone`, the first frame after which nobody is ever seen, if there is one."""
    frames, truth = zip(*(draw(data, scene, t) for t, scene in enumerate(scenes)))
    people = [{who: face for who, (face, seen) in frame.items() if seen > VISIBLE} for frame in truth]
    seen = [t for t, frame in enumerate(truth) if any(seen > GONE for _, seen in frame.values())]
    return Clip(name, WIDTH, HEIGHT, "25/1", lambda: iter(frames), people=people, gone=seen[-1] + 1)


def walk(begin, end, speed, rest=BEGIN):
    """Places on a line: at rest, on the way, at rest."""
    steps = max(1, round(np.hypot(*np.subtract(end, begin)) / speed))
    way = [tuple(np.add(begin, np.subtract(end, begin) * i / steps)) for i in range(steps + 1)]
    return [begin] * rest + way + [end] * rest


def composites(data):
    """20 clips with one or two people each, who should keep their ids."""
    for back, front in (("franck", "book"), ("night", "pexels"), ("book", "night"), ("pexels", "franck")):
        for speed, height in ((4, 180), (10, 215)):
            there, here = walk((110, 180), (530, 180), speed), walk((530, height), (110, height), speed)
            yield composite(data, f"{front} crosses before {back}, {2 * speed} px a frame",
                            [[(back, *a), (front, *b)] for a, b in zip(there, here, strict=True)])
    # A bar, or the way behind one, that hides the face for a second.
    for name in ACTORS:
        bars = walk((-300, 0), (640, 0), 6)
        yield composite(data, f"a bar passes {name}", [[(name, 320, 180), ("bar", round(x), 168)] for x, _ in bars])
    for name in ("franck", "night"):
        places = walk((90, 180), (550, 180), 6)
        yield composite(data, f"{name} walks behind a bar", [[(name, *place), ("bar", 236, 168)] for place in places])
    pair = [("franck", 180, 170), ("book", 460, 190)]
    for between, frames in (([], 5), ([], 12), ([], 25), ([("night", 180, 170)], 25), ([("pexels", 320, 180)], 12),
                            ([("night", 180, 170), ("pexels", 460, 190)], 25)):
        names = " and ".join(name for name, *_ in between) or "the wall"
        yield composite(data, f"cut to {names} for {frames} frames and back",
                        [pair] * BEGIN + [between] * frames + [pair] * BEGIN)


def leaving(data):
    """12 clips whose only face, or both, leave or are covered; truth: `gone`."""
    for name in ("franck", "book"):
        yield composite(data, f"cut from {name} to the wall", [[(name, 320, 180)]] * BEGIN + [[]] * BEGIN)
    for name in ("night", "pexels"):
        yield composite(data, f"{name} covered at once",
                        [[(name, 320, 180)]] * BEGIN + [[(name, 320, 180), ("bar", 200, 240)]] * BEGIN)
    for name in ("franck", "book"):
        bars = walk((-260, 0), (200, 0), 6)
        yield composite(data, f"{name} covered slowly", [[(name, 320, 180), ("bar", round(x), 240)] for x, _ in bars])
    for name, speed in (("night", 5), ("franck", 12), ("pexels", 25)):
        yield composite(data, f"{name} leaves at {speed} px a frame",
                        [[(name, *place)] for place in walk((320, 180), (760, 180), speed)])
    for name, grey in (("WolfgangLanger_Pexels.mp4", 128), ("face-demographics-walking.mp4", 128), ("book.mkv", 0)):
        clip = given(data, name)
        shown = 60 if "walking" not in name else 35

        def make(clip=clip, shown=shown, grey=grey):
            yield from itertools.islice(clip.make(), shown)
            yield from [np.full((clip.height, clip.width), grey, np.uint8)] * BEGIN
        yield Clip(f"{clip.name} blanked", clip.width, clip.height, clip.fps, make, gone=shown)
