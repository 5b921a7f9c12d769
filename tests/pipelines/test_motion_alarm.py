"""pipelines/motion: a clip of an event, with what came before it, from a camera that is served on this machine."""
import re
import signal

import pytest

import programs
from programs import good, refused, run

REST, MOVING = 150, 60  # frames, 25 a second


@pytest.fixture(name="camera", scope="module")
def served(tmp_path_factory):
    """Six seconds of rest, 2.4 s of a ball, and rest."""
    clip = tmp_path_factory.mktemp("camera") / "ball.mp4"
    parts = " ".join(f"videotestsrc num-buffers={frames} pattern={pattern} !"
                     " video/x-raw,format=I420,width=320,height=240,framerate=25/1 ! c."
                     for frames, pattern in ((REST, "black"), (MOVING, "ball"), (400, "black")))
    done = programs.gst_launch("concat name=c ! x264enc key-int-max=25 bframes=0 ! h264parse ! mp4mux faststart=true"
                               f" ! filesink location={clip} {parts}")
    assert done.returncode == 0, done.stdout
    with programs.rtsp_server(clip) as (_server, uri):
        yield uri


def watched(uri, folder, last, *arguments):
    """What it says, up to a line that begins with `last`; ended by Ctrl-C then."""
    said = []
    with programs.start("motion", uri, "--output", folder, "--before", 2, "--hold-off", 1, *arguments) as process:
        for line in process.stdout:
            said.append(line.strip())
            if line.startswith(last):
                break
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0, f"{said} {process.stderr.read()}"
    return said


def frames_of(path):
    """The brightest pixel of each of a clip's frames, and the clip's last timestamp in seconds."""
    done = programs.gst_launch(f"filesrc location={path} ! decodebin ! videoconvert ! video/x-raw,format=GRAY8,width=320"
                               f" ! filesink location={path}.raw")
    assert done.returncode == 0, done.stdout
    raw = (path.parent / f"{path.name}.raw").read_bytes()
    return [max(raw[at:at + 320 * 240]) for at in range(0, len(raw), 320 * 240)]


def test_an_event_is_a_clip(camera, tmp_path):
    said = watched(camera, tmp_path, "clip:")
    kinds = [line.split(":")[0] for line in said]
    assert kinds == ["connected", "motion", "rest", "clip"], f"{said}"
    (clip,) = tmp_path.iterdir()
    assert said[-1] == f"clip: {clip.name}"
    assert re.fullmatch(r"\d{4}-\d\d-\d\d_\d\d-\d\d-\d\d\.mp4", clip.name), clip.name
    bright = [value > 100 for value in frames_of(clip)]
    # The key frame two to three seconds before the event, and a second behind it.
    before, behind = bright.index(True), bright[::-1].index(True)
    assert 48 <= before <= 80, f"{before} frames before"
    assert 15 <= behind <= 50, f"{behind} frames behind"
    assert bright.count(True) == MOVING, f"{bright.count(True)} frames with the ball"


def test_a_short_event_leaves_no_clip(camera, tmp_path):
    said = watched(camera, tmp_path, "rest:", "--least", 30)
    assert any(line.startswith("motion:") for line in said), f"{said}"
    assert not list(tmp_path.iterdir()), "a clip"


def test_a_long_clip_goes_on_in_the_next_file(camera, tmp_path):
    watched(camera, tmp_path, "rest:", "--longest", 2)
    names = {path.name for path in tmp_path.iterdir()}
    first = min(names, key=len).removesuffix(".mp4")
    assert len(names) >= 2 and names == {f"{first}.mp4", *(f"{first}-{i}.mp4" for i in range(2, len(names) + 1))}, f"{names}"


def test_ctrl_c_in_an_event_leaves_a_whole_clip(camera, tmp_path):
    watched(camera, tmp_path, "motion:", "--hold-off", 60)
    (clip,) = tmp_path.iterdir()
    assert len(frames_of(clip)) >= 40 and not clip.name.startswith("."), clip.name


def test_the_detector_takes_settings(camera, tmp_path):
    refused(run("motion", camera, "--output", tmp_path, "--detector", "ignore=/nonexistent.png"), "/nonexistent.png", "ignore")
    refused(run("motion", camera, "--output", tmp_path, "--detector", "no-such=1"), "no-such")


def test_a_camera_that_does_not_answer_is_named_without_its_password(tmp_path):
    with programs.start("motion", "rtsp://me:secret@127.0.0.1:1/x", "--output", tmp_path) as process:
        assert process.stdout.readline() == "lost: cannot connect to 127.0.0.1:1; again in 2 s\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0


def test_motion_says_what_is_wrong(tmp_path):
    refused(run("motion"), "INPUT or --loopback")
    refused(run("motion", "192.168.0.20/video"), "192.168.0.20/video", "rtsp://USER:PASSWORD@HOST/PATH")
    refused(run("motion", "rtsp://127.0.0.1:1/x", "--longest", 0), "--longest")
    refused(run("motion", "--loopback", "/nonexistent.mp4"), "/nonexistent.mp4")
    good(run("motion", "--help"))
