"""Grey frames of the given clips, and of clips made from them: what is measured, with its truth.

Every frame is a uint8 array [height, width] in full range, so that both chains see the same bytes. Detectors that
read colour get frames [height, width, 3] in the order blue, green, red. Nothing is random but the noise, whose seed
is fixed.
"""
import contextlib
import csv
import functools
import itertools
import json
import os
import pathlib
import subprocess
import tempfile

import numpy as np

TRUTH = pathlib.Path(__file__).with_name("truth")
NOISE = 2.0  # standard deviation of a camera's noise, in grey levels
BORDER = 128  # HELEN's crops are tight: as in tests/models/landmark_rows.h
TURNS = 0, 15, 30, 45  # degrees
TURN_STEP, TURN_HOLD = 2.5, 6  # degrees a frame; frames for which each of TURNS is held


class Clip:
    """`make` gives the frames; `file()` has them as raw video while it is open."""

    def __init__(self, name, width, height, fps, make, colour=False, **truth):
        assert width % 4 == 0, f"{name}: GStreamer's rows of raw video are multiples of 4 bytes"
        self.name, self.width, self.height, self.fps, self.make = name, width, height, fps, make
        self.shape = (height, width, 3) if colour else (height, width)
        self.format = "bgr" if colour else "gray8"
        self.truth = truth

    @contextlib.contextmanager
    def file(self, folder):
        with tempfile.NamedTemporaryFile(dir=folder, suffix=f".{self.format}") as file:
            self.length = 0
            for frame in self.make():
                assert frame.shape == self.shape and frame.dtype == np.uint8
                file.write(frame.tobytes())
                self.length += 1
            file.flush()
            yield pathlib.Path(file.name)


def probe(path):
    entries = "stream=width,height,r_frame_rate,color_range,pix_fmt"
    done = subprocess.run(["ffprobe", "-v", "error", "-select_streams", "v:0", "-show_entries", entries,
                           "-of", "json", path], check=True, stdout=subprocess.PIPE)
    return json.loads(done.stdout)["streams"][0]


def read_raw(arguments, plane, whole):
    """The first `plane` bytes of every `whole` bytes that ffmpeg writes."""
    command = ["ffmpeg", "-nostdin", "-v", "error", *arguments, "-f", "rawvideo", "-"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env={**os.environ, "LC_ALL": "C"}) as process:
        try:
            while len(data := process.stdout.read(whole)) == whole:
                yield np.frombuffer(data, np.uint8, plane)
        finally:
            process.kill()  # when no more frames are wanted


def decode(path, first=0, count=100000, size=None, timed=True):
    """Frames of a video of the test data (all are 4:2:0), from `first` on: the Y plane in full range. Where times have
    gaps, frames are repeated; not with timed=False."""
    stream = probe(path)
    width, height = size or (stream["width"], stream["height"])
    assert stream["pix_fmt"] in ("yuv420p", "yuvj420p"), f"{path}: {stream['pix_fmt']}"
    levels = np.arange(256)
    if stream["pix_fmt"] == "yuv420p":  # limited range, as the numeric contract says
        levels = np.clip(((levels - 16) * 255 + 109) // 219, 0, 255)
    levels = levels.astype(np.uint8)
    arguments = ["-i", path, "-vf", f"trim=start_frame={first},scale={width}:{height}", "-pix_fmt", stream["pix_fmt"],
                 "-frames:v", str(count), *([] if timed else ["-fps_mode", "passthrough"])]
    whole = width * height + 2 * ((width + 1) // 2) * ((height + 1) // 2)
    for plane in read_raw(arguments, width * height, whole):
        yield levels[plane.reshape(height, width)]


def pictures(pattern, width, height, colour=False):
    """Grey pictures of one size, or coloured ones; `pattern` is a file or has a *."""
    several = ["-pattern_type", "glob"] if "*" in str(pattern) else []
    shape = (height, width, 3) if colour else (height, width)
    size = int(np.prod(shape))
    for plane in read_raw([*several, "-i", pattern, "-pix_fmt", "bgr24" if colour else "gray"], size, size):
        yield plane.reshape(shape)


def edged(picture, left, top, right, bottom):
    """The picture with a border of its nearest pixels."""
    return np.pad(picture, [(top, bottom), (left, right), (0, 0)][:picture.ndim], mode="edge")


def given(data, name, first=0, count=100000, size=None):
    """A clip of the test data, or frames of it."""
    path = data / "videos" / name
    stream = probe(path)
    width, height = size or (stream["width"], stream["height"])
    return Clip(path.stem, width, height, stream["r_frame_rate"], lambda: decode(path, first, count, size))


def coloured(data, name, step=1):
    """Every step-th frame of a clip of the test data in colour, as ffmpeg makes it."""
    path = data / "videos" / name
    stream = probe(path)
    width, height = stream["width"], stream["height"]
    return Clip(path.stem, width, height, stream["r_frame_rate"],
                lambda: itertools.islice(pictures(path, width, height, True), 0, None, step), True)


def compressed(data, name, folder):
    """A clip of the test data as x264 leaves it: what is wrong in one frame stays in those behind it."""
    path = folder / f"{name}.h264.mkv"
    if not path.exists():
        part = folder / f".{path.name}"
        subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-y", "-i", data / "videos" / name, "-an", "-c:v", "libx264",
                        "-profile:v", "main", "-pix_fmt", "yuv420p", "-crf", "26", part], check=True)
        part.rename(path)
    stream = probe(path)
    return Clip(path.stem, stream["width"], stream["height"], stream["r_frame_rate"], lambda: decode(path))


