"""The program cuface-train, as its tests call it."""
import re
import signal
import subprocess

from programs import BUILD

TOOL = BUILD / "models/train/cuface-train"


def run(*command, **options):
    return subprocess.run([TOOL, *map(str, command)], capture_output=True, text=True, check=False, **options)


def model_info(path):
    """What cuface-model says of a model."""
    return subprocess.run([BUILD / "models/cuface-model", "info", path], capture_output=True, text=True, check=True).stdout


def interrupted(command, line, how):
    """Sends the program that signal once it prints a line that begins so. Its exit status, and what it prints afterwards."""
    # A shell without job control lets what it starts ignore SIGINT, and the program would keep to that.
    with subprocess.Popen([TOOL, *map(str, command)], stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                          preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)) as process:
        said = ""
        for said in process.stderr:
            if re.match(line, said):
                process.send_signal(how)
                break
        rest = process.stderr.read()
    assert re.match(line, said), said
    return process.returncode, rest
