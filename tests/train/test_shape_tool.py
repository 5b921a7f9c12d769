"""cuface-train shape from outside: from drawn heads to a model, with any threads, stopped and gone on with."""
import json
import shutil
import signal
import subprocess

import numpy as np
import pytest

from model_file import blocks
from programs import BUILD
from train_tool import interrupted, model_info, run

SETTINGS = ("--profiles", "patches", "--gradient", "turns", "--variance", "0.97", "--mirror", "--patch", "7", "--levels", "3",
            "--size", "40", "--refits", "2", "--confidence-folds", "0")
QUICK = ("--size", 40, "--levels", 2, "--displaced", 2)


@pytest.fixture(name="drawn", scope="module")
def drawn_heads(tmp_path_factory):
    folder = tmp_path_factory.mktemp("drawn")
    done = run("heads", "--output", folder / "train", "--count", 40, "--size", "128x128")
    assert done.returncode == 0, done.stderr
    return folder / "train/labels.csv"


def profiles(model):
    """What cuface-model says of a model's profiles."""
    return [line.split(maxsplit=1)[1] for line in model_info(model).splitlines() if line.startswith("profiles ")]


@pytest.fixture(name="undisturbed", scope="module")
def trained(drawn, tmp_path_factory):
    folder = tmp_path_factory.mktemp("undisturbed")
    done = run("shape", "--images", drawn, *SETTINGS, "--output", folder / "m.cuface", "--report", folder / "report.json",
               "--threads", 1)
    assert done.returncode == 0, done.stderr
    assert "m.cuface: written (shape model, 68 points," in done.stdout
    report = json.loads((folder / "report.json").read_text())
    assert report["modes"] >= 1 and len(report["rows"]) == 3 and report["settings"]["patch"] == "7"
    assert subprocess.run([BUILD / "models/cuface-model", "check", folder / "m.cuface"], check=False).returncode == 0
    assert profiles(folder / "m.cuface") == ["204 patches, pixels a side: 7"]
    return folder / "m.cuface"


def test_any_threads_give_the_same_bytes(drawn, undisturbed, tmp_path):
    done = run("shape", "--images", drawn, *SETTINGS, "--output", tmp_path / "m.cuface", "--threads", 3)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "m.cuface").read_bytes() == undisturbed.read_bytes()


def resumed(drawn, folder, line, *more):
    """The model of a training that Ctrl-C stopped behind that line, and that then went on."""
    folder.mkdir()
    output = folder / "m.cuface"
    for _ in range(5):
        code, rest = interrupted(["shape", "--images", drawn, *SETTINGS, *more, "--output", output, "--threads", "1",
                                  "--checkpoint-every", "0"], line, signal.SIGINT)
        if code == 3:
            break
        assert code == 0, rest  # it was done before the signal came
        output.unlink()
    else:
        pytest.fail("it cannot be stopped")
    assert not output.exists()
    assert run("info", f"{output}.checkpoint").returncode == 0
    done = run("resume", f"{output}.checkpoint")
    assert done.returncode == 0, done.stderr
    return output


def test_likelihoods_and_points_that_weigh(drawn, undisturbed, tmp_path):
    """The same bytes with any threads and when resumed; patches have a likelihood and its base more, and likely shapes are the
    same, by modes that are at right angles where points weigh so."""
    outputs, more = [], ("--pull", "400", "--displaced", "5", "--weigh")
    for threads in (1, 3):
        outputs.append(tmp_path / str(threads) / "m.cuface")
        outputs[-1].parent.mkdir()
        done = run("shape", "--images", drawn, *SETTINGS, *more, "--output", outputs[-1], "--threads", threads)
        assert done.returncode == 0, done.stderr
    outputs.append(resumed(drawn, tmp_path / "resumed", "level 1 of", *more))
    for other in outputs[1:]:
        assert other.read_bytes() == outputs[0].read_bytes()
    plain, pulled = (blocks(path)[1]("numbers") for path in (undisturbed, outputs[0]))
    size, at, patches = 49, 0, 0
    while at < len(plain):
        count = 2 + size * (1 + int(plain[at]))
        ours = pulled[at + patches * (size + 1):]
        assert (plain[at:at + count] == ours[:count]).all()
        assert ours[count:count + size].any() and ours[count + size] > 0
        at, patches = at + count, patches + 1
    assert patches == 3 * 68 and len(pulled) == len(plain) + patches * (size + 1)
    shapes = []
    for path in (undisturbed, outputs[0]):
        table = blocks(path)[1]
        weights, values = table("weights"), table("eigenvalues")
        vectors = table("eigenvectors").reshape(136, len(values))
        assert np.allclose((vectors.T * np.repeat(weights, 2)) @ vectors, np.eye(len(values)), atol=1e-9)
        shapes.append(vectors * values @ vectors.T)
    assert weights.max() == 1 and 0 < weights.min() < 0.9
    assert np.allclose(*shapes, atol=1e-9)


