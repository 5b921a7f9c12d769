"""The scenes are what their page says: nothing but what is said to disturb them differs, and objects are where the
truth has them."""
import itertools

import numpy as np
import pytest

import motion_scenes
from motion_scenes import AFTER, BEFORE, LEARN, LENGTH, Scene


def frames_of(kind, seed, times):
    scene = Scene(kind, seed)
    return [scene.frame(t) for t in times]


def test_seeds_to_choose_by_are_not_those_reported():
    assert len(motion_scenes.CHOOSING) == len(motion_scenes.REPORTED) == 20
    assert not set(motion_scenes.CHOOSING) & set(motion_scenes.REPORTED)


@pytest.mark.parametrize("kind", motion_scenes.KINDS)
def test_a_seed_is_a_scene(kind):
    one, same, other = (frames_of(kind, seed, (20, 150)) for seed in (5, 5, 6))
    assert all(np.array_equal(a, b) and np.array_equal(s, t) for (a, s), (b, t) in zip(one, same))
    assert not np.array_equal(one[0][0], other[0][0])


@pytest.mark.parametrize("kind", motion_scenes.KINDS)
def test_objects_are_there_in_between_only(kind):
    begin, end = LEARN + BEFORE, LENGTH - AFTER
    assert not any(shown.any() for _, shown in frames_of(kind, 7, (0, LEARN, begin - 1, end, LENGTH - 1)))
    there = [shown.any() for _, shown in frames_of(kind, 7, range(begin, end, 8))]
    assert sum(there) >= 5, there


def test_a_still_scene_differs_where_objects_are():
    quiet = np.median([frame for frame, _ in frames_of("still", 7, range(9))], axis=0)
    outside, inside = [], []
    for frame, shown in frames_of("still", 7, range(LEARN, LENGTH, 10)):
        near = shown.copy()
        for axis, way in itertools.product((0, 1), (-2, -1, 1, 2)):
            near |= np.roll(shown, way, axis)
        difference = np.abs(frame - quiet)
        outside.append(difference[~near].max())
        inside += list(difference[shown])
    assert max(outside) < 20 and np.median(inside) > 20


@pytest.mark.parametrize("step", [20, 60])
def test_light_is_switched(step):
    for seed in (7, 8):  # one in proportion, one not
        scene = Scene(f"light-{step}", seed)
        assert len(scene.steps) == 3
        for t, by in scene.steps.items():
            assert abs(by) == step
            seen = float(scene.frame(t)[0].mean()) - float(scene.frame(t - 1)[0].mean())
            assert 0.75 * step < seen * np.sign(by) < 1.1 * step, f"{seen} at {t}"


def test_the_camera_shakes_by_two_pixels():
    scene = Scene("shake", 7)
    still = scene.background[motion_scenes.MARGIN:-motion_scenes.MARGIN, motion_scenes.MARGIN:-motion_scenes.MARGIN]
    ways = []
    for frame, _ in itertools.islice(scene.frames(), 25):
        error = {(dy, dx): np.abs(np.roll(still, (-dy, -dx), (0, 1))[4:-4, 4:-4] - frame[4:-4, 4:-4]).mean()
                 for dy in range(-3, 4) for dx in range(-3, 4)}
        ways.append(min(error, key=error.get))
    assert np.abs(ways).max() == 2 and len(set(ways)) >= 8, ways


@pytest.mark.parametrize("kind,least,most", [("rain", 0.005, 0.08), ("tree", 0.02, 0.40)])
def test_something_disturbs_the_background(kind, least, most):
    shares = []
    for seed in range(1, 6):
        frames = np.array([frame for frame, _ in frames_of(kind, seed, range(50, 58))], np.int64)
        shares.append(np.mean(np.abs(np.diff(frames, axis=0)) > 15))
    assert least < np.mean(shares) < most, shares
