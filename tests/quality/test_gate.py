"""What gate.py counts, on made-up finds with known answers, and that the clips are what their page says."""
import numpy as np
import pytest

import gate
import gate_scenes
from gate_scenes import HEIGHT, LENGTH, MARGIN, WIDTH, Scene


def face(x, number=1, side=50):
    return {"id": number, "x": x, "y": 40, "w": side, "h": side}


def truth(*people):
    return {"faces": {i: (face(x), seen) for i, (x, seen) in enumerate(people)}}


def test_a_face_is_late_from_the_first_of_three_frames_on():
    true = [truth((10, 1.0))] * 20
    baseline = [[face(11)] if t in (2, 4) or t >= 6 else [] for t in range(20)]
    mine = [[face(9, 7)] if t >= 9 else [] for t in range(20)]
    assert gate.late_frames(mine, baseline, true) == [3]
    assert gate.late_frames(baseline, baseline, true) == [0]
    assert gate.late_frames([[]] * 20, baseline, true) == [14], "it never comes"
    assert not gate.late_frames(mine, [[face(11)] if t % 3 else [] for t in range(20)], true), "two frames in a row"


def test_what_is_nobodys_face_cannot_be_late():
    true = [truth((10, 1.0))] * 9
    baseline = [[face(10), face(300, 2)]] * 9
    assert gate.late_frames([[face(10)]] * 9, baseline, true) == [0]


def test_each_face_of_the_baseline_counts():
    true = [truth((10, 1.0), (200, 1.0))] * 30
    baseline = [[face(10, 1), face(200, 2)]] * 30
    mine = [[face(10, 1)]] * 12 + [[face(10, 1), face(200, 2)]] * 18
    assert gate.late_frames(mine, baseline, true) == [0, 12]


def test_who_is_hidden_is_late_apart():
    true = [truth((10, 1.0), (200, 0.5))] * 20
    baseline = [[face(10, 1), face(200, 2)]] * 20
    mine = [[face(10, 1)]] * 20
    assert gate.late_frames(mine, baseline, true) == [0, 20]
    assert gate.late_frames(mine, baseline, true, gate_scenes.VISIBLE) == [0]


def test_an_error_is_of_clips():
    assert gate.error_of_share([1, 1, 1], [100, 100, 100]) == 0
    assert gate.error_of_share([0, 2] * 50, [100] * 100) == pytest.approx(0.1, rel=0.01)


def test_recall_is_of_visible_faces():
    true = [truth((10, 1.0), (200, 0.5), (300, 0.7))] * 2
    assert gate.recall([[face(12), face(200)], [face(300), face(60)]], true) == (2, 4)


def test_a_closed_time_is_one_of_motion_without_a_search():
    moves = [True] * 4 + [False] + [True] * 6
    assert gate.longest_closed([False] * 11, moves) == 6
    assert gate.longest_closed([t in (2, 7) for t in range(11)], moves) == 3
    assert gate.longest_closed([False] * 11, [False] * 11) == 0


def figures(ms, found, late, closed):
    by = {name: value for name, value in zip(gate.SEARCHES, ms)}
    return {"ms": by, "searches": by, "found": dict(zip(gate.SEARCHES, found)), "faces": 100,
            "late": {name: [late] for name in gate.SAVED}, "late_visible": {name: [late] for name in gate.SAVED},
            "closed": closed, "closed_camera": closed, "people": 150}


@pytest.mark.parametrize("ms,found,late,closed,missed", [
    ((3000, 1000, 200), (95, 95, 95), 3, 9, 0), ((3000, 1000, 350), (95, 95, 95), 3, 9, 1),
    ((3000, 400, 200), (95, 95, 95), 3, 9, 1), ((3000, 1000, 200), (95, 93, 93.5), 3, 9, 1),
    ((3000, 1000, 200), (95, 95, 95), 11, 9, 2), ((3000, 1000, 200), (95, 95, 95), 3, 26, 2)])
def test_goals_can_be_missed(ms, found, late, closed, missed):
    one = gate.summed([figures(ms, found, late, closed)])
    rows = gate.goals({"cascade": {"all": one, "camera": one}})
    assert len(rows) == 9 and sum(not row["reached"] for row in rows) == missed, rows


def test_seeds_to_choose_by_are_not_those_reported():
    assert not set(gate_scenes.CHOOSING) & set(gate_scenes.REPORTED)


@pytest.fixture(name="scene", scope="module", params=gate_scenes.KINDS)
def one_scene(request):
    if not gate.DATA.is_dir():
        pytest.skip("no test data: set CUFACE_DATA")
    return Scene(gate.DATA, request.param, 3)


def test_a_seed_is_a_clip(scene):
    same = Scene(gate.DATA, scene.kind, 3)
    for t in (0, 120, 290):
        assert np.array_equal(scene.draw(t)[0], same.draw(t)[0])


def test_people_are_in_a_third_of_the_frames(scene):
    assert 0.3 <= np.mean([scene.someone(t) for t in range(LENGTH)]) <= 0.8


def test_a_face_is_where_the_truth_has_it(scene):
    """The room is hidden there, and seen where nobody is."""
    empty = Scene(gate.DATA, scene.kind, 3)
    empty.people = []
    differs, compared = [], 0
    for t in range(0, LENGTH, 20):
        picture, faces = scene.draw(t)
        room, _ = empty.draw(t)
        for true, seen in faces.values():
            if seen > 0.9:
                box = np.s_[int(true["y"]) + 4:int(true["y"] + true["h"]) - 4, int(true["x"]) + 4:int(true["x"] + true["w"]) - 4]
                differs.append(np.mean(np.abs(picture - room)[box] > 3))
        if not faces:
            assert np.array_equal(picture, room)
            compared += 1
    assert len(differs) >= 3 and min(differs) > 0.6 and compared > 0, (differs, compared)


def test_the_camera_moves_in_its_clips_only(scene):
    way = np.abs(scene.shifts).max()
    assert (way > 5) == (scene.kind == "camera") and way < MARGIN
    assert (np.ptp(scene.light) > 10) == (scene.kind == "lights")
    assert scene.draw(5)[0].shape == (HEIGHT, WIDTH)
