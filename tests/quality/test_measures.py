"""The measures on made-up tracks whose answers are known, good ones and bad ones."""
import functools

import numpy as np
import pytest

import clips
import measures

near = functools.partial(pytest.approx, abs=1e-9)
EYES = 100.0  # px between the outer eye corners of made-up faces


def face(x=0.0, y=0.0, side=10.0, number=None, **more):
    return {"x": x, "y": y, "w": side, "h": side, "id": number, **more}


def shape(count=1):
    """[count, 68, 2]: a face that stands still."""
    points = np.random.default_rng(1).uniform(0, 200, (68, 2))
    points[measures.EYE_CORNERS[0]] = 50, 80
    points[measures.EYE_CORNERS[1]] = 50 + EYES, 80
    return np.repeat(points[None], count, axis=0)


def moving(step, count=100):
    return shape(count) + np.arange(count)[:, None, None] * np.asarray(step, dtype=float)


def test_overlaps():
    assert measures.overlap(face(), face(5)) == near(50 / 150)
    assert measures.overlap(face(), face(10)) == near(0)
    assert measures.overlap(face(), face(2, 2, 6)) == near(0.36)


def test_lateness():
    every = [[face(number=1)], [face(number=1), face(50, number=2)], [face(50, number=2)], [face(50, number=2)]]
    assert measures.late_frames(every, every) == [0, 0]
    assert measures.late_frames([[], [face()], [], [face(51)]], every) == [1, 2]
    assert measures.late_frames([[]] * 4, every) == [2, 3]
    assert measures.late_frames([[face(50)]] * 4, every) == [2, 0]  # another place


def test_blinks():
    def events(*gaps):
        """Two faces; the first is missing for `gaps` frames again and again."""
        frames = []
        for gap in gaps:
            frames += [[face(), face(50)]] * 3 + [[face(50)]] * gap
        return frames + [[face(), face(50)]] * 3
    assert measures.count_blinks(events()) == 0
    assert measures.count_blinks(events(1)) == 1
    assert measures.count_blinks(events(5)) == 1
    assert measures.count_blinks(events(6)) == 0
    assert measures.count_blinks(events(2, 1, 5, 7)) == 3
    assert measures.count_blinks([[face()], [], [face(9)]]) == 0  # another place


def test_appearances():
    assert measures.count_appearances([[face()], [face(1)], [face(2), face(50)], [face(3)], [], [face(3)]]) == 3
    assert measures.frames_with_face([[face()], [], [face(), face(50)]]) == 2


def test_truth_of_faces():
    truth = {0: [face(), face(100)], 5: [face(0, difficult=True), face(100)]}
    frames = [[]] * 6
    frames[0] = [face(1), face(2), face(300)]  # one face found twice, one missed, one false
    frames[5] = [face(1), face(101)]
    assert measures.detection(frames, truth) == {"faces": 3, "found": 2, "difficult": 1, "difficult_found": 1, "false": 2}
    frames[5] = []
    assert measures.detection(frames, truth) == {"faces": 3, "found": 1, "difficult": 1, "difficult_found": 0, "false": 2}
    # The best pair wins, not the first box; 0.4 is enough, less is not.
    assert measures.match([face(3), face(0)], [face(0)]) == {1: 0}
    assert measures.match([face(4)], [face(0)]) == {0: 0}
    assert measures.match([face(4.5)], [face(0)]) == {}


def test_followed():
    frames = [[], [face(50, side=5, landmarks=[[9, 9]]), face(landmarks=[[1, 1]])], [face(50, landmarks=[[9, 9]])],
              [face(50, landmarks=[[9, 9]]), face(1, landmarks=[[2, 2]])]]
    points = measures.follow(frames)
    assert points.shape == (4, 1, 2)
    assert [None if np.isnan(p).any() else p.tolist() for p in points] == [None, [[1, 1]], None, [[2, 2]]]
    assert measures.follow([[], []]).shape == (2, 1, 2)


