#!/usr/bin/python3
"""How many frames of a camera a chain loses on one core, with whole searches and with searches that are spread.

  tests/bench/live.py [--size 1920x1080] [--rate 30] [--frames 450] [--rounds N] [--output docs/results/cpu-live.json]

A clip, decoded and scaled beforehand, comes from a live source at its rate, through a queue into the chain and to a sink
that drops what is more than 20 ms late. Each setting runs in a process of its own, pinned to one core; the settings take
turns, and the medians over the rounds count.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import threading

import chain

CLIPS = ["WolfgangLanger_Pexels.mp4", "face-demographics-walking.mp4", "classroom.mp4"]
SETTINGS = {"whole": "spread=false", "auto": "spread=auto"}
SECONDS = 2  # of a clip that are kept decoded and shown forwards and backwards, so that nothing jumps
CHAIN = ("appsrc name=camera is-live=true format=time ! video/x-raw,format=NV12,width={width},height={height},"
         "framerate={rate}/1 ! queue name=waiting max-size-bytes=0 max-size-time=0 max-size-buffers=60"
         " ! cufacedetect name=detect {setting} ! culktrack name=track ! cufacelandmark"
         " ! fakesink name=sink sync=true qos=true max-lateness=20000000")


def decoded(clip, width, height, rate):
    """Pictures of the clip, NV12."""
    raw = subprocess.run(
        ["ffmpeg", "-nostdin", "-v", "error", "-i", str(chain.DATA / "videos" / clip), "-t", str(SECONDS), "-vf",
         f"fps={rate},scale={width}:{height}", "-pix_fmt", "nv12", "-f", "rawvideo", "-"], check=True,
        stdout=subprocess.PIPE).stdout
    size = width * height * 3 // 2
    return [raw[i:i + size] for i in range(0, len(raw) - size + 1, size)]


def child(arguments):
    import gi
    gi.require_version("Gst", "1.0")
    gi.require_version("GstCuface", "1.0")
    from gi.repository import Gst, GstCuface
    width, height, rate, frames = arguments.width, arguments.height, arguments.rate, arguments.frames
    pictures = decoded(arguments.clip, width, height, rate)
    os.sched_setaffinity(0, {arguments.core})
    Gst.init(None)
    buffers = [Gst.Buffer.new_wrapped(picture) for picture in pictures]
    del pictures
    order = list(range(len(buffers))) + list(range(len(buffers) - 2, 0, -1))
    pipeline = Gst.parse_launch(CHAIN.format(width=width, height=height, rate=rate, setting=arguments.setting))
    camera, sink = pipeline.get_by_name("camera"), pipeline.get_by_name("sink")
    faces, ids = [], set()

    def look(_pad, info):
        meta = GstCuface.buffer_get_face_meta(info.get_buffer())
        found = meta.get_faces()
        faces.append(found.get_count())
        ids.update(found.get_id(i) for i in range(found.get_count()))
        return Gst.PadProbeReturn.OK

    sink.get_static_pad("sink").add_probe(Gst.PadProbeType.BUFFER, look)

    def feed():
        clock, base = pipeline.get_clock(), pipeline.get_base_time()
        begin = clock.get_time() - base
        for i in range(frames):
            due = begin + i * Gst.SECOND // rate
            clock.id_wait(clock.new_single_shot_id(base + due))
            buffer = buffers[order[i % len(order)]].copy()
            buffer.pts, buffer.duration = due, Gst.SECOND // rate
            camera.emit("push-buffer", buffer)
        camera.emit("end-of-stream")

    pipeline.set_state(Gst.State.PLAYING)
    threading.Thread(target=feed, daemon=True).start()
    bus = pipeline.get_bus()
    while True:
        message = bus.timed_pop_filtered(Gst.CLOCK_TIME_NONE,
                                         Gst.MessageType.EOS | Gst.MessageType.ERROR | Gst.MessageType.WARNING)
        if message.type == Gst.MessageType.WARNING:
            print(message.parse_warning()[0].message, file=sys.stderr)
            continue
        break
    if message.type == Gst.MessageType.ERROR:
        sys.exit(message.parse_error()[0].message)
    dropped = sink.get_property("stats").get_value("dropped")
    stats = pipeline.get_by_name("detect").get_property("stats")
    value = lambda name: stats.get_value(name)
    print(json.dumps({"frames": len(faces), "dropped": dropped, "faces": sum(faces),
                      "frames with a face": sum(1 for n in faces if n), "ids": len(ids),
                      "searches": value("searches"), "skipped": value("skipped-searches"),
                      "worst ms": round(value("time-max-ns") / 1e6, 1),
                      "mean ms": round(value("time-total-ns") / 1e6 / max(len(faces), 1), 2)}))
    pipeline.set_state(Gst.State.NULL)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", default="1920x1080")
    parser.add_argument("--rate", type=int, default=30)
    parser.add_argument("--frames", type=int, default=450)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--core", type=int, default=max(os.sched_getaffinity(0)))
    parser.add_argument("--clip", action="append")
    parser.add_argument("--setting", help=argparse.SUPPRESS)
    parser.add_argument("--output", type=pathlib.Path)
    arguments = parser.parse_args()
    arguments.width, arguments.height = map(int, arguments.size.split("x"))
    if arguments.setting is not None:
        arguments.clip = arguments.clip[0]
        return child(arguments)
    rows = []
    for clip in arguments.clip or CLIPS:
        runs = {name: [] for name in SETTINGS}
        for _ in range(arguments.rounds):
            for name, setting in SETTINGS.items():
                out = subprocess.run(
                    [sys.executable, __file__, "--setting", setting, "--clip", clip, "--size", arguments.size, "--rate",
                     str(arguments.rate), "--frames", str(arguments.frames), "--core", str(arguments.core)],
                    check=True, stdout=subprocess.PIPE, text=True).stdout
                runs[name].append(json.loads(out))
        for name, results in runs.items():
            row = {"clip": clip, "searches are": name}
            row.update({key: statistics.median(r[key] for r in results) for key in results[0]})
            row["dropped, each round"] = [r["dropped"] for r in results]
            rows.append(row)
            print(json.dumps(row), flush=True)
    if arguments.output:
        arguments.output.write_text(json.dumps(
            {**chain.header(), "size": arguments.size, "rate": arguments.rate, "rounds": arguments.rounds, "rows": rows},
            indent=1) + "\n")


if __name__ == "__main__":
    main()
