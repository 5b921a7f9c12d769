"""Goals, and the table of what was measured."""
import json

import pytest

import detectors
import forests
import gate
import goals
import motion
import report
import training

RESULTS = report.PAGE.parents[1] / "results/quality.json"


@pytest.mark.parametrize("ours, peer, goal, reached", [
    (2, None, goals.at_most(2), True), (2.1, 1, goals.at_most(2), False), (2, 1, goals.at_least(3), False),
    (None, 1, goals.at_most(2), None), (1, 2, goals.FEWER, True), (2, 2, goals.FEWER, False),
    (2, 2, goals.NOT_MORE, True), (1, None, goals.FEWER, None), (1, 2, goals.NONE, None)])
def test_goals(ours, peer, goal, reached):
    assert goals.row("m", "%", ours, peer, goal)["reached"] is reached


@pytest.fixture(name="committed", scope="module")
def committed_results():
    return json.loads(RESULTS.read_text(encoding="utf-8"))


def test_the_page_has_what_was_measured(committed):
    page, parts = report.PAGE.read_text(encoding="utf-8"), committed["parts"]
    assert sum(len(part["rows"]) for part in parts.values()) >= 10, "hardly any result"
    assert report.with_table(page, parts) == page
    assert json.loads(report.as_json(parts)) == committed


def test_the_page_of_detectors_has_what_was_measured():
    result = json.loads(detectors.RESULT.read_text(encoding="utf-8"))
    page = detectors.PAGE.read_text(encoding="utf-8")
    assert len(result["recall"]) == 5 and len(result["clips"]) == 9
    haar, network = result["landmarks"]
    assert network["missed"] <= 1 and network["error_of_same_percent"] <= haar["error_of_same_percent"]
    same = result["same_faces"]
    assert same["pictures"] >= 150 and same["least_iou"] >= 0.99 and same["score_difference"] <= 1e-3
    assert not same["other_counts"] and not same["other_order"] and not any(result["drawing_of_10_frames"].values())
    for row in result["recall"]:
        share = {name: 100 * found / row["count"] for name, found in row["found"].items()}
        assert share[detectors.INT16] >= share[detectors.NETWORK] - 0.5, row["faces"]
    integers = result["integers"]
    assert integers["pictures"] == same["pictures"] and integers["faces"] == same["faces"] and not integers["other_counts"]
    assert detectors.with_tables(page, result) == page
    assert json.loads(detectors.as_json(result)) == result


def test_the_page_of_motion_has_what_was_measured():
    page = motion.PAGE.read_text(encoding="utf-8")
    assert motion.with_tables(page, json.loads(motion.RESULT.read_text(encoding="utf-8"))) == page


def test_the_page_of_the_gate_has_what_was_measured():
    page, result = gate.PAGE.read_text(encoding="utf-8"), json.loads(gate.RESULT.read_text(encoding="utf-8"))
    assert gate.with_tables(page, result) == page
    assert len(result["goals"]) == 18 and gate.goals(result["engines"]) == result["goals"]


def test_the_page_of_training_has_what_was_measured():
    page, result = training.PAGE.read_text(encoding="utf-8"), json.loads(training.RESULT.read_text(encoding="utf-8"))
    assert training.with_tables(page, result) == page
    assert training.as_json(result) == training.RESULT.read_text(encoding="utf-8")
    assert result["faces"] >= 80 and len(result["rates"]) == len(training.LEVELS)
    for row in result["rates"]:
        curves = {name: [tuple(point) for point in points] for name, points in result["curves"].items()}
        assert training.rates_at(curves, row["false_alarms_a_picture"], result["faces"], result["pictures"]) == row
    assert training.plots.shows(training.PLOT, training.plotted(result)), "stale: tests/quality/training.py --table draws it"


def test_the_page_of_forests_has_the_measured_figures():
    page = forests.PAGE.read_text(encoding="utf-8")
    assert forests.with_tables(page) == page
    folds, gpu = forests.read("forest-folds.json"), forests.read("forest-gpu.json")
    assert folds["ours"]["faces"] == folds["dlibs"]["faces"] == 166
    assert all(run["decoding_s"] + run["growing_s"] <= run["whole_s"] for run in gpu["runs"])


def test_the_page_of_training_has_the_training_of_full_size():
    page, result = training.PAGE.read_text(encoding="utf-8"), json.loads(training.FULL_RESULT.read_text(encoding="utf-8"))
    assert training.with_full_tables(page, result) == page
    assert result["training"]["end"] == "all stages" and len(result["training"]["stages"]) >= 20
    assert all(stage["positives"] + stage["negatives"] >= 10000 for stage in result["training"]["stages"])


def test_the_plots_show_what_was_measured(committed):
    drawn = report.plots_of(committed["parts"], RESULTS)
    assert len(drawn) == 3
    for name, path, shown in drawn:
        assert report.plots.shows(path, shown), f"{name} is stale: tests/quality/run --table draws it"
