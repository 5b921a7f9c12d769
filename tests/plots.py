"""Plots of results, drawn by matplotlib (Debian: python3-matplotlib), as SVG that is the same on every machine.

A plot carries the digest of the data it shows. Whether it is stale is told from that, so nothing is drawn in tests.
"""
import hashlib
import io
import json

SETTINGS = {"svg.hashsalt": "gst-cuface", "svg.fonttype": "none", "font.family": "sans-serif", "font.size": 9,
            "lines.linewidth": 1, "axes.spines.top": False, "axes.spines.right": False}


def digest(data):
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()[:16]


def draw(path, data, figure_of):
    """Writes the figure that `figure_of(pyplot, data)` makes."""
    import matplotlib
    matplotlib.use("svg")
    from matplotlib import pyplot
    with matplotlib.rc_context(SETTINGS):
        figure, text = figure_of(pyplot, data), io.StringIO()
        figure.savefig(text, format="svg", bbox_inches="tight", pad_inches=0.05,
                       metadata={"Creator": None, "Date": None, "Description": digest(data)})
        pyplot.close(figure)
    path.write_text("\n".join(line.rstrip() for line in text.getvalue().splitlines()) + "\n", encoding="utf-8")


def shows(path, data):
    """Whether the plot in the file is of this data."""
    return f"<dc:description>{digest(data)}</dc:description>" in path.read_text(encoding="utf-8")
