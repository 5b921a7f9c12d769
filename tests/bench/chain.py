#!/usr/bin/python3
"""What the whole chain costs on the sample clip, beside gst-opencv's facedetect in the same run.

  tests/bench/chain.py [--clip FILE] [--passes N] [--output docs/results/cpu-chain.json]

Each pipeline runs in a process of its own, pinned to one core, the pipelines taking turns; medians over the
passes. `added` is the processor time a frame above that of the same pipeline without our (or the peer's)
elements.
"""
import argparse
import contextlib
import datetime
import json
import os
import pathlib
import platform
import re
import resource
import select
import statistics
import subprocess
import sys
import tempfile
import time

SOURCE = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("CUFACE_BUILD", SOURCE / "build"))
DATA = pathlib.Path(os.environ.get("CUFACE_DATA", SOURCE / "../shared/data"))
CHAIN = "cufacedetect{detect} ! culktrack ! cufacelandmark ! cufaceoverlay ! cufacepublish location=/dev/null"
FEWEST = 12  # frames that count
NETWORK = "NETWORK"  # stands for the file of yunet
PIPELINES = {
    "decode only": "",
    "ours, defaults": CHAIN.format(detect=""),
    "ours, min-size 30": CHAIN.format(detect=" min-size=30"),
    "ours, redetect-interval 30": CHAIN.format(detect=" redetect-interval=30"),
    "ours, redetect-interval 30, search smart": CHAIN.format(detect=" redetect-interval=30 search=smart"),
    "ours, search every frame": CHAIN.format(detect=" redetect-interval=1"),
    "ours, network": CHAIN.format(detect=" model=" + NETWORK),
    "ours, network, redetect-interval 30": CHAIN.format(detect=" redetect-interval=30 model=" + NETWORK),
    "ours, network, search every frame": CHAIN.format(detect=" redetect-interval=1 model=" + NETWORK),
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


def child(text, seconds, each_frame):
    """Runs pipelines to their end, or for so many seconds of processor time and some frames, and prints what they cost from
    the moment on that each has given its first frame: what is loaded and allocated before does not count. With
    each_frame it prints seconds and frames so far at each of them, and ends when its standard input does."""
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
            if each_frame:
                os.write(1, f"[{end[1] - begin[1]}, {end[2] - begin[2] + 1}]\n".encode())
        return Gst.PadProbeReturn.OK

    for i, sink in enumerate(sinks):
        sink.get_static_pad("sink").add_probe(Gst.PadProbeType.BUFFER, count, i)
    pipeline.set_state(Gst.State.PLAYING)
    bus, start = pipeline.get_bus(), time.monotonic()
    while True:
        message = bus.timed_pop_filtered(100 * Gst.MSECOND, Gst.MessageType.EOS | Gst.MessageType.ERROR)
        if message and message.type == Gst.MessageType.ERROR:
            raise SystemExit(message.parse_error()[0].message)
        if message or seconds and begin and end[1] - begin[1] > seconds and end[2] - begin[2] >= FEWEST:
            break
        if each_frame and select.select([sys.stdin], [], [], 0)[0]:
            break
        if time.monotonic() > start + (240 if begin else 120) and not each_frame:
            raise SystemExit(f"{whole[0]} frames in {time.monotonic() - start:.0f} s: {text}")
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


def clip_folder():
    """Where tests/bench/clips has put its clips."""
    done = subprocess.run([SOURCE / "tests/bench/clips"], check=True, text=True, stdout=subprocess.PIPE,
                          env={**os.environ, "CUFACE_DATA": str(DATA)})
    return pathlib.Path(done.stdout.splitlines()[-1])


def command(text):
    """A process that runs child(), and its environment."""
    # Only ours sees our plugin, as `facedetect` is a second name of cufacedetect too.
    ours = bool(re.search(r"\bcu(face|edge|motion)", text))
    environment = {**os.environ, "GST_PLUGIN_PATH": str(BUILD / "gst") if ours else "",
                   "GST_REGISTRY": str(BUILD / f"bench-registry-{'ours' if ours else 'plain'}.bin")}
    return ["/usr/bin/python3", __file__, "--child", text], environment


def measure(text, seconds=0, core=None):
    """What child() prints of pipelines, on one core or on all."""
    one, environment = command(text)
    done = subprocess.run(
        [*(["taskset", "-c", str(core)] if core is not None else []), *one, "--seconds", str(seconds)], text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)
    if done.returncode:
        print(done.stderr[-2000:], file=sys.stderr)
        done.check_returncode()
    return json.loads(done.stdout.splitlines()[-1])


def processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


@contextlib.contextmanager
def network():
    """Its ONNX file, and it converted for our elements."""
    onnx = DATA / "models/yunet.onnx"
    with tempfile.TemporaryDirectory() as folder:
        model = pathlib.Path(folder) / "yunet.cuface"
        subprocess.run([BUILD / "models/cuface-model", "convert", onnx, model], check=True, stdout=subprocess.DEVNULL)
        yield onnx, model


MESH = "mediapipe FaceMesh (without decoding)"


def chain(passes, seconds, clip=DATA / "videos" / "WolfgangLanger_Pexels.mp4", peer=None):
    """The report of PIPELINES on a clip, and of what peer(clip) measures in turn with them."""
    runs, mesh = {name: [] for name in PIPELINES}, []
    with network() as (_, model):
        for _ in range(passes):
            for name, elements in PIPELINES.items():
                elements = elements.replace(NETWORK, str(model))
                text = " ! ".join(filter(None, [source(clip), elements, "fakesink sync=false"]))
                runs[name].append(measure(text, seconds, core=0))
            if peer:
                mesh.append(peer(clip))
    report = {}
    for name, results in runs.items():
        ms = statistics.median(run["ms"] for run in results)
        added = [run["ms"] - without["ms"] for run, without in zip(results, runs["decode only"])]
        report[name] = {
            "frames": results[0]["frames"],
            "ms_a_frame": round(ms, 3),
            "added_ms_a_frame": round(statistics.median(added), 3),
            "added_of_a_pass": [round(min(added), 3), round(max(added), 3)],
            "frames_a_second": round(statistics.median(run["frames"] / run["wall"] for run in results), 1),
            "peak_memory_mib": round(max(run["rss_mib"] for run in results), 1),
            "elements_ms_a_frame": {
                element: round(statistics.median(stats["time-total-ns"] / stats["frames"] / 1e6 for stats in
                                                 (run["elements"][element] for run in results)), 3)
                for element in results[0]["elements"]},
        }
        if name.startswith("ours") and mesh and all("ms_a_frame" in run for run in mesh):
            report[name]["of_mediapipe"] = round(
                statistics.median(ms / run["ms_a_frame"] for ms, run in zip(added, mesh)), 2)
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
    whole = {"what": "processor time of the whole process on one core from the first frame on, median of passes, the "
                     "pipelines in turn",
             "clip": pathlib.Path(clip).name, "passes": passes, "share_of_overlay_and_publishing": shares,
             "pipelines": report}
    if mesh:
        whole[MESH] = next((run for run in mesh if "ms_a_frame" not in run), mesh[0])
        if "ms_a_frame" in whole[MESH]:
            times = [run["ms_a_frame"] for run in mesh]
            whole[MESH] |= {"ms_a_frame": round(statistics.median(times), 3), "of_a_pass": [min(times), max(times)]}
        print(whole[MESH])
    return whole


def header():
    return {"date": datetime.date.today().isoformat(),
            "commit": subprocess.run(["git", "-C", SOURCE, "rev-parse", "--short", "HEAD"], check=True, text=True,
                                     stdout=subprocess.PIPE).stdout.strip(),
            "processor": processor(), "processors": os.cpu_count()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clip", default=DATA / "videos" / "WolfgangLanger_Pexels.mp4")
    parser.add_argument("--passes", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0,
                        help="of processor time, the most a pipeline runs; 0: to the end of the clip")
    parser.add_argument("--output", type=pathlib.Path)
    parser.add_argument("--child")
    parser.add_argument("--each-frame", action="store_true")
    arguments = parser.parse_args()
    if arguments.child:
        child(arguments.child, arguments.seconds, arguments.each_frame)
        return
    result = {**header(), **chain(arguments.passes, arguments.seconds, arguments.clip)}
    if arguments.output:
        arguments.output.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
