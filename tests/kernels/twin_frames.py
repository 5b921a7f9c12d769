"""Frames of every format that the elements take, packed by hand, for the twins in NumPy: a format that the twin or the
elements have wrong is seen.
"""
import re

import gi
import numpy as np

from programs import SOURCE

gi.require_version("Gst", "1.0")
gi.require_version("GstVideo", "1.0")
from gi.repository import Gst, GstVideo  # noqa: E402

Gst.init(None)

# By the numbers of ColorMatrix.
MATRICES = [("BT601", "0.299", "0.114"), ("BT709", "0.2126", "0.0722"), ("BT2020", "0.2627", "0.0593"),
            ("FCC", "0.30", "0.11"), ("SMPTE240M", "0.212", "0.087")]
FORMATS = re.findall(r"\b([A-Za-z]\w+)\b", "".join(re.findall(
    r'"([^"]*)"', re.search(r"#define CUFACE_VIDEO_FORMATS(.*?)\n\n", (SOURCE / "gst/base/frame.h").read_text(), re.S)[1])))


def side_by_side(*samples):
    return np.stack(samples, axis=-1).reshape(samples[0].shape[0], -1)


# How planes are made of the components' samples. Alpha and padding are noise.
def planar(order):
    return lambda c, noise: [c[i] for i in order]


def with_alpha(planes):
    return lambda c, noise: [*planes(c, noise), noise(c[0].shape)]


def semi_planar(first, second):
    return lambda c, noise: [c[0], side_by_side(c[first], c[second])]


def packed(order):
    """A pixel's samples in this order; None is alpha or padding."""
    return lambda c, noise: [side_by_side(*(noise(c[0].shape) if i is None else c[i] for i in order))]


def packed_422(order):
    """Two pixels: the numbers of components, 0 for each of both lumas."""
    def pack(c, noise):
        y = c[0] if c[0].shape[1] % 2 == 0 else np.hstack([c[0], noise((c[0].shape[0], 1))])
        lumas = iter((y[:, 0::2], y[:, 1::2]))
        return [side_by_side(*(next(lumas) if i == 0 else c[i] for i in order))]
    return pack


Y, U, V = R, G, B = 0, 1, 2
YUV, RGB, GREY = "YUV", "RGB", "grey"
# Kind, bits, log2 of the chroma's subsampling in x and y, planes.
PACKED = {
    "GRAY8": (GREY, 8, 0, 0, planar([Y])),
    "GRAY16_LE": (GREY, 16, 0, 0, planar([Y])),
    "I420": (YUV, 8, 1, 1, planar([Y, U, V])),
    "A420": (YUV, 8, 1, 1, with_alpha(planar([Y, U, V]))),
    "YV12": (YUV, 8, 1, 1, planar([Y, V, U])),
    "NV12": (YUV, 8, 1, 1, semi_planar(U, V)),
    "AV12": (YUV, 8, 1, 1, with_alpha(semi_planar(U, V))),
    "NV21": (YUV, 8, 1, 1, semi_planar(V, U)),
    "NV16": (YUV, 8, 1, 0, semi_planar(U, V)),
    "NV61": (YUV, 8, 1, 0, semi_planar(V, U)),
    "NV24": (YUV, 8, 0, 0, semi_planar(U, V)),
    "Y42B": (YUV, 8, 1, 0, planar([Y, U, V])),
    "Y444": (YUV, 8, 0, 0, planar([Y, U, V])),
    "Y41B": (YUV, 8, 2, 0, planar([Y, U, V])),
    "YUV9": (YUV, 8, 2, 2, planar([Y, U, V])),
    "YVU9": (YUV, 8, 2, 2, planar([Y, V, U])),
    "YUY2": (YUV, 8, 1, 0, packed_422([Y, U, Y, V])),
    "UYVY": (YUV, 8, 1, 0, packed_422([U, Y, V, Y])),
    "YVYU": (YUV, 8, 1, 0, packed_422([Y, V, Y, U])),
    "VYUY": (YUV, 8, 1, 0, packed_422([V, Y, U, Y])),
    "v308": (YUV, 8, 0, 0, packed([Y, U, V])),
    "IYU2": (YUV, 8, 0, 0, packed([U, Y, V])),
    "AYUV": (YUV, 8, 0, 0, packed([None, Y, U, V])),
    "VUYA": (YUV, 8, 0, 0, packed([V, U, Y, None])),
    "RGB": (RGB, 8, 0, 0, packed([R, G, B])),
    "BGR": (RGB, 8, 0, 0, packed([B, G, R])),
    **{name: (RGB, 8, 0, 0, packed([{"R": R, "G": G, "B": B}.get(letter) for letter in name]))
       for name in ("RGBx", "BGRx", "xRGB", "xBGR", "RGBA", "BGRA", "ARGB", "ABGR")},
    "GBR": (RGB, 8, 0, 0, planar([G, B, R])),
    "GBRA": (RGB, 8, 0, 0, with_alpha(planar([G, B, R]))),
    "RGBP": (RGB, 8, 0, 0, planar([R, G, B])),
    "BGRP": (RGB, 8, 0, 0, planar([B, G, R])),
    "P010_10LE": (YUV, 10, 1, 1, semi_planar(U, V)),
    "P012_LE": (YUV, 12, 1, 1, semi_planar(U, V)),
    "P016_LE": (YUV, 16, 1, 1, semi_planar(U, V)),
    **{f"{name}_{bits}LE": (YUV, bits, x, y, planar([Y, U, V]))
       for name, x, y in (("I420", 1, 1), ("I422", 1, 0), ("Y444", 0, 0)) for bits in (10, 12)},
    "Y444_16LE": (YUV, 16, 0, 0, planar([Y, U, V])),
    "GBR_10LE": (RGB, 10, 0, 0, planar([G, B, R])),
    "GBR_12LE": (RGB, 12, 0, 0, planar([G, B, R])),
}

