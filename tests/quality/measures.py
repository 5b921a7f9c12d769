"""The measures of docs/design/quality.md as pure functions: what was found in, numbers out.

A face is a dict with the keys of docs/reference/faces.schema.json that are needed: x, y, w, h (pixels), id (None
without a tracker), landmarks. `frames` is a list of lists of faces, one a frame. `points` is an array
[frames, landmarks, 2] with NaN where the face is missing. Lengths are in pixels, results that are called
percent in % of the distance of the outer eye corners, as everywhere in this project.
"""
import math

import numpy as np

SAME_PLACE = 0.3      # IoU from which two boxes of following frames are one face
FOUND = 0.4           # IoU from which a box has found a face of the truth
LONGEST_BLINK = 5     # frames
EYE_CORNERS = 36, 45  # of 68 landmarks in iBUG's order
FAILURE = 10.0        # percent: an error above it counts as a failure
SETTLED = 5           # frames after which drift is measured
DELAYS = np.arange(-1, 3.01, 0.25)


def overlap(a, b):
    """Intersection over union of two faces."""
    w = min(a["x"] + a["w"], b["x"] + b["w"]) - max(a["x"], b["x"])
    h = min(a["y"] + a["h"], b["y"] + b["h"]) - max(a["y"], b["y"])
    if w <= 0 or h <= 0:
        return 0.0
    return w * h / (a["w"] * a["h"] + b["w"] * b["h"] - w * h)


def has(face, faces):
    return any(overlap(face, other) > SAME_PLACE for other in faces)


def frames_with_face(frames):
    return sum(bool(faces) for faces in frames)


def count_blinks(frames):
    """Faces missing for 1 to 5 frames between two frames that have them in the same place."""
    blinks = 0
    for t, faces in enumerate(frames):
        for face in faces:
            if t + 1 >= len(frames) or has(face, frames[t + 1]):
                continue
            later = frames[t + 2:t + 2 + LONGEST_BLINK]
            blinks += any(has(face, candidates) for candidates in later)
    return blinks


def count_appearances(frames):
    """Faces that have no predecessor in the frame before."""
    return sum(not has(face, frames[t - 1] if t else []) for t, faces in enumerate(frames) for face in faces)


def match(faces, truth):
    """{index in faces: index in truth}, the best overlaps first, from FOUND on."""
    pairs = sorted(((overlap(face, true), -i, -j) for i, face in enumerate(faces) for j, true in enumerate(truth)),
                   reverse=True)
    found = {}
    for iou, i, j in pairs:
        if iou >= FOUND and -i not in found and -j not in found.values():
            found[-i] = -j
    return found


def detection(frames, truth):
    """Holds frames against {frame: [true face, perhaps with difficult=True]}. `found` of `faces` without the
    difficult ones; a box that lies on a difficult face is neither found nor false."""
    result = {"faces": 0, "found": 0, "difficult": 0, "difficult_found": 0, "false": 0}
    for t, true in truth.items():
        pairs = match(frames[t], true)
        for j, face in enumerate(true):
            prefix = "difficult" if face.get("difficult") else ""
            result[prefix or "faces"] += 1
            result[f"{prefix}_found" if prefix else "found"] += j in pairs.values()
        result["false"] += len(frames[t]) - len(pairs)
    return result


def people_found(frames, truth):
    """The people of the truth that are found at least once."""
    return {true[j]["person"] for t, true in truth.items() for j in match(frames[t], true).values()}


def follow(frames, key="landmarks"):
    """Points of the clip's main face: the largest of the first frame that has one, then in each frame the face
    that overlaps best with where it was last."""
    points, last = [], None
    for faces in frames:
        if last is None:
            best = max(faces, key=lambda face: face["w"] * face["h"], default=None)
        else:
            best = max(faces, key=lambda face: overlap(face, last), default=None)
            best = best if best and has(best, [last]) else None
        points.append(best[key] if best else None)
        last = best or last
    empty = np.full(np.shape(next((p for p in points if p is not None), [[0, 0]])), np.nan)
    return np.array([empty if p is None else p for p in points], dtype=float)


def interocular(points):
    """Distance of the outer eye corners in each frame."""
    return np.linalg.norm(points[..., EYE_CORNERS[0], :] - points[..., EYE_CORNERS[1], :], axis=-1)


def mean_of(values):
    """The mean without the missing ones, and how many there are; None where nothing is left."""
    values = values[~np.isnan(values)]
    return (float(values.mean()) if values.size else None), int(values.size)


def jitter(points):
    """Percent: the mean over frames and points of |p(t+1) - 2p(t) + p(t-1)|."""
    second = np.linalg.norm(points[2:] - 2 * points[1:-1] + points[:-2], axis=-1)
    mean, _ = mean_of(100 * second / interocular(points)[1:-1, None])
    return mean


def centred_mean(points, width=5):
    """The mean of `width` frames around each; NaN at the ends and where one of them is missing."""
    half = width // 2
    result = np.full(points.shape, np.nan)
    if len(points) >= width:
        result[half:-half] = sum(points[i:len(points) - width + 1 + i] for i in range(width)) / width
    return result