def every(clip, step):
    """Every step-th frame of a clip, for whoever looks at each frame alone."""
    return Clip(f"{clip.name}, one of {step} frames", clip.width, clip.height, clip.fps,
                lambda: itertools.islice(clip.make(), 0, None, step))


def hand_drawn():
    """{clip: (name, {frame: [true faces]})} of tests/quality/truth."""
    result = {}
    for file in sorted(TRUTH.glob("*.json")):
        clip = json.loads(file.read_text(encoding="utf-8"))
        frames = {frame["frame"]: [dict(zip("xywh", face["box"]), person=face["person"],
                                        difficult=face.get("difficult")) for face in frame["faces"]]
                  for frame in clip["frames"]}
        result[clip["clip"]] = (file.stem, frames)
    return result


def noisy(frame, random):
    return np.clip(np.rint(frame + random.normal(0, NOISE, frame.shape)), 0, 255).astype(np.uint8)


def warp(picture, matrix):
    """The picture moved by a 2x3 matrix (old pixel -> new pixel), linear between pixels; outside it the nearest pixel
    counts. Float."""
    height, width = picture.shape
    y, x = np.mgrid[0:height, 0:width].astype(np.float32)
    old_x, old_y = (row[0] * x + row[1] * y + row[2] for row in inverse(matrix).astype(np.float32))
    left, top = np.floor(old_x), np.floor(old_y)
    part_x, part_y = old_x - left, old_y - top
    columns = [np.clip(left.astype(np.int32) + i, 0, width - 1) for i in (0, 1)]
    lines = [np.clip(top.astype(np.int32) + i, 0, height - 1) * width for i in (0, 1)]
    flat = picture.astype(np.float32).ravel()
    upper, lower = ((1 - part_x) * flat[line + columns[0]] + part_x * flat[line + columns[1]] for line in lines)
    return (1 - part_y) * upper + part_y * lower


def slide(picture, ways):
    """Each row moved to the right by its way in pixels, by the phases of its spectrum, so that it is as sharp between
    pixels as on them; it goes on mirrored."""
    width = picture.shape[1]
    spectrum = np.fft.rfft(np.hstack([picture, picture[:, ::-1]]))
    phases = np.exp(-2j * np.pi * np.outer(ways, np.fft.rfftfreq(2 * width)))
    return np.fft.irfft(spectrum * phases, 2 * width)[:, :width]


