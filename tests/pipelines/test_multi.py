"""pipelines/multi: many sources in one process; one fails and returns, one is no video, the others go on."""
import contextlib
import os
import pathlib
import re
import shutil
import signal
import subprocess

import pytest

import programs
from installed import Installed
from programs import BUILD, DATA, SANITIZED, SOURCE, lines_of, refused, run

CLIP = DATA / "videos" / "WolfgangLanger_Pexels.mp4"
SHORT = DATA / "videos" / "face-demographics-walking.mp4"  # 35 frames, two people
PROGRAM = "multi/run"

pytestmark = pytest.mark.skipif(not (BUILD / "pipelines/multi/cuface-multi").exists(), reason="built without -Dexamples")


class Output:
    """What the application says, line by line."""

    def __init__(self, process):
        self.process, self.lines = process, []

    def until(self, pattern, count=1):
        """Reads until a line matches; each second there is a line, so this ends when the application does."""
        for line in self.process.stdout:
            self.lines.append(line.rstrip())
            if re.search(pattern, line):
                count -= 1
                if count == 0:
                    return line
        raise AssertionError(f"no '{pattern}' in {self.lines} {self.process.stderr.read()}")

    def faces(self, source):
        """(id, time, box) of the faces that have come."""
        found = (re.match(rf"{source}: face (\d+) comes at ([\d.]+) s, box (.*)", line) for line in self.lines)
        return [(int(m[1]), float(m[2]), [float(number) for number in m[3].split()]) for m in found if m]


def pictures_of(video):
    """The view, two pictures a second, as (frames, height, width, rgb)."""
    numpy = pytest.importorskip("numpy")
    data = subprocess.run(["ffmpeg", "-v", "error", "-i", video, "-vf", "fps=2", "-f", "rawvideo", "-pix_fmt", "rgb24", "-"],
                          stdout=subprocess.PIPE, check=True).stdout
    return numpy.frombuffer(data, numpy.uint8).reshape(-1, 720, 1280, 3)


def has_box(tile):
    """Pixels of the green that boxes are drawn with."""
    return ((tile[..., 1] > 140) & (tile[..., 0] < 100) & (tile[..., 2] < 100)).sum() >= 100


def test_one_source_fails_and_the_others_go_on(data, tmp_path):
    with contextlib.ExitStack() as stack:
        text = tmp_path / "notes.mp4"
        text.write_text("this is no video\n" * 100)
        server, uri = stack.enter_context(programs.rtsp_server(CLIP))
        process = stack.enter_context(programs.start(PROGRAM, CLIP, SHORT, uri, text, "--output", tmp_path / "view.mp4",
                                                     "--retry", 1))
        stack.callback(process.kill)
        said = Output(process)
        for source in (1, 3):
            if not said.faces(source):
                said.until(rf"^{source}: face ")
        said.until(r"3: [\d.]+ frames/s, faces: 1", 2)
        server.kill()
        server.wait()
        said.until(r"\| 3: lost")
        while_lost = len(said.lines)
        said.until(r"\| 3: lost", 4)
        rates = [float(rate) for line in said.lines[while_lost:] for rate in re.findall(r"^1: ([\d.]+) frames/s", line)]
        assert len(rates) >= 4 and max(rates) > 0, "source 1 stands still:\n" + "\n".join(said.lines)
        stack.enter_context(programs.rtsp_server(CLIP, re.search(r":(\d+)/", uri)[1]))
        said.until("^3: connected")
        said.until(r"^3: face ")
        said.until(r"3: [\d.]+ frames/s, faces: 1", 2)
        process.send_signal(signal.SIGINT)
        said.until(r"^4: \d+ frames")
        error = process.stderr.read()
        assert process.wait(60) == 0, f"exit code {process.returncode}: {error}"
        assert error.count("notes.mp4") == 1, error

        frames, faces = zip(*(map(int, found) for found in re.findall(r"\d: (\d+) frames, (\d+) faces", "\n".join(said.lines))))
        print(f"frames {frames}, faces {faces}")
        # In real time, of which instrumented code makes little.
        assert len(frames) == 4 and min(frames[:3]) >= (5 if SANITIZED else 15) and frames[3] == 0, f"{frames}"
        # Each source counts its own faces; one that has come back goes on counting.
        assert [face[0] for face in said.faces(2)] == [1, 2], f"{said.faces(2)}"
        assert said.faces(1)[0][0] == said.faces(3)[0][0] == 1, f"{said.lines}"
        # (On a busy machine a face may be lost and come again, with its id.)
        assert list(dict.fromkeys(face[0] for face in said.faces(3)))[:2] == [1, 2], f"{said.faces(3)}"
        # The probe reads what is published elsewhere.
        assert run("json", CLIP, "--output", tmp_path / "faces.jsonl").returncode == 0, "pipelines/json"
        line = next(line for line in lines_of(tmp_path / "faces.jsonl") if line["objects"])
        edges = line["objects"][0]["detection"]["bounding_box"]
        box = [edges["x_min"], edges["y_min"], edges["x_max"] - edges["x_min"], edges["y_max"] - edges["y_min"]]
        assert max(abs(a - b) for a, b in zip(box, said.faces(1)[0][2])) < 0.02, f"{box}, {said.faces(1)[0]}"

        view = pictures_of(tmp_path / "view.mp4")
        tiles = [view[:, :360, :640], view[:, :360, 640:], view[:, 360:, :640], view[:, 360:, 640:]]
        boxes = [sum(has_box(picture) for picture in tile) for tile in tiles]
        print(f"{len(view)} pictures of the view, with a box in each tile {boxes}")
        assert len(view) >= 10 and boxes[0] >= 5 and boxes[1] >= 1 and boxes[2] >= 2 and boxes[3] == 0, f"{boxes}"
        gone = [picture.max() < 40 for picture in tiles[2]]
        assert any(dark and has_box(other) for dark, other in zip(gone, tiles[0])), "a lost source is not black"


