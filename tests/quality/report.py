"""The results as JSON, as a table in Markdown and as plots in plain SVG."""
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from svg import line, picture, rectangle, text  # noqa: E402

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


def write(parts, output):
    """Plots beside the JSON and, where that is the committed one, the table into the page."""
    for part in parts.values():
        for name, plot in part["plots"].items():
            draw = {"jitter": bars, "timeline": strips, "pace": curve}[name]
            output.with_name(f"{output.stem}-{name}.svg").write_text(draw(plot), encoding="utf-8")
    if output.resolve().parent == PAGE.parents[1] / "results":
        PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8"), parts), encoding="utf-8")


def legend(names, x, y):
    parts = []
    for i, name in enumerate(names):
        parts += [rectangle(x + 120 * i, y - 9, 10, 10, COLOURS[name]), text(x + 14 + 120 * i, y, name)]
    return parts


def bars(plot):
    """Bars side by side for each group."""
    highest = max(value for values in plot["bars"].values() for value in values)
    parts = [text(10, 20, plot["unit"]), *legend(plot["bars"], 10, 40)]
    for i, (name, values) in enumerate(plot["bars"].items()):
        for group, value in enumerate(values):
            x, height = 20 + 180 * group + 36 * i, 180 * value / highest
            parts += [rectangle(x, 250 - height, 30, height, COLOURS[name]),
                      text(x + 15, 245 - height, f"{value:.2f}", "middle")]
    parts += [text(20 + 180 * i + 70, 268, name, "middle") for i, name in enumerate(plot["groups"])]
    return picture(20 + 180 * len(plot["groups"]), 280, parts)


def strips(plot):
    """One line a clip and chain: coloured where there is a face, darker for more than one."""
    parts, y = [text(10, 20, "frames with a face (darker: several)"), *legend(("peer", "ours"), 260, 20)], 34
    for name, chains in plot.items():
        parts.append(text(10, y + 20, name))
        for who in ("peer", "ours"):
            counts, begin = chains[who], 0
            step = 480 / len(counts)
            parts.append(rectangle(130, y, 480, 12, "#eee"))
            for t in range(1, len(counts) + 1):
                if t == len(counts) or min(counts[t], 2) != min(counts[begin], 2):
                    if counts[begin]:
                        colour = COLOURS[who] if counts[begin] == 1 else {"peer": "#822", "ours": "#146"}[who]
                        parts.append(rectangle(130 + begin * step, y, (t - begin) * step, 12, colour))
                    begin = t
            y += 14
        y += 8
    return picture(620, y + 4, parts)


def curve(plot):
    """Processor time of each frame, from 0."""
    shown = [who for who in ("peer", "ours", "ours, spread") if who in plot]
    highest = max(max(plot[who]) for who in shown)
    parts = [text(10, 20, f"processor time of each frame, up to {highest:.0f} ms"), *legend(shown, 330, 20)]
    for who in shown:
        step = 600 / len(plot["ours"])
        parts.append(line([(10 + step * t, 240 - 200 * ms / highest) for t, ms in enumerate(plot[who])], COLOURS[who]))
    return picture(620, 250, parts)
