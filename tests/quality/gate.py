#!/usr/bin/python3
"""Measures what search=motion saves, and what it misses, beside searches of every frame and of every tenth, on clips of
a room that people enter, stay in and leave (gate_scenes.py).

  tests/quality/gate.py [--choosing] [--table] [--engine ENGINE]...

Writes docs/results/gate.json and the tables of docs/results/gate.md, from the seeds REPORTED. --choosing prints the
same of the seeds by which constants are chosen, and writes nothing; --table only makes the tables again.

Each clip runs three times, one after the other, each with a culktrack behind the detector. The time is the processor
time of the detector, on one thread. A face counts as found where a box has it at an intersection over union of 0.4.
It comes late by the frames from the first of three in a row on which the baseline has it. The gate is closed where no
search comes while something moves. Errors are standard errors over clips. Needs the test data ($CUFACE_DATA) and a build with tests.
"""
import json
import multiprocessing
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

import chains
import clips
import gate_scenes
import measures
import pages

DATA = pathlib.Path(os.environ.get("CUFACE_DATA", chains.SOURCE / "../shared/data")).resolve()
RESULT = chains.SOURCE / "docs/results/gate.json"
PAGE = chains.SOURCE / "docs/results/gate.md"
NETWORK = chains.CACHE / "yunet.cuface"
ENGINES = {"cascade": "cufacedetect threads=1", "network": f"cufacedetect threads=1 model={NETWORK}"}
EVERY, TENTH, MOTION = "every frame", "every tenth", "motion"
SEARCHES = {EVERY: "redetect-interval=1", TENTH: "redetect-interval=10", MOTION: "search=motion"}
IN_A_ROW, LATEST, SECOND = 3, 10, gate_scenes.FPS
SAVED = {EVERY: 90, TENTH: 60}  # % of the time, at least
LOST = 1                        # of 100 faces, at most


def run(clip, path, engine, searches):
    """{"faces", "ns", "searched"} of each frame."""
    with tempfile.NamedTemporaryFile(dir=chains.CACHE, suffix=".jsonl") as lines:
        text = (f"{chains.source(clip, path)} ! {ENGINES[engine]} {SEARCHES[searches]} ! identity name=last ! culktrack"
                f" ! cufacepublish location={lines.name} ! fakesink sync=false")
        out = chains.start(["/usr/bin/python3", chains.__file__, text], env=chains.ENVIRONMENT)
        times = json.loads(out.splitlines()[-1])
        faces = [json.loads(line)["objects"] for line in pathlib.Path(lines.name).read_text("utf-8").splitlines()]
    assert len(times) == len(faces) == gate_scenes.LENGTH
    return {"faces": faces, "ns": [ns for ns, _ in times], "searched": list(np.diff([0, *(n for _, n in times)]) > 0)}


def first_frames(frames, truth, least):
    """Of each face of a baseline, by id, that has somebody's of whom more than `least` is seen: the first of three frames
    in a row on which it has."""
    lives = {}
    for t, faces in enumerate(frames):
        people = [face for face, seen in truth[t]["faces"].values() if seen > least]
        for face in faces:
            if measures.has(face, people):
                lives.setdefault(face["id"], {})[t] = face
    for life in lives.values():
        first = next((t for t in life if all(t + i in life for i in range(IN_A_ROW))), None)
        if first is not None:
            yield first, life


def late_frames(frames, baseline, truth, least=-1):
    """By how many frames each face of the baseline comes late; as many as it lives where it never comes."""
    late = []
    for first, life in first_frames(baseline, truth, least):
        times = [t for t in life if t >= first]
        late.append(next((t - first for t in times if measures.has(life[t], frames[t])), times[-1] - first + 1))
    return late


def recall(frames, truth):
    """(found, all) of the visible faces."""
    found = every = 0
    for faces, true in zip(frames, truth, strict=True):
        people = [face for face, seen in true["faces"].values() if seen > gate_scenes.VISIBLE]
        found += len(measures.match(faces, people))
        every += len(people)
    return found, every


