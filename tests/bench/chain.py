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
PIPELINES = {
    "decode only": "",
    "ours, defaults": CHAIN.format(detect=""),
    "ours, min-size 30": CHAIN.format(detect=" min-size=30"),
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


def child(text):
    """Runs one pipeline to its end and prints what it cost."""
    import gi
    gi.require_version("Gst", "1.0")
    from gi.repository import Gst
    Gst.init(None)
    pipeline = Gst.parse_launch(text)
    start, used = time.monotonic(), resource.getrusage(resource.RUSAGE_SELF)
    pipeline.set_state(Gst.State.PLAYING)
    message = pipeline.get_bus().timed_pop_filtered(Gst.CLOCK_TIME_NONE, Gst.MessageType.EOS | Gst.MessageType.ERROR)
    if message.type == Gst.MessageType.ERROR:
        raise SystemExit(message.parse_error()[0].message)
    wall, after = time.monotonic() - start, resource.getrusage(resource.RUSAGE_SELF)
    elements = {}
    iterator = pipeline.iterate_elements()
    while (step := iterator.next())[0] == Gst.IteratorResult.OK:
        name = step[1].get_factory().get_name()
        if name.startswith("cuface") or name == "culktrack":
            stats = step[1].get_property("stats")
            elements[name] = {stats.nth_field_name(i): stats.get_value(stats.nth_field_name(i))
                              for i in range(stats.n_fields())}
    writer = writer_ns()
    pipeline.set_state(Gst.State.NULL)
    print(json.dumps({"wall": wall, "cpu": after.ru_utime + after.ru_stime - used.ru_utime - used.ru_stime,
                      "rss_mib": after.ru_maxrss / 1024, "elements": elements, "writer_ns": writer}))


def measure(clip, chain):
    text = f"filesrc location={clip} ! decodebin ! videoconvert ! {chain + ' ! ' if chain else ''}fakesink sync=false"
    # Only ours sees our plugin, as `facedetect` is a second name of cufacedetect too.
    ours = "cufacedetect" in chain
    environment = {**os.environ, "GST_PLUGIN_PATH": str(BUILD / "gst") if ours else "",
                   "GST_REGISTRY": str(BUILD / f"bench-registry-{'ours' if ours else 'plain'}.bin")}
    done = subprocess.run(["taskset", "-c", "0", "/usr/bin/python3", __file__, "--child", text], check=True, text=True,
                          stdout=subprocess.PIPE, env=environment)
    return json.loads(done.stdout.splitlines()[-1])


def count_frames(clip):
    return int(subprocess.run(
        ["ffprobe", "-v", "error", "-select_streams", "v", "-count_frames", "-show_entries", "stream=nb_read_frames",
         "-of", "csv=p=0", clip], check=True, text=True, stdout=subprocess.PIPE).stdout.strip().strip(","))


def processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clip", default=DATA / "videos" / "WolfgangLanger_Pexels.mp4")
    parser.add_argument("--passes", type=int, default=5)
    parser.add_argument("--output", type=pathlib.Path)
    parser.add_argument("--child")
    arguments = parser.parse_args()
    if arguments.child:
        child(arguments.child)
        return
    frames = count_frames(arguments.clip)
    runs = {name: [] for name in PIPELINES}
    for _ in range(arguments.passes):
        for name, chain in PIPELINES.items():
            runs[name].append(measure(arguments.clip, chain))
    base = statistics.median(run["cpu"] for run in runs["decode only"])
    report = {}
    for name, results in runs.items():
        cpu = statistics.median(run["cpu"] for run in results)
        report[name] = {
            "ms_a_frame": round(1e3 * cpu / frames, 3),
            "added_ms_a_frame": round(1e3 * (cpu - base) / frames, 3),
            "frames_a_second": round(frames / statistics.median(run["wall"] for run in results), 1),
            "peak_memory_mib": round(max(run["rss_mib"] for run in results), 1),
            "elements_ms_a_frame": {
                element: round(statistics.median(run["elements"][element]["time-total-ns"] for run in results)
                               / frames / 1e6, 3) for element in results[0]["elements"]},
        }
        print(f"{name:<52}{report[name]['ms_a_frame']:>9} ms/frame {report[name]['frames_a_second']:>8} frames/s "
              f"{report[name]['peak_memory_mib']:>7} MiB  {report[name]['elements_ms_a_frame']}")
    # What they take of the process's time: in the streaming thread, and in the thread that writes.
    shares = {}
    for name, results in runs.items():
        if "cufaceoverlay" in results[0]["elements"]:
            shares[name] = round(statistics.median(
                (run["elements"]["cufaceoverlay"]["time-total-ns"] + run["elements"]["cufacepublish"]["time-total-ns"]
                 + run["writer_ns"]) / 1e9 / run["cpu"] for run in results), 4)
    print("share of overlay and publishing:", shares)
    result = {
        "what": "processor time of the whole process on one core, median of passes",
        "date": datetime.date.today().isoformat(),
        "commit": subprocess.run(["git", "-C", SOURCE, "rev-parse", "--short", "HEAD"], check=True, text=True,
                                 stdout=subprocess.PIPE).stdout.strip(),
        "processor": processor(), "clip": pathlib.Path(arguments.clip).name, "frames": frames,
        "passes": arguments.passes, "share_of_overlay_and_publishing": shares,
        "pipelines": report,
    }
    if arguments.output:
        arguments.output.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
