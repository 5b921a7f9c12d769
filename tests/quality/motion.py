#!/usr/bin/python3
"""Measures how well motion is seen, and what is taken for it, beside OpenCV's MOG2, gst-opencv's motioncells and frame
differences, on scenes in which each moving pixel is known (motion_scenes.py).

  tests/quality/motion.py [--choosing] [--table]

Writes docs/results/motion.json and the tables of docs/results/motion.md, from the seeds REPORTED. --choosing prints
the same of the seeds by which constants are chosen, and writes nothing; --table only makes the tables again.

F1 is of the mask's pixels in the frames with objects. A false frame has none, nor had those of GRACE before it, and
motion is reported all the same. Masks of all but motioncells go through the same cells: 10 x 6, a density above 1 %,
two frames in a row. Needs a build with tests.
"""
import multiprocessing
import re
import subprocess
import sys
import tempfile

import numpy as np

import chains
import motion_scenes
import pages
from motion_scenes import AFTER, BEFORE, DURING, GRACE, HEIGHT, KINDS, LEARN, LENGTH, WIDTH

RESULT = chains.SOURCE / "docs/results/motion.json"
PAGE = chains.SOURCE / "docs/results/motion.md"
COLUMNS, ROWS, CELLS_ROWS = 10, 6, 8  # motioncells has at least 8 rows
WITH_OBJECTS = slice(LEARN + BEFORE, LEARN + BEFORE + DURING)
WITHOUT = [*range(LEARN, LEARN + BEFORE), *range(LENGTH - AFTER + GRACE, LENGTH)]
HOSTILE = KINDS[1:]
MOST_FALSE = 2  # % of the frames
PEERS = "mog2", "mog2-median", "difference", "motioncells"
OURS = "background", "difference", "edges"


def program(path, *arguments, frames):
    done = subprocess.run([chains.BUILD / path, *map(str, arguments)], input=frames, stdout=subprocess.PIPE, check=True)
    return done.stdout


def masks_of(data):
    return np.frombuffer(data, np.uint8).reshape(-1, HEIGHT, WIDTH) > 0


def ours(method, frames):
    """Masks, whether a cell moves, and which frames changed as a whole."""
    if method == "edges":
        frames = program("tests/quality/motion_peer", "canny", WIDTH, HEIGHT, frames=frames)
    rest = program("tests/kernels/motion_masks", method, WIDTH, HEIGHT, frames=frames)
    masks, moves, whole, begin = [], [], [], 0
    while not rest.startswith(b"finish", begin):
        end = rest.index(b"\n", begin)
        numbers = rest[begin:end].split()
        whole.append(numbers[1] == b"1")
        moves.append(numbers[7] != b"0")
        begin = end + 1 + WIDTH * HEIGHT
        masks.append(rest[end + 1:begin])
    return masks_of(b"".join(masks)), moves, whole


