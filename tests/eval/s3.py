"""The experiments of S3: active shape models, and the search for faces that comes before."""
import csv
import functools
import importlib.machinery
import importlib.util
import json
import re
import statistics

from experiments import HARDWARE, SOURCE, SUBSTITUTE, Experiment, Figure, Theirs, chain, size_of_picture
import shapes

GPU, CPU = "GTX 470", "OpenCV 2.1, i7 3.2 GHz"
MS = {307200: 38.4, 442368: 52.1, 480000: 54.4, 786432: 80.8, 884736: 84.5, 1024000: 94.6, 1228800: 123.3, 1470000: 142.4}
OF_OPENCV = {307200: 313.9, 786432: 1007.3, 1024000: 1215.5, 1470000: 1744.2}
PARTS = {"search for points": "search", "constraint": "constraint", "levels and edges": "levels"}
# The launches of a GPU's search: one does all iterations, that is the search for points and the constraint.
LAUNCHES = {"search": "iterations", "levels": "level 0|levels?|edges"}
PLACES = {"float": "places in float", "256": "places in 256 parts of a pixel", "whole": "whole pixels"}
LOADS = {"loaded by each place": ("naive", "thousand"), "loaded once a point": ("once", "thousand"),
         "fewer loads, one face": ("saved", "%"), "fewer loads, 16 faces": ("saved of 16", "%")}
LEAST, MOST = 640 * 480, 1920 * 1080
FOLDS = SOURCE / "docs/results/shape-folds.json"
REFITS = SOURCE / "docs/results/shape-refits.json"


def box(points):
    """Like a detector's: it begins above the eyebrows."""
    xs, ys = points[::2], points[1::2]
    side = 1.1 * max(max(xs) - min(xs), max(ys) - min(ys))
    return (min(xs) + max(xs) - side) / 2, max(ys) - 0.95 * side, side, side


def labelled_faces():
    """(picture, box, 68 points) of those that people have labelled."""
    with open(chain.DATA / "landmarks68.csv", encoding="utf-8") as rows:
        for row in list(csv.reader(rows))[1:]:
            if row[1] == "human":
                points = [float(v) for v in row[3:]]
                yield (chain.DATA / row[2]).resolve(), box(points), points


def patch_options():
    """Those that tests/full/shape_folds has for patches of all faces."""
    loader = importlib.machinery.SourceFileLoader("shape_folds", str(SOURCE / "tests/full/shape_folds"))
    of_folds = importlib.util.module_from_spec(importlib.util.spec_from_loader("shape_folds", loader))
    loader.exec_module(of_folds)
    return of_folds.options(of_folds.SETTINGS["masm"][0])


@functools.cache
def model(run):
    """Our patches: of the labelled faces, or where it is only tried of a few drawn heads."""
    file = run.folder / "masm.cuface"
    run.folder.mkdir(parents=True, exist_ok=True)
    settings = patch_options()
    if run.quick:
        labels = shapes.drawn_heads(run.folder / "heads", 12)
        settings += ["--patch", "7", "--levels", "3", "--iterations", "2"]
    else:
        labels = run.folder / "faces.csv"
        with open(labels, "w", encoding="utf-8") as out:
            out.write("path,x,y,w,h," + ",".join(f"x{i},y{i}" for i in range(68)) + "\n")
            for path, around, points in labelled_faces():
                out.write(",".join(map(str, [path, *around, *points])) + "\n")
    shapes.train(file, labels, *settings)
    return file


def timed(experiment):
    return lambda run: run.program("shape", experiment, {"CUFACE_SHAPE_MODEL": str(model(run))})


def with_figures(result, figures):
    result["figures"] = {name: {"ours": ours, "peer": None} for name, ours in figures.items()}
    return result


def by_size(run):
    """With what threads gain, which tests/full/shape_refits has measured on a machine that has them."""
    of = json.loads(REFITS.read_text(encoding="utf-8"))["ms_a_face_by_threads"]
    return with_figures(timed("S3.E1")(run), {f"{n} threads, of one thread's time": 100 * of[str(n)] / of["1"] for n in (8, 16)})


