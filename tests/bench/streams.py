#!/usr/bin/python3
"""Many chains in one process (tests/bench/streams.cc): what sharing the helpers of a search gives, in turns.

  tests/bench/streams.py [--chains 16] [--rounds 5] [--frames 60] [--before FOLDER] [--output FILE.json]

Compares `threads=0` (the default) with `threads=1`, and with another build's plugin where --before names the folder
with its libgstcuface.so and libgstcuface-1.0.so.0. Pinned to two cores. A round runs all of them, one after the other,
so that what else happens on the machine meets all alike; ratios are medians over the rounds of ratios within a round.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess

import chain

KEYS = ("rate", "frames_a_processor_second", "p50_ms", "p99_ms", "threads")


def run(plugins, settings, options):
    environment = {**os.environ, "GST_PLUGIN_PATH": str(plugins), "LD_LIBRARY_PATH": str(plugins),
                   "GST_REGISTRY": str(plugins / "streams-registry.bin")}
    done = subprocess.run(
        ["taskset", "-c", options.cores, chain.BUILD / "tests/bench/streams",
         chain.DATA / "videos" / "WolfgangLanger_Pexels.mp4", str(options.chains), str(options.frames), settings],
        text=True, stdout=subprocess.PIPE, env=environment, check=True)
    return json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chains", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--frames", type=int, default=60, help="of a chain, on average")
    parser.add_argument("--cores", default="0,1")
    parser.add_argument("--plugin", type=pathlib.Path, default=chain.BUILD / "gst", help="folder of the plugin")
    parser.add_argument("--before", type=pathlib.Path, help="folder of another build's plugin")
    parser.add_argument("--output", type=pathlib.Path)
    options = parser.parse_args()
    variants = {"now": (options.plugin, "threads=0"), "now, threads=1": (options.plugin, "threads=1")}
    if options.before:
        variants["before"] = (options.before, "threads=0")
    runs = {name: [] for name in variants}
    for i in range(options.rounds):
        order = list(variants)[i % len(variants):] + list(variants)[:i % len(variants)]
        for name in order:
            runs[name].append(run(*variants[name], options))
        print(*(f"{name}: {runs[name][-1]}" for name in variants), sep="\n", flush=True)
    report = {"what": f"{options.chains} chains of the sample clip in one process on cores {options.cores}; medians of "
                      f"{options.rounds} rounds of {options.frames} frames a chain", "processor": chain.processor(),
              "load_average": os.getloadavg()[0]}
    for name, results in runs.items():
        report[name] = {key: round(statistics.median(r[key] for r in results), 3) for key in KEYS}
    for name in variants:
        if name != "now":
            ratios = {key: [a[key] / b[key] for a, b in zip(runs["now"], runs[name])] for key in KEYS}
            report[f"now / {name}"] = {key: [round(f(values), 3) for f in (statistics.median, min, max)]
                                       for key, values in ratios.items()}
    print(json.dumps(report, indent=1))
    if options.output:
        options.output.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