# Where GStreamer 1.22's table of formats is not what its own conversions write: V of P010 and its kin is a word behind
# U, and VYUY is no UYVY. gst/base/frame.cc knows it, too.
OFFSETS = {"P010_10LE": [0, 0, 2], "P012_LE": [0, 0, 2], "P016_LE": [0, 0, 2], "VYUY": [1, 2, 0]}


def random_frame(random, name, width, height):
    """(the samples of each component, the frame's bytes, the components' lines for the program)"""
    kind, bits, sub_x, sub_y, pack = PACKED[name]
    low = bits if name.startswith("P0") else 0  # P010 and its kin have the sample in the upper bits
    sizes = [(height, width)] + [(-(-height >> sub_y), -(-width >> sub_x))] * 2 * (kind != GREY)
    samples = [random.integers(0, 1 << bits, size, dtype=np.uint16) for size in sizes]
    dtype = np.uint8 if bits == 8 else np.dtype("<u2")
    planes = pack([(s << (16 - low) if low else s).astype(dtype) for s in samples],
                  lambda shape: random.integers(0, 256, shape, dtype=np.uint8))
    info = GstVideo.VideoInfo.new_from_caps(Gst.Caps.from_string(
        f"video/x-raw,format={name},width={width},height={height}"))
    frame = random.integers(0, 256, info.size, dtype=np.uint8)
    assert len(planes) == info.finfo.n_planes
    for plane, offset, stride in zip(planes, info.offset, info.stride):
        for row, line in enumerate(plane):
            begin = offset + row * stride
            line = np.ascontiguousarray(line).view(np.uint8)
            assert len(line) <= stride
            frame[begin:begin + len(line)] = line
    finfo, lines = info.finfo, []
    offsets = OFFSETS.get(name, list(finfo.poffset))
    for c in range(len(samples)):
        plane = finfo.plane[c]
        lines.append(f"{info.offset[plane] + offsets[c]} {info.stride[plane]} {finfo.pixel_stride[c]} "
                     f"{finfo.depth[c]} {finfo.shift[c]} {finfo.w_sub[c]} {finfo.h_sub[c]}")
    return samples, frame.tobytes(), lines
