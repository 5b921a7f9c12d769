#!/usr/bin/python3
"""No object of GStreamer outlives a chain: GStreamer's leaks tracer says so when the program ends."""
import os
import re
import subprocess
import sys

import tap

CLIP = tap.DATA / "videos" / "book.mkv"
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


def trace(command, **environment):
    """Runs a program that ends with gst_deinit(); what it did, and a line for each object still alive then."""
    with tap.Folder() as folder:
        log = folder / "tracer.log"
        done = subprocess.run([str(part) for part in command], text=True, check=False, timeout=600,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              env={**os.environ, "GST_TRACERS": "leaks(check-refs=true)",
                                   "GST_DEBUG": "GST_TRACER:7", "GST_DEBUG_NO_COLOR": "1",
                                   "GST_DEBUG_FILE": str(log), **environment})
        text = log.read_text(errors="replace") if log.exists() else ""
    return done, re.findall(r"object-alive, type-name=\(string\)[^%].*", text)


def chain(lines, elements=CHAINS["the chain"], frames=30):
    """The arguments of gst-launch-1.0."""
    return (f"filesrc location={CLIP} ! decodebin ! videoconvert ! videoscale ! {SIZE} "
            f"! identity eos-after={frames + 1} ! {elements} "
            f"! cufacepublish location={lines} ! fakesink sync=false").split()


def check(elements):
    tap.need_data()
    with tap.Folder() as folder:
        lines = folder / "faces.jsonl"
        done, alive = trace(["gst-launch-1.0", "-q", *chain(lines, elements)])
        tap.need(done.returncode == 0, f"gst-launch failed: {done.stdout}")
        tap.need(lines.read_bytes().count(b'"id":1') > 10, "hardly any face")
    tap.need(not alive, "\n".join(alive[:20]))


def a_kept_reference_is_found():
    done, alive = trace([sys.executable, "-c", LEAKING])
    tap.need(done.returncode == 0, done.stdout)
    tap.need(any("GstCufaceDetect" in line or "GstCuFaceDetect" in line for line in alive), f"not found: {alive}")


if __name__ == "__main__":
    tap.run_cases(a_kept_reference_is_found,
                  *((name, lambda elements=elements: check(elements)) for name, elements in CHAINS.items()))
