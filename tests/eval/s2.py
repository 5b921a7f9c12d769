"""The experiments of S2: SURF's descriptors. Of most only curves are published, so there are few figures."""
import json

from experiments import HARDWARE, SOURCE, SUBSTITUTE, Experiment, Figure

PICTURES = "viewpoint", "light", "blur", "jpeg", "graffiti"
KINDS = {"SURF, upright": "#27a", "SURF, turned": "#c44", "SURF-36, turned": "#ca4", "SURF of sums, turned": "#a4c", "SURF of a mipmap, turned": "#888",
         "SURF, overlapping cells": "#5cf", "SURF, sliding window": "#f7b", "SURF, centroid": "#863", "ORB": "#2a7"}
PRECISIONS = "floats", "halves", "8 bits", "10 bits", "13 bits", "16 bits", "23 bits", "24 bits"

SIZES = {256 ** 2: "256x256", 320 * 240: "320x240", 512 ** 2: "512x512", 640 * 480: "640x480", 800 * 600: "800x600", 1024 ** 2: "1024x1024"}
WHERE = "Places are random, and sizes are those that SURF finds in the picture."


def rates(run):
    """Descriptions of a picture a second."""
    result = run.program("features", "S2.E1")
    result["figures"] = {}
    for curve in result["curves"]:
        point = curve["points"][0]
        result["figures"][curve["name"].rpartition(",")[0]] = {
            "ours": 1e6 / point["ours_us"], "peer": 1e6 / point["peer_us"] if "peer_us" in point else None}
    return result


def beside_opencv(_run):
    """What tests/bench/run measured: no package has this peer."""
    measured = json.loads((SOURCE / "docs/results/cpu-surf.json").read_text(encoding="utf-8"))
    ratios = {case["what"]: case["ratio"] for case in measured["cases"]}
    return {"seeds": [], "figures": {f"OpenCV's time / ours, {way}": {
        "ours": ratios[f"1,020 keypoints, 512x384, described, {way}"], "peer": None} for way in ("upright", "turned")}}


def steps(run):
    result = run.program("features", "S2.E5")
    result["figures"] = {name: {"ours": share, "peer": None} for name, share in result.pop("shares").items()}
    return result


def of_36_floats(run):
    """How much less time descriptors of 36 floats take, by the medians of one curve each."""
    result = run.program("features", "S2.E6")
    us = {curve["name"]: curve["points"][0]["ours_us"] for curve in result["curves"]}
    result["figures"] = {f"less time, {way}": {"ours": 100 * (1 - us[f"SURF-36, {way}"] / us[f"SURF-64, {way}"]), "peer": None}
                         for way in ("upright", "turned")}
    return result


def energy(run):
    """What the processor's counters say; None where the system does not let them be read."""
    result = run.program("features", "S2.E9")
    result["figures"] = {name: {"ours": figure, "peer": None} for name, figure in result.pop("energy").items()}
    return result


def energy_on_gpu(name):
    """What the driver said, in a run that it did."""
    what = {"what": "energy, idle"} if name == "idle" else {"what": "energy", "of": name}
    return lambda rows: next((row["W" if name == "idle" else "mJ"] for row in rows if what.items() <= row.items()), None)


def recall_curves(pyplot, what):
    """A panel a kind of change: recall against the share of the matches that is false."""
    shown = [name for name in PICTURES if any(any(points) for points in what[name].values())]
    figure, axes = pyplot.subplots(1, len(shown), figsize=(2.4 * len(shown), 2.6), squeeze=False, sharey=True,
                                   layout="constrained")
    for axis, name in zip(axes.flat, shown):
        for kind, points in what[name].items():
            axis.plot([n / (len(points) - 1) for n in range(len(points))], points, color=KINDS[kind], label=kind)
        axis.set_title(name, fontsize=9)
        axis.set_xlabel("1 - precision")
    axes.flat[0].set_ylabel("recall")
    axes.flat[0].legend(frameon=False, fontsize=6)
    return figure


