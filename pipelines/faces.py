#!/usr/bin/python3
"""Prints the faces of a video from a pad probe: the face meta as an application reads it."""
import argparse

import common
from common import UserError, properties

import gi

try:
    gi.require_version("GstCuface", "1.0")
except ValueError as reason:
    raise SystemExit(f"faces.py: {reason}: build with -Dintrospection=enabled (pipelines/setup does), or set "
                     "GI_TYPELIB_PATH to the folder of GstCuface-1.0.typelib") from reason
from gi.repository import Gst, GstCuface  # noqa: E402

NOSE = 30  # its tip, of the 68 points


def parse_arguments():
    parser = argparse.ArgumentParser(prog="pipelines/faces.py", description=__doc__)
    parser.add_argument("input", metavar="INPUT", nargs="?", default=str(common.SAMPLE_CLIP),
                        help="a video, a picture or a URI; default: the sample clip")
    return parser.parse_args()


def on_buffer(_pad, info):
    """Called for every frame, in the pipeline's own thread."""
    buffer = info.get_buffer()
    meta = GstCuface.buffer_get_face_meta(buffer)
    # A snapshot, which may be kept: it holds no frame back. None where a GPU that failed had them.
    faces = meta.get_faces() if meta else None
    if not faces:
        return Gst.PadProbeReturn.OK
    for index in range(faces.get_count()):
        x, y, width, height = faces.get_box(index)  # normalised: 0 to 1 across the frame
        line = (f"{buffer.pts / Gst.SECOND:8.3f} s  face {faces.get_id(index)}  at {x:.3f} {y:.3f}"
                f"  size {width:.3f} {height:.3f}  confidence {faces.get_confidence(index):.2f}"
                f"  {faces.get_origin(index).value_nick}")
        if faces.get_n_landmarks() == 68:
            line += "  nose {:.3f} {:.3f}".format(*faces.get_landmark(index, NOSE))
        print(line)
    return Gst.PadProbeReturn.OK


def main(arguments):
    pipeline = common.parse(
        f"uridecodebin{properties(uri=common.input_uri(arguments.input))} ! videoconvert ! queue"
        " ! cufacedetect ! culktrack ! cufacelandmark ! fakesink name=end sync=false")
    pipeline.get_by_name("end").get_static_pad("sink").add_probe(Gst.PadProbeType.BUFFER, on_buffer)
    try:
        common.run(pipeline)
    except UserError as error:
        raise UserError(f"{arguments.input}: {error}") from error
    finally:
        pipeline.set_state(Gst.State.NULL)


if __name__ == "__main__":
    common.start(main, parse_arguments())