@pytest.mark.parametrize("line", [".*faces of 68 points", "level 1 of", "level 2 of"])
def test_stopped_and_resumed(drawn, undisturbed, tmp_path, line):
    assert resumed(drawn, tmp_path / "stopped", line).read_bytes() == undisturbed.read_bytes()


def test_a_checkpoint_in_the_way_is_told_of(drawn, undisturbed, tmp_path):
    """One of another training, and one of a training that is done and may go."""
    checkpoint = shutil.copy(f"{undisturbed}.checkpoint", tmp_path / "c")
    done = run("forest", "--images", drawn, "--output", tmp_path / "m.dat", "--checkpoint", checkpoint)
    assert done.returncode == 1
    assert 'c: a checkpoint of the training "shape", not of "forest"' in done.stderr and "give another --checkpoint" in done.stderr
    done = run("shape", "--images", drawn, *SETTINGS, "--output", tmp_path / "m.cuface", "--checkpoint", checkpoint)
    assert done.returncode == 0, done.stderr


def test_lines_and_other_pictures_are_refused(drawn, undisturbed, tmp_path):
    done = run("shape", "--images", drawn, "--profiles", "lines", "--mirror", "--size", "40", "--confidence-folds", "0",
               "--noise", "1.5", "--output", tmp_path / "l.cuface")
    assert done.returncode == 0, done.stderr
    assert blocks(tmp_path / "l.cuface")[0]["noise"] == 1.5 and blocks(undisturbed)[0]["noise"] == 0
    rows = drawn.read_text().splitlines()
    (drawn.parent / "fewer.csv").write_text("\n".join(rows[:-1]) + "\n")
    done = run("resume", f"{undisturbed}.checkpoint", "--images", drawn.parent / "fewer.csv", "--output", tmp_path / "o.cuface")
    assert done.returncode == 1 and "images" in done.stderr


def test_hats(drawn, tmp_path):
    """HAT descriptors with regressions: the same bytes with any threads, numbers for each landmark and level."""
    settings = ("--mirror", "--levels", "3", "--size", "40", "--hat", "19", "--displaced", "10",
                "--confidence-folds", "2")
    for name, threads in (("a", 1), ("b", 3)):
        (tmp_path / name).mkdir()
        done = run("shape", "--images", drawn, *settings, "--output", tmp_path / name / "m.cuface", "--threads", threads)
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "a/m.cuface").read_bytes() == (tmp_path / "b/m.cuface").read_bytes()
    assert profiles(tmp_path / "a/m.cuface") == ["204 HAT descriptors, numbers: 160"]
    header, table = blocks(tmp_path / "a/m.cuface")
    assert header["landmarks"] == 68 and header["iterations"] == 5
    steps = header["confidence"]["at"]
    assert all(1 >= a >= b >= 0 for a, b in zip(steps, steps[1:])) and steps[0] > steps[-1]
    parts = header["confidence"]["parts"]
    assert len(table("usual_costs")) == 2 * (69 if parts["shape"] else 68)
    assert parts["own"] + parts["around"] + parts["face"] + parts["shape"] == 5 and np.isfinite(table("score_offsets")).all() and len(table("score_offsets")) == 68
    numbers = table("numbers")
    assert len(numbers) == 3 * 68 * 161 and np.isfinite(numbers).all() and np.abs(numbers).max() > 0