def cells_move(masks):
    """The rule of kernels/motion/events.h."""
    cell = (ROWS * np.arange(HEIGHT) // HEIGHT)[:, None] * COLUMNS + COLUMNS * np.arange(WIDTH) // WIDTH
    pixels = np.bincount(cell.ravel())
    streak, moves = np.zeros((ROWS, COLUMNS), int), []
    for mask in masks:
        active = (100 * np.bincount(cell[mask], minlength=ROWS * COLUMNS) > pixels).reshape(ROWS, COLUMNS)
        near = np.pad(streak, 1)
        longest = np.max([near[y:y + ROWS, x:x + COLUMNS] for y in range(3) for x in range(3)], axis=0)
        streak = np.where(active, longest + 1, 0)
        moves.append(bool((streak >= 2).any()))
    return moves


def peer(method, frames):
    masks = masks_of(program("tests/quality/motion_peer", method, WIDTH, HEIGHT, frames=frames))
    return masks, cells_move(masks), [False] * len(masks)


def motioncells(frames):
    """Its cells as a mask, from its messages, which have the time of their frame. It looks five times a second, and
    what it says holds until it looks again."""
    with tempfile.NamedTemporaryFile(suffix=".gray8") as file:
        file.write(frames)
        file.flush()
        chain = (f"filesrc location={file.name} blocksize={WIDTH * HEIGHT} ! rawvideoparse format=gray8 width={WIDTH} "
                 f"height={HEIGHT} framerate={motion_scenes.FPS}/1 ! videoconvert ! motioncells display=false "
                 f"postallmotion=true gridx={COLUMNS} gridy={CELLS_ROWS} gap=1 ! fakesink sync=false")
        done = subprocess.run(["gst-launch-1.0", "-m", *chain.split()], check=True, stdout=subprocess.PIPE, text=True)
    masks = np.zeros((LENGTH, HEIGHT, WIDTH), bool)
    for line in done.stdout.splitlines():
        found = re.search(r"motion_cells_indices=\(string\)([\d:,\"\\]+), motion(?:_begin)?=\(guint64\)(\d+)", line)
        if not found:
            continue
        number = round(int(found[2]) * motion_scenes.FPS / 1e9)
        for row, column in re.findall(r"(\d+):(\d+)", found[1]):
            top, left = (int(row) * HEIGHT // CELLS_ROWS, int(column) * WIDTH // COLUMNS)
            masks[number:number + motion_scenes.FPS // 5, top:top + HEIGHT // CELLS_ROWS, left:left + WIDTH // COLUMNS] = True
    return masks, list(masks.any(axis=(1, 2))), [False] * LENGTH


def score(truth, masks, moves, whole):
    seen, there = masks[WITH_OBJECTS], truth[WITH_OBJECTS]
    hits, wrong, missed = (int(np.count_nonzero(part)) for part in (seen & there, seen & ~there, ~seen & there))
    return {"f1": 2 * hits / max(1, 2 * hits + wrong + missed), "precision": hits / max(1, hits + wrong),
            "recall": hits / max(1, hits + missed), "false": sum(moves[t] for t in WITHOUT), "frames": len(WITHOUT),
            "whole": sum(whole)}


def scores_of(task):
    """{method: score} of a scene."""
    scene = motion_scenes.Scene(*task)
    pairs = list(scene.frames())
    frames, truth = b"".join(frame.tobytes() for frame, _ in pairs), np.array([shown for _, shown in pairs])
    scores = {f"ours, {method}": score(truth, *ours(method, frames)) for method in OURS}
    scores |= {method: score(truth, *peer(method, frames)) for method in PEERS[:-1]}
    scores["motioncells"] = score(truth, *motioncells(frames))
    return task, scores


def measured(seeds):
    """{kind: {method: means}}"""
    found = {kind: {} for kind in KINDS}
    with multiprocessing.Pool(2) as pool:
        for (kind, seed), scores in pool.imap_unordered(scores_of, [(kind, seed) for kind in KINDS for seed in seeds]):
            found[kind][seed] = scores
            print(kind, seed, scores["ours, background"], file=sys.stderr, flush=True)
    return {kind: {method: mean([scores[method] for scores in of_seed.values()])
                   for method in next(iter(of_seed.values()))} for kind, of_seed in found.items()}


def mean(scores):
    out = {key: round(float(np.mean([score[key] for score in scores])), 4) for key in ("f1", "precision", "recall")}
    out["false_percent"] = round(100 * sum(score["false"] for score in scores) / sum(score["frames"] for score in scores), 2)
    return out | {"whole": sum(score["whole"] for score in scores)}


def goals(kinds):
    """[(what, ours, peer, goal, reached)] of the method background."""
    def f1(method):
        return round(float(np.mean([kinds[kind][method]["f1"] for kind in KINDS])), 3)
    mine = "ours, background"
    rows = [("F1, mean of all scenes", f1(mine), f1("mog2"), "≥ MOG2", f1(mine) >= f1("mog2"))]
    for kind in HOSTILE:
        false = kinds[kind][mine]["false_percent"]
        best = min(kinds[kind][method]["false_percent"] for method in PEERS)
        rows.append((f"false frames, {kind}, %", false, best, f"≤ best peer, ≤ {MOST_FALSE}",
                     false <= min(best, MOST_FALSE)))
    return [dict(zip(("what", "ours", "peer", "goal", "reached"), row)) for row in rows]


def tables(result):
    kinds = result["kinds"]
    methods = list(kinds[KINDS[0]])
    f1 = [[method, *(f"{kinds[kind][method]['f1']:.2f}" for kind in KINDS),
           f"{np.mean([kinds[kind][method]['f1'] for kind in KINDS]):.3f}"] for method in methods]
    false = [[method, *(f"{kinds[kind][method]['false_percent']:.1f}" for kind in KINDS)] for method in methods]
    reached = [[row["what"], row["ours"], row["peer"], row["goal"], "yes" if row["reached"] else "**no**"]
               for row in result["goals"]]
    return {"goals": pages.table(["what", "ours", "best peer", "goal", "reached"], reached),
            "F1": pages.table(["method", *KINDS, "mean"], f1), "false": pages.table(["method", *KINDS], false)}


def with_tables(page, result):
    return pages.with_tables(page, tables(result), "tests/quality/motion.py")


def result_of(choosing):
    seeds = motion_scenes.CHOOSING if choosing else motion_scenes.REPORTED
    kinds = measured(seeds)
    result = pages.origin("motion in scenes with known truth; tests/quality/motion.py", seeds)
    return result | {"goals": goals(kinds), "kinds": kinds}


if __name__ == "__main__":
    pages.report(pages.parser(__doc__).parse_args(), result_of, tables, RESULT, PAGE, with_tables)
