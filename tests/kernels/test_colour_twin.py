"""colour beside its twin in NumPy, which is written from the formats' descriptions and the standards' decimals.

For every format that the elements take GStreamer says where the samples of a component lie, and the twin packs its
frames by hand: a format that one of them has wrong is seen.
"""
import io
import os
import subprocess
from fractions import Fraction

import numpy as np
import pytest

from programs import BUILD
from twin_frames import FORMATS, GREY, MATRICES, PACKED, RGB, YUV, Gst, GstVideo, random_frame


def rounded(fraction):
    """Half up."""
    return int((fraction + Fraction(1, 2)) // 1)


def coefficients(matrix, full):
    """Exact: of Y; of V in red; of U and V in green; of U in blue."""
    kr, kb = (Fraction(decimal) for decimal in MATRICES[matrix][1:])
    kg = 1 - kr - kb
    luma, chroma = (Fraction(1), Fraction(1)) if full else (Fraction(255, 219), Fraction(255, 224))
    return luma, 2 * (1 - kr) * chroma, 2 * kb * (1 - kb) / kg * chroma, 2 * kr * (1 - kr) / kg * chroma, \
        2 * (1 - kb) * chroma


def whole_picture(name, samples, matrix, full):
    """(B, G and R at the frame's own size, the same without rounding)"""
    kind, bits, sub_x, sub_y, _ = PACKED[name]
    height, width = samples[0].shape
    cut = [(s >> (bits - 8)).astype(np.int64) for s in samples]
    if kind == RGB:
        return np.stack(cut[::-1], axis=-1), np.stack(cut[::-1], axis=-1)
    y = cut[0] - (0 if full else 16)
    if kind == GREY:
        u = v = np.zeros_like(y)
    else:
        rows, columns = np.arange(height) // (1 << sub_y), np.arange(width) // (1 << sub_x)
        u, v = (c[rows][:, columns] - 128 for c in cut[1:])
    exact = coefficients(matrix, full)
    cy, crv, cgu, cgv, cbu = (rounded(c * 32768) for c in exact)
    sums = np.stack([cy * y + cbu * u, cy * y - cgu * u - cgv * v, cy * y + crv * v], axis=-1)
    fy, frv, fgu, fgv, fbu = (float(c) for c in exact)
    real = np.stack([fy * y + fbu * u, fy * y - fgu * u - fgv * v, fy * y + frv * v], axis=-1)
    return np.clip((sums + 16384) >> 15, 0, 255), np.clip(real, 0, 255)


def size_of(width, height, input_size):
    longer = max(width, height)
    if input_size == 0 or longer <= input_size:
        return width, height
    return tuple(max(1, round(Fraction(side * input_size, longer))) for side in (width, height))


def taps(source, destination):
    position = 1.0 / (destination / source) * (np.arange(destination) + 0.5) - 0.5
    first = np.floor(position).astype(np.int64)
    weight = np.rint((position - first) * 256).astype(np.int64)
    weight[(first < 0) | (first >= source - 1)] = 0
    first = np.clip(first, 0, source - 1)
    return first, np.minimum(first + 1, source - 1), weight


def scaled(picture, width, height):
    if picture.shape[:2] == (height, width):
        return picture
    left, right, x = taps(picture.shape[1], width)
    above, below, y = taps(picture.shape[0], height)
    x, y = x[None, :, None], y[:, None, None]
    along = picture[:, left] * (256 - x) + picture[:, right] * x
    return (along[above] * (256 - y) + along[below] * y + 32768) >> 16


def pictures(cases, version):
    """What the program makes of them."""
    environment = {**os.environ, **({"CUFACE_SIMD": version} if version else {})}
    result = subprocess.run([BUILD / "tests/kernels/colour_pictures"], input=b"".join(cases), capture_output=True,
                            check=False, env=environment)
    assert result.returncode == 0, result.stderr.decode()
    stream = io.BytesIO(result.stdout)
    while line := stream.readline():
        width, height = map(int, line.split())
        yield np.frombuffer(stream.read(3 * width * height), np.uint8).reshape(height, width, 3)


def test_the_twin_knows_every_format():
    assert sorted(PACKED) == sorted(FORMATS)


def test_the_standards_weights_are_gstreamers():
    for name, kr, kb in MATRICES:
        known, *weights = GstVideo.video_color_matrix_get_Kr_Kb(getattr(GstVideo.VideoColorMatrix, name))
        assert known and weights == [float(kr), float(kb)]


def test_caps_always_name_a_matrix_of_yuv():
    for width, height, matrix in ((640, 360, "BT601"), (720, 576, "BT601"), (1280, 720, "BT709"), (3840, 2160, "BT709")):
        for colorimetry in ("", ",colorimetry=1:0:0:0", ",colorimetry=2:1:0:0"):
            info = GstVideo.VideoInfo.new_from_caps(Gst.Caps.from_string(
                f"video/x-raw,format=NV12,width={width},height={height}{colorimetry}"))
            assert info.colorimetry.matrix == getattr(GstVideo.VideoColorMatrix, matrix)


@pytest.mark.parametrize("version", ["scalar", ""])
def test_every_format_matrix_range_and_size(version):
    random = np.random.default_rng(1)
    cases, expected, compared, unlike, most = [], [], 0, 0, 0.0
    for name in FORMATS:
        kind = PACKED[name][0]
        for matrix in range(len(MATRICES)) if kind == YUV else [0]:
            for full in (False, True) if kind != RGB else [True]:
                for width, height, input_size in ((97, 23, 0), (98, 54, 49), (131, 46, 90), (45, 77, 20)):
                    samples, frame, lines = random_frame(random, name, width, height)
                    whole, real = whole_picture(name, samples, matrix, full)
                    unlike += np.count_nonzero(np.rint(real) != whole)
                    most = max(most, np.abs(real - whole).max())
                    compared += whole.size
                    head = f"{width} {height} {int(kind == RGB)} {int(full)} {matrix} {input_size} {len(frame)} {len(lines)}"
                    cases.append(" ".join([head, *lines, "\n"]).encode() + frame)
                    expected.append((f"{name} matrix {MATRICES[matrix][0]} full={full} {width}x{height} to {input_size}",
                                     scaled(whole, *size_of(width, height, input_size))))
    made = list(pictures(cases, version))
    assert len(made) == len(expected) > 1000
    for picture, (what, twin) in zip(made, expected):
        assert picture.shape == twin.shape, what
        assert np.array_equal(picture, twin), what
    # The integers stand for the standards' real numbers: half a step and what the coefficients were rounded by.
    print(f"{compared} values, {100 * unlike / compared:.2f} % rounded otherwise, at most {most:.3f} away")
    assert most < 0.52 and unlike < 0.005 * compared
