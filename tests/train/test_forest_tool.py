"""cuface-train forest and heads from outside: from drawn heads to a model, stopped, killed and gone on with."""
import json
import re
import resource
import shutil
import signal
import subprocess

import pytest

from train_tool import TOOL, interrupted, model_info, run

SETTINGS = ("--cascade-depth", "3", "--num-trees-per-cascade-level", "12", "--oversampling-amount", "4", "--feature-pool-size",
            "100", "--num-test-splits", "8", "--mirror")


@pytest.fixture(name="drawn", scope="module")
def drawn_heads(tmp_path_factory):
    folder = tmp_path_factory.mktemp("drawn")
    done = run("heads", "--output", folder / "train", "--count", 30, "--size", "128x128")
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("labels.csv: written (30 heads)\n")
    done = run("heads", "--output", folder / "other", "--count", 10, "--first", 500, "--size", "128x128", "--threads", 1)
    assert done.returncode == 0, done.stderr
    return folder


def inputs(drawn):
    return ("--images", drawn / "train/labels.csv")


@pytest.fixture(name="undisturbed", scope="module")
def trained(drawn, tmp_path_factory):
    folder = tmp_path_factory.mktemp("undisturbed")
    done = run("forest", *inputs(drawn), *SETTINGS, "--output", folder / "m.dat", "--report", folder / "report.json")
    assert done.returncode == 0, done.stderr
    assert "m.dat: written (landmark model, 68 points, 3 stages of 12 trees)" in done.stdout
    errors = [float(error) for error in re.findall(r"done: mean error ([\d.]+) %", done.stderr)]
    assert len(errors) == 3 and errors == sorted(errors, reverse=True)
    assert re.search("^trees grew in .* s on the [CG]PU$", done.stderr, re.M)
    return folder / "m.dat"


def test_heads_are_the_same_again(drawn, tmp_path):
    run("heads", "--output", tmp_path / "again", "--count", 3, "--size", "128x128", "--threads", 3)
    for number in range(3):
        name = f"{number:06}.png"
        assert (tmp_path / "again" / name).read_bytes() == (drawn / "train" / name).read_bytes()
    rows = (drawn / "train/labels.csv").read_text().splitlines()
    assert (tmp_path / "again/labels.csv").read_text().splitlines() == rows[:4]
    assert len(rows) == 31 and len(rows[0].split(",")) == 5 + 2 * 68 + 1


@pytest.mark.parametrize("arguments", [["forest"], ["forest", "--images", "a"], ["forest", "--eat"], ["heads"],
                                       ["heads", "--output", "a", "--count", "0"], ["heads", "--output", "a", "--size", "9x9"]])
def test_wrong_arguments_are_2(arguments, tmp_path):
    result = run(*arguments, cwd=tmp_path)
    assert result.returncode == 2
    assert result.stdout == "" and result.stderr


@pytest.mark.parametrize("option, says", [
    ("--nu=0", "nu must be above 0"), ("--cascade-depth=0", "cascade_depth must be 1"), ("--tree-depth=x", "give N"),
    ("--padding-mode=eat", "give landmark-relative|bounding-box-relative"), ("--weights=glasses", "give GROUP=N"),
    ("--weights=glasses=256", "give GROUP=N"), ("--points=999", "--points must be 0 to 256"), ("--patience=0", "--patience"),
    ("--checkpoint-every=301", "0 to 300 seconds"), ("stray", "stray")])
def test_values_out_of_range_are_named(drawn, tmp_path, option, says):
    result = run("forest", *inputs(drawn), "--output", tmp_path / "m.dat", option)
    assert result.returncode == 2
    assert says in result.stderr, result.stderr


@pytest.mark.parametrize("options, says", [
    (("--points", "67"), "labels.csv:2: point 67, but there are 67 points"), (("--points", "70", "--no-mirror"), "no face has point 68, 69"),
    (("--weights", "beards=3"), 'no face is of the group "beards"'), (("--boxes", "none.xml"), "none.xml"),
    (("--mirror-table", "/dev/null"), "/dev/null"), (("--output", "m.xml"), "is written as .dat or .cuface"),
    (("--images", "none.csv"), "none.csv")])
def test_inputs_that_do_not_fit_are_named(drawn, tmp_path, options, says):
    result = run("forest", *inputs(drawn), *SETTINGS, "--output", tmp_path / "m.dat", *options, cwd=tmp_path)
    assert result.returncode == 1
    assert says in result.stderr, result.stderr
    assert not list(tmp_path.glob("m.*")), "something was written"


def test_the_report_tells_growing_from_the_rest(undisturbed):
    report = json.loads((undisturbed.parent / "report.json").read_text())
    assert report["end"] == "all stages" and report["stages_of_model"] == 3
    assert 0 < report["search_seconds"] <= report["growing_seconds"]
    assert report["load_seconds"] > 0
    assert [stage["stage"] for stage in report["stages"]] == [1, 2, 3]
    assert report["settings"]["images"].startswith("60 faces, xxh64 ")


