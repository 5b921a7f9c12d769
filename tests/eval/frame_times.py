"""S0.E9: the time of each of 850 frames, with a face searched on every frame or on every tenth, and without a face."""
import statistics

import experiments
import chain
import chains
import clips

FRAMES, PEER_FRAMES = 850, 100
WAYS = {"no face": ("noface720", 1), "a search on every frame": ("pexels720", 1),
        "a search every 10 frames": ("pexels720", 10)}


def times(clip, interval, frames):
    """Processor time in ms of the elements for each frame."""
    text = (f"{chain.source(chain.clip_folder() / f'{clip}.mp4')} ! identity eos-after={frames + 1} ! "
            f"cufacedetect redetect-interval={interval} threads=1 spread=false ! culktrack ! cufacelandmark ! "
            "cufacepublish location=/dev/null name=last ! fakesink sync=false")
    return [ns / 1e6 for ns, _ in chains.pace_of(text)]


def mean(values):
    return sum(values) / len(values)


def measure(_):
    found = {way: times(*setting, FRAMES) for way, setting in WAYS.items()}
    experiments.built("tests/quality/quality-peer")
    chains.CACHE.mkdir(parents=True, exist_ok=True)
    clip = clips.given(chain.DATA, "WolfgangLanger_Pexels.mp4", 0, PEER_FRAMES, (1280, 720))
    with clip.file(chains.CACHE) as path:
        peer = [ns / 1e6 for ns in chains.peer_pace(clip, path)]
    figures = {f"mean time, {way}": {"ours": mean(values), "peer": mean(peer) if way == "a search on every frame" else None}
               for way, values in found.items()}
    every, tenth = (found[way] for way in list(WAYS)[1:])
    figures["every frame / every tenth"] = {"ours": mean(every) / mean(tenth), "peer": None}
    searched = [value for number, value in enumerate(tenth) if number % 10 == 0]
    between = [value for number, value in enumerate(tenth) if number % 10]
    figures["a frame with a search / one without"] = {"ours": mean(searched) / mean(between), "peer": None}
    figures["median time, a search every 10 frames"] = {"ours": statistics.median(tenth), "peer": None}
    return {"seeds": [], "frames": {way: len(values) for way, values in found.items()}, "figures": figures,
            "plot": {way: [round(value, 2) for value in values] for way, values in found.items()}}


def plot(pyplot, times_of):
    figure, axes = pyplot.subplots(figsize=(7, 2.8), layout="constrained")
    for (way, values), colour in zip(times_of.items(), ("#2a7", "#c44", "#27a")):
        axes.plot(values, color=colour, linewidth=0.6, label=way)
    axes.set_yscale("log")
    axes.set_xlabel("frame")
    axes.set_ylabel("processor time, ms")
    axes.legend(frameon=False, fontsize=7)
    return figure
