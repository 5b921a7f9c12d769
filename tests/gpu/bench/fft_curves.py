"""From which side of a filter on a Fourier transform is faster than a convolution, on a GPU [S1.01, S1.02].

Prints lines of JSON, as tests/gpu/tools/run collects them: a picture of 1000 x 1000 floats, filters of ones, the full
result. Nothing of it is ours: CuPy has all three ways, so only they are compared. Exit status 77 without CuPy.
"""
import json
import sys

try:
    import cupy
    from cupyx.scipy import ndimage
except ImportError as problem:
    print(f"SKIP: {problem}")
    sys.exit(77)

SIDE = 1000
# The last numbers whose only factors are 2, 3 and 5 from SIDE on.
FAST = 1000, 1024, 1080, 1125
SIDES = 3, 5, 7, 9, 11, 13, 15, 17, 21, 25, 31, 41, 51
MOST_DIRECT = 15  # CuPy compiles a kernel for each filter, and those of larger ones take long to compile
TURNS, LAUNCHES = 9, 20


def padded(picture, side):
    return cupy.pad(picture, side - 1)


def direct(picture, taps):
    return ndimage.convolve(padded(picture, len(taps)), cupy.outer(taps, taps), mode="constant")


def separable(picture, taps):
    rows = ndimage.convolve1d(padded(picture, len(taps)), taps, axis=0, mode="constant")
    return ndimage.convolve1d(rows, taps, axis=1, mode="constant")


def fft(picture, taps):
    whole = (next(size for size in FAST if size >= SIDE + len(taps) - 1),) * 2
    frequencies = cupy.fft.rfft2(picture, whole)
    frequencies *= cupy.fft.rfft2(cupy.outer(taps, taps), whole)
    return cupy.fft.irfft2(frequencies, whole)


def inner(way, picture, side):
    """The full result, without what is padding only."""
    result, half = way(picture, cupy.ones(side, cupy.float32)), side // 2
    size = SIDE + side - 1
    return result[:size, :size] if way is fft else result[half:half + size, half:half + size]


def microseconds(way, picture, taps):
    """The median of turns of several launches of one graph, so that Python's own time is not in it."""
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        way(picture, taps)  # compiled, and its memory is there
        stream.begin_capture()
        way(picture, taps)
        graph = stream.end_capture()
        found = []
        for _ in range(TURNS):
            graph.launch(stream)
            begin, end = cupy.cuda.Event(), cupy.cuda.Event()
            begin.record(stream)
            for _ in range(LAUNCHES):
                graph.launch(stream)
            end.record(stream)
            end.synchronize()
            found.append(1e3 * cupy.cuda.get_elapsed_time(begin, end) / LAUNCHES)
    return sorted(found)[TURNS // 2]


def main():
    picture = cupy.random.default_rng(1).random((SIDE, SIDE), cupy.float32)
    for side in SIDES:
        taps = cupy.ones(side, cupy.float32)
        ways = (direct, separable, fft) if side <= MOST_DIRECT else (separable, fft)
        results = {way: inner(way, picture, side) for way in ways}
        for way, result in results.items():
            if not cupy.allclose(result, results[separable], rtol=1e-3, atol=1e-2):
                sys.exit(f"{way.__name__}, {side} taps: another result")
            print(json.dumps({"what": "convolution by CuPy", "way": way.__name__, "side of the filter": side,
                              "us": round(microseconds(way, picture, taps), 2)}), flush=True)


main()
