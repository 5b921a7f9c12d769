"""The results as JSON, as a table in Markdown and as plots."""
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import plots  # noqa: E402

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs/results/quality.md"
BEGIN, END = "<!-- made by tests/quality/run: begin -->\n", "<!-- end -->\n"
COLOURS = {"peer": "#c44", "peer, integers": "#c44", "peer, floats": "#e99", "ours": "#27a", "ours, spread": "#284", "goal": "#5b5"}


WHAT = "how well faces are followed; tests/quality/run, explained in docs/design/quality.md"


def as_json(parts):
    """{part: {date, commit, settings, rows, plots}}; a row a line, a plot a line."""
    def block(name, part):
        head = json.dumps({key: value for key, value in part.items() if key not in ("rows", "plots")})[1:-1]
        rows = ",\n".join("      " + json.dumps(row, ensure_ascii=False) for row in rounded(part["rows"]))
        plots = ",\n".join(f"      {json.dumps(key)}: {json.dumps(plot)}" for key, plot in part["plots"].items())
        plots = f"{{\n{plots}\n    }}" if plots else "{}"
        return f'    "{name}": {{{head}, "rows": [\n{rows}\n    ], "plots": {plots}}}'
    blocks = ",\n".join(block(name, part) for name, part in parts.items())
    return f'{{\n  "what": "{WHAT}",\n  "parts": {{\n{blocks}\n  }}\n}}\n'


def add(measured, output, order):
    """Puts parts into a file of results, in place of what it has of them, and makes plots and table."""
    parts = json.loads(output.read_text(encoding="utf-8"))["parts"] if output.exists() else {}
    parts |= measured
    output.write_text(as_json({name: parts[name] for name in order if name in parts}), encoding="utf-8")
    write(json.loads(output.read_text(encoding="utf-8"))["parts"], output)


def rounded(rows):
    return [{key: round(value, 3) if isinstance(value, float) else value for key, value in row.items()} for row in rows]


def number(value):
    if value is None:
        return "-"
    return f"{value:.3g}" if isinstance(value, float) and abs(value) < 100 else f"{value:.0f}"


def table(parts):
    lines = ["| measure | peer | ours | goal | reached |", "|-|-|-|-|-|"]
    for name, part in parts.items():
        settings = "".join(f", {text}" for text in part["settings"])
        lines.append(f"| **{name}** ({part['date']}, {part['commit']}{settings}) | | | | |")
        for row in part["rows"]:
            unit = f", {row['unit']}" if row["unit"] else ""
            reached = {True: "yes", False: "**no**", None: ""}[row["reached"]]
            if row["goal"] and row["ours"] is None:
                reached = "cannot yet"
            cells = f"`{row['measure']}`{unit}", number(row["peer"]), number(row["ours"]), row["goal"], reached
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def with_table(page, parts):
    """The text of the page with the table between its marks."""
    before, rest = page.split(BEGIN)
    return before + BEGIN + table(parts) + END + rest.split(END)[1]


def plots_of(parts, output):
    """[(name, file, what it shows)]"""
    return [(name, output.with_name(f"{output.stem}-{name}.svg"), plot)
            for part in parts.values() for name, plot in part["plots"].items()]


def write(parts, output):
    """Plots beside the JSON and, where that is the committed one, the table into the page."""
    for name, path, plot in plots_of(parts, output):
        plots.draw(path, plot, FIGURES[name])
    if output.resolve().parent == PAGE.parents[1] / "results":
        PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8"), parts), encoding="utf-8")


def bars(pyplot, plot):
    """Bars side by side for each group."""
    figure, axes = pyplot.subplots(figsize=(6, 3), layout="constrained")
    width = 0.8 / len(plot["bars"])
    for i, (name, values) in enumerate(plot["bars"].items()):
        drawn = axes.bar([group + i * width for group in range(len(values))], values, 0.9 * width, label=name,
                         color=COLOURS[name])
        axes.bar_label(drawn, fmt="%.2f", fontsize=7)
    axes.set_xticks([group + 0.4 - width / 2 for group in range(len(plot["groups"]))], plot["groups"])
    axes.set_ylabel(plot["unit"])
    axes.legend(frameon=False)
    return figure


def strips(pyplot, plot):
    """One line a clip and chain: coloured where there is a face, darker for more than one."""
    figure, axes = pyplot.subplots(figsize=(6.5, 3), layout="constrained")
    rows = [(name, who) for name in plot for who in ("peer", "ours")]
    for row, (name, who) in enumerate(rows):
        counts = plot[name][who]
        for several, colour in ((False, COLOURS[who]), (True, {"peer": "#822", "ours": "#146"}[who])):
            runs = runs_where(counts, lambda count, several=several: count > 1 if several else count == 1)
            axes.broken_barh([(100 * begin / len(counts), 100 * length / len(counts)) for begin, length in runs],
                             (row - 0.4, 0.8), color=colour)
    axes.set_yticks(range(len(rows)), [f"{name}, {who}" for name, who in rows])
    axes.invert_yaxis()
    axes.set_xlabel("frames with a face, % of the clip (darker: several faces)")
    return figure


def runs_where(values, wanted):
    """[(begin, length)] of what follows on one another."""
    runs = []
    for index, value in enumerate(values):
        if wanted(value):
            if runs and sum(runs[-1]) == index:
                runs[-1] = runs[-1][0], runs[-1][1] + 1
            else:
                runs.append((index, 1))
    return runs


def curve(pyplot, plot):
    """Processor time of each frame, from 0."""
    figure, axes = pyplot.subplots(figsize=(6.5, 2.8), layout="constrained")
    for who in ("peer", "ours", "ours, spread"):
        if who in plot:
            axes.plot(plot[who], color=COLOURS[who], label=who)
    axes.set_ylim(bottom=0)
    axes.set_xlabel("frame")
    axes.set_ylabel("processor time, ms")
    axes.legend(frameon=False)
    return figure


FIGURES = {"jitter": bars, "timeline": strips, "pace": curve}
