"""Run by a Python that has OpenCV's wheel (tests/bench/run makes it): the time of its Canny for the cases of
cpu_edges.cc, one thread. Prints JSON: {name of the case: microseconds}.

  edges.py PICTURE WIDTH HEIGHT
"""
import json
import statistics
import sys
import time

import cv2
import numpy as np

SHIFTS, PASSES = 8, 41  # as cpu_edges.cc
CASES = {f"edges, 1080p, aperture {aperture}, {norm}": (aperture, norm == "l2", scale, False)
         for aperture, scale in ((3, 1), (5, 12), (7, 160)) for norm in ("l1", "l2")}
CASES["edges, 1080p, blur of 5"] = (3, False, 1, True)


def microseconds(picture, aperture, l2, scale, blur):
    height, width = (side - SHIFTS for side in picture.shape)
    times = []
    for turn in range(PASSES):
        shift = turn % SHIFTS
        part = picture[shift:shift + height, shift:shift + width]
        begin = time.thread_time()
        if blur:
            part = cv2.GaussianBlur(part, (5, 5), 0)
        cv2.Canny(part, 50 * scale, 150 * scale, apertureSize=aperture, L2gradient=l2)
        times.append(1e6 * (time.thread_time() - begin))
    return round(statistics.median(times), 1)


def main(name, width, height):
    cv2.setNumThreads(1)
    picture = np.fromfile(name, np.uint8).reshape(int(height), int(width))
    print(json.dumps({"version": cv2.__version__,
                      "us": {name: microseconds(picture, *case) for name, case in CASES.items()}}))


main(*sys.argv[1:])