def test_the_shape_is_the_mean_of_aligned_shapes(drawn, undisturbed):
    """Beside Procrustes' alignment on complex numbers."""
    rows = [line.split(",") for line in drawn.read_text().splitlines()]
    first = rows[0].index("x0")
    z = np.array([[complex(float(r[first + 2 * i]), float(r[first + 2 * i + 1])) for i in range(68)] for r in rows[1:]], complex)
    header, table = blocks(undisturbed)
    mean = table("mean_shape").reshape(-1, 2) @ (1, 1j)
    assert header["landmarks"] == 68 and header["iterations"] == 4
    size = abs((mean[36] + mean[45]) / 2 - mean[66])
    assert size == pytest.approx(40, rel=1e-9)
    mean = mean - mean.mean()
    # Each shape, mirrored too, turned and scaled to the mean: their mean is the mean.
    other = [16, *range(15, -1, -1), *range(26, 16, -1), 27, 28, 29, 30, 35, 34, 33, 32, 31, 45, 44, 43, 42, 47, 46, 39, 38, 37,
             36, 41, 40, 54, 53, 52, 51, 50, 49, 48, 59, 58, 57, 56, 55, 64, 63, 62, 61, 60, 67, 66, 65]
    shapes = np.vstack([z, -z[:, other].conj()])
    shapes = shapes - shapes.mean(1, keepdims=True)
    turned = [s * ((s.conj() @ mean) / abs(s.conj() @ mean)) for s in shapes]
    tangent = [s * (abs(mean.conj() @ mean) / (mean.conj() @ s).real) for s in turned]
    assert np.allclose(np.mean(tangent, 0), mean, atol=1e-3)
    spread = np.array([np.column_stack([s.real, s.imag]).ravel() for s in tangent])
    values = np.linalg.eigvalsh(np.cov(spread.T))[::-1]
    kept = table("eigenvalues")
    assert np.allclose(kept, values[:len(kept)], rtol=1e-2, atol=1e-3)
    assert kept.sum() >= 0.97 * values.sum() * 0.999


@pytest.mark.parametrize("points, status", [((), 1), (("--points", 68), 2)])
def test_a_model_that_could_not_be_read_is_not_trained(drawn, tmp_path, points, status):
    done = run("shape", "--images", drawn, "--profiles", "patches", "--rows", "all", "--levels", 5, *points, "--output", tmp_path / "m.cuface")
    assert done.returncode == status and "at most 62 MiB" in done.stderr and "--rows residual" in done.stderr, done.stderr
    assert "level 1" not in done.stderr and not (tmp_path / "m.cuface").exists()


@pytest.mark.parametrize("options, points, status, says", [
    (("--hat-reach", 32), (), 1, "--hat or --hat-reach"), (("--hat-reach", 32), ("--points", 68), 2, "--hat or --hat-reach"),
    (("--profiles", "lines", "--line", 63, "--line-reach", 32, "--iterations", 20, "--levels", 6), ("--points", 68), 2,
     "--line or --line-reach or --levels"),
    (("--profiles", "patches", "--patch", 31, "--reach", 8, "--refits", 1), (), 1, "--patch or --reach, --refits or --levels")])
def test_a_model_that_takes_too_long_is_not_trained(drawn, tmp_path, options, points, status, says):
    """How many rows patches have is learnt, but 40 faces leave 922 of 961 at least."""
    done = run("shape", "--images", drawn, *options, *points, "--output", tmp_path / "m.cuface")
    assert done.returncode == status and "billion additions" in done.stderr and says in done.stderr, done.stderr
    assert "level 1" not in done.stderr and not (tmp_path / "m.cuface").exists()


@pytest.mark.parametrize("profiles, options, idle", [
    ("hats", ("--patch", 7, "--gradient", "turns", "--floor", 0.2), ("patch", "gradient", "floor")),
    ("lines", ("--hat", 19, "--floor", 0.2), ("hat",)), ("patches", ("--patch", 7, "--line", 9), ("line",)), ("hats", ("--hat", 19), ())])
def test_options_that_say_nothing_are_told(drawn, tmp_path, profiles, options, idle):
    """Who forgets --profiles gets another model than the one that the options describe."""
    done = run("shape", "--images", drawn, *QUICK, "--levels", 1, "--profiles", profiles, *options, "--confidence-folds", 0, "--output",
               tmp_path / "m.cuface")
    assert done.returncode == 0, done.stderr
    told = [line.split("--")[1].split()[0] for line in done.stderr.splitlines() if "says nothing of" in line]
    assert sorted(told) == sorted(idle + (("displaced",) if profiles == "lines" else ())), done.stderr


def some_of(drawn, name, rows):
    """Labels of these faces; beside the others, as their pictures are."""
    lines = drawn.read_text().splitlines()
    path = drawn.parent / f"{name}.csv"
    path.write_text("\n".join([lines[0], *(rows(lines[1:]))]) + "\n")
    return path