def error_of_share(counts, wholes):
    """The standard error, in points, of sum(counts) / sum(wholes), whose pairs are of independent clips."""
    counts, wholes = np.array(counts, float), np.array(wholes, float)
    rest = counts - wholes * counts.sum() / wholes.sum()
    return 100 * np.sqrt(len(counts) / max(len(counts) - 1, 1) * np.sum(rest ** 2)) / wholes.sum()


def longest_closed(searched, moves):
    """Frames in a row on each of which something moves and nothing is searched."""
    longest = now = 0
    for search, moving in zip(searched, moves, strict=True):
        now = now + 1 if moving and not search else 0
        longest = max(longest, now)
    return longest


def measured_scene(task):
    """Of a clip: {engine: figures}."""
    kind, seed, engines = task
    pairs = list(gate_scenes.Scene(DATA, kind, seed).frames())
    truth = [true for _, true in pairs]
    clip = clips.Clip(f"{kind} {seed}", gate_scenes.WIDTH, gate_scenes.HEIGHT, f"{gate_scenes.FPS}/1",
                      lambda: (frame for frame, _ in pairs))
    result = {}
    with clip.file(chains.CACHE) as path:
        for engine in engines:
            found = {searches: run(clip, path, engine, searches) for searches in SEARCHES}
            mine = found[MOTION]
            moves, camera = ([true[key] for true in truth] for key in ("moves", "camera"))
            result[engine] = {
                "ms": {name: sum(one["ns"]) / 1e6 for name, one in found.items()},
                "searches": {name: sum(map(int, one["searched"])) for name, one in found.items()},
                "found": {name: recall(one["faces"], truth)[0] for name, one in found.items()},
                "faces": recall(mine["faces"], truth)[1],
                "late": {name: late_frames(mine["faces"], found[name]["faces"], truth) for name in SAVED},
                "late_visible": {name: late_frames(mine["faces"], found[name]["faces"], truth, gate_scenes.VISIBLE)
                                 for name in SAVED},
                "closed": longest_closed(mine["searched"], moves),
                "closed_camera": longest_closed(mine["searched"], camera),
                "people": sum(bool(any(seen > gate_scenes.VISIBLE for _, seen in true["faces"].values()))
                              for true in truth)}
    return kind, seed, result


def measured(seeds, engines):
    """{engine: {kind: [figures of a clip]}}"""
    found = {engine: {kind: [] for kind in gate_scenes.KINDS} for engine in engines}
    tasks = [(kind, seed, engines) for seed in seeds for kind in gate_scenes.KINDS]
    with multiprocessing.Pool(2) as pool:
        for kind, seed, result in pool.imap(measured_scene, tasks):
            for engine, figures in result.items():
                print(engine, kind, seed, json.dumps(figures), file=sys.stderr, flush=True)
                found[engine][kind].append(figures)
    return {engine: {kind: summed(clips_) for kind, clips_ in kinds.items()} | {"all": summed(sum(kinds.values(), []))}
            for engine, kinds in found.items()}


def summed(figures):
    """Of several clips."""
    frames = len(figures) * gate_scenes.LENGTH
    out = {"clips": len(figures), "frames_with_people_percent": 100 * sum(one["people"] for one in figures) / frames,
           "faces": sum(one["faces"] for one in figures)}
    for key in ("ms", "searches", "found"):
        out[key] = {name: sum(one[key][name] for one in figures) for name in SEARCHES}
    for name in SAVED:
        out[f"saved, {name}"] = round(100 * (1 - out["ms"][MOTION] / out["ms"][name]), 2)
    out["recall"] = {name: round(100 * out["found"][name] / out["faces"], 2) for name in SEARCHES}
    out["lost"] = {name: lost(figures, name) for name in SAVED}
    for key in ("late", "late_visible"):
        out[key] = {name: sorted(sum((one[key][name] for one in figures), []), reverse=True) for name in SAVED}
    out["closed"] = max(one["closed"] for one in figures)
    out["closed_camera"] = max(one["closed_camera"] for one in figures)
    out["ms"] = {name: round(ms / frames, 3) for name, ms in out["ms"].items()}  # a frame
    return out


