"""The experiments of S1: edges and motion. The published times are seconds of its tables I to VI."""
from experiments import HARDWARE, REPRODUCED, SUBSTITUTE, Experiment, Figure, Theirs, size_of_square
import live_rate
import views

GPU, CPU, DESKTOP = "GTX 860M", "i5-4200U", "i7-4790K"


def times(machine, sides, seconds):
    return Theirs(machine, {side * side: round(1e6 * value, 2) for side, value in zip(sides, seconds, strict=True)})


SMALL = 100, 500, 1000, 1500, 2000, 2500
LARGE = 100, 500, 1000, 2000, 3000, 4000, 5000, 6000, 7500


def point(result, curve, x):
    points = next(c["points"] for c in result["curves"] if c["name"] == curve)
    return next((p for p in points if p["x"] == x), points[-1])


def convolutions(run):
    """Adds what the curves say: how much the second pass spares, and from which filter on an FFT wins."""
    result = run.program("edges", "S1.E1")
    direct, separable = (point(result, f"{way}, 3x3", 2500 ** 2) for way in ("direct", "separable"))
    result["figures"] = {"direct / separable, largest picture": {
        "ours": direct["ours_us"] / separable["ours_us"], "peer": direct["peer_us"] / separable["peer_us"]}}
    for curve in result["curves"][2:]:
        wins = [p["x"] for p in curve["points"] if p["peer_us"] < p["ours_us"]]
        way = curve["name"].partition(",")[0]
        result["figures"][f"cv::dft wins against {way}, from a side of"] = {"ours": min(wins, default=None), "peer": None}
        result["figures"][f"CuPy's FFT wins against its {way}, from a side of"] = {"ours": None, "peer": None}
    return result


def fft_wins(way):
    """The least side of the filter from which on CuPy's FFT was faster on a GPU."""
    def least(rows):
        us = {(row["way"], row["side of the filter"]): row["us"] for row in rows if row["what"] == "convolution by CuPy"}
        return min((side for name, side in us if name == way and us["fft", side] < us[way, side]), default=None)
    return least


def worst_winding(rows):
    """Of spirals and mazes of one faint edge, the one that takes longest."""
    return max((row["us"] for row in rows if row["what"] == "edges, winding"), default=None)


# cv::cuda's Canny of OpenCV 4.14 on its own stream, measured once on an H200, 50 and 150, L1, the picture on the GPU already: the
# name, our row of the GPU, theirs. Its one edge is a serpentine of 685,573 pixels.
BESIDE_CUDA = (("Canny of 1920x1080, aperture 3", ({"what": "edges, aperture 3", "size": "mosaic1080"}, "us", 1), "192"),
               ("behind a blur of 5x5", ({"what": "edges, blur 5, aperture 3", "size": "mosaic1080"}, "us", 1), "212"),
               ("one edge all over 1920x1080", worst_winding, "118000"))


def edges(run):
    return run.program("edges", "S1.E3") | {"figures": {name: {"ours": None, "peer": None} for name, _, _ in BESIDE_CUDA}}


def motion(run):
    result = run.program("edges", "S1.E4")
    points = result["curves"][0]["points"]
    result["figures"] = {name: {"ours": sum(p[key] for p in points), "peer": None} for name, key in
                         (("pixels unlike OpenCV's", "pixels_unlike_peer"), ("area pixels unlike OpenCV's", "area_unlike_peer"))}
    return result


