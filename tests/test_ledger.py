#!/usr/bin/python3
"""The ledger fails above a budget, forgives a slow machine, and refuses what has no budget or adds too much."""
import contextlib
import io
import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE / "pipelines")]
import ledger  # noqa: E402
import tap  # noqa: E402

QUIET = ledger.LEDGER["calibration"]


def run(seconds, suite="kernels", total=1, calibration=QUIET):
    """The exit status of a run of one test, and what was said of it."""
    with tap.Folder() as folder, contextlib.redirect_stdout(io.StringIO()) as said:
        log = folder / "testlog.json"
        log.write_text(json.dumps({"name": f"gst-cuface:{suite} / some", "duration": seconds}) + "\n")
        return ledger.run(log, total, 1, calibration), said.getvalue()


def within_its_budgets_a_run_passes():
    status, said = run(1)
    tap.need(status == 0 and "ABOVE" not in said, said)


def a_suite_above_its_budget_fails():
    status, said = run(ledger.LEDGER["suites"]["kernels"] + 1)
    tap.need(status == 1 and "suite kernels" in said and said.count("ABOVE") == 1, said)


def the_last_suite_of_a_test_counts():
    status, said = run(ledger.LEDGER["suites"]["compilers"] + 1, "kernels+compilers")
    tap.need(status == 1 and "suite compilers" in said and "suite kernels" not in said, said)


def a_whole_run_above_its_budget_fails():
    status, said = run(1, total=ledger.total_of("tests/run") + 1)
    tap.need(status == 1 and said.count("ABOVE") == 1, said)


def a_slow_machine_has_larger_budgets_and_a_fast_one_the_same():
    seconds = ledger.LEDGER["suites"]["kernels"] * 1.9
    tap.need(run(seconds, calibration=2 * QUIET)[0] == 0, "twice as slow")
    tap.need(run(seconds, calibration=QUIET / 2)[0] == 1, "twice as fast")
    tap.need(run(1, calibration=QUIET / 2)[0] == 0, "twice as fast")


def a_suite_without_a_budget_fails():
    status, said = run(0.5, "unheard")
    tap.need(status == 1 and "no budget for unheard" in said, said)


def additions_are_limited_and_say_what_for():
    entry = ledger.LEDGER["tests/run"]
    kept, before = entry["added"], ledger.total_of("tests/run")
    try:
        entry["added"] = [*kept, {"what": "a suite", "seconds": 90}]
        tap.need(ledger.total_of("tests/run") == before + 90, "90 s are not added")
        for bad in ({"what": "a suite", "seconds": 91}, {"what": "", "seconds": 1}):
            entry["added"] = [*kept, bad]
            try:
                ledger.total_of("tests/run")
            except SystemExit:
                continue
            raise AssertionError(f"{bad} is taken")
    finally:
        entry["added"] = kept


if __name__ == "__main__":
    sys.exit(tap.run_cases(within_its_budgets_a_run_passes, a_suite_above_its_budget_fails,
                           the_last_suite_of_a_test_counts, a_whole_run_above_its_budget_fails,
                           a_slow_machine_has_larger_budgets_and_a_fast_one_the_same, a_suite_without_a_budget_fails,
                           additions_are_limited_and_say_what_for))
