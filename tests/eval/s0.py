"""The experiments of S0: faces on a telephone's GPU. Rates of the text are times here: 1 / frames per second."""
import json
import subprocess

import chains
import frame_times
import photographs
from experiments import HARDWARE, REPRODUCED, SOURCE, SUBSTITUTE, Experiment, Figure, Theirs, size_of_picture

GPU, CPU = "iPhone 7, GPU", "iPhone 7, CPU"
CASES = "at random", "none overlap", "all overlap", "half overlap"


def rates(machine, points):
    """Theirs, from frames a second."""
    return Theirs(machine, {x: round(1e6 / fps, 2) for x, fps in points.items()})


def faces(name):
    return lambda run: run.program("faces", name)


def landmarks(run):
    """Adds how large the model's files are, ours and dlib's."""
    result = run.program("faces", "S0.E7")
    size = {who: chains.MODEL.with_suffix(suffix).stat().st_size / 1e6 for who, suffix in (("ours", ".cuface"), ("peer", ".dat"))}
    result["figures"] = {"file of the trees": size}
    return result


def within(levels, way):
    return f"corners within 1 px, {levels} level{'s' * (levels > 1)}, moved by {way} px"


def flow(run):
    """Adds the error of each number of levels, which the text leaves open."""
    result = run.program("faces", "S0.E8")
    result["figures"] = {within(e["levels"], e["way"]): {who: e[who]["within_1_px"] for who in ("ours", "peer")}
                         for e in result["flow_errors"]}
    return result


def cpu_figure(part, wanted):
    """Milliseconds of one thread, ours and OpenCV's on the CPU, of the one case that has what is wanted."""
    case, = (case for case in part["cases"] if wanted.items() <= case.items())
    if "ours_us" in case:
        return {"ours": case["ours_us"] / 1e3, "peer": case["peer_us"] / 1e3}
    return {"ours": case["ours"]["wall_ms"], "peer": case["opencv"]["wall_ms"]}


def peers(run):
    """Measured by tests/bench/run and tests/quality/run; what docs/results has of these stays as it is."""
    folder = run.folder / "S0.E12"
    folder.mkdir(parents=True, exist_ok=True)
    quality = folder / "quality.json"
    subprocess.run([SOURCE / "tests/bench/run", "--only", "chain,detect,flow", "--output", folder], check=True)
    subprocess.run([SOURCE / "tests/quality/run", "--only", "pace", "--output", quality], check=True)
    parts = {name: json.loads((folder / f"cpu-{name}.json").read_text(encoding="utf-8")) for name in ("chain", "detect", "flow")}
    chain = parts["chain"]
    mesh = next(value for name, value in chain.items() if name.startswith("mediapipe"))
    figures = {f"added to a frame of 640x360, {name}": {"ours": chain["pipelines"][f"ours, {name}"]["added_ms_a_frame"],
                                                        "peer": mesh["ms_a_frame"]}
               for name in ("defaults", "redetect-interval 30", "network")}
    pace = json.loads(quality.read_text(encoding="utf-8"))["parts"]["pace"]
    row = next(row for row in pace["rows"] if row["measure"] == "mean of a frame's processor time")
    figures["mean of a frame of 1280x720, OpenCV and dlib"] = {"ours": row["ours"], "peer": row["peer"]}
    for name, on_cpu, _, _ in BESIDE_CUDA:
        figures[name] = cpu_figure(parts[on_cpu[0]], on_cpu[1]) if on_cpu else {"ours": None, "peer": None}
    return {"seeds": [], "figures": figures}


