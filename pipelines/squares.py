"""Grey pictures and clips that examples make: rows of bytes, played through a chain that ends in a file."""
import random

import common

from gi.repository import Gst


def rows(width, height, side, seed):
    """Squares in random greys."""
    draw, all_rows = random.Random(seed), []
    for _ in range(0, height, side):
        all_rows += [b"".join(bytes([draw.randrange(256)]) * side for _ in range(0, width, side))[:width]] * side
    return all_rows[:height]


def write(pictures, width, height, chain):
    """Plays pictures, each a list of rows."""
    pipeline = common.parse(f"appsrc name=in format=time caps=video/x-raw,format=GRAY8,width={width},height={height},"
                            f"framerate=25/1 ! {chain}")
    source = pipeline.get_by_name("in")
    pipeline.set_state(Gst.State.PLAYING)
    for number, picture in enumerate(pictures):
        buffer = Gst.Buffer.new_wrapped(b"".join(picture))
        buffer.pts, buffer.duration = number * Gst.SECOND // 25, Gst.SECOND // 25
        source.emit("push-buffer", buffer)
    source.emit("end-of-stream")
    common.run(pipeline)
    pipeline.set_state(Gst.State.NULL)