def stopped(drawn, folder, how, after, *more):
    """A training that got the signal; its exit status and what it then said."""
    return interrupted(["forest", *inputs(drawn), *SETTINGS, "--num-trees-per-cascade-level", "150", *more,
                        "--output", folder / "m.dat", "--checkpoint-every", "0"], after, how)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_stopped_it_goes_on_to_the_same_bytes(drawn, many_trees, tmp_path, how):
    code, rest = stopped(drawn, tmp_path, how, "stage 1 done")
    assert code == (-signal.SIGKILL if how == signal.SIGKILL else 3), rest
    assert not (tmp_path / "m.dat").exists()
    checkpoint = tmp_path / "m.dat.checkpoint"
    trees = int(re.search(r"^trees +(\d+) of 450$", run("info", checkpoint).stdout, re.M)[1])
    assert 150 <= trees < 450
    again = run("forest", *inputs(drawn), *SETTINGS, "--output", tmp_path / "m.dat")
    assert again.returncode == 1 and "cuface-train resume" in again.stderr
    done = run("resume", checkpoint, "--threads", "1")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "m.dat").read_bytes() == many_trees.read_bytes()


def test_dlibs_model_goes_on_to_the_same_bytes_but_not_on_a_gpu(drawn, tmp_path):
    options = ("--random", "dlib", "--num-trees-per-cascade-level", "60")
    done = run("forest", *inputs(drawn), *SETTINGS, *options, "--output", tmp_path / "whole.dat", "--threads", "1")
    assert done.returncode == 0 and re.search("^trees grew in .* s on the CPU$", done.stderr, re.M), done.stderr
    code, rest = stopped(drawn, tmp_path, signal.SIGTERM, "stage 1 done", *options)
    assert code == 3, rest
    checkpoint = tmp_path / "m.dat.checkpoint"
    refused = run("resume", checkpoint, "--backend", "cuda")
    assert refused.returncode == 2 and "random=dlib adds up as dlib does, which only the CPU can" in refused.stderr
    done = run("resume", checkpoint, "--threads", "3")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "m.dat").read_bytes() == (tmp_path / "whole.dat").read_bytes()


def test_a_gpu_gives_the_same_bytes(drawn, undisturbed, tmp_path):
    report = tmp_path / "report.json"
    done = run("forest", *inputs(drawn), *SETTINGS, "--output", tmp_path / "m.dat", "--backend", "cuda", "--report", report)
    if done.returncode == 1:
        assert re.search("(looking for a GPU: .*|this build has no CUDA); --backend cpu gives the same bytes.*to go on: cuface-train resume", done.stderr), done.stderr
        done = run("resume", tmp_path / "m.dat.checkpoint", "--backend", "auto", "--report", report)
        assert json.loads(report.read_text())["growing_on_gpu"] is False
    else:
        assert json.loads(report.read_text())["growing_on_gpu"] is True
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "m.dat").read_bytes() == undisturbed.read_bytes()


@pytest.fixture(name="many_trees", scope="module")
def trained_long(drawn, tmp_path_factory):
    folder = tmp_path_factory.mktemp("many")
    done = run("forest", *inputs(drawn), *SETTINGS, "--num-trees-per-cascade-level", "150", "--output", folder / "m.dat", "--quiet")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return folder / "m.dat"


def test_resumed_with_other_pictures_it_refuses(drawn, undisturbed, tmp_path):
    checkpoint = shutil.copy(f"{undisturbed}.checkpoint", tmp_path)
    result = run("resume", checkpoint, "--images", drawn / "other/labels.csv", "--output", tmp_path / "m.dat")
    assert result.returncode == 1
    assert "is not what it was when this training began" in result.stderr
    assert not (tmp_path / "m.dat").exists()


def test_a_full_disk_keeps_the_checkpoint(drawn, undisturbed, tmp_path):
    """The size limit is met by the checkpoint: the first one says so, before anything is trained."""
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (300, 300))
    result = run("forest", *inputs(drawn), *SETTINGS, "--output", tmp_path / "m.dat", preexec_fn=limit)
    assert result.returncode == 1
    assert "m.dat.checkpoint" in result.stderr
    assert undisturbed.exists() and not list(tmp_path.glob("m.*"))


def test_validation_and_our_own_file(drawn, tmp_path):
    done = run("ert", *inputs(drawn), *SETTINGS, "--validation", drawn / "other/labels.csv", "--weights", "glasses=3", "--output",
               tmp_path / "m.cuface")
    assert done.returncode == 0, done.stderr
    assert len(re.findall(r"of validation [\d.]+ %", done.stderr)) == 3
    info = model_info(tmp_path / "m.cuface")
    for line in ("68", "60 faces, xxh64", "10 faces, xxh64", "num-trees-per-cascade-level", "spreads    of the last stage's leaves"):
        assert line in info, info