WAYS = tuple(photographs.WAYS)
TENTH = tuple(frame_times.WAYS)[-1]
# Searches and flows beside those of OpenCV 4.14's CUDA modules, measured once on an H200 with the same pictures on the
# GPU already: the name, the part of the CPU's program and its case, our row of the GPU, theirs.
FROM_24 = {"scale_factor": 1.1, "min_size": 24, "threads": 1}
BESIDE_CUDA = (
    ("search of 1280x720, alt, from 24 pixels", ("detect", FROM_24 | {"cascade": "frontalface_alt", "picture": "mosaic720"}),
     ({"what": "detect haarcascade_frontalface_alt 1.1 min 24 graph", "size": "mosaic720"}, "us", 1e-3), "6.66"),
    ("search of 1920x1080, default, from 24 pixels",
     ("detect", FROM_24 | {"cascade": "frontalface_default", "picture": "mosaic1080"}),
     ({"what": "detect haarcascade_frontalface_default 1.1 min 24 graph", "size": "mosaic1080"}, "us", 1e-3), "8.72"),
    ("pyramid and flow of 68 points, 1280x720", ("flow", {"what": "1280x720, 68 points"}),
     ({"what": "pyramid and flow, 68 points graph", "size": "mosaic720"}, "us", 1e-3), "0.068"),
    ("both integrals, 1280x720", None, ({"what": "curve", "curve": "integral", "x": 1280 * 720}, "us", 1e-3), "0.110"),
)
EXPERIMENTS = [
    Experiment(
        "S0.E1", "Reduction",
        "The sum of up to ten million floats. Our stages sum in passing: on the CPU the standard library does it here, on "
        "the GPU CUB.", faces("S0.E1"),
        {"reduction": [rates(GPU, {1e7: 44.78}), rates(CPU, {1e7: 0.39})]}),
    Experiment(
        "S0.E2", "Compaction",
        "The positive ones of as many floats. On the CPU `std::copy_if`, on the GPU CUB.", faces("S0.E2"),
        {"compaction": [rates(GPU, {25e4: 293.3, 1e7: 16.23}), rates(CPU, {25e4: 16.22, 1e7: 0.28})]}),
    Experiment(
        "S0.E3", "Integral image",
        "The integral and that of the squares, and the grey picture before. On the GPU they are those of "
        "`scale-mode=window`; searches of scaled pictures make theirs in passing.", faces("S0.E3"),
        {"integral": [Theirs(f"{GPU} (at most)", {4096 * 2160: 16700})]}, size=size_of_picture),
    Experiment(
        "S0.E4", "Lists of neighbours",
        "Rectangles at random, apart, in one place, and half of them in one place. Ours makes no lists, so the whole "
        "grouping stands beside theirs.", faces("S0.E4"),
        {"group by overlap, none overlap": [rates(GPU, {3500: 7.8})],
         "group by overlap, half overlap": [Theirs(f"{GPU} (at most)", {300: 2500})],
         "group by overlap, all overlap": [Theirs(f"{GPU} (at most)", {300: 2500})]}),
    Experiment(
        "S0.E5", "Grouping",
        "The same rectangles, by the published rule and by OpenCV's.", faces("S0.E5"),
        {"group by overlap, all overlap": [Theirs(GPU, {1024: 103000})],
         "group by overlap, at random": [rates(GPU, {1024: 200})]}),
    Experiment(
        "S0.E6", "Search",
        "A portrait of 720x1280 at fractions of its size, steps of one and two pixels: a mosaic of 12 faces, one face, none. "
        "Scaled windows are the published way, scaled pictures (`detect`) ours. Theirs are the slowest and the fastest of all "
        "settings.", faces("S0.E6"),
        {"scaled windows, step 1": [rates(f"{GPU} (slowest of all)", {1: 2})],
         "scaled windows, step 2": [rates(f"{GPU} (fastest of all)", {8: 92})]},
        size="1/{:.0f}".format),
    Experiment(
        "S0.E7", "Regression trees",
        "One face with 3 to 15 cascades, a new face in each call; and several faces. The peer's file is dlib's own.", landmarks,
        {"landmarks, 1 face": [rates(GPU, {3: 353, 15: 68})]}, (Figure("file of the trees", "MB", "66.7", REPRODUCED),)),
    Experiment(
        "S0.E8", "Optical flow",
        "Two frames of a clip, points at random. The text says that more levels make no major difference. So a picture moves by "
        "whole pixels here, and 500 corners of it are followed. The JSON has their mean errors too.", flow,
        {"flow, 720p": [rates(f"{GPU} (best of its settings)", {100: 430}), rates(f"{GPU} (worst)", {5000: 68})]},
        tuple(Figure(within(levels, way), "%", "no major difference" if levels == 3 else "-", SUBSTITUTE if levels == 3 else "")
              for way in (2, 10, 20, 40) for levels in (1, 2, 3, 4))),
    Experiment(
        "S0.E9", "The whole pipeline, frame by frame",
        "850 frames of 1280x720 through detector, tracker and landmarks: processor time of one thread, or time on the GPU. The "
        "first clip has no face and is searched on every frame. The peer is OpenCV's cascade and dlib on 100 of these frames.",
        frame_times.measure,
        figures=(*(Figure(f"mean time, {way}", "ms", f"{theirs}, {GPU}", HARDWARE,
                          ({"what": "pipeline", "way": way}, "us mean", 1e-3))
                   for way, theirs in zip(frame_times.WAYS, ("24.80", "41.31", "25.05"))),
                 Figure(f"median time, {TENTH}", "ms", "-", "", ({"what": "pipeline", "way": TENTH}, "us median", 1e-3)),
                 *(Figure(name, "times", theirs, label, ({"what": "pipeline, ratios"}, name, 1))
                   for name, theirs, label in (("every frame / every tenth", "1.65", SUBSTITUTE),
                                               ("a frame with a search / one without", "-", "")))),
        plot=frame_times.plot),
    Experiment(
        "S0.E10", "Boxes beside OpenCV's",
        "Cascade alt in both. All pictures at hand stand in for 600 of LFW, which is not to be had. Scaled pictures are our "
        "default, which equals OpenCV; scaled windows, factor 1.2 and overlap are the published way. That fuses people who stand "
        "side by side, so pictures in which OpenCV finds one face stand apart, as LFW has them. A box that ours lacks counts as 0.",
        photographs.boxes,
        figures=(*(Figure(f"{what}, {way}, {which}", unit, theirs, label)
                   for way in WAYS for which in ("all boxes", "one in the picture")
                   for what, unit, theirs, label in (("mean overlap", "", "-", ""), ("overlap of at least 0.8", "%", "most", SUBSTITUTE),
                                                     ("overlap under 0.5", "%", "about 0.3", SUBSTITUTE))),
                 *(Figure(f"pictures with a face, {way}", "", "OpenCV: 543 of 600", SUBSTITUTE) for way in WAYS)),
        plot=photographs.plot_boxes),
    Experiment(
        "S0.E11", "Landmarks beside people's",
        "166 labelled faces of HELEN, LFPW and Menpo stand in for 600 of 300-W, which is not to be had. The model may have "
        "seen some of them. Errors are in distances of the outer eye corners.",
        photographs.points,
        figures=(Figure("faces missed", "", "-", ""),
                 Figure("mean error, our box", "", "0.1977", SUBSTITUTE),
                 Figure("faces under 0.1, our box", "%", "75", SUBSTITUTE),
                 Figure("largest error of a face, our box", "", "6.01 (of a point)", SUBSTITUTE),
                 Figure("mean error, true box", "", "-", ""), Figure("faces under 0.1, true box", "%", "-", ""),
                 Figure("largest error of a face, true box", "", "-", "")),
        plot=photographs.plot_points),
    Experiment(
        "S0.E12", "Beside what one would take today",
        "Processor time of one core beside MediaPipe's FaceMesh, and beside OpenCV with dlib, as on [the CPU's "
        "page](cpu.md#the-chain-beside-mediapipe) and [the quality's](quality.md). Behind them OpenCV's CUDA modules, measured "
        "once. Their cascade looks at a third of our windows with alt, and finds 84 % of the CPU's boxes.",
        peers,
        figures=(*(Figure(f"added to a frame of 640x360, {name}", "ms", "faster than Apple's Vision", HARDWARE)
                   for name in ("defaults", "redetect-interval 30", "network")),
                 Figure("mean of a frame of 1280x720, OpenCV and dlib", "ms", "-", ""),
                 *(Figure(name, "ms", f"{ms}, OpenCV 4.14 on an H200", HARDWARE, row) for name, _, row, ms in BESIDE_CUDA))),
]