@pytest.mark.parametrize("count, says", [(1, "1 of 1 have all"), (2, "2 of 2 have all"), (3, "fold 1 of 5 there are 2 faces")])
def test_too_few_faces(drawn, tmp_path, count, says):
    """It is told before anything is learnt, with what helps."""
    images = some_of(drawn, f"first{count}", lambda rows: rows[:count])
    done = run("shape", "--images", images, *QUICK, "--output", tmp_path / "m.cuface")
    assert done.returncode == 1 and says in done.stderr and "level 1" not in done.stderr, done.stderr
    if count < 3:
        return
    assert "--confidence-folds 0" in done.stderr
    done = run("shape", "--images", images, *QUICK, "--confidence-folds", 0, "--output", tmp_path / "m.cuface")
    assert done.returncode == 0, done.stderr


def test_all_faces_in_one_picture(drawn, tmp_path):
    """They are in one fold, so nothing is left to learn from without it."""
    images = some_of(drawn, "crowd", lambda rows: [rows[0]] * 5)
    done = run("shape", "--images", images, *QUICK, "--output", tmp_path / "m.cuface")
    assert done.returncode == 1 and "fold 1 of 5 there are 0 faces" in done.stderr and "level 1" not in done.stderr, done.stderr


@pytest.mark.parametrize("profiles", [("hats",), ("lines",), ("patches", "--gradient", "turns", "--patch", 7, "--pull", 400, "--weigh")])
def test_faces_that_are_all_alike(drawn, tmp_path, profiles):
    """Nothing varies, and yet all numbers are those of a model."""
    for i in range(6):
        shutil.copy(drawn.parent / "000000.png", drawn.parent / f"alike{i}.png")
    images = some_of(drawn, "alike", lambda rows: [rows[0].replace("000000", f"alike{i}") for i in range(6)])
    done = run("shape", "--images", images, *QUICK, "--confidence-folds", 2, "--profiles", *profiles, "--output", tmp_path / "m.cuface")
    assert done.returncode == 0, done.stderr
    assert subprocess.run([BUILD / "models/cuface-model", "check", tmp_path / "m.cuface"], check=False).returncode == 0
    assert blocks(tmp_path / "m.cuface")[0]["modes"] == 1


@pytest.mark.parametrize("options, says", [
    (("--size", 400, "--window", 4), "change --size or --window"),
    (("--size", 400, "--window", 0.5), "too large at --size")])
def test_pictures_that_no_level_fits(drawn, tmp_path, options, says):
    done = run("shape", "--images", drawn, *QUICK, *options, "--output", tmp_path / "m.cuface")
    assert done.returncode == 1 and says in done.stderr, done.stderr


@pytest.mark.parametrize("number", ["nan", "inf", "1e999", "-", "0x1p3"])
def test_points_that_are_no_numbers(drawn, tmp_path, number):
    def spoilt(rows):
        fields = rows[1].split(",")
        fields[5] = number
        return [rows[0], ",".join(fields), *rows[2:]]
    done = run("shape", "--images", some_of(drawn, "spoilt", spoilt), *QUICK, "--output", tmp_path / "m.cuface")
    assert done.returncode == 1 and "spoilt.csv:3" in done.stderr and "no number" in done.stderr, done.stderr


def test_a_face_without_a_size_is_named(drawn, tmp_path):
    def flat(rows):
        fields = rows[1].split(",")
        first = drawn.read_text().splitlines()[0].split(",").index("x0")
        fields[first:first + 136] = ["60"] * 136
        return [rows[0], ",".join(fields), *rows[2:]]
    done = run("shape", "--images", some_of(drawn, "flat", flat), *QUICK, "--output", tmp_path / "m.cuface")
    assert done.returncode == 1 and "flat.csv:3: a face whose landmarks have no size" in done.stderr, done.stderr


@pytest.mark.parametrize("option, says", [
    ("--floor=0", "--floor"), ("--patch=8", "odd"), ("--size-points=1,2", "--size-points"), ("--edge-points=x", "--edge-points"),
    ("--levels=7", "--levels"), ("--hat=20", "--hat"), ("--hat=65", "--hat"), ("--ridge=0", "--ridge"),
    ("--confidence-folds=1", "--confidence-folds"), ("--rows=eat", "give residual|kept|all"), ("--q=0", "--q")])
def test_wrong_options_are_named(drawn, tmp_path, option, says):
    done = run("shape", "--images", drawn, "--output", tmp_path / "m.cuface", option)
    assert done.returncode == 2 and says in done.stderr, done.stderr
