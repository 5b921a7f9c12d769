#!/usr/bin/python3
"""pipelines/demo with what is no file: a network camera, a camera that is not there, a window."""
import contextlib
import os
import shutil
import subprocess
import time

import tap
from tap import demo

CLIP = tap.DATA / "videos" / "WolfgangLanger_Pexels.mp4"


def faces_in(folder):
    lines = tap.lines_of(folder / "faces.jsonl")
    return len(lines), sum(bool(line["objects"]) for line in lines)


@contextlib.contextmanager
def x_server(folder):
    """A screen in memory; yields its DISPLAY. The screen's pixels are in folder/Xvfb_screen0."""
    if not shutil.which("Xvfb"):
        raise tap.Skip("no Xvfb")
    read, write = os.pipe()
    # -noreset: a sink that is tried and closed again would be the last client, and the server would start
    # over under the next one.
    with (folder / "Xvfb.log").open("wb") as log:
        server = subprocess.Popen(["Xvfb", "-displayfd", str(write), "-screen", "0", "800x600x24", "-nolisten", "tcp",
                                   "-noreset", "-fbdir", str(folder)], pass_fds=[write], stderr=log)
    os.close(write)
    with os.fdopen(read) as number:
        display = number.readline().strip()
    try:
        tap.need(display, "Xvfb does not start: " + (folder / "Xvfb.log").read_text(errors="replace"))
        yield ":" + display, folder / "Xvfb_screen0"
    finally:
        server.kill()
        server.wait()


def a_network_camera_gives_faces():
    tap.need_data()
    with tap.Folder() as folder, tap.rtsp_server(CLIP) as (_, uri):
        done = demo(uri, "--output", folder, "--frames", 50)
        tap.need(done.returncode == 0, done.stderr)
        lines, with_face = faces_in(folder)
        tap.need(lines == 50 and with_face >= 45, f"{lines} lines, {with_face} with a face")
        tap.need((folder / "faces.mp4").stat().st_size > 100000, "no video worth the name")


def a_server_that_is_not_there_is_named():
    with tap.Folder() as folder:
        done = demo("rtsp://127.0.0.1:1/faces", "--output", folder)
        tap.need(done.returncode == 1 and "127.0.0.1:1/" in done.stderr and "Traceback" not in done.stderr, done.stderr)


def a_camera_that_is_not_there_is_named():
    with tap.Folder() as folder:
        done = demo("v4l2:///dev/video63", "--output", folder)
        tap.need(done.returncode == 1 and "/dev/video63" in done.stderr and "Traceback" not in done.stderr, done.stderr)


def a_window_shows_the_frames():
    tap.need_data()
    with tap.Folder() as folder, x_server(folder) as (display, screen):
        before = screen.read_bytes()
        changed = 0
        child = tap.start_demo(CLIP, "--display", "--output", folder, "--frames", 60, DISPLAY=display)
        while child.poll() is None:
            now = screen.read_bytes()
            changed = max(changed, sum(a != b for a, b in zip(now[::97], before[::97])))
            time.sleep(0.3)
        out, err = child.communicate()
        tap.need(child.returncode == 0 and "(shown)" in out, f"exit status {child.returncode}: {out}{err}")
        tap.need(faces_in(folder)[0] == 60, out)
        # A 640x360 picture is nearly half of the screen, a quarter of whose bytes are padding.
        tap.need(changed > len(before) // 97 // 5, f"{changed} of {len(before) // 97} samples of the screen changed")
        print(f"# {changed} of {len(before) // 97} samples of the screen changed")


def a_window_without_a_screen_is_an_error():
    tap.need_data()
    with tap.Folder() as folder:
        done = demo(CLIP, "--display", "--output", folder, DISPLAY="", WAYLAND_DISPLAY="")
        tap.need(done.returncode == 1 and "Traceback" not in done.stderr and "--display" in done.stderr, done.stderr)


if __name__ == "__main__":
    tap.run_cases(a_network_camera_gives_faces, a_server_that_is_not_there_is_named,
                  a_camera_that_is_not_there_is_named, a_window_shows_the_frames,
                  a_window_without_a_screen_is_an_error)
