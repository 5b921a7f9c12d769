"""cuface-train from outside: exit codes, messages, files; stopped and killed it goes on to the same bytes."""
import json
import os
import re
import resource
import shutil
import signal
import subprocess

import pytest

from drawn_training import drawn_window, write_pgm, write_training
from train_tool import TOOL, interrupted, model_info, run

SETTINGS = ("--size", "12x12", "--stages", "5", "--negatives-per-stage", "100", "--max-false-alarm-rate", "0.6")


@pytest.fixture(name="place", scope="module")
def drawn(tmp_path_factory):
    folder = tmp_path_factory.mktemp("drawn")
    write_training(folder)
    return folder


def inputs(place):
    return ("--positives", place / "positives.vec", "--negatives", place / "negatives")


@pytest.fixture(name="undisturbed", scope="module")
def trained(place, tmp_path_factory):
    """The bytes of an undisturbed run, to a file of the same name."""
    folder = tmp_path_factory.mktemp("undisturbed")
    done = run("cascade", *inputs(place), *SETTINGS, "--output", folder / "face.xml", "--report", folder / "report.json")
    assert done.returncode == 0, done.stderr
    assert re.search(r"face\.xml: written \(Haar cascade, 5 stages, \d+ trees; hit rate of the positives (0\.9|1\.0)", done.stdout)
    (folder / "told").write_text(done.stderr)
    return folder / "face.xml"


def test_help_and_version():
    text = run("--help").stdout
    for word in ("cascade", "resume", "info", "exit status"):
        assert word in text
    assert re.search(r"^cuface-train \d+\.\d+\.\d+ \(\S+\)\n$", run("--version").stdout)
    text = run("cascade", "--help").stdout
    for peer in ("numStages", "numNeg", "bt", "mode", "minHitRate", "maxFalseAlarmRate", "weightTrimRate", "maxDepth",
                 "maxWeakCount"):
        assert f"OpenCV's {peer})" in text, text


@pytest.mark.parametrize("arguments", [[], ["eat"], ["info"], ["info", "a", "b"], ["resume"], ["cascade"], ["cascade", "--eat"],
                                       ["cascade", "--positives", "a", "--negatives", "b"]])
def test_wrong_arguments_are_2(arguments):
    result = run(*arguments)
    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr


@pytest.mark.parametrize("option, says", [
    ("--size=twelve", "--size twelve: give WxH"), ("--size=2x12", "--size must be 3 to 64"),
    ("--stages=0", "--stages must be 1 to 256"), ("--stages=3.5", "give N"), ("--bt=BOOST", "give discrete|real|logit|gentle"),
    ("--minHitRate=1", "minHitRate"), ("--max-depth=5", "maxDepth must be 1 to 4"), ("--negatives-per-stage=-1", "give N"),
    ("--checkpoint-every=301", "0 to 300 seconds"), ("--threads=-1", "--threads must be 0 to 1024"), ("stray", "stray")])
def test_values_out_of_range_are_named(place, tmp_path, option, says):
    result = run("cascade", *inputs(place), "--output", tmp_path / "face.xml", option)
    assert result.returncode == 2
    assert says in result.stderr, result.stderr


def test_the_peers_names_are_taken(place, undisturbed, tmp_path):
    done = run("cascade", "--vec", place / "positives.vec", "--bg", place / "negatives", "--data", tmp_path / "face.xml",
               "--size", "12x12", "--numStages", "5", "--numNeg", "100", "--maxFalseAlarmRate", "0.6", "--bt", "GAB", "--quiet")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert (tmp_path / "face.xml").read_bytes() == undisturbed.read_bytes()


def test_the_report_has_phases_and_memory(undisturbed):
    report = json.loads((undisturbed.parent / "report.json").read_text())
    assert report["end"] == "all stages"
    assert len(report["stages"]) == 5
    for stage in report["stages"]:
        assert stage["negatives"] == 100
        assert stage["windows"] >= stage["windows_passed"] >= 100
        assert 0 < stage["search_seconds"] <= stage["boosting_seconds"]
    assert report["trees"] == sum(stage["trees"] for stage in report["stages"])
    assert 4_000_000 < report["peak_bytes"] < 1_000_000_000
    assert report["settings"]["seed"] == "0"