def versions(run):
    result = timed("S3.E5")(run)
    first, *others = (curve["points"][0]["ours_us"] for curve in result["curves"])
    return with_figures(result, {name: first / us for name, us in
                                 zip(("float, likeliest first, beside double", "vectors beside double"), others, strict=True)})


def shares(run):
    result = timed("S3.E2")(run)
    return with_figures(result, {f"{part}, one face": result["shares"][key] for part, key in PARTS.items()})


def share_on_gpu(part):
    """The share in percent of a part's launches in a run on a GPU; None where the run has not measured the model.
    A run that measured it without any of these launches is an error: the launches have other names then."""
    def of(rows):
        times = {}
        for row in rows:
            if row["what"].startswith("shape model of 68 patches, 1 faces part "):
                launch = row["what"].rpartition("shape: ")[2]
                times[launch] = times.get(launch, 0) + row["us"]
        if not times:
            return None
        of_part = [us for launch, us in times.items() if re.fullmatch(LAUNCHES[part], launch)]
        if not of_part:
            raise ValueError(f"S3.E2, {part}: no launch {LAUNCHES[part]} in the run on a GPU, which has {sorted(times)}")
        return 100 * sum(of_part) / sum(times.values())
    return of


def loads(run):
    result = timed("S3.E3")(run)
    found, cut = result["loads"], result["cut_places"]
    return with_figures(result, {
        **{name: found[key] for name, (key, _) in LOADS.items()},
        **{f"{what}, {places}": cut[key][figure] for key, places in PLACES.items()
           for what, figure in (("iterations", "iterations"), ("error", "error_percent"))}})


KINDS = {"patches": "masm", "lines": "asm", "HAT": "hat"}


def folds(_):
    """What tests/full/shape_folds has measured: half an hour is too long for here."""
    found = json.loads(FOLDS.read_text(encoding="utf-8"))
    stasm = found["stasm"]["common_points"]
    figures, landmarks = {}, {}
    for name, kind in KINDS.items():
        ours = found["models"][kind]
        landmarks[name] = ours["each_landmark_rmse_percent"]
        figures[f"RMSE, 68 points, {name}"] = {"ours": statistics.mean(e * e for e in landmarks[name]) ** 0.5, "peer": None}
        figures[f"mean error, 68 points, {name}"] = {"ours": ours["all_68_points"]["mean_percent"], "peer": None}
        for what, key in (("mean error", "mean_percent"), ("faces missed", "missed")):
            figures[f"{what}, 16 common points, {name}"] = {"ours": ours["common_points"][key], "peer": stasm[key]}
    return {"seeds": [], "faces": found["faces"], "measured": found["date"], "figures": figures, "plot": landmarks}


def draw_landmarks(pyplot, shown):
    """A panel a kind of profile: each landmark's error."""
    figure, axes = pyplot.subplots(1, len(shown), figsize=(11, 2.6), sharey=True, layout="constrained")
    for axis, (name, errors) in zip(axes, shown.items()):
        axis.bar(range(len(errors)), errors, color="#27a")
        axis.set_title(name, fontsize=9)
        axis.set_xlabel("landmark")
    axes[0].set_ylabel("RMSE, %")
    return figure


