"""What a published experiment is, how its programs are run, and what is noted of a run.

An experiment has the id that our list of published systems gives it: S1.E3 is the third of system S1. Its result is a
dictionary: `curves` (time against the size of the work, as curves.h writes them) and `figures`, {name: {"ours",
"peer"}}. What is published stands here beside it, figures only.
"""
import dataclasses
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import typing

SOURCE = pathlib.Path(__file__).resolve().parents[2]
for folder in ("tests", "tests/bench", "tests/quality"):
    sys.path.insert(0, str(SOURCE / folder))
import chain  # noqa: E402

BUILD = chain.BUILD
# A figure is *reproduced* where input and question are theirs and the machine does not matter; it is of *substitute
# data* where the question is theirs and the data is other; else it is of *other hardware*, and nobody divides by it.
REPRODUCED, SUBSTITUTE, HARDWARE = LABELS = "reproduced", "substitute data", "other hardware"


@dataclasses.dataclass(frozen=True)
class Theirs:
    """Published times of a curve: {x: microseconds}."""
    machine: str
    us: dict


@dataclasses.dataclass(frozen=True)
class Figure:
    """A number that is no time of a curve; where none is published it has no label. `name` is the key in the result's
    figures."""
    name: str
    unit: str
    theirs: str
    label: str
    # Its row in a run on a GPU, (what the row has, the row's key, its unit in ours); or a function of all rows.
    gpu: tuple | typing.Callable | None = None


@dataclasses.dataclass(frozen=True)
class Experiment:
    id: str
    title: str
    what: str  # sentences of the page: what is done, with which input, and what is unlike theirs
    measure: typing.Callable  # of a Run; gives the result
    theirs: dict = dataclasses.field(default_factory=dict)  # {curve: [Theirs]}
    figures: tuple = ()
    size: typing.Callable = "{:,.0f}".format  # how the size of a curve's point is written
    cpu_only: tuple = ()  # curves of which there is no program on a GPU
    gpu_alone: str = ""  # a run on a GPU of its test alone, which counts while it is the newest
    plot: typing.Callable | None = None  # of pyplot and the result, where curves are not all

    @property
    def system(self):
        return self.id.partition(".")[0]


@dataclasses.dataclass(frozen=True)
class Run:
    """Where pictures go, and whether it is only tried that all of it works."""
    folder: pathlib.Path
    quick: bool = False

    def program(self, name, experiment, environment=None):
        """What build/tests/eval/eval_NAME measures for an experiment."""
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "report.json"
            subprocess.run([BUILD / "tests/eval" / f"eval_{name}", file, experiment, *(["--quick"] if self.quick else [])],
                           check=True, env={"CUFACE_DATA": str(chain.DATA), **os.environ, **(environment or {})})
            return json.loads(file.read_text(encoding="utf-8"))


def built(*targets):
    """Makes what is not built with everything else."""
    subprocess.run(["ninja", "-C", BUILD, *targets], check=True, stdout=subprocess.DEVNULL)


def build_options():
    """How our side was built."""
    done = subprocess.run(["meson", "introspect", "--buildoptions", BUILD], check=True, text=True, stdout=subprocess.PIPE)
    wanted = "buildtype", "optimization", "b_ndebug", "cpp_args", "cuda"
    return {option["name"]: option["value"] for option in json.loads(done.stdout) if option["name"] in wanted}


class Gpu:
    """The newest run of the tests on a GPU, whichever card it was, and what others of its commit and card measured: they
    print the same curves."""
    RUNS = "gpu.json", "gpu-part.json", "gpu-h100.json"

    def __init__(self, folder=SOURCE / "docs/results", alone=""):
        files = [folder / name for name in (*self.RUNS, alone) if name]
        runs = [json.loads(file.read_text(encoding="utf-8")) for file in files if file.exists() or file.name != alone]
        result = max(runs, key=lambda run: run["date"])
        self.whose = f"{result['device']}, {result['date'][:10]}, commit {result['commit'][:7]}"
        self.rows = [row for run in runs if all(run[key] == result[key] for key in ("commit", "device"))
                     for row in run["benchmarks"]]
        self.times = {(row["curve"].removesuffix(", random model"), row["x"]): row["us"]  # microseconds of a curve's point
                      for row in self.rows if row["what"] == "curve"}

    def figure(self, wanted):
        """What a Figure's `gpu` asks for; None where no GPU has measured it."""
        if not wanted:
            return None
        if callable(wanted):
            return wanted(self.rows)
        row, key, unit = wanted
        return next((found[key] * unit for found in self.rows if row.items() <= found.items()), None)


def size_of_square(pixels):
    side = round(pixels ** 0.5)
    return f"{side}x{side}"


def size_of_picture(pixels):
    known = {307200: "640x480", 921600: "1280x720", 1e6: "1000x1000", 1472000: "1472x1000", 2073600: "1920x1080",
             8294400: "3840x2160", 8847360: "4096x2160"}
    return known.get(pixels, f"{pixels / 1e6:.2f} million")
