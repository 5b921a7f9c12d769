#!/usr/bin/env python3
"""Makes docs/results/forests.md of what is measured elsewhere: forest-folds.json (ninja -C build forest-folds),
and forest-gpu.json (its command, on a machine with a GPU).

  tests/quality/forests.py"""
import json

import chains
import pages

RESULTS = chains.SOURCE / "docs/results"
PAGE = RESULTS / "forests.md"


def read(name):
    return json.loads((RESULTS / name).read_text(encoding="utf-8"))


def folds(result):
    names = {"ours": "cuface-train", "dlibs": "dlib's trainer", "ours_mirrored": "cuface-train `--mirror`",
             "five_points_mirrored": "its five points (`--five`)"}
    return errors(result, names)


def boxes(result):
    return errors(result, {"mirrored_in_our_boxes_through_the_map": "trained with dlib's boxes, given ours by the box map",
                           "mirrored_trained_with_our_boxes": "trained with ours (`--boxes`), without a map"})


def errors(result, names):
    return pages.table(["model", "mean error, %", "standard error", "median, %", "faces off by over 10 %", "of"],
                       [[name, f"{result[key]['mean_percent']:.2f}", f"{result[key]['standard_error']:.2f}",
                         f"{result[key]['median_percent']:.2f}", result[key]["over_10_percent"], result[key]["faces"]]
                        for key, name in names.items()])


def curve(result):
    return pages.table(["faces learnt, and their mirror pictures", "mean error, %"],
                       [[row["faces_learnt"], f"{row['mean_percent']:.2f}"] for row in result["learning_curve_mirrored"]])


def gpu(result):
    return pages.table(["pictures x starts", "points", "whole run, s", "decoding, s", "growing, s", "GPU memory, GB", "goal, s"],
                       [[f"{run['pictures']:,} x {run['starts']}", run["points"], f"{run['whole_s']:.1f}", f"{run['decoding_s']:.1f}",
                         f"{run['growing_s']:.1f}", f"{run['gpu_gb']:.1f}", run["goal_s"]] for run in result["runs"]])


def tables():
    result = read("forest-folds.json")
    return {"folds": folds(result), "boxes": boxes(result), "curve": curve(result), "gpu": gpu(read("forest-gpu.json"))}


def with_tables(page):
    return pages.with_tables(page, tables(), "tests/quality/forests.py")


def main():
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
