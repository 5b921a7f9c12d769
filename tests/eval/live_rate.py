"""S1.E6: ten seconds of a clip of 640x480 through edges and motion, and through the four views of [S1.12]."""
import pathlib
import statistics
import subprocess
import tempfile

import experiments  # noqa: F401, for the paths
import chain
import turns

FRAMES, OF_A_TURN = 300, 10  # ten seconds
EDGES = "cuedgedetect kernel-size=3 norm=l2 thinning=sectors linking=apron low=15 high=25"
MOTION = ("cumotiondetect method=edges interval=0 symmetric=false border=7 density=published global-changes=false "
          "min-frames=1")
CHAIN = f"{EDGES} output=meta ! {MOTION} output=cells"
PEER = "videoconvert ! edgedetect ! motioncells display=false"
# The picture, its edges, the difference and the area; the edges are found once for the motion and once to be seen.
VIEWS = (f"{EDGES} output=meta ! tee name=views  views. ! queue ! all.  views. ! queue ! {EDGES} output=picture ! all.  "
         f"views. ! queue ! {MOTION} output=mask ! all.  views. ! queue ! {MOTION} output=cells ! all.  "
         "compositor name=all sink_1::xpos=640 sink_2::ypos=480 sink_3::xpos=640 sink_3::ypos=480")


def source(quick):
    if quick:
        return "videotestsrc pattern=ball num-buffers=24 ! video/x-raw,format=I420,width=640,height=480"
    return chain.source(chain.clip_folder() / "sister.mp4")


def edge_pixels(quick):
    """Percent of all pixels."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "edges.gray"
        text = f"{source(quick)} ! identity eos-after={FRAMES + 1} ! videoconvert ! video/x-raw,format=GRAY8 ! {EDGES} ! filesink location={file}"
        subprocess.run(["gst-launch-1.0", "-q", *text.split()], check=True, env=chain.command(text)[1])
        found = file.read_bytes()
    return 100 * sum(found.count(value) for value in range(128, 256)) / len(found)


def rates(ms):
    """Frames a second of each turn."""
    return [1e3 / value for value in turns.there(ms)]


def measure(run):
    frames = 24 if run.quick else FRAMES
    texts = {"ours": CHAIN, "peer": PEER, "views": VIEWS}
    texts = {name: f"{source(run.quick)} ! {elements} ! fakesink sync=false" for name, elements in texts.items()}
    ms, _ = turns.take(texts, frames // OF_A_TURN, 60, frames)
    ours, peer, composed = (rates(ms[name]) for name in texts)
    figures = {f"{name} rate": {"ours": f(ours), "peer": f(peer)} for name, f in
               (("mean", statistics.mean), ("median", statistics.median), ("least", min), ("greatest", max),
                ("standard deviation of the", statistics.pstdev))}
    figures["mean rate, four views composed"] = {"ours": statistics.mean(composed), "peer": None}
    figures["edge pixels"] = {"ours": edge_pixels(run.quick), "peer": None}
    return {"seeds": [], "pipelines": {"ours": CHAIN, "peer": PEER, "views": VIEWS},
            "turns_ms": {name: [round(value, 3) for value in turns.there(values)] for name, values in ms.items()},
            "figures": figures}
