#!/usr/bin/python3
"""Measures which faces that come back get their old ids, by revive=look and by revive=features, on made clips
(return_scenes.py).

  tests/quality/returns.py [--choosing] [--table]

Writes docs/results/returns.json and the table of docs/results/returns.md, of the faces REPORTED. --choosing prints the
same of those by which constants were chosen, and writes nothing; --table only makes the table again. Needs the test
data ($CUFACE_DATA) and a build with tests.
"""
import json
import os
import pathlib

import chains
import measures
import pages
import return_scenes

DATA = pathlib.Path(os.environ.get("CUFACE_DATA", chains.SOURCE / "../shared/data")).resolve()
RESULT = chains.SOURCE / "docs/results/returns.json"
PAGE = chains.SOURCE / "docs/results/returns.md"
WAYS = {"look": "revive=look", "features": "revive=features"}
CHAIN = "cufacedetect redetect-interval=5 threads=1 ! culktrack revive-time=15"
LEAST_PERCENT = 80


def ids_of(frames, people, begin, end):
    """{who: ids in their order} of frames begin to end."""
    found = {}
    for faces, true in zip(frames[begin:end], people[begin:end], strict=True):
        names = sorted(true)
        for i, j in measures.match(faces, [true[name] for name in names]).items():
            ids = found.setdefault(names[j], [])
            if faces[i]["id"] not in ids:
                ids.append(faces[i]["id"])
    return found


def judged(frames, truth):
    """{"old", "new", "unseen", "wrong"}: how many came back with their old id, with a new one, or were not seen twice;
    how many have an id that was somebody else's, strangers too."""
    people, back = truth["people"], truth["back"]
    before, after = ids_of(frames, people, 0, back), ids_of(frames, people, back, len(frames))
    result = dict.fromkeys(("old", "new", "unseen", "wrong"), 0)
    for who in truth["returning"]:
        if not before.get(who) or not after.get(who):
            result["unseen"] += 1
        elif after[who] == before[who][-1:]:
            result["old"] += 1
        else:
            result["new"] += 1
    owner = {}
    for who, ids in [*before.items(), *after.items()]:
        for number in ids:
            result["wrong"] += owner.setdefault(number, who) != who
    return result


def measured(faces, clips=range(return_scenes.CLIPS)):
    """{way: figures of all clips}"""
    chains.CACHE.mkdir(parents=True, exist_ok=True)
    total = {way: dict.fromkeys(("old", "new", "unseen", "wrong"), 0) for way in WAYS}
    for number in clips:
        clip = return_scenes.Scene(DATA, faces, number).clip
        with clip.file(chains.CACHE) as path:
            for way, setting in WAYS.items():
                figures = judged(chains.ours(clip, path, f"{CHAIN} {setting}"), clip.truth)
                print(clip.name, way, figures, flush=True)
                for key, value in figures.items():
                    total[way][key] += value
    return total


def goals(ways):
    features = ways["features"]
    share = 100 * features["old"] / sum(features[key] for key in ("old", "new", "unseen"))
    return [{"what": "came back with their old ids, %", "figure": round(share, 1), "goal": f"≥ {LEAST_PERCENT}",
             "reached": share >= LEAST_PERCENT},
            {"what": "ids that were somebody else's", "figure": features["wrong"], "goal": "0",
             "reached": features["wrong"] == 0}]


def tables(result):
    reached = [(g["what"], g["figure"], g["goal"], "yes" if g["reached"] else "no") for g in result["goals"]]
    ways = [(f"`revive={way}`", f["old"], f["new"], f["unseen"], f["wrong"]) for way, f in result["ways"].items()]
    return {"goals": pages.table(["what", "figure", "goal", "reached"], reached),
            "ways": pages.table(["way", "old id", "new id", "not seen twice", "somebody else's"], ways)}


def with_tables(page, result):
    return pages.with_tables(page, tables(result), "tests/quality/returns.py")


def result_of(choosing):
    faces = return_scenes.CHOOSING if choosing else return_scenes.REPORTED
    result = pages.origin("faces that come back, in made clips; tests/quality/returns.py", faces)
    result["ways"] = measured(faces)
    result["goals"] = goals(result["ways"])
    return result


if __name__ == "__main__":
    pages.report(pages.parser(__doc__).parse_args(), result_of, tables, RESULT, PAGE, with_tables)
