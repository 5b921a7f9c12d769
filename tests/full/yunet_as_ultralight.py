#!/usr/bin/python3
"""Makes of YuNet a network whose outputs GStreamer's own face decoder reads.

  tests/full/yunet_as_ultralight.py YUNET.onnx OUT.onnx

Appends what turns YuNet's maps into boxes (left, top, right, bottom, in parts of the picture) and pairs of scores, for a picture of 320 x 320, and
puts a change of R, G, B to B, G, R before it. Beside OUT.onnx, OUT.onnx.modelinfo names the tensors as those of
ultra-lightweight-face-detection-rfb-320-v1-variant-1-out, for onnxinference and ultralightfacedetectortensordec (GStreamer 1.28). Needs the
package onnx (Debian: python3-onnx).
"""
import sys

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

SIDE = 320
STRIDES = (8, 16, 32)
GROUP = "ultra-lightweight-face-detection-rfb-320-v1-variant-1-out"
INFO = """[modelinfo]
version=1.0
group-id={group}

[rgb]
dims=1,3,{side},{side}
dir=input
type=float32
ranges=0.0,255.0

[boxes]
id=ssd-mobilenet-v1-variant-1-out-boxes
dims=1,{cells},4
dims-order=row-major
dir=output
type=float32

[scores]
id={group}-scores
dims=1,{cells},2
dims-order=row-major
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


def decode(graph):
    boxes, scores = [], []
    for stride in STRIDES:
        columns = SIDE // stride
        places = [[[i % columns, i // columns] for i in range(columns * columns)]]
        unit = graph.constant([stride / SIDE])
        map_of_boxes = f"bbox_{stride}"
        centre = graph.add("Add", graph.part(map_of_boxes, 0, 2), graph.constant(places))
        centre = graph.add("Mul", centre, unit)
        half = graph.add("Mul", graph.add("Exp", graph.part(map_of_boxes, 2, 4)), graph.constant([stride / SIDE / 2]))
        boxes.append(graph.add("Concat", graph.add("Sub", centre, half), graph.add("Add", centre, half), axis=2))
        face = graph.add("Sqrt", graph.add("Mul", f"cls_{stride}", f"obj_{stride}"))
        other = graph.add("Sub", graph.constant([1.0]), face)
        scores.append(graph.add("Concat", other, face, axis=2))
    graph.add("Concat", *boxes, output="boxes", axis=1)
    graph.add("Concat", *scores, output="scores", axis=1)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    model = onnx.load(sys.argv[1])
    old = model.graph
    (picture,) = [value for value in old.input if value.name not in {constant.name for constant in old.initializer}]
    graph = Graph()
    swap = helper.make_node("Gather", ["rgb", graph.constant([2, 1, 0], numpy.int64)], [picture.name], axis=1)
    decode(graph)
    cells = sum((SIDE // stride) ** 2 for stride in STRIDES)
    made = helper.make_graph(
        [swap, *old.node, *graph.nodes], old.name,
        [helper.make_tensor_value_info("rgb", TensorProto.FLOAT, [1, 3, SIDE, SIDE])],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, cells, size]) for name, size in (("boxes", 4), ("scores", 2))],
        [*old.initializer, *graph.constants])
    made = helper.make_model(made, opset_imports=model.opset_import, ir_version=model.ir_version)
    onnx.checker.check_model(made)
    onnx.save(made, sys.argv[2])
    with open(sys.argv[2] + ".modelinfo", "w", encoding="ascii") as info:
        info.write(INFO.format(group=GROUP, side=SIDE, cells=cells))


if __name__ == "__main__":
    main()