def test_five_points_in_the_same_run(drawn, undisturbed, tmp_path):
    def files(name, *more):
        paths = tmp_path / name / "five.cuface", tmp_path / name / "m.dat"
        paths[0].parent.mkdir()
        done = run("forest", *inputs(drawn), *SETTINGS, "--five", paths[0], "--output", paths[1], "--report", tmp_path / "report.json",
                   *more)
        assert done.returncode == 0, done.stderr
        assert "five.cuface: written (landmark model, 5 points, 3 stages of 12 trees)" in done.stdout
        assert done.stderr.count("five points: stage") == 3
        return [path.read_bytes() for path in paths]
    small, large = files("a")
    assert large == undisturbed.read_bytes(), "the larger model knows nothing of the smaller one"
    assert files("b", "--threads", "1") == [small, large]
    report = json.loads((tmp_path / "report.json").read_text())
    assert 0 < report["five_points_seconds"] < 60
    same = run("forest", *inputs(drawn), "--five", tmp_path / "x.dat", "--output", tmp_path / "x.dat")
    assert same.returncode == 2 and "are one file" in same.stderr


def test_resumed_with_another_file_five_points_are_trained_again(drawn, tmp_path):
    """Also behind a training that is done."""
    first, again, model = (tmp_path / name for name in ("first.dat", "again.dat", "m.dat"))
    many = ("--num-trees-per-cascade-level", "120", "--oversampling-amount", "20")
    done = run("forest", *inputs(drawn), *SETTINGS, *many, "--five", first, "--output", model)
    assert done.returncode == 0, done.stderr
    checkpoint = tmp_path / "m.dat.checkpoint"
    done = run("resume", checkpoint, "--five", first)
    assert done.returncode == 0 and "first.dat: written" not in done.stdout, done.stderr
    with subprocess.Popen([TOOL, "resume", checkpoint, "--five", again, "--threads", "1"], stderr=subprocess.PIPE,
                          text=True) as process:
        for text in process.stderr:
            if text.startswith("five points: stage 1 done"):
                process.send_signal(signal.SIGINT)
                break
        rest = process.stderr.read()
    assert process.returncode == 3, rest
    assert "m.dat.checkpoint has 360 trees" in rest
    assert not again.exists()
    done = run("resume", checkpoint)
    assert done.returncode == 0, done.stderr
    assert first.read_bytes() == again.read_bytes()


def test_five_points_need_all_68(tmp_path):
    points = [40, 50, 80, 50, 60, 80]
    assert run("heads", "--output", tmp_path / "heads", "--count", 2, "--size", "128x128").returncode == 0
    rows = ["path,x,y,w,h,x0,y0,x1,y1,x2,y2"] + [f"{i:06}.png,20,20,90,90," + ",".join(map(str, points)) for i in range(2)]
    (tmp_path / "heads/three.csv").write_text("\n".join(rows) + "\n")
    done = run("forest", "--images", tmp_path / "heads/three.csv", "--five", tmp_path / "five.dat", "--output", tmp_path / "m.dat")
    assert done.returncode == 1
    assert "--five takes 5 of 68 points; the faces of" in done.stderr and "have 3" in done.stderr


def test_boxes_of_our_detector_need_no_map(tmp_path):
    """Drawn heads are so like heads that OpenCV's cascade finds most of them; the rest is left out and told."""
    cascade = "/usr/share/opencv4/haarcascades/haarcascade_frontalface_alt.xml"
    assert run("heads", "--output", tmp_path / "heads", "--count", 40).returncode == 0
    command = ("forest", "--images", tmp_path / "heads/labels.csv", *SETTINGS, "--boxes", cascade)
    done = run(*command, "--output", tmp_path / "m.cuface")
    assert done.returncode == 0, done.stderr
    left_out = int(re.search(r"^cuface-train: warning: (\d+) faces were not found by the detector", done.stderr, re.M)[1])
    used = int(re.search(r"labels\.csv: (\d+) faces of 68 points", done.stderr)[1])
    assert used == 2 * (40 - left_out) and left_out < 20
    assert "box_maps" not in (tmp_path / "m.cuface").read_bytes()[:4096].decode("latin-1")
    given = run(*command, "--boxes", "pipeline", "--output", tmp_path / "p.cuface")
    assert "80 faces of 68 points" in given.stderr, given.stderr
    assert "box_maps" not in (tmp_path / "p.cuface").read_bytes()[:4096].decode("latin-1")
    dat = run(*command, "--output", tmp_path / "m.dat")
    assert "warning: a .dat file does not tell that its boxes are of our detector" in dat.stderr
