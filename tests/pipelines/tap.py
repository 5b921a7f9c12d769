"""Test Anything Protocol output, so that meson counts the cases of a Python test one by one."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import traceback

SOURCE = pathlib.Path(os.environ.get("CUFACE_SOURCE_ROOT", pathlib.Path(__file__).resolve().parents[2]))
DATA = pathlib.Path(os.environ.get("CUFACE_DATA", SOURCE / "../shared/data"))


class Skip(Exception):
    """Raised by a case that cannot run here; the text says what is missing."""


def need_data():
    if not DATA.is_dir():
        raise Skip("no test data: set CUFACE_DATA")


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


def start_demo(*arguments, **environment):
    """pipelines/demo on this build, as a process."""
    return subprocess.Popen([SOURCE / "pipelines/demo", *map(str, arguments)], text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            env={**os.environ, "CUFACE_BUILD": os.environ["CUFACE_BUILD_ROOT"], **environment})


def demo(*arguments, timeout=300, **environment):
    """pipelines/demo on this build; the completed process has its output as text."""
    with start_demo(*arguments, **environment) as process:
        try:
            out, err = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired as late:
            process.kill()
            raise AssertionError(f"demo is not over after {timeout} s: {process.communicate()[1]}") from late
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def gst_launch(pipeline, timeout=300, **options):
    """Runs gst-launch-1.0 on a pipeline text; the completed process has its output as text."""
    return subprocess.run(["gst-launch-1.0", "-q", *_split(pipeline)], timeout=timeout, text=True,
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