def test_rates_and_the_time_left_are_told(undisturbed):
    told = (undisturbed.parent / "told").read_text()
    rate, seconds = r"[\d.]+ [kMG]? ?windows/s", r"[\d.]+ s"
    assert re.search(rf"^stage 1 of 5: 100 of 100 negatives, {rate}, 100 % pass, {seconds} left$", told, re.M), told
    stages = re.findall(rf"^stage (\d) of 5: \d+ trees, hit rate [\d.]+, false alarms [\d.]+; negatives in {seconds} "
                        rf"\({rate}, [\d.]+ % pass\), boosting in {seconds}(; about {seconds} left)?$", told, re.M)
    assert [int(number) for number, _ in stages] == [1, 2, 3, 4, 5]
    assert [bool(left) for _, left in stages] == [True] * 4 + [False]


def test_a_model_tells_where_it_comes_from(place, undisturbed, tmp_path):
    done = run("cascade", *inputs(place), *SETTINGS, "--output", tmp_path / "face.cuface", "--quiet")
    assert done.returncode == 0, done.stderr
    for path in (undisturbed, tmp_path / "face.cuface"):
        info = model_info(path)
        for line in (r"program: cuface-train \S+ \(\S+\)", r"positives: 100 windows, xxh64 [0-9a-f]{16}",
                     r"backgrounds: 6 pictures, xxh64 [0-9a-f]{16}", "seed: 0", "size: 12x12", "stages: 5",
                     "negatives-per-stage: 100", "boosting: gentle", "max-false-alarm-rate: 0.6"):
            assert re.search(f"^trained +{line}$", info, re.M), info


def stopped(place, folder, line, how, *more):
    """A training that got the signal when it said so."""
    return interrupted(["cascade", *inputs(place), *SETTINGS, "--output", folder / "face.xml", "--checkpoint-every", "0", *more],
                       line, how)


def test_ctrl_c_and_resume(place, undisturbed, tmp_path):
    code, text = stopped(place, tmp_path, "stage 2 of 5: ", signal.SIGINT)
    checkpoint = tmp_path / "face.xml.checkpoint"
    assert code == 3, text
    assert f"to go on: cuface-train resume {checkpoint}" in text
    assert not (tmp_path / "face.xml").exists()
    again = run("cascade", *inputs(place), *SETTINGS, "--output", tmp_path / "face.xml")
    assert again.returncode == 1
    assert "of a training that is not done. To go on: cuface-train resume" in again.stderr
    info = run("info", checkpoint)
    assert info.returncode == 0
    assert re.search(r"stage 1 +\d+ trees, hit rate", info.stdout)
    assert f"cuface-train resume {checkpoint}" in info.stdout
    done = run("resume", checkpoint, "--threads", 1, cwd="/")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "face.xml").read_bytes() == undisturbed.read_bytes()
    assert "done" in run("info", checkpoint).stdout
    # What is done may be written over.
    assert run("cascade", *inputs(place), *SETTINGS, "--output", tmp_path / "face.xml").returncode == 0


def test_a_gpu_gives_the_same_bytes(place, undisturbed, tmp_path):
    done = run("cascade", *inputs(place), *SETTINGS, "--output", tmp_path / "face.xml", "--backend", "cuda")
    if done.returncode == 1:
        assert re.search("(looking for a GPU: .*|this build has no CUDA); --backend cpu gives the same bytes", done.stderr), done.stderr
        # Nothing is lost: what was mined goes on without one.
        again = run("resume", tmp_path / "face.xml.checkpoint", "--backend", "auto")
        assert again.returncode == 0, again.stderr
        assert (tmp_path / "face.xml").read_bytes() == undisturbed.read_bytes()
        pytest.skip("no GPU: " + done.stderr.splitlines()[-1])
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("boosting on the GPU in") == 5, done.stderr
    assert (tmp_path / "face.xml").read_bytes() == undisturbed.read_bytes()
    folder = tmp_path / "stopped"
    folder.mkdir()
    code, text = stopped(place, folder, "stage 2 of 5: ", signal.SIGINT, "--backend", "cuda")
    assert code == 3, text
    rest = run("resume", folder / "face.xml.checkpoint", "--backend", "cpu")
    assert rest.returncode == 0, rest.stderr
    assert "on the GPU" not in rest.stderr
    assert (folder / "face.xml").read_bytes() == undisturbed.read_bytes()


