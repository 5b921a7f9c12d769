"""Run by a Python that has OpenCV 4.8 or later (tests/bench/run makes it): our network beside FaceDetectorYN, on one
thread each: the same faces on the test pictures, and the time of a frame, in turns. Prints JSON.

  network.py build/tests/bench/cpu_network MODEL.cuface MODEL.onnx FOLDER_OF_PICTURES
"""
import json
import pathlib
import statistics
import subprocess
import sys
import time

import cv2
import numpy as np

PROGRAM, OURS, THEIRS, PICTURES = sys.argv[1:]
SCORE, NMS, MOST = 0.6, 0.3, 5000
INPUTS = (640, 320, 0)  # longer side; 0 = the picture's own
FRAMES = {"640x360, decode and suppression": (640, 360), "320x180, decode and suppression": (320, 180),
          "1280x720, decode and suppression": (1280, 720)}
TURNS = 60
GOALS = {"": 1.25, "int16": 2.5}  # times as fast, by precision


class Program:
    """Ours, in a process of its own."""

    def __init__(self, precision=""):
        self.process = subprocess.Popen([PROGRAM, OURS, *precision.split()], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __call__(self, picture):
        height, width = picture.shape[:2]
        self.process.stdin.write(f"{width} {height} {SCORE} {NMS}\n".encode() + picture.tobytes())
        self.process.stdin.flush()
        words = self.process.stdout.readline().split()
        faces = np.array([float(word) for word in words[2:]]).reshape(int(words[1]), 15)
        return faces, float(words[0])


class OpenCv:
    """FaceDetectorYN."""

    def __init__(self):
        cv2.setNumThreads(1)
        self.detector = cv2.FaceDetectorYN.create(THEIRS, "", (320, 320), SCORE, NMS, MOST)

    def __call__(self, picture):
        self.detector.setInputSize((picture.shape[1], picture.shape[0]))
        begin = time.thread_time()
        faces = self.detector.detect(picture)[1]
        used = 1e6 * (time.thread_time() - begin)
        return np.zeros((0, 15)) if faces is None else faces, used


def iou(a, b):
    width = max(0, min(a[0] + a[2], b[0] + b[2]) - max(a[0], b[0]))
    height = max(0, min(a[1] + a[3], b[1] + b[3]) - max(a[1], b[1]))
    return width * height / (a[2] * a[3] + b[2] * b[3] - width * height)


def scaled(picture, longer):
    factor = longer / max(picture.shape[:2]) if longer else 1
    if factor >= 1:
        return picture
    size = [max(1, round(side * factor)) for side in picture.shape[1::-1]]
    return cv2.resize(picture, size, interpolation=cv2.INTER_LINEAR_EXACT)


def compare(ours, peer, pictures):
    """Face by face: both have them in the order of their scores."""
    rows = []
    for longer in INPUTS:
        row = {"input_size": longer, "pictures": len(pictures), "faces": 0, "worst_iou": 1.0, "score_difference": 0.0,
               "point_difference_px": 0.0, "other_counts": []}
        for name, picture in pictures.items():
            a, b = ours(scaled(picture, longer))[0], peer(scaled(picture, longer))[0]
            row["faces"] += len(b)
            if len(a) != len(b):
                row["other_counts"].append({"picture": name, "ours": a[:, 14].tolist(), "peer": b[:, 14].tolist()})
                continue
            for x, y in zip(a, b):
                row["worst_iou"] = min(row["worst_iou"], float(iou(x, y)))
                row["score_difference"] = max(row["score_difference"], float(abs(x[14] - y[14])))
                row["point_difference_px"] = max(row["point_difference_px"], float(np.abs(x[4:14] - y[4:14]).max()))
        rows.append(row)
    return rows


def race(programs, peer, picture):
    """`programs`: ours, by precision."""
    cases = []
    for name, size in FRAMES.items():
        frame = cv2.resize(picture, size, interpolation=cv2.INTER_AREA)
        turns = [[program(frame)[1] for program in (*programs.values(), peer)] for _ in range(TURNS + 3)][3:]
        median = statistics.median
        for precision, ours in zip(programs, zip(*turns)):
            theirs = [turn[-1] for turn in turns]
            cases.append({"what": f"{name}, {precision}" if precision else name, "ours_us": round(median(ours)),
                          "peer_us": round(median(theirs)), "ours_best_us": round(min(ours)),
                          "peer_best_us": round(min(theirs)),
                          "ratio": round(median(b / a for a, b in zip(ours, theirs)), 2), "goal": GOALS[precision]})
    return cases


def main():
    files = sorted(file for file in pathlib.Path(PICTURES).rglob("*") if file.suffix in (".jpg", ".png"))
    pictures = {str(file.relative_to(PICTURES)): cv2.imread(str(file)) for file in files}
    pictures = {name: picture for name, picture in pictures.items() if picture is not None}
    if not pictures:
        sys.exit(f"no pictures in {PICTURES}")
    programs, peer = {precision: Program(precision) for precision in GOALS}, OpenCv()
    largest = max(pictures.values(), key=lambda picture: picture.size)
    print(json.dumps({"peer": f"OpenCV {cv2.__version__}", "turns": TURNS,
                      "cases": race(programs, peer, largest), "same": compare(programs[""], peer, pictures)}))


main()
