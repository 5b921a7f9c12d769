"""The floors of the house: a folder includes only what lies on lower floors (docs/design/house.md, test_rooms.py)."""
import pathlib
import re

SOURCE = pathlib.Path(__file__).resolve().parents[1]

# Lowest first. Rooms of one floor do not include each other.
FLOORS = [
    ["kernels/common"],
    ["kernels/cells"],
    ["kernels/faces", "kernels/features"],
    ["kernels/luma", "kernels/turn", "kernels/pyramid", "kernels/convolve", "kernels/generated"],
    ["kernels/integral", "kernels/colour"],
    ["kernels/levels"],
    ["kernels/similarity", "kernels/homography"],
    ["kernels/flow", "kernels/cascade", "kernels/network", "kernels/activity", "kernels/edges", "kernels/fast",
     "kernels/texture"],
    ["kernels/group", "kernels/landmarks", "kernels/motion", "kernels/orb", "kernels/match", "kernels/shape",
     "kernels/surf"],
    ["kernels/detect", "kernels/landmark_samples", "kernels/landmark_filter", "kernels/track", "kernels/keypoints"],
    ["kernels/overlay", "kernels/planar", "kernels/eyes"],
    ["kernels/boost", "kernels/grow", "kernels/shape_training"],
    ["models"],
    ["gst/meta"],
    ["gst/base"],
    ["gst/regions", "gst/references"],
    ["gst/faces"],
    ["gst/facedetect", "gst/lktrack", "gst/facelandmark", "gst/faceoverlay", "gst/facepublish", "gst/face2json",
     "gst/edgedetect", "gst/motiondetect", "gst/features",
     "gst/featurematch", "gst/planartrack"],
    ["gst/plugin.cc"],
]
# Includes that still lead upwards. A pair that is no longer needed fails, so the list becomes shorter.
UPWARD = set()

FLOOR = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}
IS_SOURCE = re.compile(r"\.(?:cc|cu|cuh|h)$")
INCLUDE = re.compile(r'^\s*#\s*(?:include|define HWY_TARGET_INCLUDE)\s+"((?:kernels|models|gst)/[^"]+)"', re.M)


def room_of(path):
    """The room of a path below the source root: models is one room, elsewhere each folder is one."""
    parts = path.split("/")
    return parts[0] if parts[0] == "models" else "/".join(parts[:2])


def files_by_room():
    rooms = {}
    for folder in ("kernels", "models", "gst"):
        for path in sorted((SOURCE / folder).rglob("*")):
            if IS_SOURCE.search(path.name):
                name = str(path.relative_to(SOURCE))
                rooms.setdefault(room_of(name), []).append(name)
    return rooms


def includes(file):
    return INCLUDE.findall((SOURCE / file).read_text(encoding="utf-8"))
