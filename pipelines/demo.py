#!/usr/bin/python3
"""The main job in one program: finds faces, puts landmarks on them, follows them, draws and publishes them."""
import argparse
import collections
import json
import sys
import time

import common
from common import UserError, properties

import gi

gi.require_version("Gst", "1.0")
gi.require_version("GstPbutils", "1.0")
from gi.repository import GLib, Gst, GstPbutils  # noqa: E402

ELEMENTS = ("cufacedetect", "culktrack", "cufacelandmark", "cufaceoverlay", "cufacepublish")


def parse_arguments():
    parser = argparse.ArgumentParser(
        prog="pipelines/demo",
        description="Finds faces in INPUT, puts landmarks on them and follows them; writes the video with the "
        "faces drawn in and faces.jsonl, one JSON object a frame.",
    )
    parser.add_argument("input", nargs="?", metavar="INPUT", default=str(common.SAMPLE_CLIP),
                        help="a video, a picture or a URI (rtsp://..., v4l2:///dev/video0); default: the sample clip")
    parser.add_argument("--output", metavar="DIR", default="cuface-demo", help="where to write (default %(default)s)")
    parser.add_argument("--display", action="store_true", help="show a window instead of writing a video")
    parser.add_argument("--frames", type=int, default=0, metavar="N", help="stop after N frames (default: all)")
    parser.add_argument("--redetect-interval", type=int, metavar="N",
                        help="search every N frames, follow in between (default: the element's, 10)")
    parser.add_argument("--cascade", metavar="FILE", help="an OpenCV Haar cascade (default: frontalface_alt)")
    parser.add_argument("--model", metavar="FILE", help="a dlib shape predictor (default: 68 points)")
    parser.add_argument("--min-size", type=int, metavar="PX", help="smallest face looked for")
    parser.add_argument("--min-neighbors", type=int, metavar="N", help="a face needs more than N hits")
    parser.add_argument("--draw", metavar="FLAGS", help="what to draw, for example box+points+id")
    parser.add_argument("--cuda", action="store_true",
                        help="build the CUDA elements first, with a compiler from PyPI where the machine has none; "
                        "compute on the GPU where there is one")
    parser.add_argument("--backend", choices=("auto", "cpu", "cuda"), help="where to compute")
    return parser.parse_args()


def is_picture(uri):
    """True for a still picture: its result is a picture too."""
    if not uri.startswith("file:"):
        return False
    try:
        streams = GstPbutils.Discoverer.new(10 * Gst.SECOND).discover_uri(uri).get_video_streams()
    except GLib.Error as error:
        raise UserError(f"{uri}: cannot be read as a video or picture: {error.message}") from error
    if not streams:
        raise UserError(f"{uri}: holds no video and no picture")
    return streams[0].is_image()


def sink_for(arguments, picture, folder):
    """The end of the pipeline, and the file it writes (None: a window)."""
    if arguments.display:
        return common.window(), None
    if picture:
        path = folder / "faces.png"
        return f"videoconvert ! pngenc snapshot=true ! filesink{properties(location=path)}", path
    return common.recorder(folder / "faces")


def takes_cuda_memory(factory):
    """True where the plugin was built with CUDA and has found a driver and a GPU."""
    return "memory:CUDAMemory" in Gst.ElementFactory.make(factory).get_pad_template("sink").get_caps().to_string()


def pipeline_text(arguments, uri, sink, lines):
    backend = properties(backend=arguments.backend)
    return (
        f"uridecodebin{properties(uri=uri)} ! videoconvert ! queue"
        f" ! cufacedetect{backend}"
        + properties(cascade=arguments.cascade, redetect_interval=arguments.redetect_interval,
                     min_size=arguments.min_size, min_neighbors=arguments.min_neighbors)
        + f" ! culktrack{backend} ! cufacelandmark{backend}{properties(model=arguments.model)}"
        f" ! cufaceoverlay{backend}{properties(draw=arguments.draw)}"
        f" ! cufacepublish{properties(location=lines)} ! queue ! {sink}"
    )


def our_elements(pipeline):
    """{factory name: element}, in the order of ELEMENTS."""
    found = {}
    iterator = pipeline.iterate_elements()
    while (step := iterator.next())[0] == Gst.IteratorResult.OK:
        found[step[1].get_factory().get_name()] = step[1]
    return {name: found[name] for name in ELEMENTS if name in found}


def stats_of(element):
    """The element's `stats` as a dictionary."""
    stats = element.get_property("stats")
    return {stats.nth_field_name(i): stats.get_value(stats.nth_field_name(i)) for i in range(stats.n_fields())}


