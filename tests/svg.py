"""The few shapes that result plots are made of, as SVG text."""


def text(x, y, what, anchor="start"):
    return f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}">{what}</text>'


def rectangle(x, y, width, height, colour):
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{colour}"/>'


def line(points, colour):
    joined = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{joined}" fill="none" stroke="{colour}"/>'


def picture(width, height, parts):
    head = ('<svg xmlns="http://www.w3.org/2000/svg" font-family="sans-serif" font-size="12" '
            f'viewBox="0 0 {width} {height}">')
    return "\n".join([head, rectangle(0, 0, width, height, "#fff"), *parts, "</svg>\n"])