EXPERIMENTS = [
    Experiment(
        "S1.E1", "Convolution, directly and in two passes",
        "A 3x3 Gaussian over square pictures, integers in and out, the full result. Content does not change the time. "
        "OpenCV's side works on floats of the same size. Behind that, from which filter on Fourier transforms win.",
        convolutions,
        {"direct, 3x3": [times(DESKTOP, SMALL, (.000489, .008784, .034249, .076803, .136222, .212414))],
         "separable, 3x3": [times(DESKTOP, SMALL, (.000279, .004768, .018969, .042410, .075280, .117134))]},
        (Figure("direct / separable, largest picture", "times", "1.81", REPRODUCED),
         Figure("cv::dft wins against direct, from a side of", "taps", "-", ""),
         Figure("cv::dft wins against separable, from a side of", "taps", "-", ""),
         *(Figure(f"CuPy's FFT wins against its {way}, from a side of", "taps", "-", "", fft_wins(way))
           for way in ("direct", "separable"))),
        lambda x: size_of_square(x) if x >= 1e4 else f"{x:.0f} taps",
        ("direct, 3x3", "separable, 3x3", *(f"{way}, 1000x1000, by filter" for way in ("direct", "separable")))),
    Experiment(
        "S1.E2", "Separable convolution",
        "The same in two passes, up to 56 million pixels. The published GPU's first call is its smallest picture, so "
        "its context is in that time.",
        lambda run: run.program("edges", "S1.E2"),
        {"separable convolution": [
            times(CPU, LARGE, (.000349, .009001, .034910, .138583, .311335, .559149, .864850, 1.253738, 1.960140)),
            times(GPU, LARGE, (.229505, .003902, .011905, .042788, .093797, .165629, .248457, .357840, .558480))]},
        size=size_of_square, cpu_only=("separable convolution",)),
    Experiment(
        "S1.E3", "Edges",
        "Magnitude, angle, thinning and linking as published, thresholds 70 and 80, no blur. Ours includes the Sobel "
        "filters, and computes no angle, as the sectors need none. The picture is a mosaic of 12 faces, theirs is unknown. OpenCV's Canny links by hysteresis instead. The first table has OpenCV's CUDA module, measured once, "
        "beside `cuedgedetect` with the same settings.",
        edges,
        {"edges as published": [
            times(CPU, LARGE[:-1], (.033848, .070105, .213390, .616050, 1.114336, 1.627116, 2.215267, 2.764201)),
            times(GPU, LARGE[:-1], (.000347, .006773, .022899, .078498, .160118, .265466, .388015, .528509))]},
        tuple(Figure(name, "us", f"{us}, OpenCV 4.14 on an H200", HARDWARE, row) for name, row, us in BESIDE_CUDA),
        size_of_square),
    Experiment(
        "S1.E4", "Motion between two edge maps",
        "Thresholded difference, densities of 10 x 6 cells and the motion-area image, with a tolerance of 12 pixels. The "
        "second picture has a part of the first elsewhere. OpenCV's side is the same by morphology, and must agree. In a chain our "
        "edges come as bit maps, and no area image is made: that is the second curve.",
        motion,
        {"motion as published": [
            times(CPU, LARGE, (.008400, .214381, .866711, 3.468732, 8.320342, 14.841659, 22.094181, 31.911879, 55.772766)),
            times(GPU, LARGE, (.001652, .027413, .097432, .388721, .871464, 1.569390, 2.546088, 3.624211, 13.077988))]},
        (Figure("pixels unlike OpenCV's", "", "-", ""), Figure("area pixels unlike OpenCV's", "", "-", "")),
        size_of_square, ("motion as published",)),
    Experiment(
        "S1.E5", "Faces",
        "OpenCV's default cascade, factor 1.1, 5 neighbours, faces from 30 pixels on, as the preset `rice-2015`. The picture is "
        "a mosaic of 12 faces, theirs is unknown.",
        lambda run: run.program("faces", "S1.E5"),
        {"detect": [
            times(CPU, (*LARGE[:6],), (.067883, .226192, .811302, 2.849201, 6.236422, 10.794892)),
            times(GPU, (*LARGE[:6],), (.061132, .094812, .199005, .562820, 1.218879, 2.142449))]},
        size=size_of_square),
    Experiment(
        "S1.E6", "Live rate at 640x480",
        "Ten seconds of a clip through edges and motion; a part of the runs composes the four views. The rates are those "
        "of processor time on one core, decoding included, in turns of ten frames. The peer is gst-opencv's edgedetect and "
        "motioncells. Our clip has more edge pixels than theirs.",
        live_rate.measure,
        figures=tuple(Figure(f"{name} rate", "frames/s", theirs, SUBSTITUTE) for name, theirs in
                      (("mean", "11.01"), ("median", "10.72"), ("least", "9.68"), ("greatest", "12.02"),
                       ("standard deviation of the", "0.37")))
        + (Figure("mean rate, four views composed", "frames/s", "11.01", SUBSTITUTE),
           Figure("edge pixels", "%", "< 10", SUBSTITUTE))),
    Experiment(
        "S1.E7", "Pictures",
        "All steps on a picture of 5312x2988 pixels with noise, the first call apart. Shown is a made-up scene, which may "
        "stand here; the run writes the large pictures to the build folder.",
        views.measure,
        figures=(Figure("first call of the edges, 5312x2988", "ms", "-", ""),
                 Figure("later calls", "ms", "-", ""),
                 Figure("edge pixels without blur", "%", "-", ""),
                 Figure("edge pixels with blur", "%", "-", "")),
        plot=views.plot),
]
