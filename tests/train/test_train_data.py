"""cuface-train data from outside: files, messages with file and line, exit codes."""
import json
import os

import pytest

from drawn_training import drawn_window, write_pgm
import train_tool

WIDTH, HEIGHT = 60, 48


def run(*command, **options):
    return train_tool.run("data", *command, **options)


@pytest.fixture(name="place")
def drawn(tmp_path):
    """Twenty pictures with a box in each, and ten backgrounds."""
    def write(path, index):
        pixels = bytearray(WIDTH * HEIGHT)
        for y in range(0, HEIGHT, 12):
            for x in range(0, WIDTH, 12):
                window = drawn_window(12, False, 100 * index + 10 * y + x)
                for row in range(12):
                    at = (y + row) * WIDTH + x
                    pixels[at:at + 12] = window[12 * row:12 * row + 12]
        write_pgm(path, WIDTH, HEIGHT, bytes(pixels))
    (tmp_path / "negatives").mkdir()
    lines = ["path,x,y,w,h"]
    for i in range(20):
        write(tmp_path / f"{i}.pgm", i)
        lines.append(f"{i}.pgm,{i},4,24,24")
    for i in range(10):
        write(tmp_path / f"negatives/{i}.pgm", 100 + i)
    (tmp_path / "boxes.csv").write_text("\n".join(lines) + "\n")
    return tmp_path


def inputs(place):
    return ("--positives", place / "boxes.csv", "--negatives", place / "negatives", "--size", "12x12", "--test", "0.3")


def test_samples_in_two_sides(place):
    done = run(*inputs(place), "--output", place / "out")
    assert done.returncode == 0, done.stderr
    assert done.stdout == (f"{place}/out/train  14 samples, 28 negatives, 7 backgrounds\n"
                           f"{place}/out/test   6 samples, 12 negatives, 3 backgrounds\n")
    names = ["data.json", *(f"{side}{name}" for side in ("test", "train")
                            for name in ("-backgrounds.txt", "-negatives.vec", ".vec"))]
    assert sorted(os.listdir(place / "out")) == sorted(names)
    for side, count in (("train", 14), ("test", 6)):
        vec = (place / f"out/{side}.vec").read_bytes()
        assert int.from_bytes(vec[:4], "little") == count and len(vec) == 12 + count * (1 + 2 * 144)
    described = json.loads((place / "out/data.json").read_text())
    sides = [{where.rsplit(":", 1)[1] for where in described[side]["positives"]} for side in ("train", "test")]
    assert sides[0] | sides[1] == {str(line) for line in range(2, 22)} and not sides[0] & sides[1]


def test_switches(place):
    done = run(*inputs(place), "--output", place / "out", "--mirror", "--pictures", "--threads", "1")
    assert done.returncode == 0, done.stderr
    assert len(list((place / "out/train").glob("*.png"))) == 28
    assert len(list((place / "out/test-negatives").glob("*.png"))) == 12
    other = run(*inputs(place), "--output", place / "other", "--mirror", "--seed", "2")
    assert other.returncode == 0
    assert (place / "other/test.vec").read_bytes() != (place / "out/test.vec").read_bytes()


def test_what_it_makes_can_be_trained_with(place):
    assert run(*inputs(place), "--output", place / "out").returncode == 0
    done = train_tool.run("cascade", "--positives", place / "out/train.vec", "--negatives",
                          place / "out/train-backgrounds.txt", "--output", place / "box.xml", "--size", "12x12", "--stages",
                          "1", "--negatives-per-stage", "50")
    assert done.returncode == 0, done.stderr
    assert "1 stages" in done.stdout


def test_bad_lines_are_named_and_can_be_left_out(place):
    with open(place / "boxes.csv", "a", encoding="utf-8") as file:
        file.write("3.pgm,50,4,24,24\nmissing.pgm,1,1,24,24\n")
    done = run(*inputs(place), "--output", place / "out")
    assert done.returncode == 1 and not (place / "out").exists()
    assert f"{place}/boxes.csv:22: the box 50,4 24x24 leaves the picture" in done.stderr
    done = run(*inputs(place), "--output", place / "out", "--bad", "skip")
    assert done.returncode == 0
    assert f"left out: {place}/boxes.csv:22:" in done.stderr and f"left out: {place}/boxes.csv:23:" in done.stderr
    assert "14 samples" in done.stdout


@pytest.mark.parametrize("arguments, status, says", [
    ((), 2, "--positives is missing"), (("--positives", "boxes.csv"), 2, "--output is missing"),
    (("--positives", "boxes.csv", "--output", "out", "stray"), 2, "stray"),
    (("--positives", "boxes.csv", "--output", "out", "--size", "2x12"), 2, "--size must be 3 to 64"),
    (("--positives", "boxes.csv", "--output", "out", "--test", "1"), 2, "--test"),
    (("--positives", "boxes.csv", "--output", "out", "--threads", "-1"), 2, "--threads must be 0 to 1024"),
    (("--positives", "none.csv", "--output", "out"), 1, "none.csv"),
    (("--positives", "boxes.csv", "--output", "negatives"), 1, "holds something"),
    (("--positives", "boxes.csv", "--output", "boxes.csv"), 1, "boxes.csv"),
    (("--positives", "a.vec", "--output", "out"), 1, ".vec"),
    (("--positives", "boxes.csv", "--negatives", "boxes.csv", "--output", "out"), 1,
     "boxes.csv:1: path,x,y,w,h: No such file")])
def test_what_is_wrong_is_named(place, arguments, status, says):
    done = run(*arguments, cwd=place)
    assert done.returncode == status, done.stderr
    assert says in done.stderr and done.stdout == ""
    assert not (place / "out").exists()