def distortion(points, unfiltered):
    """Percent: the mean distance to the unfiltered track's centred 5-frame mean."""
    distance = np.linalg.norm(points - centred_mean(unfiltered), axis=-1)
    mean, _ = mean_of(100 * distance / interocular(unfiltered)[:, None])
    return mean


def delayed(points, delay):
    """points(t - delay), linear between frames, NaN before the first and after the last."""
    times = np.arange(len(points)) - delay
    low = np.floor(times).astype(int)
    part = (times - low)[:, None, None]
    result = np.full(points.shape, np.nan)
    inside = (low >= 0) & (low + (part[:, 0, 0] > 0) < len(points))
    low, part = low[inside], part[inside]
    result[inside] = points[low] if not part.any() else (1 - part) * points[low] + part * points[low + 1]
    return result


def best_delay(pairs):
    """The delay, in frames, at which the points of each (points, reference) are nearest to the reference. All delays
    are judged on the same frames."""
    distances = []
    for points, reference in pairs:
        shifted = np.stack([np.linalg.norm(points - delayed(reference, d), axis=-1) for d in DELAYS])
        distances.append(shifted.reshape(len(DELAYS), -1))
    distances = np.concatenate(distances, axis=1)
    distances = distances[:, ~np.isnan(distances).any(axis=0)]
    if not distances.size:
        return None
    means = distances.mean(axis=1)
    return float(min(zip(means, abs(DELAYS), DELAYS))[2])


def lag(points, unfiltered):
    return best_delay([(points, centred_mean(unfiltered))])


def resting_points(rests):
    """Where points are in a picture, by [(2x3 matrix that the picture is moved by, points while it rests there)]: the mean
    over the places, which all count the same."""
    back = [(np.nanmean(points, axis=0) - matrix[:, 2]) @ np.linalg.inv(matrix[:, :2]).T for matrix, points in rests]
    return np.mean(back, axis=0)


def bias(points, truth):
    """Pixels: the mean error along the direction in which the truth moves, from frame SETTLED on; where it stands,
    along its last motion. Negative means behind."""
    step = np.diff(truth, axis=0, prepend=truth[:1])
    for t in range(1, len(step)):
        still = np.linalg.norm(step[t], axis=-1) < 1e-9
        step[t][still] = step[t - 1][still]
    length = np.linalg.norm(step, axis=-1)
    along = ((points - truth) * step).sum(axis=-1) / np.where(length > 0, length, np.nan)
    mean, _ = mean_of(along[SETTLED:])
    return mean


def nme(points, truth):
    """Percent: the mean distance of the points of one face."""
    return float(100 * np.linalg.norm(np.subtract(points, truth), axis=-1).mean() / interocular(np.asarray(truth)))


def nme_of_best(faces, truth, key="landmarks"):
    """The error of the face that lies best on the tight box of the true points; None where none has found it."""
    low, high = truth.min(axis=0), truth.max(axis=0)
    tight = {"x": low[0], "y": low[1], "w": high[0] - low[0], "h": high[1] - low[1]}
    best = max(faces, key=lambda face: overlap(face, tight), default=None)
    return nme(best[key], truth) if best and overlap(best, tight) >= FOUND else None


def accuracy(errors):
    """Of errors in percent, None for a missed face."""
    found = [e for e in errors if e is not None]
    return {"rows": len(errors), "missed": len(errors) - len(found), "mean": float(np.mean(found)) if found else None,
            "failures": len(errors) - len(found) + sum(e > FAILURE for e in found),
            "median": float(np.median([math.inf if e is None else e for e in errors])) if errors else None}


def paired(ours, theirs):
    """The mean of ours - theirs where both have found the face, and its standard error."""
    difference = np.array([a - b for a, b in zip(ours, theirs, strict=True) if a is not None and b is not None])
    if len(difference) < 2:
        return {"rows": len(difference), "mean": None, "standard_error": None}
    return {"rows": len(difference), "mean": float(difference.mean()),
            "standard_error": float(difference.std(ddof=1) / math.sqrt(len(difference)))}


def stale_frames(frames, gone):
    """Frames from `gone`, the first without the face, to the first without any face."""
    return next((t for t, faces in enumerate(frames[gone:]) if not faces), len(frames) - gone)


def late_frames(frames, every):
    """For each face of `every`, by id, the frames of its that pass before `frames` have it."""
    lives = {}
    for t, faces in enumerate(every):
        for face in faces:
            lives.setdefault(face["id"], []).append((t, face))
    return [next((late for late, (t, face) in enumerate(life) if has(face, frames[t])), len(life))
            for life in lives.values()]


def id_changes(frames, truth):
    """`truth`: for each frame {person: face}. A change: a person has another id than when last found, or begins
    with the id that another person had."""
    changes, found, ids, owner = 0, 0, {}, {}
    for faces, people in zip(frames, truth, strict=True):
        names = sorted(people)
        for i, j in match(faces, [people[name] for name in names]).items():
            name, new = names[j], faces[i]["id"]
            found += 1
            if name in ids:
                changes += new != ids[name]
            else:
                changes += owner.get(new, name) != name
            ids[name] = new
            owner.setdefault(new, name)
    return {"changes": changes, "found": found, "faces": sum(len(people) for people in truth)}


def pace(times):
    """99th percentile over median of the times of frames."""
    return float(np.percentile(times, 99) / np.median(times))