def test_jitters():
    assert measures.jitter(moving((0.7, -0.2))) == pytest.approx(0, abs=1e-6)  # steady motion is none
    shaking = shape(50)
    shaking[::2, :, 0] += 1  # +1 0 +1 0: second differences of 2 px in 100
    assert measures.jitter(shaking) == near(2.0)
    larger = 3 * shaking
    assert measures.jitter(larger) == near(2.0)
    shaking[20] = np.nan  # a missing face is no motion
    assert measures.jitter(shaking) == near(2.0)
    assert measures.jitter(shape(2)) is None


def test_distortions_and_lags():
    noise = np.random.default_rng(2).normal(0, 0.3, (200, 68, 2))
    sway = 8 * np.sin(np.arange(200) / 6)[:, None, None] * [1, 0.5]
    raw = shape(200) + sway + noise
    assert measures.distortion(measures.centred_mean(raw), raw) == near(0)
    assert measures.lag(measures.centred_mean(raw), raw) == near(0)
    for delay in (-0.5, 0.25, 1, 2.5):
        assert measures.lag(measures.delayed(measures.centred_mean(raw), delay), raw) == near(delay)
    behind = measures.distortion(measures.delayed(raw, 2), raw)
    assert behind > 2 * measures.distortion(raw, raw) > 0.1, f"a track two frames late has distortion {behind}"
    # What freezes does not shake, and shows as distortion.
    frozen = np.repeat(raw[:1], 200, axis=0)
    assert measures.jitter(frozen) == near(0)
    assert measures.distortion(frozen, raw) > 4, "a frozen track seems undistorted"
    assert measures.distortion(shape(9) + [3, 4], shape(9)) == near(5.0)
    assert measures.lag(shape(3), shape(3)) is None


def test_drifts():
    truth = moving((0.3, 0.4))
    assert measures.bias(truth + [3, 4], truth) == pytest.approx(5, abs=1e-6)
    assert measures.bias(truth + [4, -3], truth) == pytest.approx(0, abs=1e-6)  # across the motion
    late = measures.delayed(truth, 0.5)
    assert measures.bias(late, truth) == pytest.approx(-0.25, abs=1e-6)
    assert measures.best_delay([(late, truth)]) == near(0.5)
    noisy = late + np.random.default_rng(3).normal(0, 0.3, late.shape)
    assert measures.best_delay([(noisy, truth), (measures.delayed(truth[:30], 0.5), truth[:30])]) == near(0.5)
    stop = truth.copy()
    stop[50:] = stop[50]
    assert measures.bias(stop + [3, 4], stop) == pytest.approx(5, abs=1e-6)  # the direction of the last motion
    frozen = np.repeat(truth[:1], len(truth), axis=0)
    assert measures.bias(frozen, truth) < -20, "a frozen track has no drift"
    # A dead band of 0.5 px: it follows late, by up to 0.5 px.
    banded = truth.copy()
    for t in range(1, len(banded)):
        banded[t] = banded[t - 1] if np.abs(truth[t] - banded[t - 1]).max() < 0.5 else truth[t]
    assert measures.bias(banded, truth) < -0.1, "a dead band has no drift"


def test_rests():
    """What a place adds to the points is no drift; what grows on the way, or lags, is."""
    shape = np.random.default_rng(5).uniform(50, 150, (68, 2))
    random = np.random.default_rng(6)

    def seen(matrix):  # points that depend on where the picture lies between pixels
        moved = clips.transform(matrix, shape)
        return moved + 0.1 + 0.1 * np.sin(2 * np.pi * matrix[:, 2])

    for motion, place in clips.MOTIONS.items():
        matrices = [place(t) for t in range(clips.LENGTH)]
        still = [(matrices[t], seen(matrices[t]) + random.normal(0, 0.1, (clips.REST_FRAMES, 68, 2))) for t in clips.RESTS]
        middle = measures.resting_points(still)
        truth = np.array([clips.transform(m, middle) for m in matrices])
        ours = np.array([seen(m) for m in matrices])
        assert abs(measures.bias(ours, truth)) < 0.05, f"{motion}: a constant counts as drift"
        creeping = ours + (truth - truth[:1]) * 0.02
        step = np.linalg.norm(np.diff(truth, axis=0), axis=-1).mean()
        behind = measures.bias(measures.delayed(ours, 1), truth)
        assert measures.bias(creeping, truth) > 0.02 * 40 * step - 0.05, f"{motion}: a track that runs ahead has no drift"
        assert behind < -0.5 * step, f"{motion}: a track that lags is not behind"