def move(picture, matrix, margin=64):
    """As warp() by a turn and a shift, as three slides: no phase of the motion blurs. Outside it is mirrored."""
    picture = np.pad(picture.astype(float), margin, mode="symmetric")
    middle = (np.array(picture.shape[::-1]) - 1) / 2
    x, y = (np.arange(n) - m for n, m in zip(picture.shape[::-1], middle))
    shift_x, shift_y = transform(matrix, middle - margin) - (middle - margin)
    angle = np.arctan2(matrix[1, 0], matrix[0, 0])
    picture = slide(picture, -np.tan(angle / 2) * y)
    picture = slide(picture.T, np.sin(angle) * x + shift_y).T
    picture = slide(picture, -np.tan(angle / 2) * (y - shift_y) + shift_x)
    return picture[margin:-margin, margin:-margin]


def rotation(degrees, centre):
    """Clockwise on the screen, about a point; 2x3."""
    a = np.deg2rad(degrees)
    turn = np.array([[np.cos(a), -np.sin(a)], [np.sin(a), np.cos(a)]])
    return np.hstack([turn, (centre - turn @ centre)[:, None]])


def inverse(matrix):
    return np.linalg.inv(np.vstack([matrix, [0, 0, 1]]))[:2]


def shift(x, y):
    return np.array([[1.0, 0, x], [0, 1.0, y]])


def transform(matrix, points):
    return points @ matrix[:, :2].T + matrix[:, 2]


