#!/usr/bin/python3
"""The tables and the plot of what tests/bench/run measured: FOLDER/cpu.md and FOLDER/cpu-curves.svg.

  tests/bench/report.py [FOLDER]
  tests/bench/report.py --check     exit status 1 when those in docs/results are not what their JSON files give
"""
import json
import math
import pathlib
import sys

import chain

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import svg  # noqa: E402

RESULTS = pathlib.Path(__file__).resolve().parents[2] / "docs/results"
COLOURS = {"ours": "#27a", "peer": "#c44", "published": "#777"}

PHONE = "iPhone 7, GPU"
# Of a curve: where the published figure came from, (x, microseconds) of each.
PUBLISHED = {
    "detect": [("GTX 470", [(307200, 38400), (442368, 52100), (480000, 54400), (786432, 80800), (884736, 84500),
                            (1024000, 94600), (1228800, 123300), (1470000, 142400)]),
               ("OpenCV 2.1, i7 3.2 GHz, 1 thread", [(307200, 313900), (786432, 1007300), (1024000, 1215500),
                                                     (1470000, 1744200)]),
               ("OpenCV's GPU cascade, GTX 860M", [(16e6, 2142449)]),
               ("OpenCV, i5-4200U", [(16e6, 10794892)])],
    "integral": [(f"{PHONE} (at most)", [(8847360, 16700)])],
    "detect, step 1": [(f"{PHONE} (slowest of all)", [(1, 500000)])],
    "detect, step 2": [(f"{PHONE} (fastest of all)", [(8, 10900)])],
    "flow, 720p": [(f"{PHONE} (best of its settings)", [(100, 2330)]), (f"{PHONE} (worst)", [(5000, 14700)])],
    "landmarks, 1 face": [(PHONE, [(3, 2830), (15, 14700)])],
    "reduction": [(f"{PHONE}, 64 threads", [(1e7, 22331)]), ("iPhone 7, CPU", [(1e7, 2564103)])],
    "compaction": [(PHONE, [(250000, 3410), (1e7, 61614)]),
                   ("iPhone 7, CPU", [(250000, 61652), (1e7, 3571429)])],
    "group by overlap, at random": [(PHONE, [(1024, 5000)])],
    "group by overlap, all overlap": [(PHONE, [(1024, 103000)])],
    "group by overlap, half overlap": [(f"{PHONE}, lists of neighbours only (at most)", [(300, 2500)])],
}


def read(folder):
    names = ("detect", "forest", "flow", "chain", "clips", "streams", "curves")
    files = {name: folder / f"cpu-{name}.json" for name in names}
    return {name: json.loads(file.read_text(encoding="utf-8")) for name, file in files.items() if file.exists()}


def table(head, rows):
    lines = ["| " + " | ".join(str(cell) for cell in row) + " |" for row in (head, ["---"] * len(head), *rows)]
    return "\n".join(lines) + "\n"


def source(parts, name):
    part = parts[name]
    load = f", load {part['load_before']} before" if "load_before" in part else ""
    return f"[cpu-{name}.json](cpu-{name}.json): {part.get('date', '?')}, commit {part.get('commit', '?')}{load}.\n"


def figure(us):
    unit, value = ("s", us / 1e6) if us >= 1e6 else ("ms", us / 1e3) if us >= 1e3 else ("us", us)
    return f"{value:.3g} {unit}"


def detect_table(part):
    rows = [(c["picture"], c["cascade"], c["scale_factor"], c["min_size"], c["threads"], c["ours"]["wall_ms"],
             c["opencv"]["wall_ms"], c["ratio_wall"], c["ratio_cpu"], "yes" if c["same_faces"] else "NO")
            for c in part["cases"]]
    least = [min(c[key] for c in part["cases"]) for key in ("ratio_wall", "ratio_cpu")]
    return (f"Goal: 6 times OpenCV {part['opencv']} in each case. {len(rows)} cases, the least ratio {least[0]:.1f} "
            f"(wall), {least[1]:.1f} (processor time).\n\n"
            + table(("picture", "cascade", "factor", "min", "threads", "ours, ms", "OpenCV, ms", "ratio, wall",
                     "ratio, processor time", "same faces"), rows))


def contest_table(part):
    rows = [(c["what"], figure(c["ours_us"]), figure(c["peer_us"]), c["ratio"], c.get("goal", ""))
            for c in part["cases"]]
    return f"Beside {part['peer']}.\n\n" + table(("what", "ours", "peer", "ratio", "goal"), rows)


