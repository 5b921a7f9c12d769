#!/usr/bin/python3
"""Writes the mask that pipelines/mask takes where it is given none: a carnival mask over the eyes, and whiskers.

    pipelines/mask_picture.py FILE.png

An example of what cufaceoverlay draws: a PNG with an alpha channel, whose eyes lie at 30 % and 70 % of its width and
40 % of its height, and whose chin is in the middle of its lower side."""
import argparse
import math
import struct
import sys
import zlib

WIDTH, HEIGHT = 300, 360
EYES = ((0.3, 0.4), (0.7, 0.4))
RED, GOLD, BLACK = (178, 24, 43), (240, 190, 60), (30, 20, 25)


def smooth_step(distance):
    """How much of a pixel is inside of a shape whose side is so many pixels away."""
    return min(max(0.5 - distance, 0.0), 1.0)


def ellipse(x, y, cx, cy, a, b):
    """About the distance from an ellipse; below 0 inside. In pixels."""
    u, v = (x - cx) / a, (y - cy) / b
    length = math.hypot(u, v)
    return (length - 1) * min(a, b) if length else -min(a, b)


def segment(x, y, ax, ay, bx, by):
    dx, dy = bx - ax, by - ay
    t = min(max(((x - ax) * dx + (y - ay) * dy) / (dx * dx + dy * dy), 0), 1)
    return math.hypot(x - ax - t * dx, y - ay - t * dy)


def over(below, colour, share):
    """A colour with this share of a pixel over (red, green, blue, alpha), none of it premultiplied."""
    red, green, blue, alpha = below
    both = share + alpha * (1 - share)
    if both == 0:
        return below
    return (*((c * share + old * alpha * (1 - share)) / both for c, old in zip(colour, (red, green, blue))), both)


def pixel(x, y):
    eyes = [(fx * WIDTH, fy * HEIGHT) for fx, fy in EYES]
    mask = min(ellipse(x, y, ex, ey, 0.27 * WIDTH, 0.16 * HEIGHT) for ex, ey in eyes)
    hole = min(ellipse(x, y, ex, ey, 0.105 * WIDTH, 0.05 * HEIGHT) for ex, ey in eyes)
    rim = min(abs(mask + 5), abs(hole - 6))
    out = over((0, 0, 0, 0), RED, smooth_step(mask))
    out = over(out, GOLD, smooth_step(rim - 3) * smooth_step(mask))
    out = (*out[:3], out[3] * (1 - smooth_step(hole)))
    for side in (-1, 1):
        for slope in (-0.05, 0.02, 0.09):
            whisker = segment(x, y, (0.5 + side * 0.1) * WIDTH, 0.72 * HEIGHT,
                              (0.5 + side * 0.46) * WIDTH, (0.7 + slope) * HEIGHT)
            out = over(out, BLACK, smooth_step(whisker - 1.5))
    return out


def png(rows):
    """The bytes of a PNG file, 8 bits a channel, with alpha; a row is a list of (red, green, blue, alpha)."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    raw = b"".join(b"\0" + bytes(value for one in row for value in one) for row in rows)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", len(rows[0]), len(rows), 8, 6, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(raw, 9)) + chunk(b"IEND", b""))


def mask_png():
    def bytes_of(x, y):
        red, green, blue, alpha = pixel(x + 0.5, y + 0.5)
        return round(red), round(green), round(blue), round(255 * alpha)
    return png([[bytes_of(x, y) for x in range(WIDTH)] for y in range(HEIGHT)])


def main():
    parser = argparse.ArgumentParser(prog="pipelines/mask_picture.py", description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("file", metavar="FILE.png")
    path = parser.parse_args().file
    try:
        with open(path, "wb") as file:
            file.write(mask_png())
    except OSError as error:
        sys.exit(f"mask_picture: {path}: {error.strerror}")


if __name__ == "__main__":
    main()
