#!/usr/bin/python3
"""Every header compiles alone, with all warnings; the installed one also as C.

  tests/headers.py [--cuda FLAGS] COMPILER...     TAP: a case a header (meson runs it)

FLAGS say where the CUDA headers are. Without them the headers that need them are skipped.
A header that its source includes before all others was compiled alone when the product was built, with the same
warnings: it passes without the compiler.
"""
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "pipelines"))
import tap  # noqa: E402

WARNINGS = ["-Wall", "-Wextra", "-Wconversion", "-Wsign-conversion", "-Werror"]
DEFINES = ['-DPACKAGE="gst-cuface"', '-DCUFACE_VERSION="0"', "-DGST_USE_UNSTABLE_API"]
PACKAGES = ["gstreamer-video-1.0", "gstreamer-base-1.0", "gstreamer-analytics-1.0", "gstreamer-cuda-1.0",
            "nlohmann_json"]
# What a header of the CUDA side includes, itself or through another.
NO_CUDA = re.compile(r"((?:cuda|cuda_runtime|cuda_runtime_api|gst/cuda/\w+)\.h)(?:: No such file|' file not found)")
FIRST_INCLUDE = re.compile(r'^\s*#\s*include\s+["<]([^">]+)', re.M)
INSTALLED = "gst/meta/gstcufacemeta.h"
FEWEST = 60


def package_flags():
    """As meson gives them: other people's headers as system headers."""
    flags = []
    for package in PACKAGES:
        found = subprocess.run(["pkg-config", "--cflags", package], capture_output=True, text=True, check=False)
        flags += [flag.replace("-I", "-isystem", 1) for flag in found.stdout.split()]
    return flags


def compile_alone(command, header):
    return subprocess.run([*command, *DEFINES, f"-I{tap.SOURCE}", "-fsyntax-only", "-"],
                          input=f'#include "{header}"\n', capture_output=True, text=True, check=False)


def first_of_their_sources():
    """Headers that the product's build read before anything else: NAME.h at the head of NAME.cc."""
    build = pathlib.Path(os.environ["CUFACE_BUILD_ROOT"])
    headers = set()
    for unit in json.loads((build / "compile_commands.json").read_text(encoding="utf-8")):
        source = (pathlib.Path(unit["directory"]) / unit["file"]).resolve()
        if "-Wconversion" in unit["command"] and source.is_relative_to(tap.SOURCE):
            header = str(source.relative_to(tap.SOURCE).with_suffix(".h"))
            first = FIRST_INCLUDE.search(source.read_text(encoding="utf-8"))
            if first and first[1] == header:
                headers.add(header)
    return headers


def check(result, cuda):
    if result is None:
        return
    missing = NO_CUDA.search(result.stderr)
    if missing and not cuda:
        raise tap.Skip(f"{missing[1]} is not installed")
    tap.need(result.returncode == 0, result.stderr[:2000])


def main(arguments):
    cuda = arguments[1].split() if arguments[0] == "--cuda" else []
    compiler = arguments[2:] if cuda else arguments
    headers = sorted(str(path.relative_to(tap.SOURCE)) for folder in ("kernels", "models", "gst")
                     for path in (tap.SOURCE / folder).rglob("*.h"))
    flags = [*WARNINGS, *cuda, *package_flags()]
    jobs = [(f"{header}", [*compiler, "-x", "c++", "-std=c++20", *flags]) for header in headers]
    jobs.append((INSTALLED, [*compiler, "-x", "c", "-std=c99", "-Wpedantic", *flags]))
    done = first_of_their_sources()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(lambda job: None if job[0] in done and "c++" in job[1] else compile_alone(job[1], job[0]),
                                jobs))

    def enough():
        tap.need(len(jobs) >= FEWEST, f"only {len(jobs)} headers found")

    print(f"# {results.count(None)} of {len(jobs)} were compiled with their sources")

    def case(job, result):
        language = job[1][job[1].index("-x") + 1]
        return f"{job[0]} as {language}", lambda: check(result, cuda)

    tap.run_cases(enough, *map(case, jobs, results))


if __name__ == "__main__":
    main(sys.argv[1:])
