"""docs/results/published.md and its plots, made of published.json there, the newest run on a GPU and rows.json."""
import importlib.util
import json
import pathlib

import experiments
from experiments import HARDWARE, SOURCE
import pages
import plots
import s0
import s1
import s2
import s3
import s4

SYSTEMS = {"S0": s0.EXPERIMENTS, "S1": s1.EXPERIMENTS, "S2": s2.EXPERIMENTS, "S3": s3.EXPERIMENTS, "S4": s4.EXPERIMENTS}

RESULTS = SOURCE / "docs/results"
NAME, SCRIPT = "published", "tests/eval/run"
PAGE = RESULTS / f"{NAME}.md"
ROWS = pathlib.Path(__file__).with_name("rows.json")
NOT_RUN = "not run"
COLOURS = {"ours, CPU": "#27a", "peer, CPU": "#c44", "ours, GPU": "#2a7"}


def read(folder):
    file = folder / f"{NAME}.json"
    return json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}


def keep(folder, results):
    """Writes what was measured, in the order of the experiments."""
    ids = [e.id for listed in SYSTEMS.values() for e in listed]
    ordered = {name: results[name] for name in ids if name in results}
    (folder / f"{NAME}.json").write_text(json.dumps(ordered, indent=1) + "\n", encoding="utf-8")


def time(us):
    unit, value = ("s", us / 1e6) if us >= 1e6 else ("ms", us / 1e3) if us >= 1e3 else ("us", us)
    return f"{value:.3g} {unit}"


def number(value):
    if value is None:
        return "-"
    return f"{value:.3g}" if isinstance(value, float) else f"{value:,}"


def source_line(result, on_gpu, gpu):
    """Where the figures come from."""
    build = result["build"]
    line = (f"{result['processor']}, {result['date']}, commit {result['commit']}, load {result['load_before']}. "
            f"Built {build['buildtype']}, -O{build['optimization']}{' '.join(['', *build['cpp_args']])}. ")
    if "opencv" in result:
        peer = result["opencv"]
        line += f"OpenCV {peer['version']}, baseline {peer['Baseline']}, one thread. "
    if on_gpu:
        line += f"GPU: {gpu.whose}. "
    return line + f"Seeds: {', '.join(map(str, result['seeds'])) or 'nothing is random'}."


def curve_rows(experiment, curves, gpu):
    """(curve, size, ours on the CPU, the peer, ours on the GPU, theirs, label), at our sizes and at theirs."""
    for curve in curves:
        theirs = experiment.theirs.get(curve["name"], [])
        points = {p["x"]: p for p in curve["points"]}
        for x in sorted({*points, *(x for t in theirs for x in t.us)}):
            point, on_gpu = points.get(x, {}), gpu.times.get((curve["name"], x))
            told = [f"{time(t.us[x])}, {t.machine}" for t in theirs if x in t.us]
            yield (curve["name"], experiment.size(x), *(time(point[who]) if who in point else "-" for who in ("ours_us", "peer_us")),
                   time(on_gpu) if on_gpu else "-" if curve["name"] in experiment.cpu_only else NOT_RUN,
                   "; ".join(told) or "-",
                   HARDWARE if told else "-")


def section(experiment, result, gpu):
    """An experiment on the page."""
    text = [f"### {experiment.id} {experiment.title}\n", f"{experiment.what}\n"]
    if not result:
        return "\n".join([*text, f"{NOT_RUN.capitalize()} yet.\n"])
    curves = result.get("curves", [])
    on_gpu = any((curve["name"], point["x"]) in gpu.times for curve in curves for point in curve["points"])
    if experiment.figures:
        found = result["figures"]
        on_gpu = on_gpu or any(gpu.figure(f.gpu) is not None for f in experiment.figures)
        text.append(pages.table(("what", "ours, CPU", "peer, CPU", "ours, GPU", "theirs", "label"), [
            (", ".join(filter(None, (f.name, f.unit))), *(number(found.get(f.name, {}).get(who)) for who in ("ours", "peer")),
             number(gpu.figure(f.gpu)) if gpu.figure(f.gpu) or not f.gpu else NOT_RUN, f.theirs, f.label or "-")
            for f in experiment.figures]))
    if curves:
        peers = sorted({curve["peer"] for curve in curves} - {""})
        text.append(f"The peer is {'; '.join(peers)}.\n" if peers else "There is no peer.\n")
        text.append(pages.table(("curve", "size", "ours, CPU", "peer, CPU", "ours, GPU", "theirs", "label"),
                                list(curve_rows(experiment, curves, gpu))))
    if shown(experiment, result, gpu):
        text.append(f"![{experiment.id}]({plot_name(experiment)})\n")
    return "\n".join([*text, source_line(result, on_gpu, gpu) + "\n"])


def plot_name(experiment):
    return f"{NAME}-{experiment.id}.svg"


def shown(experiment, result, gpu):
    """What an experiment's plot shows; None where it has none."""
    if experiment.plot:
        return result.get("plot")
    curves = result.get("curves", [])
    if not curves:
        return None
    panels = []
    for curve in curves:
        points = {"ours, CPU": [[p["x"], p["ours_us"]] for p in curve["points"] if "ours_us" in p],
                  "peer, CPU": [[p["x"], p["peer_us"]] for p in curve["points"] if "peer_us" in p],
                  "ours, GPU": [[p["x"], gpu.times[curve["name"], p["x"]]] for p in curve["points"]
                                if (curve["name"], p["x"]) in gpu.times]}
        theirs = {t.machine: [[x, us] for x, us in t.us.items()] for t in experiment.theirs.get(curve["name"], [])}
        if any(points.values()) or theirs:  # some are a GPU's alone
            panels.append({"name": curve["name"], "x": curve["x"], "ours": points, "theirs": theirs})
    return {"panels": panels}


