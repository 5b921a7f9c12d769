"""Every header compiles alone, with all warnings; the installed ones also as C.

$CUFACE_CXX is the compiler. $CUFACE_CUDA says where the CUDA headers are; without it the headers that need them are
skipped. A header that its source includes before all others was compiled alone when the product was built, with the
same warnings: it passes without the compiler.
"""
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import subprocess

import pytest

from programs import BUILD, SOURCE

COMPILER, CUDA = shlex.split(os.environ["CUFACE_CXX"]), shlex.split(os.environ["CUFACE_CUDA"])
WARNINGS = ["-Wall", "-Wextra", "-Wconversion", "-Wsign-conversion", "-Werror"]
DEFINES = ['-DPACKAGE="gst-cuface"', '-DCUFACE_VERSION="0"', "-DGST_USE_UNSTABLE_API"]
PACKAGES = ["gstreamer-video-1.0", "gstreamer-base-1.0", "gstreamer-analytics-1.0", "gstreamer-cuda-1.0",
            "nlohmann_json"]
# What a header of the CUDA side includes, itself or through another.
NO_CUDA = re.compile(r"((?:cuda|cuda_runtime|cuda_runtime_api|gst/cuda/\w+)\.h)(?:: No such file|' file not found)")
# What only cuface-model needs, and can do without.
NO_ONNX = re.compile(r"(onnx/onnx[\w.-]*\.h)(?:: No such file|' file not found)")
FIRST_INCLUDE = re.compile(r'^\s*#\s*include\s+["<]([^">]+)', re.M)
INSTALLED = [f"gst/meta/gstcuface{name}meta.h" for name in ("", "edge", "feature", "match", "motion", "planar")]
FEWEST = 60


def package_flags():
    """As meson gives them: other people's headers as system headers."""
    flags = []
    for package in PACKAGES:
        found = subprocess.run(["pkg-config", "--cflags", package], capture_output=True, text=True, check=False)
        flags += [flag.replace("-I", "-isystem", 1) for flag in found.stdout.split()]
    return flags


def compile_alone(command, header):
    return subprocess.run([*command, *DEFINES, f"-I{SOURCE}", "-fsyntax-only", "-"],
                          input=f'#include "{header}"\n', capture_output=True, text=True, check=False)


def first_of_their_sources():
    """Headers that the product's build read before anything else: NAME.h at the head of NAME.cc."""
    headers = set()
    for unit in json.loads((BUILD / "compile_commands.json").read_text(encoding="utf-8")):
        source = (pathlib.Path(unit["directory"]) / unit["file"]).resolve()
        if "-Wconversion" in unit["command"] and source.is_relative_to(SOURCE):
            header = str(source.relative_to(SOURCE).with_suffix(".h"))
            first = FIRST_INCLUDE.search(source.read_text(encoding="utf-8"))
            if first and first[1] == header:
                headers.add(header)
    return headers


HEADERS = sorted(str(path.relative_to(SOURCE)) for folder in ("kernels", "models", "gst")
                 for path in (SOURCE / folder).rglob("*.h"))
JOBS = [(header, ("-x", "c++", "-std=c++20")) for header in HEADERS]
JOBS += [(header, ("-x", "c", "-std=c99", "-Wpedantic")) for header in INSTALLED]


@pytest.fixture(name="results", scope="module")
def all_compiled():
    """{job: the completed compiler, or None where the build has done it}"""
    done, flags = first_of_their_sources(), [*WARNINGS, *CUDA, *package_flags()]
    todo = [(header, language) for header, language in JOBS if header not in done or "c++" not in language]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        compiled = pool.map(lambda job: compile_alone([*COMPILER, *job[1], *flags], job[0]), todo)
        return dict.fromkeys(JOBS) | dict(zip(todo, compiled))


def test_headers_are_found():
    assert len(JOBS) >= FEWEST


@pytest.mark.parametrize("job", JOBS, ids=lambda job: f"{job[0]} as {job[1][1]}")
def test_compiles_alone(results, job):
    result = results[job]
    if result is None:
        return
    missing = NO_CUDA.search(result.stderr)
    if missing and not CUDA:
        pytest.skip(f"{missing[1]} is not installed")
    if missing := NO_ONNX.search(result.stderr):
        pytest.skip(f"{missing[1]} is not installed")
    assert result.returncode == 0, result.stderr[:2000]
