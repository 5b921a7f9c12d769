"""What is left to see of a face: the part of its area that is no block of one colour."""
import subprocess

import numpy

BLOCKS_ACROSS = 8  # a block is at least an eighth of the face wide
NOISE = 5.0  # grey levels: what the video's compression makes of an even block (standard deviation)


def grey_frames(path, width, height):
    """The luma of all frames, by ffmpeg: none of our code, and none of GStreamer's."""
    data = subprocess.run(["ffmpeg", "-v", "error", "-i", path, "-f", "rawvideo", "-pix_fmt", "gray", "-"],
                          stdout=subprocess.PIPE, check=True).stdout
    return numpy.frombuffer(data, numpy.uint8).reshape(-1, height, width)


def even_blocks(picture, block):
    """Mask of the pixels in whole blocks (of the frame's own grid) that are of one colour but for noise."""
    height, width = picture.shape
    rows, columns = numpy.arange(0, height, block), numpy.arange(0, width, block)

    def mean(values):
        sums = numpy.add.reduceat(numpy.add.reduceat(values, rows, 0), columns, 1)
        areas = numpy.diff(numpy.append(rows, height))[:, None] * numpy.diff(numpy.append(columns, width))
        return sums / areas

    values = picture.astype(numpy.float32)
    deviation = numpy.sqrt(numpy.maximum(0, mean(values * values) - mean(values) ** 2))
    return (deviation <= NOISE).repeat(block, 0).repeat(block, 1)[:height, :width]


def readable(picture, faces):
    """For each face of a JSON line the share of its area (box and landmarks) that is in no even block."""
    shares = []
    for face in faces:
        xs, ys = zip(*face["landmarks"])
        left, top = max(0, int(min(face["x"], *xs))), max(0, int(min(face["y"], *ys)))
        right, bottom = int(max(face["x"] + face["w"], *xs)) + 1, int(max(face["y"] + face["h"], *ys)) + 1
        side = max(right - left, bottom - top)
        hidden = numpy.zeros((bottom - top, right - left), bool)[:picture.shape[0] - top, :picture.shape[1] - left]
        for block in range(4 * int(numpy.ceil(side / BLOCKS_ACROSS / 4)), int(side / 2), 4):
            # Whole blocks around the area, on the frame's grid.
            x, y = left // block * block, top // block * block
            around = picture[y:-(-bottom // block) * block, x:-(-right // block) * block]
            hidden |= even_blocks(around, block)[top - y:top - y + hidden.shape[0], left - x:left - x + hidden.shape[1]]
            if hidden.all():
                break
        shares.append(1 - hidden.mean())
    return shares