EXPERIMENTS = [
    Experiment(
        "S2.E1", "Run time",
        f"1,020 descriptors of a picture of 512x384, with its sums, without detection. {WHERE} The picture is a mosaic of "
        "faces, theirs is a wall with graffiti. SURF of sums is `sampling=integral`. SURF of a mipmap is `sampling=mipmap`, as theirs.", rates,
        figures=(Figure("SURF, upright", "pictures/s", "-", ""),
                 Figure("SURF, turned", "pictures/s", "-", ""),
                 *(Figure(f"SURF of {what}, {way}", "pictures/s", *(("2 to 20, phones of 2012", HARDWARE)
                                                                    if (what, way) == ("a mipmap", "upright") else ("-", "")))
                   for what in ("sums", "a mipmap") for way in ("upright", "turned"))),
        cpu_only=tuple(f"{kind}, {way}, 512x384" for kind in ("SURF", "SURF of sums", "SURF of a mipmap") for way in ("upright", "turned"))),
    Experiment(
        "S2.E2", "Beside OpenCV's SURF, one thread",
        "The same, beside OpenCV's `surf.cpp`. No package has it, so `tests/bench/run --only surf` measures it: "
        "[its table](cpu.md#surf). Theirs are graphics processors beside the processor of the same device.", beside_opencv,
        figures=(Figure("OpenCV's time / ours, upright", "times", "2 to 14, phones; 20, desktop", HARDWARE),
                 Figure("OpenCV's time / ours, turned", "times", "-", ""))),
    Experiment(
        "S2.E3", "Run time by the number of keypoints",
        f"Pictures of 512x384, as S2.E1. {WHERE} Theirs are curves alone.", lambda run: run.program("features", "S2.E3"),
        cpu_only=("SURF, upright, descriptors", "SURF, turned, descriptors")),
    Experiment(
        "S2.E4", "Run time by the size of the picture",
        f"1,020 descriptors. {WHERE} Larger pictures have larger ones. Theirs are curves alone, of pictures padded to powers "
        "of two.", lambda run: run.program("features", "S2.E4"), size=lambda x: SIZES[x],
        cpu_only=("SURF, upright, 1,020", "SURF, turned, 1,020")),
    Experiment(
        "S2.E5", "Share of each step",
        "Upright, as S2.E1, in percent. A window of pixels takes the place of their mipmap and Haar wavelets.", steps,
        figures=(Figure("sums of the picture", "%", "> 70, mipmap, one kind of phone", HARDWARE),
                 Figure("windows", "%", "-", ""),
                 Figure("gradients, sums and length", "%", "50 to 90, sums and length", HARDWARE))),
    Experiment(
        "S2.E6", "Descriptors of 36 floats",
        f"1,020 descriptors of a picture of 512x384, as S2.E1. {WHERE} Their sizes are the same, so the windows are smaller.",
        of_36_floats,
        figures=(Figure("less time, upright", "%", "30; 8 on one kind of phone", HARDWARE),
                 Figure("less time, turned", "%", "-", "")),
        cpu_only=tuple(f"SURF-{floats}, {way}" for floats in (64, 36) for way in ("upright", "turned"))),
    Experiment(
        "S2.E7", "Precision of numbers",
        "Theirs is a table of the bits that graphics processors keep, 8 to 24; all are values of `precision`. "
        "The figure is the recall of S2.E8 where half of the matches are false, of the published descriptor: upright, of a "
        "mipmap, 1,020 keypoints. Every step is cut: gradients to 8 bits of a fraction at most, sums, lengths and floats.",
        lambda run: run.program("features", "S2.E7"),
        figures=tuple(Figure(f"recall, {name}, {kind}", "%", "curves", SUBSTITUTE) for name in ("viewpoint", "jpeg") for kind in PRECISIONS)),
    Experiment(
        "S2.E8", "Matching quality",
        "The strongest 1,020 keypoints of a picture beside those of five changed ones, and of graf1 beside graf3 of OpenCV's "
        "documentation. Each pair nearer than a distance is a match. The figure is the recall where half of the matches are "
        "false. The changes are ours, of a mosaic of faces; theirs are photographs. Our bits are those of OpenCV's SURF and "
        "`cv::ORB`, so there is no peer. SURF of sums and of a mipmap are values of `sampling`; overlapping cells, sliding windows and centroids are of `window` and `orientation`. Keypoints mean the same within a tenth of their size.",
        lambda run: run.program("features", "S2.E8"),
        figures=tuple(Figure(f"recall, {name}, {kind}", "%", "curves" if kind == "SURF, upright" and name != "graffiti" else "-",
                             SUBSTITUTE if kind == "SURF, upright" and name != "graffiti" else "")
                      for name in PICTURES for kind in KINDS),
        plot=recall_curves),
    Experiment(
        "S2.E9", "Energy",
        f"1,020 descriptors of a picture of 1024x1024, one picture behind another; the draw of an idle machine is subtracted. {WHERE} "
        "A processor's figure is that of RAPL, all cores and one thread, where the system lets it be read. A GPU's is that of NVML, all "
        "of the card, where its driver tells it. Theirs is a plot of the current of phones, by 1,000 runs.", energy, gpu_alone="gpu-energy.json",
        figures=(Figure("idle", "W", "-", "", gpu=energy_on_gpu("idle")),
                 *(Figure(name, "mJ", *(("slightly less than their CPU's", HARDWARE) if "mipmap" in name else ("-", "")),
                          gpu=energy_on_gpu(name))
                   for name in ("SURF of a mipmap, upright", "SURF, upright", "SURF, turned")))),
]