def chain_table(part):
    mesh = part.get(chain.MESH, {})
    rows = [(name, p["ms_a_frame"], p["added_ms_a_frame"], p.get("of_mediapipe", ""), p["frames_a_second"],
             ", ".join(f"{e.removeprefix('cuface').removeprefix('cu')} {ms}" for e, ms in
                       p["elements_ms_a_frame"].items()))
            for name, p in part["pipelines"].items()]
    rows.append(("MediaPipe FaceMesh, " + (f"{mesh['version']}, without decoding" if "version" in mesh else
                                           "not measured"), "", mesh.get("ms_a_frame", ""), "", "", ""))
    return ("Processor time a frame on one core, 640x360, one face. Goal: 3.5 ms with the default settings, and with "
            "redetect-interval 30 not more than MediaPipe.\n\n"
            + table(("pipeline", "ms", "of it added", "that by MediaPipe's", "frames/s", "wall time in the elements, ms"), rows))


def times_less(row, which):
    turn = row.get(f"{which}, of a turn")
    return f"{row[f'{which}, times less']}" + (f" ({turn[0]} to {turn[1]})" if turn else "")


def clips_table(part):
    rows = []
    for row in part["clips"]:
        one, ten, peer = row["redetect 1"], row["redetect 10"], row["gst-opencv"]
        rows.append((row["clip"], row["ms_a_frame_without"], peer["added_ms_a_frame"], one["added_ms_a_frame"],
                     times_less(row, "redetect 1"), ten["added_ms_a_frame"], times_less(row, "redetect 10"),
                     f"{peer['frames']} / {one['frames']} / {ten['frames']}"))
    memory = part["memory_at_1080p"]
    added = {row["clip"]: row for row in part["clips"]}
    pace = [("no face", added["noface720"]["redetect 1"], 24.8),
            ("every frame searched", added["pexels720"]["redetect 1"], 41.3),
            ("every tenth", added["pexels720"]["redetect 10"], 25.05)]
    return ("What the elements add to the processor time of a frame, in ms, both cores; gst-opencv finds faces only, "
            "ours also tracks, regresses 68 points, draws and publishes. Goals: 6 times less when every frame is "
            "searched, 25 times less with redetect-interval 10."
            + (f" Medians of {part['turns']} turns, in brackets the least and the most of a turn.\n\n"
               if "turns" in part else "\n\n")
            + table(("clip", "without", "gst-opencv", "redetect 1", "times less", "redetect 10", "times less",
                     "frames"), rows)
            + "\nA frame of 720p beside the published figures:\n\n"
            + table(("what", "ours, ms of processor time", f"{PHONE}, 720x1280, ms"),
                    [(what, run["added_ms_a_frame"], published) for what, run, published in pace])
            + f"\nMemory at 1080p, peak of the process: ours {memory['ours_mib']} MiB, of it the landmark model "
              f"{memory['model_mib']}; gst-opencv {memory['peer_mib']}. Beside the model "
              f"{memory['beside_the_model']} times gst-opencv's; goal at most {memory['goal']}.\n")


def growth_table(curves):
    """By how much time grew from the first to the last point, beside the size."""
    grown = [(c["name"], c["x"], *(f"{v:,.0f}" if v >= 10 else f"{v:.2g}" for v in growth(c))) for c in curves]
    return table(("curve", "size is", "size, times", "our time, times"), grown)


def curve_tables(curves, peer_is="peer"):
    """A row a point; the published figure in the row of the nearest size, if that is within 15 %."""
    rows = []
    for curve in curves:
        far = []
        for point in curve["points"]:
            peer = point.get("peer_us")
            rows.append([curve["name"], f"{point['x']:,.0f}", figure(point["ours_us"]), figure(peer) if peer else "",
                         f"{peer / point['ours_us']:.1f}" if peer else "", ""])
        own = rows[-len(curve["points"]):]
        for who, figures in PUBLISHED.get(curve["name"], []):
            for x, us in figures:
                nearest = min(range(len(own)), key=lambda i: abs(math.log(curve["points"][i]["x"] / x)))
                if abs(curve["points"][nearest]["x"] / x - 1) < 0.15:
                    own[nearest][-1] += f"{', ' if own[nearest][-1] else ''}{figure(us)} ({who})"
                else:
                    far.append([curve["name"], f"{x:,.0f}", "", "", "", f"{figure(us)} ({who})"])
        rows += far
    return table(("curve", "size", "ours", peer_is, "ratio", "published, and on what"), rows)


def growth(curve):
    """By how much time grew from the smallest to the largest of the curve, beside the size."""
    first, last = curve["points"][0], curve["points"][-1]
    return last["x"] / first["x"], last["ours_us"] / first["ours_us"]


