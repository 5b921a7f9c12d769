#!/usr/bin/python3
"""Measures how exactly flat objects are found beside cv::findHomography, and how they are followed, on made views and
clips whose truth is known (tests/planar_scenes.h).

  tests/quality/planar.py [--choosing] [--table]

Writes docs/results/planar.json and the tables of docs/results/planar.md, from the seeds REPORTED and from a filmed clip
(planar_box.py). --choosing prints what the seeds give by which constants were chosen, and writes nothing; --table only
makes the tables again. Needs a build with tests and with SURF (-Dsurf=enabled), and Debian's opencv-doc.
"""
import json
import subprocess

import chains
import pages
import planar_box

RESULT = chains.SOURCE / "docs/results/planar.json"
PAGE = chains.SOURCE / "docs/results/planar.md"
CHOOSING = {"views": 0, "clips": 1}
REPORTED = {"views": 200_000, "clips": 101}
VIEWS, CLIPS, KINDS = 20, 10, ("orb", "surf")
EXACT_TO, EXACT_PX, LESS_EXACT, LESS_EXACT_PX = 40, 0.5, 50, 1.0
MOST_TREMBLE, MOST_DRIFT = 0.1, 0.1


def program(name, *arguments):
    done = subprocess.run([chains.BUILD / "tests/quality" / name, *map(str, arguments)], text=True,
                          stdout=subprocess.PIPE, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def measured(seeds, views=VIEWS, clips=CLIPS, kinds=KINDS):
    return {kind: program("planar_warps", seeds["views"], views, kind) for kind in kinds} | {
            "clips": program("planar_tracks", seeds["clips"], clips)}


def text(value):
    return "none" if value is None else str(value)


def not_above(value, most):
    return value is not None and (most is None or value <= most)


def goals(result):
    """[(what, figure, goal, whether it is reached)]"""
    rows = []
    for kind in KINDS:
        for tilt in result[kind]:
            degrees, median, found = tilt["tilt"], tilt["median_px"], tilt["found"]
            peer = median["opencv_ransac"]
            rows.append((f"{kind}, {degrees} degrees: corner error, px", text(median["ours"]),
                         f"≤ OpenCV's RANSAC, {text(peer)}", not_above(median["ours"], peer)))
            if degrees <= LESS_EXACT and kind == "surf":
                most = EXACT_PX if degrees <= EXACT_TO else LESS_EXACT_PX
                rows.append((f"{kind}, {degrees} degrees: refined by flow", text(median["refined"]), f"≤ {most}",
                             not_above(median["refined"], most)))
                least = tilt["views"] if degrees <= EXACT_TO else 0.9 * tilt["views"]
                rows.append((f"{kind}, {degrees} degrees: found, of {tilt['views']}", found["refined"], f"≥ {least:g}",
                             found["refined"] >= least))
    objects = [known for clip in result["clips"] for known in clip["objects"]]
    rows.append((f"lost where 40 % can be seen, of {len(objects)} tracks", sum(o["lost"] for o in objects), "0",
                 not any(o["lost"] for o in objects)))
    tremble = max(o["tremble_px"] for o in objects)
    rows.append(("corners at rest tremble, px, the worst", tremble, f"≤ {MOST_TREMBLE}", tremble <= MOST_TREMBLE))
    drift = max(o["first_to_last_px"] for o in objects)
    rows.append(("last 100 frames to first 100, px, the worst", drift, f"≤ {MOST_DRIFT}", drift <= MOST_DRIFT))
    for kind, faces in result["box"].items():
        for name, face in faces.items() if kind != "opencv" else ():
            what, both = f"filmed box, {name}, {kind}: ", face["both"]
            rows += [(what + "frames followed", face["found"], face["frames"], face["found"] == face["frames"]),
                     (what + "lost, and changes of its id", face["lost"] + face["id_changes"], "0",
                      not face["lost"] + face["id_changes"]),
                     (f"{what}px from {both['marks']} marks that both found", both["px"],
                      f"≤ OpenCV's, {both['other_px']}", both["px"] <= both["other_px"]),
                     (what + "trembling where both found, px", both["tremble_px"], f"≤ OpenCV's, {both['other_tremble_px']}",
                      both["tremble_px"] <= both["other_tremble_px"]),
                     (what + "lost on the way there and back", face["returning_lost"], "0", not face["returning_lost"]),
                     (what + "there and back, px between the ends", face["drift_px"], f"≤ {MOST_DRIFT}",
                      face["drift_px"] <= MOST_DRIFT)]
            ends = result["aligned"][kind][name]
            further = round(ends["last_px"] - ends["first_px"], 3)
            rows.append((what + "first to last frames, px from all pixels", further, f"≤ {MOST_DRIFT}",
                         abs(further) <= MOST_DRIFT))
    return [{"what": w, "figure": f, "goal": g, "reached": r} for w, f, g, r in rows]


def tables(result):
    reached = [(g["what"], text(g["figure"]), g["goal"], "yes" if g["reached"] else "no") for g in result["goals"]]
    ways = ("ours", "opencv_ransac", "opencv_usac", "refined")
    head = ["tilt", "ours, px", "RANSAC, px", "USAC, px", "refined, px", "ours found", "RANSAC found", "USAC found",
            "refined found"]
    views = {kind: pages.table(head, [(t["tilt"], *(text(t["median_px"][way]) for way in ways),
                                       *(t["found"][way] for way in ways)) for t in result[kind]]) for kind in KINDS}
    kinds = ("covered by 60 %", "leaves and returns", "tilts")
    tracks = []
    for i, kind in enumerate(kinds):
        objects = [clip["objects"][i] for clip in result["clips"]]
        tracks.append((kind, f"{sum(o['tracked'] for o in objects)} of {sum(o['visible'] for o in objects)}",
                       sum(o["lost"] for o in objects), max(o["latest_return"] for o in objects),
                       max(o["tremble_px"] for o in objects), max(o["first_to_last_px"] for o in objects),
                       max(o["median_error_px"] for o in objects), max(o["largest_error_px"] for o in objects)))
    box = [(f"{name}, {kind}", f"{face['found']} of {face['frames']}", "-" if kind == "opencv" else face["lost"],
            *(text(face[key]) for key in ("median_px", "largest_px", "first_px", "last_px", "tremble_px")),
            *(("-", "-") if kind == "opencv" else (text(face["apart_px"]), face["far"])), text(face.get("backwards_px")))
           for kind, faces in result["box"].items() for name, face in faces.items()]
    returning = [(f"{name}, {kind}", *(text(face[key]) for key in ("returning_lost", "drift_px", "returned_px")))
                 for kind, faces in result["box"].items() if kind != "opencv" for name, face in faces.items()]
    aligned = [(f"{name}, {kind}", text(face["first_px"]), text(face["last_px"]))
               for kind in planar_box.KINDS for name, face in result["aligned"].get(kind, {}).items()]
    return {"aligned": pages.table(["face", "first 100 frames, px", "last 100 frames, px"], aligned),
            "box": pages.table(["face", "frames found", "lost", "median error, px", "largest, px",
                                "first 100 frames, px", "last 100 frames, px", "trembling, px", "to OpenCV's, px",
                                "over 10 px", "to backwards, px"], box),
            "returning": pages.table(["face", "lost", "worst corner's mean, px", "median of all corners, px"], returning),
            "goals": pages.table(["what", "figure", "goal", "reached"], reached),
            **views,
            "tracks": pages.table(["object", "frames followed", "lost", "latest return, frames", "tremble, px",
                                   "first to last, px", "median error, px", "largest error, px"], tracks)}


def with_tables(page, result):
    return pages.with_tables(page, tables(result), "tests/quality/planar.py")


def result_of(choosing):
    seeds = CHOOSING if choosing else REPORTED
    result = pages.origin("flat objects in views and clips with known truth; tests/quality/planar.py", seeds)
    result |= measured(seeds)
    result["box"] = {} if choosing else {kind: planar_box.measured(kind) for kind in planar_box.KINDS}
    result["aligned"] = {} if choosing else planar_box.from_aligned()
    result["goals"] = goals(result)
    return result


if __name__ == "__main__":
    pages.report(pages.parser(__doc__).parse_args(), result_of, tables, RESULT, PAGE, with_tables)