@pytest.mark.parametrize("line", ["stage 1 of 5: 100 of 100 negatives", "stage 3 of 5: .* boosting in"])
def test_kill_nine_and_resume(place, undisturbed, tmp_path, line):
    code, _ = stopped(place, tmp_path, line, signal.SIGKILL)
    assert code == -signal.SIGKILL
    done = run("resume", tmp_path / "face.xml.checkpoint")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "face.xml").read_bytes() == undisturbed.read_bytes()


def test_inputs_that_have_moved_or_changed(place, undisturbed, tmp_path):
    here = tmp_path / "here"
    shutil.copytree(place, here)
    assert stopped(here, tmp_path, "stage 2 of 5: ", signal.SIGTERM)[0] == 3
    checkpoint = tmp_path / "face.xml.checkpoint"
    there = here.rename(tmp_path / "there")
    gone = run("resume", checkpoint)
    assert gone.returncode == 1
    assert str(here) in gone.stderr
    first = there / "negatives/0.pgm"
    kept = first.read_bytes()
    first.write_bytes(kept[:-1] + b"\7")
    before = checkpoint.read_bytes()
    changed = run("resume", checkpoint, *inputs(there))
    assert changed.returncode == 1
    assert f"{there}/negatives: is not what it was when this training began" in changed.stderr
    assert checkpoint.read_bytes() == before
    first.write_bytes(kept)
    done = run("resume", checkpoint, *inputs(there))
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "face.xml").read_bytes() == undisturbed.read_bytes()


def limited(size):
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def test_a_disk_that_is_full_at_a_checkpoint_costs_nothing(place, undisturbed, tmp_path):
    """A stage's negatives have 14 kB, and do not fit; the rest does."""
    done = run("cascade", *inputs(place), *SETTINGS, "--output", tmp_path / "face.xml", preexec_fn=limited(13000))
    assert "cannot be written: File too large; the checkpoint before is kept" in done.stderr
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "face.xml").read_bytes() == undisturbed.read_bytes()
    assert sorted(os.listdir(tmp_path)) == ["face.xml", "face.xml.checkpoint"]


def test_what_cannot_be_written_is_told_before_hours_have_gone(place, tmp_path):
    full = run("cascade", *inputs(place), *SETTINGS, "--output", tmp_path / "face.xml", preexec_fn=limited(100))
    assert full.returncode == 1
    assert "cannot be written" in full.stderr
    assert "stage 1" not in full.stderr
    missing = run("cascade", *inputs(place), *SETTINGS, "--output", tmp_path / "none/face.xml")
    assert missing.returncode == 1
    assert "give --output a folder that can be written to" in missing.stderr
    name = run("cascade", *inputs(place), *SETTINGS, "--output", tmp_path / "face.yml")
    assert name.returncode == 1
    assert "a cascade is written as .xml" in name.stderr


def test_bad_inputs_are_named(place, tmp_path):
    def says(positives, negatives):
        result = run("cascade", "--positives", positives, "--negatives", negatives, *SETTINGS, "--output", tmp_path / "face.xml")
        assert result.returncode == 1, result.stderr
        assert not (tmp_path / "face.xml").exists()
        return result.stderr
    good = inputs(place)[1], inputs(place)[3]
    (tmp_path / "empty").mkdir()
    assert "empty: no picture in this folder" in says(good[0], tmp_path / "empty")
    assert "empty: no picture in this folder" in says(tmp_path / "empty", good[1])
    (tmp_path / "one").mkdir()
    write_pgm(tmp_path / "one/face.pgm", 12, 12, drawn_window(12, True, 1))
    assert "1 positive samples are too few" in says(tmp_path / "one", good[1])
    (tmp_path / "small").mkdir()
    write_pgm(tmp_path / "small/s.pgm", 11, 12, bytes(132))
    assert "less than the window's 12x12; leave such out with --bad skip" in says(good[0], tmp_path / "small")
    (tmp_path / "text").mkdir()
    (tmp_path / "text/t.pgm").write_text("no picture")
    for positives, negatives in ((good[0], tmp_path / "text"), (tmp_path / "text", good[1])):
        assert re.search(r"text/t\.pgm: .*; leave such out with --bad skip\n", says(positives, negatives))
    assert "one/face.pgm" in says(tmp_path / "one", tmp_path / "one"), "a positive among the backgrounds"