def test_what_is_wrong_is_named():
    refused(run(PROGRAM), "INPUT is missing")
    refused(run(PROGRAM, "/nonexistent.mp4"), "/nonexistent.mp4", "no such file")
    refused(run(PROGRAM, "rtsp://127.0.0.1:1/x", "--size", "big"), "--size big")
    refused(run(PROGRAM, "rtsp://127.0.0.1:1/x", "--unknown"), "--unknown")


    refused(run(PROGRAM, CLIP, "--gpus", "two"), "--gpus two", "from 1")
    refused(run(PROGRAM, CLIP, "--gpus", 0), "--gpus 0", "from 1")
    refused(run(PROGRAM, CLIP, "--json", "/dev/null/x"), "--json /dev/null/x")
    refused(run(PROGRAM, CLIP, "--json", "x", "--size", "640x480"), "leave out")


def on_two_gpus(*arguments, **options):
    """On a machine with two GPUs, as far as GStreamer's elements say; this one's are not looked at."""
    return run(PROGRAM, *arguments,
               GST_PLUGIN_PATH=str(BUILD / "tests/pipelines/two_gpus"), GST_REGISTRY=str(BUILD / "two-gpus-registry.bin"),
               CUDA_VISIBLE_DEVICES="", **options)


def test_more_gpus_than_there_are():
    refused(on_two_gpus(CLIP, "--gpus", 3), "--gpus 3", "has 2 GPUs")
    refused(run(PROGRAM, CLIP, "--gpus", 64), "--gpus 64", "GPUs that GStreamer can decode on")


def lines_of_short(folder):
    """What pipelines/json writes of SHORT, with the URI as its source."""
    programs.good(run("json", SHORT, "--output", folder / "faces.jsonl"))
    lines = (folder / "faces.jsonl").read_bytes()
    assert lines.count(b"\n") == 35 and lines.count(b'"id":') >= 35
    # As GStreamer makes a URI of a path: without dots, with symbolic links.
    uri = pathlib.Path(os.path.abspath(SHORT)).as_uri()
    return lines.replace(f'"{SHORT}"'.encode(), f'"{uri}"'.encode())


def test_lines_without_a_view(data, tmp_path):
    """Each source's lines are those that pipelines/json writes; one that is no video has none."""
    text = tmp_path / "notes.mp4"
    text.write_text("this is no video\n" * 100)
    done = programs.good(run(PROGRAM, SHORT, text, SHORT, "--json", tmp_path / "out"))
    assert re.search(r"^all: 70 frames in [\d.]+ s, [\d.]+ frames/s$", done.stdout, re.M), done.stdout
    assert "notes.mp4" in done.stderr
    expected = lines_of_short(tmp_path)
    for number in (1, 3):
        assert (tmp_path / f"out/{number}.jsonl").read_bytes() == expected, f"source {number}"


