"""A few made views and a clip, held to what the page promises of all; and the page is of its JSON."""
import json

import planar


def test_few_views_and_a_clip_keep_the_goals():
    result = planar.measured(planar.CHOOSING, views=4, clips=1, kinds=("orb",))
    assert [tilt["tilt"] for tilt in result["orb"]] == list(range(0, 70, 10))
    for tilt in result["orb"][:5]:
        assert planar.not_above(tilt["median_px"]["refined"], planar.EXACT_PX), tilt
        assert tilt["found"]["refined"] >= tilt["found"]["opencv_ransac"], tilt
    (clip,) = result["clips"]
    assert len(clip["objects"]) == 3
    for known in clip["objects"]:
        assert known["visible"] >= 200 and known["tracked"] >= known["visible"] - 5, known
        assert known["lost"] == 0 and known["same_id"], known
        assert known["tremble_px"] <= planar.MOST_TREMBLE and known["first_to_last_px"] <= planar.MOST_DRIFT, known


def test_the_page_is_of_its_json():
    page = planar.PAGE.read_text(encoding="utf-8")
    result = json.loads(planar.RESULT.read_text(encoding="utf-8"))
    assert planar.with_tables(page, result) == page
    assert planar.goals(result) == result["goals"]
