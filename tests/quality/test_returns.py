"""What returns.py counts, on made-up finds with known answers; that the clips are what their page says, which is of its
JSON."""
import json

import pytest

import return_scenes
import returns

HERE, THERE = {"x": 10, "y": 40, "w": 50, "h": 50}, {"x": 200, "y": 40, "w": 50, "h": 50}


def frames_of(*ids):
    """Three frames each of these [(id, box)], with a frame without anybody between."""
    frames = []
    for faces in ids:
        frames += [[dict(box, id=number) for number, box in faces]] * 3 + [[]]
    return frames


def truth_of(*people):
    return {"people": [who for shown in people for who in [shown] * 3 + [{}]], "back": 4, "returning": ["a"]}


@pytest.mark.parametrize("back, expected", [
    ([(1, THERE)], {"old": 1, "new": 0, "unseen": 0, "wrong": 0}),
    ([(2, THERE)], {"old": 0, "new": 1, "unseen": 0, "wrong": 0}),
    ([], {"old": 0, "new": 0, "unseen": 1, "wrong": 0}),
    ([(2, HERE)], {"old": 0, "new": 0, "unseen": 1, "wrong": 0})])
def test_a_return_is_judged(back, expected):
    assert returns.judged(frames_of([(1, HERE)], back), truth_of({"a": HERE}, {"a": THERE})) == expected


def test_a_stranger_with_an_old_id_is_wrong():
    truth = truth_of({"a": HERE}, {"a": THERE, "b": HERE})
    assert returns.judged(frames_of([(1, HERE)], [(1, HERE), (2, THERE)]), truth) == {
        "old": 0, "new": 1, "unseen": 0, "wrong": 1}
    assert returns.judged(frames_of([(1, HERE)], [(2, HERE), (1, THERE)]), truth)["wrong"] == 0


def test_an_id_that_changes_after_the_return_is_new():
    frames = frames_of([(1, HERE)], [(1, THERE)])
    frames[6] = [dict(THERE, id=2)]
    assert returns.judged(frames, truth_of({"a": HERE}, {"a": THERE}))["new"] == 1


@pytest.mark.skipif(not returns.DATA.is_dir(), reason="no test data: set CUFACE_DATA")
def test_faces_of_both_sets_differ_and_come_back_elsewhere():
    for number in (0, 3, 25):
        chosen, scene = (return_scenes.Scene(returns.DATA, faces, number)
                         for faces in (return_scenes.CHOOSING, return_scenes.REPORTED))
        stills = [head.who for head, *_ in chosen.shown + scene.shown if head.who.startswith("still")]
        assert {int(who.split()[1]) % 2 for who in stills} == {0, 1}
        people = scene.clip.truth["people"]
        assert len(people) == scene.back + return_scenes.STAY
        for who in scene.returning:
            before, after = people[0][who], people[-1][who]
            assert abs(before["x"] - after["x"]) > return_scenes.WIDTH / 5
            assert not any(who in shown for shown in people[return_scenes.STAY:scene.back])
        frames = list(scene.frames())
        assert len(frames) == len(people) and frames[0].shape == (return_scenes.HEIGHT, return_scenes.WIDTH)


def test_the_page_is_of_its_json():
    page = returns.PAGE.read_text(encoding="utf-8")
    result = json.loads(returns.RESULT.read_text(encoding="utf-8"))
    assert returns.with_tables(page, result) == page
    assert returns.goals(result["ways"]) == result["goals"]
    assert sum(result["ways"]["features"][key] for key in ("old", "new", "unseen")) == return_scenes.RETURNS