def draw_curves(pyplot, what):
    """A panel a curve: time against size, ours and the peer's as lines, what was published in grey."""
    panels = what["panels"]
    columns = min(3, len(panels))
    rows = -(-len(panels) // columns)
    figure, axes = pyplot.subplots(rows, columns, figsize=(3.2 * columns, 2.6 * rows), squeeze=False, layout="constrained")
    for axis in axes.flat[len(panels):]:
        axis.set_axis_off()
    for axis, panel in zip(axes.flat, panels):
        for who, points in panel["ours"].items():
            if points:
                axis.loglog(*zip(*points), color=COLOURS[who], marker="s", markersize=3, label=who)
        for (machine, points), marker in zip(panel["theirs"].items(), "D^vx*"):
            axis.loglog(*zip(*points), color="#888", marker=marker, markersize=4, linestyle=":", label=machine)
        axis.set_title(panel["name"], fontsize=9)
        axis.set_xlabel(panel["x"])
        axis.set_ylabel("microseconds")
        axis.minorticks_off()
        axis.legend(frameon=False, fontsize=6)
    return figure


def rows_table(system, rows, results, gpu):
    """A line a row of the list of what the system describes."""
    lines = []
    for row in (row for row in rows if row["row"].startswith(system + ".")):
        code = ", ".join(f"`{path}`" for path in row["code"]) or row.get("why", "-")
        tests = ", ".join(f"`{pathlib.Path(path).stem}`" for path in row["tests"]) or "-"
        lines.append((f"[{row['row']}]", row["what"], code, tests, own_figure(row["ours"], results, gpu), row["theirs"]))
    return pages.table(("row", "what", "where", "test", "ours", "theirs"), lines)


def own_figure(reference, results, gpu):
    """A figure of this page, by (experiment, curve, size) or (experiment, name of the figure); or where it is, in words."""
    if not reference:
        return "-"
    if isinstance(reference, str):
        return reference
    experiment, name, *size = reference
    result = results.get(experiment)
    if not result:
        return f"{experiment}: {NOT_RUN}"
    if not size:
        figure = next(f for e in SYSTEMS[experiment[:2]] if e.id == experiment for f in e.figures if f.name == name)
        found, on_gpu = result["figures"].get(name), gpu.figure(figure.gpu)
        if not found:
            return f"{NOT_RUN}, {experiment}"
        ours = f"{number(found['ours'])} {figure.unit}".rstrip()
        return f"{ours}{f', GPU {number(on_gpu)} {figure.unit}' if on_gpu else ''}, {experiment}"
    points = next(curve["points"] for curve in result["curves"] if curve["name"] == name)
    ours = next((time(p["ours_us"]) for p in points if p["x"] == size[0]), NOT_RUN)
    on_gpu = gpu.times.get((name, size[0]))
    return f"{ours}{f', GPU {time(on_gpu)}' if on_gpu else ''}, {experiment}"


def repeats():
    """How well two runs on one card agree, as results.py repeat wrote it."""
    file = RESULTS / "gpu-repeat.json"
    if not file.exists():
        return f"{NOT_RUN.capitalize()} yet.\n"
    found = json.loads(file.read_text(encoding="utf-8"))
    runs = ", ".join(f"{run['date'][:16]}, {run['commit'][:7]}" for run in found["runs"])
    others = "".join(f"- {name}: {100 * (ratio - 1):+.0f} %\n" for name, ratio in found["others"].items())
    return (pages.table(("card", "runs", "times", "within 5 %"), [(found["device"], runs, found["times"], found["repeated"])])
            + (f"\nThe others:\n\n{others}" if others else ""))


def tables(results, gpu):
    rows = json.loads(ROWS.read_text(encoding="utf-8"))
    out = {"repeats on a GPU": repeats()}
    for system, listed in SYSTEMS.items():
        out[f"experiments of {system}"] = "\n".join(
            section(e, results.get(e.id), experiments.Gpu(alone=e.gpu_alone) if e.gpu_alone else gpu) for e in listed)
        if any(row["row"].startswith(system) for row in rows):
            out[f"rows of {system}"] = rows_table(system, rows, results, gpu)
    return out


def made(folder):
    """The text of the page as it has to be, and {file: (what its plot shows, who draws it)}."""
    results, gpu = read(folder), experiments.Gpu()
    page = pages.with_tables(PAGE.read_text(encoding="utf-8"), tables(results, gpu), SCRIPT)
    drawn = {}
    for experiment in (e for listed in SYSTEMS.values() for e in listed if e.id in results):
        if what := shown(experiment, results[experiment.id], gpu):
            drawn[folder / plot_name(experiment)] = what, experiment.plot or draw_curves
    return page, drawn


def write(folder):
    page, drawn = made(folder)
    (folder / PAGE.name).write_text(page, encoding="utf-8")
    if not importlib.util.find_spec("matplotlib"):
        print("no plots: install python3-matplotlib")
        return
    for file, (what, draw) in drawn.items():
        if not (file.exists() and plots.shows(file, what)):
            plots.draw(file, what, draw)


def stale(folder=RESULTS):
    """The files that are not what the JSON files give."""
    page, drawn = made(folder)
    old = [file.name for file, (what, _) in drawn.items() if not (file.exists() and plots.shows(file, what))]
    old += [file.name for file in sorted(folder.glob(f"{NAME}-S*.svg")) if file not in drawn]
    return old + ([PAGE.name] if (folder / PAGE.name).read_text(encoding="utf-8") != page else [])