# Drift: a still picture in known motion; for frame t the 2x3 matrix of where it is.
LENGTH = 100
RESTS, REST_FRAMES = range(5, LENGTH, 10), 20
MOTIONS = {
    "0.05 px a frame": lambda t: shift(0.05 * t, 0),
    "0.1 px a frame": lambda t: shift(0.08 * t, 0.06 * t),
    "0.3 px a frame": lambda t: shift(-0.3 * t, 0),
    "0.1 degree a frame": lambda t: rotation(0.1 * t, np.array([195.0, 130.0])),
    "stop and start": lambda t: shift(0.3 * (t % 25 + 12 * (t // 25) if t % 25 < 12 else 12 * (t // 25 + 1)), 0),
}


def repeated(name, picture, count, **truth):
    def make():
        random = np.random.default_rng(7)
        for _ in range(count):
            yield noisy(picture, random)
    return Clip(name, picture.shape[1], picture.shape[0], "24/1", make, picture.ndim == 3, **truth)


def still(data, count=200):
    """One frame of franck.mp4, repeated with noise."""
    return repeated("still", next(decode(data / "videos/franck.mp4", 0, 1)), count)


def resting(data, motion):
    """The still picture at rest in places on the way of a motion, a clip each; truth: `matrix`. Nothing lags or drifts
    in a clip that begins where it stays."""
    picture = next(decode(data / "videos/franck.mp4", 0, 1))
    for t in RESTS:
        matrix = MOTIONS[motion](t)
        yield repeated(f"{motion}, at rest on frame {t}", move(picture, matrix), REST_FRAMES, matrix=matrix)


def drifting(data, motion, backwards=False):
    """The still picture in motion. A constant error of the points looks like a lag in one direction and like a lead
    in the other, so that both directions together tell them apart."""
    picture = next(decode(data / "videos/franck.mp4", 0, 1))
    matrices = [MOTIONS[motion](t) for t in range(LENGTH)]
    if backwards:
        matrices.reverse()

    def make():
        random = np.random.default_rng(7)
        for matrix in matrices:
            yield noisy(move(picture, matrix), random)
    return Clip(motion + backwards * ", backwards", picture.shape[1], picture.shape[0], "24/1", make, matrices=matrices)


# People's labels.
@functools.lru_cache
def labelled(data, colour=False):
    """[(set, picture, 68 points, path)] of the human rows of landmarks68.csv."""
    with open(data / "landmarks68.csv", encoding="utf-8") as file:
        table = sorted((row for row in list(csv.reader(file))[1:] if row[1] == "human"), key=lambda row: row[2])
    helen = pictures(data / "images/helen/*.jpg", 256, 256, colour)  # in the order of their names
    rows = []
    for kind, _, path, *numbers in table:
        points = np.array(numbers, dtype=float).reshape(68, 2)
        if kind == "helen":
            picture, points = edged(next(helen), *[BORDER] * 4), points + BORDER
        else:
            stream = probe(data / path)
            picture = next(pictures(data / path, stream["width"], stream["height"], colour))
            picture = edged(picture, 0, 0, -picture.shape[1] % 4, 0)
        rows.append((kind, picture, points, path))
    assert next(helen, None) is None, "pictures without labels"
    return rows


def labelled_clips(data, colour=False, only=None):
    """The human rows, or those of a set, each a frame, as clips of one size each; truth: `points` and `names` of the
    frames."""
    sizes = {}
    for kind, picture, points, path in labelled(data, colour):
        if only in (None, kind):
            sizes.setdefault(picture.shape[:2], []).append((picture, points, path))
    for (height, width), rows in sizes.items():
        yield Clip("labelled", width, height, "25/1", lambda rows=rows: (picture for picture, *_ in rows), colour,
                   points=[points for _, points, _ in rows], names=[path for *_, path in rows])


def picture_clips(data, colour=True):
    """All pictures of the test data, as clips of one size each; truth: `names` of the frames."""
    sizes = {}
    for path in sorted((data / "images").rglob("*")):
        if path.suffix in (".jpg", ".png"):
            stream = probe(path)
            [picture] = pictures(path, stream["width"], stream["height"], colour)
            picture = edged(picture, 0, 0, -picture.shape[1] % 4, 0)
            sizes.setdefault(picture.shape[:2], []).append((picture, str(path.relative_to(data))))
    for (height, width), rows in sizes.items():
        yield Clip("pictures", width, height, "25/1", lambda rows=rows: (picture for picture, _ in rows), colour,
                   names=[name for _, name in rows])


def turning(data):
    """HELEN's faces, each a clip: upright, then turned to 15, 30 and 45 degrees and held there. Truth: for each of
    TURNS the number of the frame it is seen in at last, the points and the frame."""
    angles = []
    for turn in TURNS:
        while angles and angles[-1] < turn:
            angles.append(min(angles[-1] + TURN_STEP, turn))
        angles += [turn] * TURN_HOLD
    last = {turn: len(angles) - 1 - angles[::-1].index(turn) for turn in TURNS}
    for number, (_, picture, points, _) in enumerate(row for row in labelled(data) if row[0] == "helen"):
        centre = (points.min(axis=0) + points.max(axis=0)) / 2
        side = 400
        left, top = np.rint(centre - side / 2).astype(int).clip(0, np.array(picture.shape[::-1]) - side)
        corner = np.array([left, top])
        crop, inner = picture[top:top + side, left:left + side], points - corner
        sign = 1 if number % 2 else -1
        matrices = [rotation(sign * angle, centre - corner) for angle in angles]
        seen = {angle: np.rint(warp(crop, matrix)).clip(0, 255).astype(np.uint8)
                for angle, matrix in dict(zip(angles, matrices)).items()}
        yield Clip(f"turning {number}", side, side, "25/1", lambda seen=seen: (seen[angle] for angle in angles),
                   turns={turn: (t, transform(matrices[t], inner), seen[turn]) for turn, t in last.items()})


def rolling(data, degrees, seconds=10):
    """A head that rolls steadily as far, as 25 frames a second: the still picture turned about its middle. Truth:
    `matrices`, of each frame."""
    picture = next(decode(data / "videos/franck.mp4", 0, 1))
    count = 25 * seconds
    centre = np.array([197.0, 150.0])  # of the face
    matrices = [rotation(degrees * t / (count - 1), centre) for t in range(count)]
    return Clip(f"rolling by {degrees} degrees", picture.shape[1], picture.shape[0], "25/1",
                lambda: (np.rint(warp(picture, matrix)).clip(0, 255).astype(np.uint8) for matrix in matrices),
                matrices=matrices)


def held(turning_clips):
    """The frames of turning() in which errors are measured, one after the other; truth: (turn, points) of each."""
    turns = [(turn, points, frame)
             for clip in turning_clips for turn, (_, points, frame) in clip.truth["turns"].items()]
    first = turning_clips[0]
    return Clip("turned", first.width, first.height, first.fps, lambda: (frame for *_, frame in turns),
                turns=[(turn, points) for turn, points, _ in turns])


def drawing(data, count=10, colour=False):
    """The drawing without a face, as a still clip with noise."""
    path = data / "images/scenes/free-mountain-vector-01.jpg"
    stream = probe(path)
    return repeated("drawing", next(pictures(path, stream["width"], stream["height"], colour)), count)
