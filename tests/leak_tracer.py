"""GStreamer's leaks tracer: which of its objects outlive a program."""
import os
import pathlib
import re
import subprocess
import tempfile


def trace(command, **environment):
    """Runs a program that ends with gst_deinit(); what it did, and a line for each object still alive then."""
    with tempfile.TemporaryDirectory(prefix="cuface-test-") as folder:
        log = pathlib.Path(folder) / "tracer.log"
        done = subprocess.run([str(part) for part in command], text=True, check=False, timeout=600,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              env={**os.environ, "GST_TRACERS": "leaks(check-refs=true)",
                                   "GST_DEBUG": "GST_TRACER:7", "GST_DEBUG_NO_COLOR": "1",
                                   "GST_DEBUG_FILE": str(log), **environment})
        text = log.read_text(errors="replace") if log.exists() else ""
    return done, re.findall(r"object-alive, type-name=\(string\)[^%].*", text)
