"""A printed box in a filmed clip, which a hand holds and turns. Its faces are cut from a frame each and followed through
all, beside marks of hand in other frames (printed_box.json), beside OpenCV's SIFT on each frame for itself, and beside
OpenCV's findTransformECC, which aligns all pixels of each frame with the picture.

The clip is of Debian's opencv-doc, in $CUFACE_OPENCV_DOC or where it is installed. Its first two frames cannot be
decoded without an error, so the clip begins behind them.
"""
import functools
import gzip
import hashlib
import json
import os
import pathlib
import subprocess
import tempfile

import chains
import clips
import numpy as np

MARKS = pathlib.Path(__file__).with_name("printed_box.json")
FOLDER = pathlib.Path(os.environ.get("CUFACE_OPENCV_DOC", "/usr/share/doc/opencv-doc"))
KINDS = "orb", "surf", "opencv"
END = 100  # frames at either end whose errors are compared
FAR = 10  # px from the peer's corners
NO_SURF = 3  # planar_clip's exit status in a build without it


@functools.lru_cache
def marks():
    return json.loads(MARKS.read_text(encoding="utf-8"))


def clip():
    return FOLDER / marks()["clip"]


@functools.lru_cache
def frames():
    """All grey frames as bytes."""
    film = gzip.decompress(clip().read_bytes())
    digest = hashlib.sha256(film).hexdigest()
    assert digest == marks()["sha256"], f"{clip()}: is {digest}"
    with tempfile.NamedTemporaryFile(suffix=".mp4") as file:
        file.write(film)
        file.flush()
        decoded = list(clips.decode(file.name, 1, marks()["frames"], timed=False))
    assert len(decoded) == marks()["frames"], len(decoded)
    return np.stack(decoded).tobytes()


@functools.lru_cache
def tracks(kind, *order):
    """[a face's {"corners": frames x 4 x 2 with nan where it was not found, "lost", "ids"}]"""
    done = subprocess.run([chains.BUILD / "tests/quality/planar_clip", MARKS, kind, *order], input=frames(), check=True,
                          stdout=subprocess.PIPE)
    out = [json.loads(line) for line in done.stdout.splitlines()]
    for track in out:
        nowhere = [[np.nan, np.nan]] * 4
        track["corners"] = np.array([corners or nowhere for corners in track["corners"]])
    return out


def length(vectors):
    return np.hypot(vectors[..., 0], vectors[..., 1])


def middle(values):
    known = values[~np.isnan(values)]
    return round(float(np.median(known)), 3) if known.size else None


def errors(corners, face):
    """(frame's place, px) of each marked corner; nan where it was not found."""
    return np.array([(int(key) - marks()["first"], np.hypot(*(corners[int(key) - marks()["first"]][k] - mark)))
                     for key, marked in face["marks"].items() for k, mark in enumerate(marked) if mark])


def from_aligned():
    """{kind: {face: the median px from where all pixels agree best, at either end}}, and the same of that from its way
    back, for all frames."""
    truth, back = (np.array([track["corners"] for track in tracks("aligned", *order)]) for order in ((), ("backwards",)))
    out = {kind: {} for kind in KINDS}
    for kind, faces in out.items():
        for face, track, aligned in zip(marks()["faces"], tracks(kind), truth, strict=True):
            px = length(track["corners"] - aligned)
            faces[face["name"]] = {"first_px": middle(px[:END]), "last_px": middle(px[-END:])}
    return out | {"repeat_px": middle(length(truth - back))}


def drift(corners):
    """Of a track to the last frame and back to the first. So the first END frames come again at its end, and where their
    corners truly are cancels out. As planar_tracks measures it: px between the means of the worst corner."""
    apart = corners[:END] - corners[-END:][::-1]
    known = apart[~np.isnan(apart[:, 0, 0])]
    return {"drift_px": round(float(length(known.mean(axis=0)).max()), 3), "returned_px": middle(length(known))}


def measured(kind, beside="opencv"):
    """{face: figures}, and how far it is from the track of another kind."""
    out = {}
    for face, track, peer in zip(marks()["faces"], tracks(kind), tracks(beside), strict=True):
        corners = track["corners"]
        place, px = errors(corners, face).T
        others = errors(peer["corners"], face)[:, 1]
        both = ~np.isnan(px + others)
        apart = length(corners - peer["corners"]).max(axis=1)
        bends, others_bends = (length(np.diff(of, 2, axis=0)) for of in (corners, peer["corners"]))
        in_both = ~np.isnan(bends + others_bends)
        at = {"first": place < END, "last": place >= len(corners) - END}
        out[face["name"]] = {
            "frames": len(corners), "found": int((~np.isnan(corners[:, 0, 0])).sum()), "lost": track["lost"],
            "id_changes": max(0, len(track["ids"]) - 1), "marks": len(px), "compared": int((~np.isnan(px)).sum()),
            "median_px": middle(px), "largest_px": round(float(np.nanmax(px)), 3),
            **{f"{end}_px": middle(px[chosen]) for end, chosen in at.items()},
            "tremble_px": middle(bends), "apart_px": middle(apart),
            "both": {"marks": int(both.sum()), "px": middle(px[both]), "other_px": middle(others[both]),
                     "tremble_px": middle(bends[in_both]), "other_tremble_px": middle(others_bends[in_both])},
            "far": int((apart > FAR).sum())}
        if kind != "opencv":  # what a track has gathered on its way would differ on the way back
            back = tracks(kind, "backwards")[len(out) - 1]["corners"]
            out[face["name"]]["backwards_px"] = middle(length(corners - back).max(axis=1))
            returning = tracks(kind, "returning")[len(out) - 1]
            out[face["name"]] |= {"returning_lost": returning["lost"]} | drift(returning["corners"])
    return out