def test_what_is_left_out_is_told_where_all_else_is_quiet(place, tmp_path):
    shutil.copytree(inputs(place)[3], tmp_path / "some")
    (tmp_path / "some/text.pgm").write_text("no picture")
    done = run("cascade", "--positives", inputs(place)[1], "--negatives", tmp_path / "some", *SETTINGS, "--bad", "skip",
               "--quiet", "--output", tmp_path / "face.xml")
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(r"cuface-train: warning: left out: \S*/some/text\.pgm: .*\n", done.stderr)
    assert "--bad" not in done.stderr


def test_want_of_negatives_says_what_to_do(place, tmp_path):
    (tmp_path / "few").mkdir()
    write_pgm(tmp_path / "few/0.pgm", 14, 14, bytes(range(196)))
    result = run("cascade", "--positives", place / "positives.vec", "--negatives", tmp_path / "few", *SETTINGS,
                 "--output", tmp_path / "face.xml")
    assert result.returncode == 3, result.stderr
    assert "of 100 negatives in all backgrounds, so the training ended; nothing is written" in result.stderr
    assert "--generated N" in result.stderr
    assert "ended for want of negatives" in run("info", tmp_path / "face.xml.checkpoint").stdout
    fewer = run("resume", tmp_path / "face.xml.checkpoint", "--stages", "4")
    assert fewer.returncode == 2
    assert "can only grow" in fewer.stderr


def test_backgrounds_that_are_of_no_use_are_told(place, tmp_path):
    """Copies of one picture, and pictures of one grey."""
    def told(name, pictures):
        (tmp_path / name).mkdir()
        for i, (width, height, pixels) in enumerate(pictures):
            write_pgm(tmp_path / name / f"{i}.pgm", width, height, pixels)
        return run("cascade", "--positives", place / "positives.vec", "--negatives", tmp_path / name, *SETTINGS, "--quiet",
                   "--output", tmp_path / "face.xml", "--checkpoint", tmp_path / f"{name}.checkpoint")
    head = (inputs(place)[3] / "0.pgm").read_bytes().split(b"\n", 1)
    width, height = map(int, head[0].split()[1:3])
    copies = told("copies", [(width, height, head[1])] * 10)
    assert "warning: 9 of 10 backgrounds have the pixels of another one" in copies.stderr and "one grey" not in copies.stderr
    grey = told("grey", [(40, 30, bytes([50 + i]) * 1200) for i in range(5)])
    assert grey.returncode == 3, grey.stderr
    first, second = grey.stderr.splitlines()
    assert "warning: 5 of 5 backgrounds have one grey" in first and "found only 0 of 100 negatives" in second


def test_want_of_negatives_is_foretold(place, tmp_path):
    """Stages before the one that has too few."""
    result = run("cascade", *inputs(place), *SETTINGS, "--stages", "14", "--output", tmp_path / "face.xml")
    assert result.returncode == 3, result.stderr
    warning = re.search(r"warning: at this rate stage (\d+) will not find its negatives.*--generated N", result.stderr)
    ended = re.search(r"warning: stage (\d+) found only \d+ of 100 negatives", result.stderr)
    first = re.search(r"^stage (\d+) of 14: .*boosting", result.stderr[warning.start():], re.M)
    assert int(first[1]) + 3 < int(ended[1]) and int(warning[1]) <= int(ended[1]), result.stderr
    assert (tmp_path / "face.xml").exists()


def test_other_checkpoints_are_refused(tmp_path):
    (tmp_path / "text").write_text("no checkpoint")
    for command in ("info", "resume"):
        result = run(command, tmp_path / "text")
        assert result.returncode == 1
        assert "not a usable checkpoint" in result.stderr
        assert run(command, tmp_path / "none").returncode == 1


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
def test_a_full_disk_is_no_success():
    with open("/dev/full", "w", encoding="ascii") as full:
        assert subprocess.run([TOOL, "--help"], stdout=full, stderr=subprocess.PIPE, check=False).returncode == 1