def test_a_chain_that_fails_ends_its_source_alone(data, tmp_path):
    (tmp_path / "1.jsonl").symlink_to("/dev/full")
    done = run(PROGRAM, CLIP, SHORT, "--json", tmp_path)
    assert done.returncode == 1 and "1: lines: Cannot write faces" in done.stderr, done.stderr
    assert len(lines_of(tmp_path / "2.jsonl")) == 35


def test_streams_go_to_the_gpu_with_the_least_to_do(data, tmp_path):
    """By the rule, in the order in which they came; the decoder and each element are of that GPU."""
    sources = [CLIP, SHORT, SHORT, SHORT, CLIP]
    done = programs.good(on_two_gpus(*sources, "--gpus", 2, "--json", tmp_path / "out",
                                     GST_DEBUG="GST_ELEMENT_FACTORY:4,default:4", GST_DEBUG_NO_COLOR="1"))
    load, seen = [0, 0], set()
    for source, rate, gpu in re.findall(r"^(\d): (\d+) pixels/s to GPU (\d)$", done.stdout, re.M):
        width, height, frames = (640, 360, 24000 / 1001) if sources[int(source) - 1] == CLIP else (0, 0, 0)
        assert not width or abs(int(rate) - width * height * frames) <= 1, f"source {source}: {rate}"
        assert int(gpu) == load.index(min(load)), f"source {source}: GPU {gpu}, though {load}"
        load[int(gpu)] += int(rate)
        seen.add(source)
    assert len(seen) == 5, done.stdout
    print(f"pixels/s of each GPU: {load}")
    made = [len(re.findall(rf'creating element "{name}"', done.stderr)) for name in ("nvh264dec", "nvh264device1dec")]
    on = [len(re.findall(rf"pixels/s to GPU {gpu}$", done.stdout, re.M)) for gpu in (0, 1)]
    # One more each: the application looks whether the GPU opens.
    assert made == [on[0] + 1, on[1] + 1], f"decoders {made}, streams {on}"
    assert [done.stderr.count(f"is on GPU {gpu}") for gpu in (0, 1)] == on, "uploads"
    # In system memory, as these decoders' are.
    assert done.stdout.count("is copied to it") == 5, done.stdout
    expected = lines_of_short(tmp_path)
    for number in (2, 3, 4):
        assert (tmp_path / f"out/{number}.jsonl").read_bytes() == expected


def test_a_view_of_two_gpus(data):
    done = programs.good(on_two_gpus(SHORT, SHORT, "--gpus", 2))
    assert sorted(re.findall(r"to GPU (\d)$", done.stdout, re.M)) == ["0", "1"], done.stdout
    assert re.findall(r"^\d: (\d+) frames", done.stdout, re.M) == ["35", "35"], done.stdout


def test_it_builds_and_runs_with_what_is_installed(data, tmp_path):
    """As somebody outside of this tree would build it: pkg-config, the installed header, library and plugin."""
    (tmp_path / "installed").mkdir()
    installed = Installed(tmp_path / "installed")
    environment = {**installed.environment(), "DISPLAY": "", "CUFACE_BUILD": str(tmp_path)}
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "gstreamer-cuface-1.0"], env=environment, text=True,
                           check=True, stdout=subprocess.PIPE).stdout
    source = shutil.copytree(SOURCE / "pipelines/multi", tmp_path / "multi")
    program = tmp_path / "cuface-multi"
    done = subprocess.run(["g++", "-std=c++20", *source.glob("*.cc"), "-o", program, *flags.split()], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    assert done.returncode == 0, done.stdout
    done = subprocess.run([program, SHORT], env=environment, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=120, check=False)
    assert done.returncode == 0 and "1: face 1 comes" in done.stdout, done.stdout + done.stderr
    # The other examples take the installed plugin, too, where the checkout has no build.
    for name, count in (("json", 35), ("faces.py", 50)):
        done = subprocess.run([SOURCE / "pipelines" / name, SHORT], env=environment, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        lines = len(done.stdout.splitlines())
        assert done.returncode == 0 and lines >= count, f"pipelines/{name}: {lines} lines; {done.stderr}"