def lost(figures, name):
    """[points of recall below that of a baseline, the standard error]"""
    missed, faces = [one["found"][name] - one["found"][MOTION] for one in figures], [one["faces"] for one in figures]
    return [round(float(points), 2) for points in (100 * sum(missed) / sum(faces), error_of_share(missed, faces))]


def goals(engines):
    """Of all clips, by each engine."""
    rows = []
    for engine, kinds in engines.items():
        of_all, camera = kinds["all"], kinds["camera"]
        rows.append((engine, "frames with people, %", of_all["frames_with_people_percent"], "≥ 30",
                     of_all["frames_with_people_percent"] >= 30))
        for name, least in SAVED.items():
            rows.append((engine, f"search time saved, beside {name}, %", of_all[f"saved, {name}"], f"≥ {least}",
                         of_all[f"saved, {name}"] >= least))
        for name in SAVED:
            points = of_all["lost"][name][0]
            rows.append((engine, f"recall less than with {name}, points", points, f"≤ {LOST}", points <= LOST))
        for name in SAVED:
            late = of_all["late"][name]
            rows.append((engine, f"latest of {len(late)} faces, beside {name}, frames", late[0], f"≤ {LATEST}",
                         late[0] <= LATEST))
        rows.append((engine, "longest closed while something moves, frames", of_all["closed"], f"≤ {SECOND}",
                     of_all["closed"] <= SECOND))
        rows.append((engine, "longest closed while the camera moves, frames", camera["closed_camera"], f"≤ {SECOND}",
                     camera["closed_camera"] <= SECOND))
    return [dict(zip(("engine", "what", "ours", "goal", "reached"), (*row[:2], round(float(row[2]), 2), row[3], bool(row[4]))))
            for row in rows]


def tables(result):
    reached = [[row["engine"], row["what"], f"{row['ours']:g}", row["goal"], "yes" if row["reached"] else "**no**"]
               for row in result["goals"]]
    errors = [[engine, name, *(f"{number:g}" for number in kinds["all"]["lost"][name]),
              *(f"{sum(late > LATEST for late in kinds['all'][key][name])} of {len(kinds['all'][key][name])}"
                for key in ("late", "late_visible"))]
             for engine, kinds in result["engines"].items() for name in SAVED]
    by_kind = [[engine, kind, figures["clips"], *(figures["ms"][name] for name in SEARCHES),
                *(f"{figures['recall'][name]:.1f}" for name in SEARCHES), figures["late"][EVERY][0], figures["closed"]]
               for engine, kinds in result["engines"].items() for kind, figures in kinds.items()]
    head = ["engine", "clips", "number", *(f"ms, {name}" for name in SEARCHES),
            *(f"recall, {name}, %" for name in SEARCHES), "latest, frames", "closed, frames"]
    return {"goals": pages.table(["engine", "what", "ours", "goal", "reached"], reached),
            "errors": pages.table(["engine", "beside", "recall less, points", "standard error", f"later than {LATEST} frames",
                                   "of the visible"], errors),
            "kinds": pages.table(head, by_kind)}


def with_tables(page, result):
    return pages.with_tables(page, tables(result), "tests/quality/gate.py")


def result_of(choosing, engines):
    chains.CACHE.mkdir(parents=True, exist_ok=True)
    subprocess.run([chains.BUILD / "models/cuface-model", "convert", DATA / "models/yunet.onnx", NETWORK], check=True,
                   stdout=subprocess.DEVNULL)
    seeds = gate_scenes.CHOOSING if choosing else gate_scenes.REPORTED
    by_engine = measured(seeds, engines)
    result = pages.origin("search=motion on clips of a room; tests/quality/gate.py", seeds)
    return result | {"goals": goals(by_engine), "engines": by_engine}


def main():
    parser = pages.parser(__doc__)
    parser.add_argument("--engine", action="append", choices=ENGINES)
    arguments = parser.parse_args()
    pages.report(arguments, lambda choosing: result_of(choosing, arguments.engine or list(ENGINES)), tables, RESULT, PAGE,
                 with_tables)


if __name__ == "__main__":
    main()