def test_moves():
    """A moved picture is the picture's function at moved places, and as sharp there as on its pixels."""
    y, x = np.mgrid[0:120, 0:160].astype(float)

    def wave(x, y):
        return 128 + 40 * np.sin(1.3 * x + 0.6 * y) + 30 * np.cos(0.9 * y - 0.3 * x)
    inner = np.s_[45:-45, 45:-45]
    for matrix in (clips.shift(0.5, 0.25), clips.shift(-30, 3.3), clips.rotation(10, np.array([70.0, 50.0]))):
        inverse = np.linalg.inv(np.vstack([matrix, [0, 0, 1]]))
        truth = wave(*(row[0] * x + row[1] * y + row[2] for row in inverse[:2]))
        error = np.abs(clips.move(wave(x, y), matrix) - truth)[inner].max()
        assert error < 0.5, f"a moved picture is wrong by {error} grey levels"
        assert np.abs(clips.warp(wave(x, y), matrix) - truth)[inner].max() > 2, "linear interpolation blurs nothing"
    assert np.abs(clips.move(wave(x, y), clips.shift(3, -2)) - wave(x - 3, y + 2))[inner].max() == near(0)
    slope = x - 80  # what warp() is exact for
    assert np.abs(clips.warp(slope, clips.shift(0.25, 0)) - slope + 0.25)[:, 1:].max() == pytest.approx(0, abs=1e-4)


def test_accuracies():
    truth = shape()[0]
    assert measures.nme(truth + [3, 4], truth) == near(5)
    found = measures.accuracy([1.0, 3.0, 11.0, None])
    assert found == {"rows": 4, "missed": 1, "mean": 5.0, "failures": 2, "median": 7.0}
    assert measures.accuracy([1.0, None, None])["median"] == float("inf")
    pair = measures.paired([1.0, 2.0, 3.0, None, 9.0], [2.0, 2.0, 5.0, 1.0, None])
    assert pair["rows"] == 3
    assert pair["mean"] == near(-1)
    assert pair["standard_error"] == near(1 / np.sqrt(3))
    assert measures.paired([1.0], [None])["mean"] is None


def test_stale_boxes():
    frames = [[face()]] * 10
    assert measures.stale_frames(frames + [[]] * 5, 10) == 0
    assert measures.stale_frames(frames + [[face()]] * 3 + [[]] * 5, 10) == 3
    assert measures.stale_frames(frames + [[face()]] * 7, 10) == 7
    assert measures.stale_frames(frames + [[face()], [], [face()]], 10) == 1


def test_ids():
    truth = [{"a": face(), "b": face(50)}] * 4
    def changes(*frames):
        return measures.id_changes([[face(0, number=a), face(50, number=b)] for a, b in frames], truth)["changes"]
    assert changes((1, 2), (1, 2), (1, 2), (1, 2)) == 0
    assert changes((1, 2), (1, 3), (1, 3), (1, 3)) == 1
    assert changes((1, 2), (2, 1), (2, 1), (1, 2)) == 4  # two exchanges
    gone = [[face(0, number=1)], [], [face(0, number=1)], [face(0, number=2)]]
    assert measures.id_changes(gone, truth) == {"changes": 1, "found": 3, "faces": 8}
    taken = [[face(0, number=1)], [], [face(50, number=1)], [face(50, number=1)]]  # b begins with the id of a
    assert measures.id_changes(taken, truth)["changes"] == 1


def test_paces():
    assert measures.pace([2.0] * 100) == near(1)
    assert measures.pace([2.0] * 90 + [20.0] * 10) > 9, "a search that takes ten times as long does not show"
