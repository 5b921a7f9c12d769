#!/usr/bin/python3
"""Makes of YuNet a network whose outputs GStreamer's own decoders of tensors read.

  tests/full/yunet_as_others.py ultralight|ssd|yolov8 YUNET.onnx OUT.onnx

Appends what turns YuNet's maps into the tensors of that kind of network, for a picture of 320 x 320, and puts a change of R, G, B to B, G, R before
it. From GStreamer 1.28 on OUT.onnx.modelinfo says which tensor is which; for 1.26 the names of SSD's outputs do. ultralight is for
ultralightfacedetectortensordec, ssd for ssdobjectdetector and ssdtensordec, yolov8 for yolov8tensordec. Needs the package onnx (Debian:
python3-onnx).
"""
import sys

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

SIDE = 320
STRIDES = (8, 16, 32)
CELLS = sum((SIDE // stride) ** 2 for stride in STRIDES)
# A range for each channel: with a single one onnxinference of GStreamer 1.28.8 scales green and blue by what lies behind it in memory.
INFO = f"""[modelinfo]
version=1.0
group-id={{group}}

[rgb]
dims=1,3,{SIDE},{SIDE}
dir=input
type=float32
ranges=0.0,255.0;0.0,255.0;0.0,255.0
"""
INFO_OF_OUTPUT = """
[{name}]
id={id}
dims={dims}
dims-order={order}
dir=output
type=float32
"""


class Graph:
    """Nodes to append, and their constants."""

    def __init__(self):
        self.nodes, self.constants = [], []

    def constant(self, values, kind=numpy.float32):
        name = f"decode_constant_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(numpy.array(values, kind), name))
        return name

    def add(self, operator, *inputs, output=None, **attributes):
        output = output or f"decode_{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, inputs, [output], **attributes))
        return output

    def part(self, tensor, first, last):
        """Of the last of three dimensions."""
        return self.add("Slice", tensor, *(self.constant([v], numpy.int64) for v in (first, last, 2)))

    def pick(self, tensor, which, axis, output=None):
        return self.add("Gather", tensor, self.constant(which, numpy.int64) if not isinstance(which, str) else which, axis=axis, output=output)


def decode(graph):
    """Of all cells: left, top; right, bottom, in parts of the picture; and how sure it is a face."""
    starts, ends, faces = [], [], []
    for stride in STRIDES:
        columns = SIDE // stride
        places = [[[i % columns, i // columns] for i in range(columns * columns)]]
        map_of_boxes = f"bbox_{stride}"
        centre = graph.add("Add", graph.part(map_of_boxes, 0, 2), graph.constant(places))
        centre = graph.add("Mul", centre, graph.constant([stride / SIDE]))
        half = graph.add("Mul", graph.add("Exp", graph.part(map_of_boxes, 2, 4)), graph.constant([stride / SIDE / 2]))
        starts.append(graph.add("Sub", centre, half))
        ends.append(graph.add("Add", centre, half))
        faces.append(graph.add("Sqrt", graph.add("Mul", f"cls_{stride}", f"obj_{stride}")))
    return tuple(graph.add("Concat", *maps, axis=1) for maps in (starts, ends, faces))


def as_ultralight(graph, start, end, face):
    group = "ultra-lightweight-face-detection-rfb-320-v1-variant-1-out"
    graph.add("Concat", start, end, output="boxes", axis=2)
    graph.add("Concat", graph.add("Sub", graph.constant([1.0]), face), face, output="scores", axis=2)
    return group, "row-major", [("boxes", "ssd-mobilenet-v1-variant-1-out-boxes", [1, CELLS, 4]), ("scores", group + "-scores", [1, CELLS, 2])]


def as_ssd(graph, start, end, face):
    """Boxes are top, left, bottom, right, and no two of a face: networks of this kind end with a suppression. The first class is 1."""
    group = "ssd-mobilenet-v1-variant-1-out"
    boxes = graph.pick(graph.add("Concat", start, end, axis=2), [1, 0, 3, 2], 2)
    scores = graph.add("Transpose", face, perm=[0, 2, 1])
    kept = graph.add("NonMaxSuppression", boxes, scores, graph.constant([100], numpy.int64), graph.constant([0.3]), graph.constant([0.3]))
    cells = graph.pick(kept, 2, 1)
    graph.pick(boxes, cells, 1, output="detection_boxes")
    kept_scores = graph.pick(graph.add("Reshape", scores, graph.constant([1, CELLS], numpy.int64)), cells, 1, output="detection_scores")
    graph.add("Add", graph.add("Mul", kept_scores, graph.constant(0.0)), graph.constant(1.0), output="detection_classes")
    graph.add("Cast", graph.add("Shape", cells), to=TensorProto.FLOAT, output="num_detections")
    return group, "row-major", [("detection_boxes", group + "-boxes", [1, -1, 4]), ("detection_scores", group + "-scores", [1, -1]),
                                ("detection_classes", group + "-classes", [1, -1]), ("num_detections", "generic-variant-1-out-count", [1])]


def as_yolov8(graph, start, end, face):
    """Centre, size and the one class's score, in pixels, a row each."""
    size = graph.add("Sub", end, start)
    centre = graph.add("Mul", graph.add("Add", start, end), graph.constant([0.5]))
    box = graph.add("Mul", graph.add("Concat", centre, size, axis=2), graph.constant([SIDE]))
    graph.add("Transpose", graph.add("Concat", box, face, axis=2), output="output0", perm=[0, 2, 1])
    return "yolo-v8-out", "col-major", [("output0", "yolo-v8-out", [1, 5, CELLS])]


FORMATS = {"ultralight": as_ultralight, "ssd": as_ssd, "yolov8": as_yolov8}


def main():
    if len(sys.argv) != 4 or sys.argv[1] not in FORMATS:
        sys.exit(__doc__)
    model = onnx.load(sys.argv[2])
    old = model.graph
    (picture,) = [value for value in old.input if value.name not in {constant.name for constant in old.initializer}]
    graph = Graph()
    swap = helper.make_node("Gather", ["rgb", graph.constant([2, 1, 0], numpy.int64)], [picture.name], axis=1)
    group, order, outputs = FORMATS[sys.argv[1]](graph, *decode(graph))
    made = helper.make_graph(
        [swap, *old.node, *graph.nodes], old.name,
        [helper.make_tensor_value_info("rgb", TensorProto.FLOAT, [1, 3, SIDE, SIDE])],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, [size if size > 0 else "found" for size in dims]) for name, _, dims in outputs],
        [*old.initializer, *graph.constants])
    made = helper.make_model(made, opset_imports=model.opset_import, ir_version=model.ir_version)
    onnx.checker.check_model(made, full_check=True)
    onnx.save(made, sys.argv[3])
    with open(sys.argv[3] + ".modelinfo", "w", encoding="ascii") as info:
        info.write(INFO.format(group=group))
        for name, identity, dims in outputs:
            info.write(INFO_OF_OUTPUT.format(name=name, id=identity, dims=",".join(map(str, dims)), order=order))


if __name__ == "__main__":
    main()