EXPERIMENTS = [
    Experiment(
        "S3.E1", "The search for landmarks, by the picture's size",
        "Patches of 13 x 13, 4 levels with 4 iterations, trained on the labelled faces by the settings of `tests/full/shape_folds`. The face "
        "is the same at all sizes, 300 pixels. They have 79 landmarks, ours 68. Threads: faces that were not learnt from, 16 cores.", by_size,
        {"patches, one face": [Theirs(GPU, {LEAST: 37960, MOST: 50830}), Theirs("i7", {LEAST: 951e3, MOST: 1156e3}),
                               Theirs("8 threads", {LEAST: 433e3, MOST: 632e3})]},
        size=size_of_picture, figures=(Figure("8 threads, of one thread's time", "%", "46 to 55", HARDWARE),
                                       Figure("16 threads, of one thread's time", "%", "-", ""))),
    Experiment(
        "S3.E2", "What each part of the search takes",
        "One face of 300 pixels in 640 x 480, in shares of the search's time. Our GPU searches for points and constrains them in one "
        "launch, whose share stands with the search. Theirs is the kernel that searches for points. Copies to their GPU are in the "
        "rest.", shares,
        figures=tuple(Figure(f"{part}, one face", "%", *(("73 (GPU)", HARDWARE) if key == "search" else ("-", "")),
                             gpu=share_on_gpu(key) if key in LAUNCHES else None) for part, key in PARTS.items())),
    Experiment(
        "S3.E3", "What the search loads from memory",
        "Numbers of the model, in one iteration of all points. They are counted from what the kernels index, not by a profiler. Each of "
        "25 places loads its point's matrix, or a block loads it once for all places and faces. Theirs counts pixels too. A texture unit "
        "cuts places between pixels to 256 parts of one. What comes of that is told of all labelled faces, by the model that has seen "
        "them.",
        loads, figures=(
            *(Figure(name, unit, *(("92.1", SUBSTITUTE) if key == "saved" else ("-", ""))) for name, (key, unit) in LOADS.items()),
            *(Figure(f"{what}, {places}", unit, *(("more than in float", SUBSTITUTE) if key == "256" and not unit else ("-", "")))
              for key, places in PLACES.items() for what, unit in (("iterations", ""), ("error", "%"))))),
    Experiment(
        "S3.E4", "What each part takes, by the picture's size",
        "The same face and model. Sobel's operator is a part of the search for landmarks here. Theirs is a picture: the search for "
        "faces is most of the time in large pictures.", timed("S3.E4"), size=size_of_picture),
    Experiment(
        "S3.E5", "Steps on the way to the fast search",
        "One face in 640 x 480. Theirs are steps on a GPU, ours on one core.", versions,
        figures=(Figure("float, likeliest first, beside double", "times", "-", ""),
                 Figure("vectors beside double", "times", "2.75 (GPU)", HARDWARE))),
    Experiment(
        "S3.E6", "Search for faces, by the picture's size",
        "OpenCV's default cascade, factor 1.1, 5 neighbours, from 30 pixels on, one thread. The picture is a mosaic of 12 faces, "
        "theirs is unknown.", lambda run: run.program("faces", "S3.E6"),
        {"detect": [Theirs(GPU, {x: 1e3 * ms for x, ms in MS.items()}), Theirs(CPU, {x: 1e3 * ms for x, ms in OF_OPENCV.items()})]},
        size=size_of_picture),
    Experiment(
        "S3.E7", "Landmarks beside people's",
        "166 labelled faces stand in for 213 of JAFFE, which are not to be had. Five folds: no model has seen the photograph that it is "
        "scored on. In percent of the distance between the outer corners of the eyes. The peer is Stasm 4.1 with its own model. "
        "Their errors on a CPU and a GPU differ. Ours have the same bytes (`shape_curves_cuda`), so the plot is of both processors: each "
        "landmark's root of the mean square.",
        folds, plot=draw_landmarks,
        figures=tuple(figure for kind in KINDS for figure in (
            Figure(f"RMSE, 68 points, {kind}", "%", *(("4.28 px", SUBSTITUTE) if kind == "patches" else ("-", ""))),
            Figure(f"mean error, 68 points, {kind}", "%", "-", ""),
            Figure(f"mean error, 16 common points, {kind}", "%", "-", ""),
            Figure(f"faces missed, 16 common points, {kind}", "", "-", "")))),
    Experiment(
        "S3.E8", "Mean shape and modes",
        "Of 200 drawn heads, mirrored too: shapes before and after alignment, and three modes at 3 standard deviations. Models of "
        "photographs are not shown, as their terms forbid it.", shapes.measure, plot=shapes.plot),
]
