"""The samples that training.py trains with, and the pictures that its cascades are measured on."""
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import xml.etree.ElementTree

import numpy as np

import chains
import clips

DATA = pathlib.Path(os.environ.get("CUFACE_DATA", chains.SOURCE / "../shared/data")).resolve()
PROGRAM = pathlib.Path(os.environ.get("CUFACE_TRAIN", chains.BUILD / "models/train/cuface-train"))
DEB, DEB_SHA256 = "mate-backgrounds=1.26.0-1", "7bf4c2209f34b4f61ba6d24c8b58c28b361e82e4b943aae6d42c030169af9e04"

SHARE = 0.3            # of the photographs, for the test
POSES = 4              # of each face beside the labelled one, a little turned, scaled and moved
TURN, SCALE, MOVE = 6, 0.06, 0.03  # standard deviations: degrees, share, share of the distance of the eyes
WIDTH, TILE = 1600, 160  # of a background at most, and of its parts
VTEST_STEP = 80        # frames of a clip in which faces are smaller than the window
EYE_DISTANCE, EYE_HEIGHT = 0.42, 0.38  # in a window: models/train/crop.h


def eyes(points):
    return points[36:42].mean(axis=0), points[42:48].mean(axis=0)


def box(points):
    """The window around a face with level eyes."""
    left, right = eyes(points)
    side = float(np.linalg.norm(right - left)) / EYE_DISTANCE
    x, y = (left + right) / 2
    return {"x": x - side / 2, "y": y - EYE_HEIGHT * side, "w": side, "h": side}


def posed(points, random):
    left, right = eyes(points)
    centre, distance = (left + right) / 2, np.linalg.norm(right - left)
    angle = np.deg2rad(random.normal(0, TURN))
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    move = random.normal(0, MOVE * distance, 2)
    return (points - centre) @ turn.T * np.exp(random.normal(0, SCALE)) + centre + move


def write_pgm(path, picture):
    path.write_bytes(b"P5\n%d %d\n255\n" % picture.shape[::-1] + np.ascontiguousarray(picture).tobytes())


def write_faces(folder, poses=POSES):
    """faces.csv, several poses of each face. Returns {line: (picture's path, points)} of the labelled ones."""
    folder.mkdir(parents=True, exist_ok=True)
    random, lines, labelled = np.random.default_rng(38), [], {}
    lines.append(",".join(["path", *(f"{axis}{i}" for i in range(68) for axis in "xy")]))
    for kind, picture, points, path in clips.labelled(DATA):
        if kind != "helen":
            continue
        name = pathlib.Path(path).stem + ".pgm"
        write_pgm(folder / name, picture)
        labelled[len(lines) + 1] = folder / name, points
        for shown in [points, *(posed(points, random) for _ in range(poses))]:
            lines.append(",".join([name, *(f"{value:.2f}" for value in shown.ravel())]))
    (folder / "faces.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return labelled


def write_backgrounds(folder):
    """The photographs of the package, in grey."""
    import cv2
    folder.mkdir(parents=True, exist_ok=True)
    unpacked = folder.with_name("mate-backgrounds")
    if not unpacked.is_dir():
        subprocess.run(["apt-get", "download", "-q", DEB], cwd=folder.parent, check=True, stdout=subprocess.DEVNULL)
        package = next(folder.parent.glob("mate-backgrounds*.deb"))
        digest = hashlib.sha256(package.read_bytes()).hexdigest()
        assert digest == DEB_SHA256, f"{package}: is {digest}"
        subprocess.run(["dpkg-deb", "-x", package, unpacked], check=True)
    for path in sorted((unpacked / "usr/share/backgrounds/mate/nature").glob("*.jpg")):
        picture = cv2.imread(str(path), cv2.IMREAD_GRAYSCALE)
        scale = min(1, WIDTH / picture.shape[1])
        write_pgm(folder / f"{path.stem}.pgm", cv2.resize(picture, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA))


def write_tiles(names, folder):
    """The backgrounds of a list in parts: cuface-train takes few windows of a picture, so that it wants many."""
    import cv2
    for name in names:
        picture = cv2.imread(name, cv2.IMREAD_GRAYSCALE)
        for y in range(0, picture.shape[0] - TILE + 1, TILE):
            for x in range(0, picture.shape[1] - TILE + 1, TILE):
                write_pgm(folder / f"{pathlib.Path(name).stem}-{y}-{x}.pgm", picture[y:y + TILE, x:x + TILE])


class Split:
    """The samples of one split, in a folder, and the pictures of its test with their faces."""

    def __init__(self, folder, seed, faces, backgrounds, labelled, side):
        self.folder, self.set, self.tiles = folder, folder / "set", folder / "tiles"
        self.tiles.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(self.set, ignore_errors=True)
        subprocess.run([PROGRAM, "data", "--positives", faces / "faces.csv", "--negatives", backgrounds, "--output",
                        self.set, "--size", f"{side}x{side}", "--test", str(SHARE), "--seed", str(seed),
                        "--mirror", "--bad", "skip"], check=True, stdout=subprocess.DEVNULL)
        self.description = json.loads((self.set / "data.json").read_text(encoding="utf-8"))
        lists = {side: (self.set / f"{side}-backgrounds.txt").read_text(encoding="utf-8").split("\n")[:-1]
                 for side in ("train", "test")}
        write_tiles(lists["train"], self.tiles)
        test_lines = {int(where.rsplit(":", 1)[1]) for where in self.description["test"]["positives"]}
        self.faces = [labelled[line] for line in sorted(test_lines & set(labelled))]
        self.backgrounds = lists["test"]

    def samples(self, side="train"):
        return len(self.description[side]["positives"])

    def pictures(self):
        """(name, grey picture, [true boxes])"""
        import cv2

        def grey(path):
            return cv2.imread(str(path), cv2.IMREAD_GRAYSCALE)
        for path, points in self.faces:
            yield path.name, grey(path), [box(points)]
        for path in sorted((DATA / "images/dlib").glob("*_with_face_landmarks.xml")):
            for image in xml.etree.ElementTree.parse(path).iter("image"):
                faces = [box(np.array([[float(part.get(axis)) for axis in "xy"] for part in sorted(
                    face.findall("part"), key=lambda part: int(part.get("name")))])) for face in image.findall("box")]
                yield image.get("file"), grey(path.with_name(image.get("file"))), faces
        for path in self.backgrounds:
            yield pathlib.Path(path).name, grey(path), []
        for number, frame in enumerate(clips.decode(DATA / "videos/vtest.avi")):
            if number % VTEST_STEP == 0:
                yield f"vtest.avi {number}", frame, []
