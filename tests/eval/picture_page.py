"""A page of pictures with what was found in them: red ours, green OpenCV's boxes and people's points, as published."""
import base64
import html

import png

OURS, OTHERS = "#e22", "#2c2"
HEAD = f"""<!doctype html>
<meta charset="utf-8">
<title>Faces and landmarks</title>
<style>
body {{ font: 14px sans-serif; margin: 1em }}
figure {{ display: inline-block; margin: 0 1em 1em 0; vertical-align: top; width: 300px }}
svg {{ width: 300px }}
.ours {{ fill: none; stroke: {OURS}; stroke-width: 2 }}
.others {{ fill: none; stroke: {OTHERS}; stroke-width: 2; stroke-dasharray: 6 3 }}
.point-ours {{ fill: {OURS} }}
.point-truth {{ fill: {OTHERS} }}
</style>
<p>Boxes: <span style="color:{OURS}">ours</span>, <span style="color:{OTHERS}">OpenCV's</span>. Points:
<span style="color:{OTHERS}">people's</span>, <span style="color:{OURS}">ours</span>. Errors are in distances of the outer
eye corners.</p>
"""


def boxes(faces, kind):
    return "".join(f'<rect class="{kind}" x="{f["x"]:.1f}" y="{f["y"]:.1f}" width="{f["w"]:.1f}" height="{f["h"]:.1f}"/>'
                   for f in faces)


def dots(points, kind, radius):
    return "".join(f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="{radius}"/>' for x, y in points)


def figure(row):
    """One picture with all of it."""
    height, width = row["picture"].shape
    picture = base64.b64encode(png.encoded(row["picture"])).decode()
    radius = round(width / 200, 1)
    # The centre of a pixel is an integer for points, and half a pixel further for what is drawn.
    drawn = (f'<g transform="translate(0.5 0.5)">{dots(row["truth"], "point-truth", radius)}'
             + "".join(dots(face["landmarks"], "point-ours", radius) for face in row["ours"]) + "</g>")
    error = "missed" if row["error"] is None else f"error {row['error']:.4f}"
    return (f'<figure><svg viewBox="0 0 {width} {height}"><image width="{width}" height="{height}" '
            f'href="data:image/png;base64,{picture}"/>{boxes(row["ours"], "ours")}{boxes(row["peer"], "others")}{drawn}</svg>'
            f'<figcaption>{html.escape(row["name"])}: {error}</figcaption></figure>\n')


def text_of(worst, missed, others):
    """The page of rows in the order of photographs.worst_first()."""
    return HEAD + "".join(f"<h2>{title}: {len(rows)}</h2>\n" + "".join(map(figure, rows)) for title, rows in
                          (("The worst of those found", worst), ("Missed, or found elsewhere", missed),
                           ("The others, from bad to good", others)))


def write(folder, worst, missed, others):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "index.html").write_text(text_of(worst, missed, others), encoding="utf-8")
    return len(worst) + len(missed) + len(others)
