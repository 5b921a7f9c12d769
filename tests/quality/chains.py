"""Runs the two chains that are compared over a clip: ours, as a user does, and the peer.

Ours goes through gst-launch-1.0 and the JSON lines of cufacepublish, so that the elements may change without a
change here. The peer is tests/quality/peer.cc.
"""
import functools
import hashlib
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("CUFACE_BUILD", SOURCE / "build"))
CASCADE = "/usr/share/opencv4/haarcascades/haarcascade_frontalface_alt.xml"
MODELS = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache"), "gst-cuface")
MODEL = MODELS / "shape_predictor_68_face_landmarks.dat"
CACHE = MODELS / "quality"  # clips while they are measured, and what was found in them
PEER = BUILD / "tests/quality/quality-peer"
ELEMENTS = "cufacedetect", "culktrack", "cufacelandmark"
ENVIRONMENT = {**os.environ, "GST_PLUGIN_PATH": str(BUILD / "gst"), "GST_REGISTRY": str(BUILD / "quality-registry.bin"),
               "LD_LIBRARY_PATH": f"{BUILD / 'gst'}:{os.environ.get('LD_LIBRARY_PATH', '')}"}


def start(command, **options):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False, **options)
    if done.returncode:
        raise RuntimeError(f"{command[0]} failed: {done.stderr[-1000:]}{done.stdout[-1000:]}")
    return done.stdout


@functools.lru_cache
def inspect(element):
    return start(["gst-inspect-1.0", element], env=ENVIRONMENT)


def has_property(element, name):
    return f"\n  {name} " in inspect(element)


class Settings:
    """Properties of the elements: {element: {property: value}}, from texts like culktrack.max-missed=2."""

    def __init__(self, texts=(), base=None):
        self.values = {element: dict(base.values[element]) if base else {} for element in ELEMENTS}
        for text in texts:
            where, equals, value = text.partition("=")
            element, dot, name = where.partition(".")
            if not (equals and dot and element in ELEMENTS):
                raise ValueError(f"'{text}' is not ELEMENT.PROPERTY=VALUE with one of {', '.join(ELEMENTS)}")
            self.values[element][name] = value

    def text(self, elements=ELEMENTS):
        return " ! ".join(" ".join([element, *(f"{name}={value}" for name, value in self.values[element].items())])
                          for element in elements)

    def with_known(self, texts):
        """These settings too, as far as the elements have such properties."""
        return Settings([t for t in texts if has_property(*t.partition("=")[0].split("."))], self)


def source(clip, path):
    return (f"filesrc location={path} blocksize={math.prod(clip.shape)} ! rawvideoparse format={clip.format} "
            f"width={clip.width} height={clip.height} framerate={clip.fps}")


def cached(clip, path, parts, find):
    """What find(file) writes as JSON Lines for these frames. Both chains give the same for the same frames, binaries
    and settings, so that what was found before is read again: an interrupted run goes on where it was."""
    digest = hashlib.sha256(f"{clip.width}x{clip.height} {clip.fps}".encode())
    for part in (*parts, path):
        if isinstance(part, str):
            digest.update(part.encode())
            continue
        with open(part, "rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    known = CACHE / f"{digest.hexdigest()[:32]}.jsonl"
    if not known.exists():
        part = known.with_suffix(f".{os.getpid()}")
        find(part)
        part.rename(known)
    lines = [json.loads(line) for line in known.read_text(encoding="utf-8").splitlines()]
    assert len(lines) == clip.length > 0, f"{clip.name}: {len(lines)} lines for {clip.length} frames; remove {known}"
    return lines


def ours(clip, path, chain):
    """The faces of each frame of a clip whose frames lie in `path`."""
    def find(lines):
        text = f"{source(clip, path)} ! {chain} ! cufacepublish location={lines} ! fakesink sync=false"
        start(["gst-launch-1.0", "-q", *text.split()], env=ENVIRONMENT)
    parts = BUILD / "gst/libgstcuface.so", "ours", chain
    return [line["objects"] for line in cached(clip, path, parts, find)]


def run_peer(clip, path, lines):
    with open(path, "rb") as frames, open(lines, "wb") as out:
        subprocess.run([PEER, CASCADE, MODEL, str(clip.width), str(clip.height)], stdin=frames, stdout=out, check=True)


def peer(clip, path):
    """The same of the peer, whose faces have no id but also `floats`."""
    lines = cached(clip, path, (PEER, pathlib.Path(CASCADE)), lambda lines: run_peer(clip, path, lines))
    return [line["objects"] for line in lines]


def peer_pace(clip, path):
    """The processor time of each frame in ns."""
    with tempfile.NamedTemporaryFile(dir=path.parent, suffix=".jsonl") as lines:
        run_peer(clip, path, lines.name)
        return [json.loads(line)["cpu_ns"] for line in lines]


def pace_of(text):
    """What probe_pace() prints of a pipeline, in a process of its own."""
    return json.loads(start(["/usr/bin/python3", __file__, text], env=ENVIRONMENT).splitlines()[-1])


def our_pace(clip, path, chain):
    """Processor time in ns of the streaming thread for each frame, and the frames with a requested search."""
    text = f"{source(clip, path)} ! {chain} ! cufacepublish location=/dev/null name=last ! fakesink sync=false"
    frames = pace_of(text)
    assert len(frames) == clip.length, f"{len(frames)} times for {clip.length} frames"
    return frames


def detector_pace(clip, path, detector, tracker):
    """The same of the detector alone, before a tracker."""
    text = f"{source(clip, path)} ! {detector} ! identity name=last ! {tracker} ! fakesink sync=false"
    return [ns for ns, _ in pace_of(text)]


def probe_pace(text):
    """Runs a pipeline with its elements between two clocks; prints [[ns, searches so far], ...]."""
    import time
    import gi
    gi.require_version("Gst", "1.0")
    from gi.repository import Gst
    Gst.init(None)
    pipeline = Gst.parse_launch(text)
    detect = next(e for e in pipeline.children if e.get_factory().get_name() == "cufacedetect")
    began, frames = [0], []

    def before(_pad, _info):
        began[0] = time.thread_time_ns()
        return Gst.PadProbeReturn.OK

    def after(_pad, _info):
        spent = time.thread_time_ns() - began[0]
        frames.append([spent, detect.get_property("stats").get_value("searches")])
        return Gst.PadProbeReturn.OK
    detect.get_static_pad("sink").add_probe(Gst.PadProbeType.BUFFER, before)
    pipeline.get_by_name("last").get_static_pad("src").add_probe(Gst.PadProbeType.BUFFER, after)
    pipeline.set_state(Gst.State.PLAYING)
    message = pipeline.get_bus().timed_pop_filtered(Gst.CLOCK_TIME_NONE, Gst.MessageType.EOS | Gst.MessageType.ERROR)
    pipeline.set_state(Gst.State.NULL)
    if message.type == Gst.MessageType.ERROR:
        raise SystemExit(message.parse_error()[0].message)
    print(json.dumps(frames))


if __name__ == "__main__":
    probe_pace(sys.argv[1])
