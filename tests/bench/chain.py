#!/usr/bin/python3
"""What the whole chain costs on the sample clip, beside gst-opencv's facedetect in the same run.

  tests/bench/chain.py [--clip FILE] [--passes N] [--output docs/results/cpu-chain.json]

Each pipeline runs in a process of its own, pinned to one core, the pipelines taking turns; medians over the
passes. `added` is the processor time a frame above that of the same pipeline without our (or the peer's)
elements.
"""
import argparse
import datetime
import json
import os
import pathlib
import platform
import resource
import statistics
import subprocess
import sys
import time

SOURCE = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("CUFACE_BUILD", SOURCE / "build"))
DATA = pathlib.Path(os.environ.get("CUFACE_DATA", SOURCE / "../shared/data"))
CHAIN = "cufacedetect{detect} ! culktrack ! cufacelandmark ! cufaceoverlay ! cufacepublish location=/dev/null"
FEWEST = 12  # frames that count
PIPELINES = {
    "decode only": "",
    "ours, defaults": CHAIN.format(detect=""),
    "ours, min-size 30": CHAIN.format(detect=" min-size=30"),
    "ours, redetect-interval 30": CHAIN.format(detect=" redetect-interval=30"),
    "ours, redetect-interval 30, search smart": CHAIN.format(detect=" redetect-interval=30 search=smart"),
    "ours, search every frame": CHAIN.format(detect=" redetect-interval=1"),
    "ours, search every frame, min-size 30": CHAIN.format(detect=" redetect-interval=1 min-size=30"),
    "gst-opencv facedetect (detection only, min-size 30)":
        "videoconvert ! facedetect display=false profile=/usr/share/opencv4/haarcascades/haarcascade_frontalface_alt.xml"
        " scale-factor=1.1 min-neighbors=3",
}


def writer_ns():
    """Processor time of cufacepublish's own thread so far."""
    for task in pathlib.Path("/proc/self/task").iterdir():
        if (task / "comm").read_text() == "cufacepublish\n":
            return int((task / "schedstat").read_text().split()[0])
    return 0


def used():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return time.monotonic(), usage.ru_utime + usage.ru_stime


def child(text, seconds):
    """Runs pipelines to their end, or for so many seconds and some frames, and prints what they cost from the moment on
    that each has given its first frame: what is loaded and allocated before does not count."""
    import gi
    gi.require_version("Gst", "1.0")
    from gi.repository import Gst
    Gst.init(None)
    pipeline = Gst.parse_launch(text)

    def each(iterator):
        while (step := iterator.next())[0] == Gst.IteratorResult.OK:
            yield step[1]

    sinks = list(each(pipeline.iterate_sinks()))
    seen, whole = [0] * len(sinks), [0]
    begin, end = [], []

    def count(_pad, _info, sink):
        seen[sink] += 1
        whole[0] += 1
        if not begin and all(seen):
            begin[:] = [*used(), whole[0]]
        if begin:
            end[:] = [*used(), whole[0]]
        return Gst.PadProbeReturn.OK

    for i, sink in enumerate(sinks):
        sink.get_static_pad("sink").add_probe(Gst.PadProbeType.BUFFER, count, i)
    pipeline.set_state(Gst.State.PLAYING)
    bus, start = pipeline.get_bus(), time.monotonic()
    while True:
        message = bus.timed_pop_filtered(100 * Gst.MSECOND, Gst.MessageType.EOS | Gst.MessageType.ERROR)
        if message and message.type == Gst.MessageType.ERROR:
            raise SystemExit(message.parse_error()[0].message)
        running = time.monotonic() - begin[0] if begin else 0
        if message or seconds and running > seconds and end[2] - begin[2] >= FEWEST:
            break
        if not begin and time.monotonic() > start + 120 or seconds and running > seconds + 120:
            raise SystemExit(f"{whole[0]} frames in two minutes: {text}")
    (wall, cpu, frames) = (after - before for before, after in zip(begin, end))
    elements = {}
    for element in each(pipeline.iterate_elements()):
        name = element.get_factory().get_name()
        if name.startswith("cuface") or name == "culktrack":
            stats = element.get_property("stats")
            elements[name] = {stats.nth_field_name(i): stats.get_value(stats.nth_field_name(i))
                              for i in range(stats.n_fields())}
    writer = writer_ns()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    pipeline.set_state(Gst.State.NULL)
    print(json.dumps({"frames": frames, "wall": wall, "ms": 1e3 * cpu / frames, "rss_mib": peak,
                      "elements": elements, "writer_ns": writer}))


