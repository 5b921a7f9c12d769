"""No object of GStreamer outlives a chain: GStreamer's leaks tracer says so when the program ends."""
import sys

import pytest

from leak_tracer import trace
from programs import DATA

CLIP = DATA / "videos" / "book.mkv"
SIZE = "video/x-raw,width=320,height=240"
CHAINS = {
    "the chain": "cufacedetect ! culktrack ! cufacelandmark ! cufaceoverlay",
    "landmarks before tracker": "cufacedetect ! cufacelandmark ! culktrack",
    "two branches": "cufacedetect ! tee name=t ! queue ! cufacelandmark ! fakesink t. ! queue ! culktrack",
}
# A program that keeps a reference: what the tracer must find.
LEAKING = """
import ctypes, gi
gi.require_version("Gst", "1.0")
from gi.repository import Gst
Gst.init(None)
kept = Gst.ElementFactory.make("cufacedetect")
ctypes.CDLL("libgobject-2.0.so.0").g_object_ref(ctypes.c_void_p(hash(kept)))
del kept
Gst.deinit()
"""


def chain(lines, elements, frames=30):
    """The arguments of gst-launch-1.0."""
    return (f"filesrc location={CLIP} ! decodebin ! videoconvert ! videoscale ! {SIZE} "
            f"! identity eos-after={frames + 1} ! {elements} "
            f"! cufacepublish location={lines} ! fakesink sync=false").split()


@pytest.mark.parametrize("elements", CHAINS.values(), ids=CHAINS)
def test_nothing_outlives(data, tmp_path, elements):
    lines = tmp_path / "faces.jsonl"
    done, alive = trace(["gst-launch-1.0", "-q", *chain(lines, elements)])
    assert done.returncode == 0, done.stdout
    assert lines.read_bytes().count(b'"id":1') > 10, "hardly any face"
    assert not alive, "\n".join(alive[:20])


def test_a_kept_reference_is_found():
    done, alive = trace([sys.executable, "-c", LEAKING])
    assert done.returncode == 0, done.stdout
    assert any("GstCufaceDetect" in line or "GstCuFaceDetect" in line for line in alive), f"not found: {alive}"
