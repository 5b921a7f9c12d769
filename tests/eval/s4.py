"""The experiments of S4: what a trainer of cascades does to every sample. Theirs are pictures without numbers."""
from experiments import Experiment

WHAT = "Samples of 24 x 24, parts of a mosaic of faces; theirs are up to 8,000 faces and others. "
FEATURES = "2,048 of 162,336 features, evenly. "
# What is on a GPU alone: the published ways beside ours.
INTEGRALS = tuple(f"integrals of samples, {way}" for way in ("pointers", "pitched", "shared memory", "two buffers"))
WAYS = "flat", "shared memory", "constant memory"


def beside(run, experiment, names):
    """Ours on the CPU, and curves that only a GPU has, at the same sizes."""
    result = run.program("boost", experiment)
    sizes = [{"x": point["x"]} for point in result["curves"][0]["points"]]
    result["curves"] += [{"experiment": experiment, "name": name, "x": "samples", "peer": "", "points": sizes} for name in names]
    return result


EXPERIMENTS = [
    Experiment(
        "S4.E1", "Integrals of samples",
        WHAT + "Theirs is four launches: scan the rows, transpose, scan, transpose back. Rows are found by pointers or by "
        "multiplication; scans are in shared memory or in two buffers. Ours is one launch. Theirs says that the CPU is the fastest.",
        lambda run: beside(run, "S4.E1", INTEGRALS)),
    Experiment(
        "S4.E2", "What features say of samples",
        WHAT + FEATURES + "Theirs is a thread a feature and sample, or a block a feature with a launch for every thousand samples. "
        "Weights may lie in constant memory. Ours has the sums of neighbouring samples side by side. On the CPU ours divides by the "
        "norm, too. Theirs says that the GPU is well ahead of the CPU, and the block a feature ahead with many samples.",
        lambda run: beside(run, "S4.E2", [f"responses, {way}" for way in WAYS])),
    Experiment(
        "S4.E3", "Whether a weak classifier is right",
        WHAT + FEATURES + "The same ways, which write a label and an error for each feature and sample. Theirs looks like that of "
        "S4.E2.", lambda run: beside(run, "S4.E3", [f"labels, {way}" for way in WAYS])),
]
