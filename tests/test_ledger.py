"""The ledger fails above a budget, forgives a slow machine, and refuses what has no budget or adds too much."""
import json
import pathlib
import subprocess
import sys

import pytest

import ledger

QUIET = ledger.LEDGER["calibration"]
MARGIN = ledger.MARGIN_OF_A_PART


@pytest.fixture(name="run")
def run_of_one_test(tmp_path, capsys):
    """Its exit status, and what was said of it."""
    def run(seconds, suite="kernels", total=1, calibration=QUIET):
        log = tmp_path / "testlog.json"
        log.write_text(json.dumps({"name": f"gst-cuface:{suite} / some", "duration": seconds}) + "\n")
        status = ledger.run(log, total, 1, calibration)
        return status, capsys.readouterr().out
    return run


def test_within_its_budgets_a_run_passes(run):
    status, said = run(1)
    assert status == 0 and "ABOVE" not in said, said


def test_a_suite_above_its_budget_fails(run):
    status, said = run(MARGIN * ledger.budget_of_suites()["kernels"] + 1)
    assert status == 1 and "suite kernels" in said and said.count("ABOVE") == 1, said


def test_the_last_suite_of_a_test_counts(run):
    status, said = run(MARGIN * ledger.budget_of_suites()["compilers"] + 1, "kernels+compilers")
    assert status == 1 and "suite compilers" in said and "suite kernels" not in said, said


def test_a_whole_run_above_its_budget_fails(run):
    status, said = run(1, total=ledger.total_of("tests/run") + 1)
    assert status == 1 and said.count("ABOVE") == 1, said


def test_a_slow_machine_has_larger_budgets_and_a_fast_one_the_same(run):
    seconds = MARGIN * ledger.budget_of_suites()["kernels"] * 1.9
    assert run(seconds, calibration=2 * QUIET)[0] == 0, "twice as slow"
    assert run(seconds, calibration=QUIET / 2)[0] == 1, "twice as fast"
    assert run(1, calibration=QUIET / 2)[0] == 0, "twice as fast"


def test_slowness_is_that_of_the_mean_calibration_and_never_below_one():
    assert ledger.slowness(str(QUIET * 2), str(QUIET * 3)) == pytest.approx(2.5)
    assert ledger.slowness(str(QUIET / 2)) == 1


def test_a_suite_without_a_budget_fails(run):
    status, said = run(0.5, "unheard")
    assert status == 1 and "no budget for unheard" in said, said


@pytest.fixture(name="added")
def added_to_the_run(monkeypatch):
    def add(what, seconds, **suites):
        entry = ledger.LEDGER["tests/run"]
        monkeypatch.setitem(entry, "added", [*entry["added"], {"what": what, "seconds": seconds, "suites": suites}])
        return ledger.total_of("tests/run")
    return add


def test_an_addition_counts(added):
    before = ledger.total_of("tests/run")
    assert added("a suite", 90) == before + 90


@pytest.mark.parametrize("what, seconds", [("a suite", 91), ("", 1)])
def test_additions_are_limited_and_say_what_for(added, what, seconds):
    with pytest.raises(SystemExit):
        added(what, seconds)


def test_an_addition_counts_in_its_suites(added, run):
    budget = ledger.budget_of_suites()["kernels"]
    added("a suite", 20, kernels=10)
    assert ledger.budget_of_suites()["kernels"] == budget + 10
    assert run(MARGIN * budget + 14)[0] == 0 and run(MARGIN * budget + 16)[0] == 1


def test_what_is_not_in_its_suites_is_building(added):
    budget = ledger.budget_of_build()
    added("a suite", 20, kernels=10, gst=6)
    assert ledger.budget_of_build() == budget + 12
    added("long tests", 10, kernels=40)
    assert ledger.budget_of_build() == budget + 12


@pytest.mark.parametrize("suites", [{"kernels": 50, "gst": 41}, {"unheard": 1}, {"kernels": 0}])
def test_additions_to_suites_are_limited_and_known(added, suites):
    added("a suite", 20, **suites)
    with pytest.raises(SystemExit):
        ledger.budget_of_suites()


def test_a_card_that_programs_share_counts_once():
    def run(card, minute, seconds):
        return {"card": card, "end": f"2026-01-01T00:{minute:02}:00Z", "seconds": seconds}
    assert ledger.seconds_of_cards([run("a", 10, 120), run("a", 11, 120), run("a", 20, 60)]) == 180 + 60
    assert ledger.seconds_of_cards([run("a", 10, 120), run("b", 10, 120)]) == 240
    assert ledger.seconds_of_cards([run("a", 10, 300), run("a", 9, 60)]) == 300


def test_the_gpu_suite_above_its_budget_fails(tmp_path, capsys):
    result = tmp_path / "gpu.json"
    for seconds, status in ((ledger.total_of("gpu.json"), 0), (ledger.total_of("gpu.json") + 1, 1)):
        result.write_text(json.dumps({"runs": [{"card": "a", "end": "2026-01-01T00:00:00Z", "seconds": seconds}]}))
        assert ledger.gpu(result) == status, capsys.readouterr().out


def test_runs_of_the_gpu_suite_are_merged(tmp_path):
    def write(name, commit, test):
        file = tmp_path / name
        file.write_text(json.dumps({
            "date": f"2026-01-01T00:00:0{test}Z", "device": "card", "driver": "1", "commit": commit, "seconds": {f"test_{test}": 5},
            "runs": [{"card": "a", "end": "2026-01-01T00:00:00Z", "seconds": 5}], "benchmarks": [{"what": test}],
            "tests": {"passed": test, "failed": 0, "skipped": 1, "failures": [], "skips": [f"test_{test}"]}}))
        return file
    tool = pathlib.Path(__file__).parent / "gpu/tools/results.py"
    merged = tmp_path / "merged.json"
    parts = [write("1.json", "abc", 1), write("2.json", "abc", 2)]
    subprocess.run([sys.executable, tool, "merge", merged, *parts], check=True)
    result = json.loads(merged.read_text())
    assert result["tests"] == {"passed": 3, "failed": 0, "skipped": 2, "failures": [], "skips": ["test_1", "test_2"]}
    assert result["seconds"] == {"test_1": 5, "test_2": 5} and len(result["runs"]) == len(result["benchmarks"]) == 2
    assert result["date"].endswith("02Z")
    other = write("3.json", "def", 3)
    refused = subprocess.run([sys.executable, tool, "merge", merged, *parts, other], check=False, capture_output=True, text=True)
    assert refused.returncode == 1 and "more than one commit" in refused.stderr
