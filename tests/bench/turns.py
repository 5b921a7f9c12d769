"""Pipelines that take turns: what they cost, compared turn by turn, on a machine that others use too.

Each runs in a process of its own (chain.py --each-frame), stopped while the others have their turn, so that each goes
on in the clip where it was. What else happens on the machine meets all of a turn alike.
"""
import contextlib
import json
import os
import select
import signal
import statistics
import subprocess

import chain

LEAST = 2  # frames of a turn
GIVE_UP = 120  # seconds without a frame


class Pipeline:
    """One of them, stopped behind its first frame."""

    def __init__(self, text):
        command, environment = chain.command(text)
        self.process = subprocess.Popen([*command, "--each-frame"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, env=environment)
        self.rest, self.cpu, self.frames, self.report = b"", 0.0, 0, None
        while not self.frames and self.report is None:
            self.read(GIVE_UP)
        self.stop()

    def read(self, seconds):
        """Takes what it has printed; waits so long for the first of it."""
        out = self.process.stdout
        if not select.select([out], [], [], seconds)[0]:
            if seconds >= GIVE_UP:
                raise ValueError(f"no frame in {seconds} s: {self.process.args}")
            return
        more = os.read(out.fileno(), 1 << 16)
        if not more:
            self.process.wait()
            raise ValueError(self.process.stderr.read().decode()[-2000:])
        *lines, self.rest = (self.rest + more).split(b"\n")
        for line in map(json.loads, lines):
            if isinstance(line, dict):
                self.report = line
            else:
                self.cpu, self.frames = line

    def stop(self):
        if self.report is None:
            self.process.send_signal(signal.SIGSTOP)
            os.waitid(os.P_PID, self.process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
            self.read(0)

    def turn(self, seconds, most):
        """Lets it run for so much processor time and some frames, or for so many frames; milliseconds a frame, None
        behind its end."""
        cpu, frames = self.cpu, self.frames
        if self.report is None:
            self.process.send_signal(signal.SIGCONT)
        while self.report is None and self.frames - frames < most:
            if self.cpu - cpu >= seconds and self.frames - frames >= LEAST:
                break
            self.read(GIVE_UP)
        self.stop()
        return 1e3 * (self.cpu - cpu) / (self.frames - frames) if self.frames > frames else None

    def end(self):
        """The whole run's report."""
        self.process.send_signal(signal.SIGCONT)
        self.process.stdin.close()
        while self.report is None:
            self.read(GIVE_UP)
        self.process.wait()
        return self.report

    def kill(self):
        self.process.kill()
        self.process.wait()


def take(texts, turns, seconds, frames):
    """Runs {name: pipeline} in so many turns, each of so many seconds of processor time or its share of the frames.
    Returns {name: milliseconds a frame of each turn} and {name: report}."""
    with contextlib.ExitStack() as stack:
        running = {}
        for name, text in texts.items():
            running[name] = Pipeline(text)
            stack.callback(running[name].kill)
        ms = {name: [] for name in texts}
        for _ in range(turns):
            for name, pipeline in running.items():
                ms[name].append(pipeline.turn(seconds, -(-frames // turns)))
        return ms, {name: pipeline.end() for name, pipeline in running.items()}


def added(ms, name, without="none"):
    """What it takes a frame above the pipeline `without`, turn by turn."""
    return [None if None in both else both[0] - both[1] for both in zip(ms[name], ms[without])]


def median(values):
    return statistics.median(there(values))


def there(values):
    return [value for value in values if value is not None]