def stop_after(pipeline, frames):
    """Lets exactly `frames` frames into the chain, then ends the stream."""
    seen = 0

    def count(_pad, _info):
        nonlocal seen
        seen += 1
        if seen == frames + 1:
            GLib.idle_add(lambda: pipeline.send_event(Gst.Event.new_eos()) and False)
        return Gst.PadProbeReturn.OK if seen <= frames else Gst.PadProbeReturn.DROP

    our_elements(pipeline)["cufacedetect"].get_static_pad("sink").add_probe(Gst.PadProbeType.BUFFER, count)


class Progress:
    """One line that is rewritten on a terminal, a line every few seconds elsewhere."""

    def __init__(self, pipeline):
        self.pipeline, self.start, self.width = pipeline, time.monotonic(), 0
        self.detector = our_elements(pipeline)["cufacedetect"]
        self.terminal = sys.stderr.isatty()
        GLib.timeout_add(200 if self.terminal else 5000, self.show)

    def show(self):
        frames = stats_of(self.detector)["frames"]
        seconds = time.monotonic() - self.start
        text = f"{frames} frames, {frames / seconds:.0f} frames/s"
        known, length = self.pipeline.query_duration(Gst.Format.TIME)
        done, position = self.pipeline.query_position(Gst.Format.TIME)
        if known and done and length > 0:
            text += f", {min(100, 100 * position // length)} %"
        if self.terminal:
            print("\r" + text.ljust(self.width), end="", file=sys.stderr, flush=True)
            self.width = len(text)
        else:
            print(text, file=sys.stderr, flush=True)
        return True

    def clear(self):
        if self.terminal:
            print("\r" + " " * self.width + "\r", end="", file=sys.stderr, flush=True)


def run(pipeline):
    """Plays to the end and shows how far it is. Returns the seconds it took."""
    start = time.monotonic()
    progress = Progress(pipeline)
    try:
        common.run(pipeline)
    finally:
        progress.clear()
    return time.monotonic() - start


def read_lines(path):
    """Counts what faces.jsonl says."""
    count = collections.Counter()
    ids, stamps = set(), []
    with open(path, encoding="utf-8") as file:
        for line in file:
            frame = json.loads(line)
            count["frames"] += 1
            count["with_face"] += bool(frame["objects"])
            ids.update(face["id"] for face in frame["objects"])
            if frame["timestamp"] is not None:
                stamps.append(frame["timestamp"])
    ids.discard(None)
    # n frames span n - 1 intervals
    length = (max(stamps) - min(stamps)) / 1e9 * len(stamps) / (len(stamps) - 1) if len(stamps) > 1 else 0
    return count["frames"], count["with_face"], len(ids), length


def summarise(stats, seconds, lines, video, text):
    frames, with_face, ids, length = read_lines(lines)
    print(f"video       {video or '(shown)'}")
    print(f"faces       {lines}")
    print(f"frames      {frames}, {with_face} with a face, {ids} distinct {'id' if ids == 1 else 'ids'}")
    for name, values in stats.items():
        mean = values["time-total-ns"] / max(1, values["frames"]) / 1e6
        extra = f", {values['searches']} searches" if name == "cufacedetect" else ""
        print(f"  {name:<15}{mean:8.3f} ms a frame (longest {values['time-max-ns'] / 1e6:.1f} ms){extra}")
    rate = frames / seconds
    real_time = f", {length / seconds:.1f} x real time" if length else ""
    print(f"rate        {rate:.1f} frames/s{real_time}, decoding and encoding included")
    print(f"same chain  gst-launch-1.0 {text}")


def main(arguments):
    if arguments.cuda and not arguments.backend:
        if takes_cuda_memory("cufacedetect"):
            arguments.backend = "cuda"
        else:
            print("demo: no NVIDIA GPU, computing on the CPU (--backend cuda says what is missing)", file=sys.stderr)
    uri = common.input_uri(arguments.input)
    folder = common.output_folder(arguments.output)
    sink, video = sink_for(arguments, is_picture(uri), folder)
    lines = folder / "faces.jsonl"
    text = pipeline_text(arguments, uri, sink, lines)
    pipeline = common.parse(text)
    if arguments.frames:
        stop_after(pipeline, arguments.frames)
    try:
        seconds = run(pipeline)
        stats = {name: stats_of(element) for name, element in our_elements(pipeline).items()}
    except UserError as error:
        raise UserError(f"{arguments.input}: {error}") from error
    finally:
        pipeline.set_state(Gst.State.NULL)
    summarise(stats, seconds, lines, video, text)


if __name__ == "__main__":
    common.start(main, parse_arguments())
