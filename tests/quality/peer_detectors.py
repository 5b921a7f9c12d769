"""Run by a Python that has OpenCV 4.8 or later, or MediaPipe: the faces of raw frames, each looked at alone. One JSON
line a frame, with the keys of docs/reference/faces.schema.json that it can fill, and `score`.

  peer_detectors.py MODEL.onnx|mediapipe WIDTH HEIGHT < frames of 8-bit B, G, R
"""
import json
import sys

import cv2
import numpy as np

MODEL, WIDTH, HEIGHT = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
INPUT = 640  # cufacedetect's default
SCORE, NMS, MOST = 0.6, 0.3, 5000


def opencv():
    """FaceDetectorYN with cufacedetect's defaults."""
    factor = min(1, INPUT / max(WIDTH, HEIGHT))
    size = max(1, round(WIDTH * factor)), max(1, round(HEIGHT * factor))
    detector = cv2.FaceDetectorYN.create(MODEL, "", size, SCORE, NMS, MOST)
    scale = np.array([WIDTH / size[0], HEIGHT / size[1]] * 2)

    def find(frame):
        picture = frame if factor == 1 else cv2.resize(frame, size, interpolation=cv2.INTER_LINEAR_EXACT)
        faces = detector.detect(picture)[1]
        return [] if faces is None else [(*(face[:4] * scale), face[14]) for face in faces]
    return find


def mediapipe():
    """The full-range model, for faces up to five metres away."""
    import mediapipe as mp
    detector = mp.solutions.face_detection.FaceDetection(model_selection=1, min_detection_confidence=0.5)

    def find(frame):
        faces = detector.process(cv2.cvtColor(frame, cv2.COLOR_BGR2RGB)).detections or []
        boxes = [(face.location_data.relative_bounding_box, face.score[0]) for face in faces]
        return [(b.xmin * WIDTH, b.ymin * HEIGHT, b.width * WIDTH, b.height * HEIGHT, score) for b, score in boxes]
    return find


def main():
    find = mediapipe() if MODEL == "mediapipe" else opencv()
    size = 3 * WIDTH * HEIGHT
    number = 0
    while len(data := sys.stdin.buffer.read(size)) == size:
        frame = np.frombuffer(data, np.uint8).reshape(HEIGHT, WIDTH, 3)
        faces = [dict(zip(("x", "y", "w", "h", "score"), map(float, face)), id=None) for face in find(frame)]
        print(json.dumps({"frame": number, "objects": faces}))
        number += 1


main()
