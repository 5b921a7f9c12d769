#!/usr/bin/python3
"""The answers depend on the video and the pipeline, never on timing: 20 runs of each pipeline, with and
without queues and tees at each place, give the same faces.jsonl byte for byte."""
import concurrent.futures
import hashlib
import os

import tap

RUNS = int(os.environ.get("CUFACE_RUNS", "20"))
FRAMES = 109
CLIP = tap.DATA / "videos" / "book.mkv"
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


def digest(chain):
    with tap.Folder() as folder:
        path = folder / "faces.jsonl"
        done = tap.gst_launch(
            f"filesrc location={CLIP} ! decodebin ! videoconvert ! videoscale ! video/x-raw,width=320,height=240 ! queue ! {chain} "
            f"! cufacepublish location={path} ! fakesink sync=false")
        tap.need(done.returncode == 0, f"gst-launch failed: {done.stdout}")
        content = path.read_bytes()
        lines = content.splitlines()
        tap.need(len(lines) == FRAMES, f"{len(lines)} lines for {FRAMES} frames")
        tap.need(content.count(b'"id":1') > FRAMES // 2, "hardly any face: nothing is compared")
        return hashlib.sha256(content).hexdigest()


def check(chain):
    tap.need_data()
    with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
        digests = set(pool.map(digest, [chain] * RUNS))
    tap.need(len(digests) == 1, f"{len(digests)} different results in {RUNS} runs")


if __name__ == "__main__":
    tap.run_cases(*((name, lambda chain=chain: check(chain)) for name, chain in pipelines()))
