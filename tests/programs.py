"""Where the sources, this build and the data of the tests are, and how programs are run on them."""
import contextlib
import json
import os
import pathlib
import shlex
import subprocess
import sys

import pytest

SOURCE = pathlib.Path(os.environ.get("CUFACE_SOURCE_ROOT", pathlib.Path(__file__).resolve().parents[1]))
BUILD = pathlib.Path(os.environ.get("CUFACE_BUILD_ROOT", SOURCE / "build"))
# Where models/fetch puts models and the sample clip.
CACHE = pathlib.Path(os.environ.get("CUFACE_MODEL_PATH") or pathlib.Path(
    os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "gst-cuface")
DATA = pathlib.Path(os.environ.get("CUFACE_DATA", SOURCE / "../shared/data"))
# Every page that a reader is meant to read.
DOCUMENTS = [SOURCE / "README.md", SOURCE / "CONTRIBUTING.md",
             *sorted((SOURCE / "docs").rglob("*.md")), *sorted((SOURCE / "pipelines").rglob("*.md"))]
# Times and memory of instrumented code are not the product's (tests/sanitizers sets this).
SANITIZED = "CUFACE_SANITIZED" in os.environ
# Limits of time grow with the machine's slowness, which tests/run measures (tests/ledger.py).
SLOWNESS = max(1.0, float(os.environ.get("CUFACE_SLOWNESS", "1")))


def need_models():
    if not list(CACHE.glob("shape_predictor_68_face_landmarks.*")):
        pytest.skip("no landmark model: run models/fetch --models")


def start(program, *arguments, **environment):
    """pipelines/PROGRAM on this build, as a process. It finds plugin and library by itself."""
    clean = {name: value for name, value in os.environ.items()
             if name not in ("GST_PLUGIN_PATH", "GI_TYPELIB_PATH", "LD_LIBRARY_PATH")}
    return subprocess.Popen([SOURCE / "pipelines" / program, *map(str, arguments)], text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            env={**clean, "CUFACE_BUILD": str(BUILD), **environment})


def run(program, *arguments, timeout=300, **environment):
    """pipelines/PROGRAM on this build; the completed process has its output as text."""
    with start(program, *arguments, **environment) as process:
        try:
            out, err = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired as late:
            process.kill()
            raise AssertionError(f"{program} is not over after {timeout} s: {process.communicate()[1]}") from late
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def start_demo(*arguments, **environment):
    """The demo would fetch the models; a test does not."""
    need_models()
    return start("demo", *arguments, **environment)


def demo(*arguments, **options):
    need_models()
    return run("demo", *arguments, **options)


def good(done):
    """The call succeeded."""
    assert done.returncode == 0 and "Traceback" not in done.stderr, f"exit code {done.returncode}: {done.stderr}"
    return done


def refused(done, *words):
    """The call failed, at once and in words that name what is wrong."""
    assert done.returncode > 0, f"exit code {done.returncode}: {done.stderr}"
    for word in words:
        assert str(word) in done.stderr, f"'{word}' is not in: {done.stderr}"
    assert "Traceback" not in done.stderr, done.stderr


def lines_of(path):
    """What a file of JSON Lines holds."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def gst_launch(pipeline, timeout=300, messages=False, **options):
    """Runs gst-launch-1.0 on a pipeline text; the completed process has its output as text."""
    # gst-launch joins its arguments again, so quoting inside values must survive.
    return subprocess.run(["gst-launch-1.0", "-m" if messages else "-q", *shlex.split(pipeline)], timeout=timeout,
                          text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, **options)


@contextlib.contextmanager
def rtsp_server(clip, port=0):
    """Serves a clip; yields the process, which may be killed before, and the URI."""
    server = subprocess.Popen([sys.executable, SOURCE / "pipelines/rtsp_server.py", clip, str(port)],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    port = server.stdout.readline().strip()
    try:
        if not port:
            pytest.skip("no RTSP server: " + (server.stderr.read().strip().splitlines() or ["no reason given"])[-1])
        yield server, f"rtsp://127.0.0.1:{port}/faces"
    finally:
        server.kill()
        server.wait()


@contextlib.contextmanager
def x_server(folder):
    """A screen in memory; yields its DISPLAY. The screen's pixels are in folder/Xvfb_screen0."""
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
        assert display, "Xvfb does not start: " + (folder / "Xvfb.log").read_text(errors="replace")
        yield ":" + display, folder / "Xvfb_screen0"
    finally:
        server.kill()
        server.wait()