def source(clip):
    return f"filesrc location={clip} ! decodebin ! videoconvert"


def measure(text, seconds=0, core=None):
    """What child() prints of pipelines, on one core or on all."""
    # Only ours sees our plugin, as `facedetect` is a second name of cufacedetect too.
    ours = "cufacedetect" in text
    environment = {**os.environ, "GST_PLUGIN_PATH": str(BUILD / "gst") if ours else "",
                   "GST_REGISTRY": str(BUILD / f"bench-registry-{'ours' if ours else 'plain'}.bin")}
    done = subprocess.run(
        [*(["taskset", "-c", str(core)] if core is not None else []), "/usr/bin/python3", __file__, "--seconds",
         str(seconds), "--child", text], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)
    if done.returncode:
        print(done.stderr[-2000:], file=sys.stderr)
        done.check_returncode()
    return json.loads(done.stdout.splitlines()[-1])


def processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def chain(passes, seconds, clip=DATA / "videos" / "WolfgangLanger_Pexels.mp4"):
    """The report of PIPELINES on a clip."""
    runs = {name: [] for name in PIPELINES}
    for _ in range(passes):
        for name, elements in PIPELINES.items():
            text = " ! ".join(filter(None, [source(clip), elements, "fakesink sync=false"]))
            runs[name].append(measure(text, seconds, core=0))
    base = statistics.median(run["ms"] for run in runs["decode only"])
    report = {}
    for name, results in runs.items():
        ms = statistics.median(run["ms"] for run in results)
        report[name] = {
            "frames": results[0]["frames"],
            "ms_a_frame": round(ms, 3),
            "added_ms_a_frame": round(ms - base, 3),
            "frames_a_second": round(statistics.median(run["frames"] / run["wall"] for run in results), 1),
            "peak_memory_mib": round(max(run["rss_mib"] for run in results), 1),
            "elements_ms_a_frame": {
                element: round(statistics.median(stats["time-total-ns"] / stats["frames"] / 1e6 for stats in
                                                 (run["elements"][element] for run in results)), 3)
                for element in results[0]["elements"]},
        }
        print(f"{name:<52}{report[name]['ms_a_frame']:>9} ms/frame {report[name]['frames_a_second']:>8} frames/s "
              f"{report[name]['peak_memory_mib']:>7} MiB  {report[name]['elements_ms_a_frame']}", flush=True)
    # What they take of the process's time: in the streaming thread, and in the thread that writes.
    shares = {}
    for name, results in runs.items():
        if "cufaceoverlay" in results[0]["elements"]:
            shares[name] = round(statistics.median(
                (run["elements"]["cufaceoverlay"]["time-total-ns"] + run["elements"]["cufacepublish"]["time-total-ns"]
                 + run["writer_ns"]) / 1e6 / run["elements"]["cufaceoverlay"]["frames"] / run["ms"]
                for run in results), 4)
    print("share of overlay and publishing:", shares)
    return {"what": "processor time of the whole process on one core from the first frame on, median of passes",
            "clip": pathlib.Path(clip).name, "passes": passes, "share_of_overlay_and_publishing": shares,
            "pipelines": report}


def header():
    return {"date": datetime.date.today().isoformat(),
            "commit": subprocess.run(["git", "-C", SOURCE, "rev-parse", "--short", "HEAD"], check=True, text=True,
                                     stdout=subprocess.PIPE).stdout.strip(),
            "processor": processor(), "processors": os.cpu_count()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clip", default=DATA / "videos" / "WolfgangLanger_Pexels.mp4")
    parser.add_argument("--passes", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0, help="the most a pipeline runs; 0: to the end of the clip")
    parser.add_argument("--output", type=pathlib.Path)
    parser.add_argument("--child")
    arguments = parser.parse_args()
    if arguments.child:
        child(arguments.child, arguments.seconds)
        return
    result = {**header(), **chain(arguments.passes, arguments.seconds, arguments.clip)}
    if arguments.output:
        arguments.output.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
