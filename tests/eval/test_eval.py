"""The page of published experiments is what its files give, and the programs that fill it run."""
import importlib.machinery
import importlib.util
import json
import math
import os
import re
import subprocess

import pytest

import programs

os.environ["CUFACE_BUILD"] = str(programs.BUILD)
import experiments  # noqa: E402
import page  # noqa: E402
import s3  # noqa: E402
from experiments import LABELS, SOURCE  # noqa: E402

ROWS = json.loads(page.ROWS.read_text(encoding="utf-8"))
# How many rows our list has of each system, and which experiments are there.
# What needs neither the test data nor a model nor gst-opencv, and is quick.
QUICK = ["S0.E3", "S0.E4", "S0.E8", "S1.E1", "S1.E2", "S1.E3", "S1.E4", "S1.E7", "S2.E1", "S2.E5", "S2.E6", "S2.E7", "S2.E8", "S2.E9", "S3.E1",
         "S3.E2", "S3.E3", "S3.E5", "S3.E8", "S4.E1", "S4.E2", "S4.E3"]
LISTED = {"S0": (39, range(1, 13)), "S1": (16, range(1, 8)), "S2": (19, range(1, 10)), "S3": (20, range(1, 9)), "S4": (12, range(1, 4))}


def test_the_page_is_what_its_files_give():
    stale = page.stale()
    assert not stale, f"stale, run tests/eval/run --page: {stale}"


@pytest.mark.parametrize("system", LISTED)
def test_every_row_and_experiment_is_there(system):
    rows, there = LISTED[system]
    assert [row["row"] for row in ROWS if row["row"].startswith(system)] == [f"{system}.{n:02}" for n in range(1, rows + 1)]
    assert [e.id for e in page.SYSTEMS[system]] == [f"{system}.E{n}" for n in there]


def test_rows_name_files_that_exist():
    paths = [path for row in ROWS for path in (*row["code"], *row["tests"])]
    missing = [path for path in paths if not (SOURCE / path).exists()]
    assert not missing and len(paths) >= 40, missing
    assert not [row["row"] for row in ROWS if row["code"] and not row["tests"]], "code without a test"
    assert not [row["row"] for row in ROWS if not row["code"] and not row.get("why")], "neither code nor a reason"


def test_rows_of_the_code_are_listed():
    """What the code cites of a system that has its table here is a row of it."""
    cited = set()
    for path in (path for folder in ("kernels", "gst", "models") for path in (SOURCE / folder).rglob("*.h")):
        for citation in re.findall(r"\[(S\d\.\d\d[^\]]*)\]", path.read_text(encoding="utf-8")):
            cited.update(re.findall(r"S\d\.\d\d", citation))
    cited = {row for row in cited if row[:2] in LISTED}
    assert cited <= {row["row"] for row in ROWS} and len(cited) >= 8, cited
    assert not [row["row"] for row in ROWS if row["row"] in cited and not row["code"]], "the code has it"


@pytest.mark.parametrize("experiment", [e for listed in page.SYSTEMS.values() for e in listed], ids=lambda e: e.id)
def test_results_hold_what_the_page_shows(experiment):
    result = page.read(page.RESULTS)[experiment.id]
    assert result["commit"] and result["processor"] and result["build"]["buildtype"] == "release"
    assert "seeds" in result
    assert all(f.label in LABELS if f.theirs != "-" else not f.label for f in experiment.figures)
    assert {f.name for f in experiment.figures} == set(result.get("figures", {})), "another list of figures"
    curves = {curve["name"]: {point["x"] for point in curve["points"]} for curve in result.get("curves", [])}
    for name, theirs in experiment.theirs.items():
        assert name in curves, f"no curve {name} beside the published one"
        met = sum(x in curves[name] for t in theirs for x in t.us)
        assert met, f"{name}: no size is a published one"


def test_a_figure_that_is_wrong_makes_the_page_stale(tmp_path):
    """The page hangs on the JSON: another figure, another page."""
    results = page.read(page.RESULTS)
    point = results["S1.E2"]["curves"][0]["points"][-1]
    point["ours_us"] *= 3
    (tmp_path / page.PAGE.name).write_bytes(page.PAGE.read_bytes())
    page.keep(tmp_path, results)
    assert {page.PAGE.name, "published-S1.E2.svg"} <= set(page.stale(tmp_path))


def gpu_run(folder, name, date, us, device="card", curves=("reduction",)):
    rows = [*({"what": "curve", "curve": curve, "axis": "floats", "x": 10, "us": us} for curve in curves),
            {"what": "pipeline", "way": "no face", "us mean": 2 * us, "us median": 100.0},
            {"what": "pipeline, ratios", "every frame / every tenth": 0.2 * us},
            {"what": "another", "us": 7 * us}]
    (folder / name).write_text(json.dumps({"date": date, "device": device, "commit": "0" * 40, "benchmarks": rows}))
    return folder / name