def panel(curve, left, top, width=300, height=200):
    series = {who: [(p["x"], p[f"{who}_us"]) for p in curve["points"] if p.get(f"{who}_us")]
              for who in ("ours", "peer")}
    dots = [dot for _who, figures in PUBLISHED.get(curve["name"], []) for dot in figures]
    everything = [p for line in series.values() for p in line] + dots
    low, high = ([f(math.log10(p[i]) for p in everything) for i in (0, 1)] for f in (min, max))

    def at(point):
        share = [(math.log10(point[i]) - low[i]) / max(high[i] - low[i], 1e-9) for i in (0, 1)]
        return left + 62 + share[0] * (width - 84), top + height - 40 - share[1] * (height - 84)

    def short(value):
        return f"{value / 1e6:.3g}M" if value >= 1e6 else f"{value / 1e3:.3g}k" if value >= 1e4 else f"{value:g}"
    x0, y0 = left + 56, top + height - 34
    parts = [svg.text(left + 8, top + 18, curve["name"]),
             svg.line([(x0, top + 36), (x0, y0), (left + width - 14, y0)], "#999")]
    parts += [svg.text(x0 - 3, at((1, 10 ** v))[1] + 4, figure(10 ** v), "end") for v in (low[1], high[1])]
    parts += [svg.text(at((10 ** v, 1))[0], y0 + 14, short(10 ** v), anchor)
              for v, anchor in ((low[0], "start"), (high[0], "end"))]
    parts.append(svg.text(left + width / 2, y0 + 27, curve["x"], "middle"))
    for who, points in series.items():
        parts.append(svg.line([at(p) for p in points], COLOURS[who]))
        parts += [svg.rectangle(x - 2, y - 2, 4, 4, COLOURS[who]) for x, y in map(at, points)]
    parts += [svg.rectangle(x - 3, y - 3, 6, 6, COLOURS["published"]) for x, y in map(at, dots)]
    return parts


def plot(curves, more="what each peer is, and published figures: cpu.md", columns=3):
    parts = [svg.text(8, 18, f"time against size, both logarithmic; {more}")]
    for i, who in enumerate(COLOURS):
        parts += [svg.rectangle(640 + 90 * i, 9, 10, 10, COLOURS[who]), svg.text(654 + 90 * i, 18, who)]
    for i, curve in enumerate(curves):
        parts += panel(curve, 310 * (i % columns), 30 + 210 * (i // columns))
    return svg.picture(310 * columns, 40 + 210 * math.ceil(len(curves) / columns), parts)


def made(folder):
    """{name of a file: what belongs into it}."""
    parts, files = read(folder), {}
    curves = [curve for name in ("curves", "streams") if name in parts for curve in parts[name]["curves"]]
    machine = next(iter(parts.values()))
    page = ["# What the CPU takes, beside the peers\n",
            f"Made by tests/bench/run. {machine['processor']}, {machine.get('processors', '?')} processors. What "
            "bounds each stage and what was tried: [performance](../design/performance.md).\n"]
    for name, title, body in (("detect", "Detect and group", detect_table), ("forest", "Landmarks", contest_table),
                              ("flow", "Flow", contest_table), ("chain", "The chain beside MediaPipe", chain_table),
                              ("clips", "What the elements add a frame", clips_table)):
        if name in parts:
            page += [f"## {title}\n", source(parts, name), body(parts[name])]
    if curves:
        files["cpu-curves.svg"] = plot(curves)
        page += ["## Curves\n", *(source(parts, name) for name in ("curves", "streams") if name in parts),
                 "![curves](cpu-curves.svg)\n",
                 "Growth from the first to the last point. The work of grouping is pairs of rectangles that overlap.\n",
                 growth_table(curves),
                 "Peers: " + "; ".join(f"{c['name']}: {c['peer']}" for c in curves if c["peer"]) + ".\n",
                 curve_tables(curves)]
    files["cpu.md"] = "\n".join(page)
    return files


def write(folder):
    for name, content in made(folder).items():
        (folder / name).write_text(content, encoding="utf-8")


def check():
    files = made(RESULTS)
    stale = [name for name, content in files.items() if (RESULTS / name).read_text(encoding="utf-8") != content]
    print(f"{len(files)} files made, stale: {', '.join(stale) or 'none'}")
    return bool(stale) or len(files) < 2


if __name__ == "__main__":
    if sys.argv[1:] == ["--check"]:
        sys.exit(check())
    write(pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else RESULTS)
