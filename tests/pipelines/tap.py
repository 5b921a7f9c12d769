"""Test Anything Protocol output, so that meson counts the cases of a Python test one by one."""
import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import traceback

SOURCE = pathlib.Path(os.environ.get("CUFACE_SOURCE_ROOT", pathlib.Path(__file__).resolve().parents[2]))
# Where models/fetch puts models and the sample clip.
CACHE = pathlib.Path(os.environ.get("CUFACE_MODEL_PATH") or pathlib.Path(
    os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "gst-cuface")
DATA = pathlib.Path(os.environ.get("CUFACE_DATA", SOURCE / "../shared/data"))
# Times and memory of instrumented code are not the product's (tests/sanitize sets this).
SANITIZED = "CUFACE_SANITIZED" in os.environ


class Skip(Exception):
    """Raised by a case that cannot run here; the text says what is missing."""


def need_models():
    if not list(CACHE.glob("shape_predictor_68_face_landmarks.*")):
        raise Skip("no landmark model: run models/fetch --models")


def need_data():
    """Pictures and clips, and the model that finds something in them."""
    if not DATA.is_dir():
        raise Skip("no test data: set CUFACE_DATA")
    need_models()


def need(condition, text):
    """An assertion that survives python -O and says what was found."""
    if not condition:
        raise AssertionError(text)


def run_cases(*cases):
    """Runs functions (or (name, function) pairs) as cases; the exit code is meson's to take from the report."""
    print(f"1..{len(cases)}", flush=True)
    for number, case in enumerate(cases, 1):
        name, function = case if isinstance(case, tuple) else (case.__name__.replace("_", " "), case)
        try:
            function()
            print(f"ok {number} - {name}", flush=True)
        except Skip as reason:
            print(f"ok {number} - {name} # SKIP {reason}", flush=True)
        except AssertionError as error:
            fail(number, name, str(error))
        except Exception:  # pylint: disable=broad-except
            fail(number, name, traceback.format_exc())


def fail(number, name, text):
    for line in text.splitlines():
        print("#", line)
    print(f"not ok {number} - {name}", flush=True)


def start(program, *arguments, **environment):
    """pipelines/PROGRAM on this build, as a process. It finds plugin and library by itself."""
    clean = {name: value for name, value in os.environ.items()
             if name not in ("GST_PLUGIN_PATH", "GI_TYPELIB_PATH", "LD_LIBRARY_PATH")}
    return subprocess.Popen([SOURCE / "pipelines" / program, *map(str, arguments)], text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            env={**clean, "CUFACE_BUILD": os.environ["CUFACE_BUILD_ROOT"], **environment})


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


def refused(done, *words):
    """The call failed, at once and in words that name what is wrong."""
    need(done.returncode > 0, f"exit code {done.returncode}: {done.stderr}")
    for word in words:
        need(str(word) in done.stderr, f"'{word}' is not in: {done.stderr}")
    need("Traceback" not in done.stderr, done.stderr)


def lines_of(path):
    """What a file of JSON Lines holds."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@contextlib.contextmanager
def rtsp_server(clip, port=0):
    """Serves a clip; yields the process, which may be killed before, and the URI."""
    server = subprocess.Popen([sys.executable, SOURCE / "pipelines/rtsp_server.py", clip, str(port)],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    port = server.stdout.readline().strip()
    try:
        if not port:
            raise Skip("no RTSP server: " + (server.stderr.read().strip().splitlines() or ["no reason given"])[-1])
        yield server, f"rtsp://127.0.0.1:{port}/faces"
    finally:
        server.kill()
        server.wait()


def gst_launch(pipeline, timeout=300, messages=False, **options):
    """Runs gst-launch-1.0 on a pipeline text; the completed process has its output as text."""
    return subprocess.run(["gst-launch-1.0", "-m" if messages else "-q", *_split(pipeline)], timeout=timeout, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, **options)


def _split(pipeline):
    import shlex  # gst-launch joins its arguments again, so quoting inside values must survive
    return shlex.split(pipeline)


class Folder:
    """A temporary folder: `with Folder() as path`."""

    def __enter__(self):
        self.path = pathlib.Path(tempfile.mkdtemp(prefix="cuface-test-"))
        return self.path

    def __exit__(self, *_):
        shutil.rmtree(self.path, ignore_errors=True)
