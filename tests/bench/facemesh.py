"""Run by the Python that has MediaPipe (tests/bench/run makes it): processor time a frame of FaceMesh, which tracks one
face, over the frames of a clip that are decoded before. Prints JSON.

  facemesh.py CLIP FRAMES
"""
import json
import sys
import time

import cv2
import mediapipe

clip, count = cv2.VideoCapture(sys.argv[1]), int(sys.argv[2])
frames = []
while len(frames) < count:
    good, frame = clip.read()
    if not good:
        break
    frames.append(cv2.cvtColor(frame, cv2.COLOR_BGR2RGB))
if len(frames) < count:
    sys.exit(f"{sys.argv[1]} has {len(frames)} frames")
found = 0
with mediapipe.solutions.face_mesh.FaceMesh(static_image_mode=False, max_num_faces=1) as mesh:
    mesh.process(frames[0])
    begin = time.process_time()
    for frame in frames[1:]:
        found += mesh.process(frame).multi_face_landmarks is not None
    used = time.process_time() - begin
print(json.dumps({"frames": count - 1, "with_a_face": found, "ms_a_frame": round(1e3 * used / (count - 1), 3),
                  "version": mediapipe.__version__}))
