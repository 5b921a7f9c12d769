"""The answers depend on the video and the pipeline, never on timing: 20 runs of each pipeline, with and
without queues and tees at each place, give the same faces.jsonl byte for byte."""
import collections
import concurrent.futures
import hashlib
import os

import pytest

import programs
from programs import DATA

RUNS = int(os.environ.get("CUFACE_RUNS", "20"))
FRAMES = 109
CLIP = DATA / "videos" / "book.mkv"
ELEMENTS = ("cufacedetect", "culktrack", "cufacelandmark")
TEE = "tee name={name} ! queue ! fakesink sync=false {name}. ! queue"


def pipelines():
    """(name, text) of every chain tried: plain, other order, and one queue or tee between each two elements."""
    orders = {"main order": ELEMENTS, "landmarks before tracker": ("cufacedetect", "cufacelandmark", "culktrack")}
    for label, order in orders.items():
        yield label, " ! ".join(order)
    for place in range(len(ELEMENTS) + 1):
        where = f"before {ELEMENTS[place]}" if place < len(ELEMENTS) else "after the chain"
        for label, between in (("queue", "queue"), ("tee and queue", TEE.format(name=f"t{place}"))):
            parts = list(ELEMENTS)
            parts.insert(place, between)
            yield f"{label} {where}", " ! ".join(parts)


def digest(chain, path):
    done = programs.gst_launch(
        f"filesrc location={CLIP} ! decodebin ! videoconvert ! videoscale ! video/x-raw,width=320,height=240 ! queue"
        f" ! {chain} ! cufacepublish location={path} ! fakesink sync=false")
    assert done.returncode == 0, f"gst-launch failed: {done.stdout}"
    content = path.read_bytes()
    lines = len(content.splitlines())
    assert lines == FRAMES, f"{lines} lines for {FRAMES} frames"
    assert content.count(b'"id":1') > FRAMES // 2, "hardly any face: nothing is compared"
    return hashlib.sha256(content).hexdigest()


@pytest.mark.parametrize("chain", [pytest.param(text, id=name) for name, text in pipelines()])
def test_every_run_has_the_same_bytes(data, tmp_path, chain):
    with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
        runs = pool.map(lambda number: digest(chain, tmp_path / f"{number}.jsonl"), range(RUNS))
        digests = collections.Counter(runs)
    assert digests.total() == RUNS and len(digests) == 1