def test_errors_of_landmarks_are_those_of_the_folds():
    """S3.E7 measures nothing itself: a newer shape-folds.json wants it again."""
    shown = page.read(page.RESULTS)["S3.E7"]
    assert shown["figures"] == s3.folds(None)["figures"], "tests/eval/run --only S3.E7 mends it"


def of_full(name):
    """A script of tests/full, as a module."""
    loader = importlib.machinery.SourceFileLoader(name, str(SOURCE / "tests/full" / name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module


def test_folds_take_what_they_have_chosen():
    """Of the settings that stand in tests/full/shape_folds, by scores that are not of the fold itself."""
    folds, found = of_full("shape_folds"), json.loads((SOURCE / "docs/results/shape-folds.json").read_text(encoding="utf-8"))
    for kind, settings in folds.SETTINGS.items():
        model = found["models"][kind]
        assert [fold["fold"] for fold in model["folds"]] == list(range(folds.FOLDS))
        for fold in model["folds"]:
            scores = fold["scores_of_the_settings"]
            assert len(scores) == (len(settings) if len(settings) > 1 else 0)
            assert fold["settings"] in [s for s, score in zip(settings, scores or [0]) if score == min(scores or [0])]
        assert model["common_points_of_stasms"] == pytest.approx(
            model["common_points"]["mean_percent"] / found["stasm"]["common_points"]["mean_percent"], abs=1e-3)
    patches, stasm = (part["common_points"] for part in (found["models"]["masm"], found["stasm"]))
    assert all(patches[key] <= stasm[key] for key in ("mean_percent", "median_percent", "missed")), "patches are no worse than Stasm's"


def test_no_fold_chooses_refits():
    """What docs/design/shape.md says of points that are searched for again."""
    refits, found = of_full("shape_refits"), json.loads((SOURCE / "docs/results/shape-refits.json").read_text(encoding="utf-8"))
    assert set(found["shares"]) == set(refits.NAMES) == {"none", "0.95", "1"}
    for scores, name in zip(found["scores_of_the_choices"], found["chosen"], strict=True):
        assert scores[name] == min(scores.values()) and name == "none"
    assert found["as_chosen"]["all_68_points"] == found["shares"]["none"]["all_68_points"]
    for share, percent, points in (("0.95", 7, 10), ("1", 2, 4)):
        more = (found["shares"][share]["all_68_points"]["mean_percent_cut_at_10"] / found["shares"]["none"]["all_68_points"]["mean_percent_cut_at_10"])
        assert round(100 * (more - 1)) == percent and found["shares"][share]["points_searched_again_a_face"] > points


def test_no_photograph_is_in_two_folds():
    """HELEN's names are the photograph's number, the face's, and another."""
    folds = json.loads((SOURCE / "tests/full/shape_folds.json").read_text(encoding="utf-8"))
    assert len(folds) == 5 and len({path for paths in folds for path in paths}) == sum(map(len, folds)) == 166
    fold_of = {}
    for fold, paths in enumerate(folds):
        for path in paths:
            photograph = re.sub(r"_\d+_\d\.jpg$", "", path)
            assert fold_of.setdefault(photograph, fold) == fold, path
    assert len(fold_of) == 157, "eight photographs have several faces"


def test_parity_with_stasm_reaches_its_goals():
    found = json.loads((SOURCE / "docs/results/shape-parity.json").read_text(encoding="utf-8"))
    assert found["faces"] == 166 and found["points"] >= 200000
    assert found["other_offsets"] == len(found["mismatches"]) <= 1e-4 * found["points"] and not found["steps_above_1e-6_px"]
    assert found["faces_within_0.01_px"] == found["faces"] - len(found["other_faces"]) >= 0.95 * found["faces"]


def test_figures_of_a_gpu_are_of_the_newest_run(tmp_path):
    for newer in experiments.Gpu.RUNS:
        for name in experiments.Gpu.RUNS:
            gpu_run(tmp_path, name, f"2026-01-0{1 + (name == newer)}T00:00:00Z", 5.0 + (name == newer), name)
        gpu = experiments.Gpu(tmp_path)
        assert gpu.times[("reduction", 10)] == 6.0 and gpu.whose.startswith(newer)
        assert gpu.figure(({"what": "pipeline", "way": "no face"}, "us mean", 1e-3)) == pytest.approx(0.012)


def test_a_newer_run_of_a_part_leaves_the_others_of_its_commit_and_card(tmp_path):
    gpu_run(tmp_path, "gpu.json", "2026-01-01T00:00:00Z", 5.0)
    gpu_run(tmp_path, "gpu-part.json", "2026-01-02T00:00:00Z", 6.0, curves=())
    gpu_run(tmp_path, "gpu-h100.json", "2026-01-01T00:00:00Z", 7.0, "other card")
    assert experiments.Gpu(tmp_path).times[("reduction", 10)] == 5.0


def test_shares_on_a_gpu_are_of_the_launches_that_it_has():
    def rows(**times):
        return [{"what": f"shape model of 68 patches, 1 faces part {i} shape: {launch.replace('_', ' ')}", "us": us}
                for i, (launch, us) in enumerate(times.items())]
    found = rows(start=5.0, level_0=10.0, level=10.0, edges=5.0, iterations=165.0, finish=5.0) + rows(level=0.0)
    assert s3.share_on_gpu("search")(found) == pytest.approx(82.5)
    assert s3.share_on_gpu("levels")(found) == pytest.approx(12.5)
    assert s3.share_on_gpu("search")([{"what": "another", "us": 7.0}]) is None
    assert s3.share_on_gpu("levels")(rows(start=5.0, levels=10.0, iterations=180.0, finish=5.0)) == pytest.approx(5)
    with pytest.raises(ValueError, match="no launch iterations .* 'search'"):
        s3.share_on_gpu("search")(rows(level_0=10.0, level=10.0, edges=5.0, search=1.0, constraint=1.0))
    assert s3.share_on_gpu("search")(experiments.Gpu().rows) is not None


def test_all_that_the_page_shows_of_a_gpu_is_measured_twice():
    spec = importlib.util.spec_from_file_location("results", SOURCE / "tests/gpu/tools/results.py")
    results = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(results)
    # A function's figure is a share of many rows.
    shown = {f.gpu[0]["what"] for listed in page.SYSTEMS.values() for e in listed for f in e.figures if isinstance(f.gpu, tuple)}
    assert shown <= set(results.REPEATED) and len(shown) >= 5, shown - set(results.REPEATED)
    h100 = json.loads((SOURCE / "docs/results/gpu-h100.json").read_text(encoding="utf-8"))["benchmarks"]
    for rows in h100, experiments.Gpu().rows:
        assert {row["what"] for row in rows} >= set(results.REPEATED), "a name that no test prints"


def test_times_that_a_second_run_does_not_repeat_are_named(tmp_path):
    def repeat(us, device="card", **other):
        runs = (gpu_run(tmp_path, "a", "2026-01-01T00:00:00Z", 10.0),
                gpu_run(tmp_path, "b", "2026-01-02T00:00:00Z", us, device, **other))
        return subprocess.run(["python3", SOURCE / "tests/gpu/tools/results.py", "repeat", *runs, tmp_path / "out"], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    assert repeat(10.4).returncode == 0
    assert json.loads((tmp_path / "out").read_text()) | {"runs": 0} == {
        "device": "card", "runs": 0, "times": 4, "repeated": 4, "others": {}}
    done = repeat(10.7)
    assert done.returncode == 1 and done.stdout.endswith("1 of 4 figures within 5 %\n"), done.stdout
    assert json.loads((tmp_path / "out").read_text())["others"] == {
        "curve, reduction, floats, 10, us": 1.07, "pipeline, no face, us mean": 1.07,
        "pipeline, ratios, every frame / every tenth": 1.07}
    assert repeat(10.0, "other card").returncode != 0
    assert "measured in one of the runs only: curve, reduction, floats, 10, us" in repeat(10.0, curves=()).stdout


def test_everything_runs(tmp_path):
    """Each program of the experiments, on little and without the test data."""
    if not (experiments.BUILD / "tests/eval/eval_faces").exists():
        pytest.skip("no programs: they are built with the benchmarks")
    done = subprocess.run([SOURCE / "tests/eval/run", "--quick", "--only", ",".join(QUICK), "--output", tmp_path],
                          text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    assert done.returncode == 0, done.stdout[-3000:]
    results = page.read(tmp_path)
    assert list(results) == QUICK
    for result in results.values():
        for name, figure in result.get("figures", {}).items():  # on little, what saves time may cost some
            assert figure["ours"] is None or math.isfinite(figure["ours"]), name
            assert figure["ours"] is None or figure["ours"] >= 0 or name.startswith("less time"), name
        for point in (point for curve in result.get("curves", []) for point in curve["points"] if len(point) > 1):
            assert point["ours_us"] > 0 and point["ours_first_us"] > 0 and point.get("peer_us", 1) > 0
    motion = results["S1.E4"]["curves"][0]["points"][-1]
    assert motion["changed_pixels"] > 0 and motion["moving_cells"] > 0
    assert not motion["pixels_unlike_peer"] and not motion["area_unlike_peer"]
    assert list(tmp_path.glob("published-S1.E*.svg")) or not importlib.util.find_spec("matplotlib"), "no plot"
