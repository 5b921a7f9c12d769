#!/usr/bin/python3
"""What the tests may cost: fails where they take longer than tests/ledger.json allows.

  tests/ledger.py calibrate                         seconds of the calibration loop, on this machine now
  tests/ledger.py slowness SECONDS...               how many times the ledger's seconds a machine takes whose calibrations
                                                    took these
  tests/ledger.py run LOG TOTAL BUILD SECONDS...    the tests of meson's testlog.json, seconds of all tests/run and of
                                                    its build, and what `calibrate` printed before, between and after
  tests/ledger.py gpu GPU.json                      the seconds that the GPU suite holds a card, as tests/gpu/tools/run
                                                    notes them; where several programs shared a card, it counts once

A suite costs the sum of its tests' seconds, though two run at a time. Budgets grow with the machine's slowness, which
the calibration loop states; waits do not shrink on a fast machine, so neither do budgets. Something new adds an entry
to "added", with what it is and its seconds: at most 90 for tests/run, 30 for the GPU suite. "suites" of such an entry
says by how much the suites grow, all together by 90 at most. Two tests run at a time, so half of that is of its seconds,
and the rest of them is building.

All of tests/run fails one second above its budget. A part of it, a suite or the build, fails above one and a half times
its own: a machine that compiles slowly need not run slowly, and one number calibrates both, so a commit kept all
budgets of parts on one machine and broke one on another, with its whole far below.
"""
import collections
import datetime
import json
import multiprocessing
import os
import pathlib
import statistics
import sys
import time
import zlib

LEDGER = json.loads(pathlib.Path(__file__).with_name("ledger.json").read_text(encoding="utf-8"))
SKIPPED = 77  # to meson
MOST_ADDED = {"tests/run": 90, "gpu.json": 30}
MARGIN_OF_A_PART = 1.5


def work(_):
    """A fixed piece of work of one processor: branches, tables and memory, as most programs have."""
    text = " ".join(str(n * n % 9973) for n in range(1_000_000)).encode()
    return len(zlib.compress(text, 9))


def calibrate():
    """Two processes at once, as two tests run at once; the median of three."""
    with multiprocessing.Pool(2) as pool:
        def once():
            begin = time.monotonic()
            pool.map(work, range(2), chunksize=1)
            return time.monotonic() - begin
        return statistics.median(once() for _ in range(3))


def total_of(name):
    """The budget of all, with what was added."""
    entry = LEDGER[name]
    for added in entry["added"]:
        if not added["what"] or not 0 < added["seconds"] <= MOST_ADDED[name]:
            sys.exit(f"ledger: {name}: {added} adds more than {MOST_ADDED[name]} s, or does not say for what")
    return min(entry["total"] + sum(added["seconds"] for added in entry["added"]), entry.get("most", float("inf")))


def budget_of_suites():
    """The budget of each suite, with what was added to it."""
    budgets = collections.Counter(LEDGER["suites"])
    for added in LEDGER["tests/run"]["added"]:
        grown = added.get("suites", {})
        if unknown := grown.keys() - LEDGER["suites"].keys():
            sys.exit(f"ledger: {added['what']} adds to {', '.join(sorted(unknown))}, which is no suite")
        if sum(grown.values()) > MOST_ADDED["tests/run"] or any(seconds <= 0 for seconds in grown.values()):
            sys.exit(f"ledger: the suites of {added['what']} add more than {MOST_ADDED['tests/run']} s")
        budgets.update(grown)
    return budgets


def budget_of_build():
    added = LEDGER["tests/run"]["added"]
    return LEDGER["tests/run"]["build"] + sum(max(0, entry["seconds"] - sum(entry.get("suites", {}).values()) / 2)
                                              for entry in added)


def seconds_of_suites(log):
    """Meson's log has a line of JSON a test. A test of several suites counts in the last, which says most."""
    suites = collections.Counter()
    for line in pathlib.Path(log).read_text(encoding="utf-8").splitlines():
        test = json.loads(line)
        suites[test["name"].split(" / ")[0].split(":")[-1].split("+")[-1]] += test["duration"]
    return suites


def over(rows, scale):
    """Prints (what, seconds, budget) and returns how many are above their budget."""
    count = 0
    for what, seconds, budget in rows:
        above = seconds > budget * scale
        count += above
        print(f"ledger: {what}: {seconds:.0f} s of {budget * scale:.0f} s{', ABOVE ITS BUDGET' if above else ''}")
    return count


def slowness(*calibrations):
    return max(1, statistics.mean(map(float, calibrations)) / LEDGER["calibration"])


def run(log, total, build, *calibrations):
    scale = slowness(*calibrations)
    suites, budgets = seconds_of_suites(log), budget_of_suites()
    if unknown := suites.keys() - budgets.keys():
        print(f"ledger: no budget for {', '.join(sorted(unknown))}")
    print(f"ledger: this machine takes {scale:.2f} times the seconds of tests/ledger.json; budgets are scaled so")
    rows = [(f"suite {name}", seconds, MARGIN_OF_A_PART * budgets[name]) for name, seconds in sorted(suites.items())]
    rows += [("set-up and build", float(build), MARGIN_OF_A_PART * budget_of_build()),
             ("tests/run", float(total), total_of("tests/run"))]
    return 1 if over(rows, scale) else 0


def seconds_of_cards(runs):
    """Seconds in which a card was held by one run at least, of all cards."""
    held = collections.defaultdict(list)
    for part in runs:
        end = datetime.datetime.fromisoformat(part["end"]).timestamp()
        held[part["card"]].append((end - part["seconds"], end))
    total = 0
    for times in held.values():
        until = 0
        for begin, end in sorted(times):
            total += max(0, end - max(begin, until))
            until = max(until, end)
    return total


def gpu(path):
    runs = json.loads(pathlib.Path(path).read_text(encoding="utf-8")).get("runs")
    if not runs:
        print(f"{os.path.basename(path)} was written before runs were noted")
        return SKIPPED
    return over([("the GPU suite", seconds_of_cards(runs), total_of("gpu.json"))], 1)


def main(arguments):
    match arguments:
        case ["calibrate"]:
            print(f"{calibrate():.3f}")
            return 0
        case ["slowness", *calibrations] if calibrations:
            print(f"{slowness(*calibrations):.2f}")
            return 0
        case ["run", log, total, build, *calibrations] if calibrations:
            return run(log, total, build, *calibrations)
        case ["gpu", path]:
            return gpu(path)
    sys.exit(__doc__)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
