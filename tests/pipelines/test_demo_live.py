"""pipelines/demo with what is no file: a network camera, a camera that is not there, a window."""
import shutil
import time

import pytest

import programs
from programs import DATA, demo

CLIP = DATA / "videos" / "WolfgangLanger_Pexels.mp4"


def faces_in(folder):
    lines = programs.lines_of(folder / "faces.jsonl")
    return len(lines), sum(bool(line["objects"]) for line in lines)


def test_a_network_camera_gives_faces(data, tmp_path):
    with programs.rtsp_server(CLIP) as (_, uri):
        done = demo(uri, "--output", tmp_path, "--frames", 50)
        assert done.returncode == 0, done.stderr
        lines, with_face = faces_in(tmp_path)
        assert lines == 50 and with_face >= 45, f"{lines} lines, {with_face} with a face"
        assert (tmp_path / "faces.mp4").stat().st_size > 100000, "no video worth the name"


def test_a_server_that_is_not_there_is_named(tmp_path):
    done = demo("rtsp://127.0.0.1:1/faces", "--output", tmp_path)
    assert done.returncode == 1 and "127.0.0.1:1/" in done.stderr and "Traceback" not in done.stderr, done.stderr


def test_a_camera_that_is_not_there_is_named(tmp_path):
    done = demo("v4l2:///dev/video63", "--output", tmp_path)
    assert done.returncode == 1 and "/dev/video63" in done.stderr and "Traceback" not in done.stderr, done.stderr


@pytest.mark.skipif(not shutil.which("Xvfb"), reason="no Xvfb")
def test_a_window_shows_the_frames(data, tmp_path):
    with programs.x_server(tmp_path) as (display, screen):
        before = screen.read_bytes()
        changed = 0
        child = programs.start_demo(CLIP, "--display", "--output", tmp_path, "--frames", 60, DISPLAY=display)
        while child.poll() is None:
            now = screen.read_bytes()
            changed = max(changed, sum(a != b for a, b in zip(now[::97], before[::97])))
            time.sleep(0.3)
        out, err = child.communicate()
        assert child.returncode == 0 and "(shown)" in out, f"exit status {child.returncode}: {out}{err}"
        assert faces_in(tmp_path)[0] == 60, out
        # A 640x360 picture is nearly half of the screen, a quarter of whose bytes are padding.
        assert changed > len(before) // 97 // 5, f"{changed} of {len(before) // 97} samples of the screen changed"
        print(f"{changed} of {len(before) // 97} samples of the screen changed")


def test_a_window_without_a_screen_is_an_error(data, tmp_path):
    done = demo(CLIP, "--display", "--output", tmp_path, DISPLAY="", WAYLAND_DISPLAY="")
    assert done.returncode == 1 and "Traceback" not in done.stderr and "--display" in done.stderr, done.stderr
