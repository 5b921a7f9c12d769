"""S0.E10 and S0.E11: boxes and landmarks of photographs, beside OpenCV's and people's."""
import experiments
import chain
import chains
import clips
import measures
import numpy as np

WAYS = {"scaled pictures": "cufacedetect redetect-interval=1",
        "scaled windows": "cufacedetect redetect-interval=1 scale-mode=window scale-factor=1.2 grouping=overlap"}
LANDMARKS = "cufacedetect redetect-interval=1 ! cufacelandmark"
WORST = 6


def found_in(clip, chain_of_ours):
    """(ours, the peer's) faces of each frame."""
    experiments.built("tests/quality/quality-peer")
    chains.CACHE.mkdir(parents=True, exist_ok=True)
    with clip.file(chains.CACHE) as path:
        return chains.ours(clip, path, chain_of_ours), chains.peer(clip, path)


def overlaps(chain_of_ours):
    """For each picture the best overlap of ours with each box of OpenCV, and whether ours finds a face."""
    for clip in clips.picture_clips(chain.DATA, False):
        for ours, peer in zip(*found_in(clip, chain_of_ours)):
            yield [max((measures.overlap(box, other) for other in ours), default=0.0) for box in peer], bool(ours)


def boxes(_):
    figures, shown = {}, {}
    for way, text in WAYS.items():
        pictures = list(overlaps(text))
        every = np.array([value for best, _ in pictures for value in best])
        alone = np.array([best[0] for best, _ in pictures if len(best) == 1])
        shown[way] = np.round(every, 4).tolist()
        for name, values in (("all boxes", every), ("one in the picture", alone)):
            figures |= {f"{what}, {way}, {name}": {"ours": float(value), "peer": None} for what, value in
                        (("mean overlap", values.mean()), ("overlap of at least 0.8", 100 * np.mean(values >= 0.8)),
                         ("overlap under 0.5", 100 * np.mean(values < 0.5)))}
        figures[f"pictures with a face, {way}"] = {"ours": sum(found for _, found in pictures),
                                                   "peer": sum(bool(best) for best, _ in pictures)}
    return {"seeds": [], "pictures": len(pictures), "boxes": len(every), "boxes_alone": len(alone), "ways": WAYS,
            "figures": figures, "plot": shown}


def plot_boxes(pyplot, shown):
    """How many boxes overlap so well, and the share of those that overlap less."""
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(7, 2.6), layout="constrained")
    colours = dict(zip(WAYS, ("#27a", "#c44")))
    left.hist(list(shown.values()), bins=np.linspace(0, 1, 21), label=list(shown), color=[colours[way] for way in shown])
    left.set_xlabel("overlap with OpenCV's box")
    left.set_ylabel("boxes")
    left.legend(frameon=False, fontsize=7)
    cumulative(right, shown, colours, "overlap with OpenCV's box", 1)
    return figure


def cumulative(axis, values_of, colours, what, most):
    for name, values in values_of.items():
        inside = np.sort([value for value in values if value is not None])
        axis.step(inside, 100 * np.arange(1, len(inside) + 1) / len(values), color=colours[name], label=name, where="post")
    axis.set_xlim(0, most)
    axis.set_xlabel(what)
    axis.set_ylabel("%, at most so much")


def labelled():
    """For each labelled face: name, picture, true points, the faces that ours and the peer find, our error and the peer's in eye
    distances (None for a missed face), and our largest error of a point."""
    for clip in clips.labelled_clips(chain.DATA):
        for name, truth, picture, *faces in zip(clip.truth["names"], clip.truth["points"], clip.make(), *found_in(clip, LANDMARKS)):
            errors = [measures.nme_of_best(found, truth) for found in faces]
            yield {"name": name, "picture": picture, "truth": truth, "ours": faces[0], "peer": faces[1],
                   "error": errors[0] and errors[0] / 100, "peer_error": errors[1] and errors[1] / 100}


def worst_first(rows):
    """(the found ones with the largest errors, the missed ones, the others from bad to good)"""
    found = sorted((row for row in rows if row["error"] is not None), key=lambda row: -row["error"])
    return found[:WORST], [row for row in rows if row["error"] is None], found[WORST:]


def points(run):
    result = run.program("faces", "S0.E11")
    in_true_boxes = [error / 100 for error in result.pop("errors_in_true_boxes")]
    rows = list(labelled())
    errors = {"our box": [row["error"] for row in rows], "true box": in_true_boxes,
              "OpenCV and dlib": [row["peer_error"] for row in rows]}
    figures = {"faces missed": {"ours": errors["our box"].count(None), "peer": errors["OpenCV and dlib"].count(None)}}
    for box in ("our box", "true box"):
        peer = errors["OpenCV and dlib"] if box == "our box" else None
        for name, measure in (("mean error", lambda e: float(np.mean([x for x in e if x is not None]))),
                              ("faces under 0.1", lambda e: 100 * sum(x is not None and x < 0.1 for x in e) / len(e)),
                              ("largest error of a face", lambda e: max(x for x in e if x is not None))):
            figures[f"{name}, {box}"] = {"ours": measure(errors[box]), "peer": measure(peer) if peer else None}
    return {**result, "seeds": [], "faces": len(rows), "figures": figures,
            "worst": [[row["name"], round(row["error"], 4)] for row in worst_first(rows)[0]],
            "plot": {name: [value and round(value, 5) for value in values] for name, values in errors.items()}}


def plot_points(pyplot, shown):
    figure, axes = pyplot.subplots(figsize=(4.5, 2.8), layout="constrained")
    cumulative(axes, shown, dict(zip(shown, ("#27a", "#2a7", "#c44"))), "mean error, in distances of the outer eye corners", 0.15)
    axes.legend(frameon=False, fontsize=7)
    return figure
