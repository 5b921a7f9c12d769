"""The network of the test data, made into something else. Each change returns the node that must be named, or a text."""
import copy

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from onnx_spellings import computed_shapes, constant, node_of, opset, set_attribute


def attribute(op, number=0, **values):
    def change(model):
        node = node_of(model, op, number)
        for name, value in values.items():
            set_attribute(node, name, value)
        return node
    return change


def operator(op, other, domain=''):
    def change(model):
        node = node_of(model, op)
        node.op_type, node.domain = other, domain
        return node
    return change


def tensor_of(number, position, change_array):
    def change(model):
        node = node_of(model, 'Conv', number)
        tensor = constant(model, node.input[position])
        tensor.CopyFrom(numpy_helper.from_array(change_array(numpy_helper.to_array(tensor).copy()), tensor.name))
        return node
    return change


def edit(op, number, what):
    def change(model):
        node = node_of(model, op, number)
        return what(model, node) or node
    return change


def drop_bias(_, node):
    del node.input[2]


def external(model, node):
    constant(model, node.input[1]).data_location = TensorProto.EXTERNAL


def cut_data(model, node):
    tensor = constant(model, node.input[1])
    tensor.raw_data = tensor.raw_data[:-4]


def unknown_input(_, node):
    node.input[0] = 'nowhere'


def picture_input(_, node):
    node.input[0] = 'input'


def scales(*values):
    def what(model, node):
        constant(model, node.input[2]).CopyFrom(numpy_helper.from_array(np.array(values, np.float32), node.input[2]))
    return what


def reshape_to(*values):
    def what(model, node):
        constant(model, node.input[1]).CopyFrom(numpy_helper.from_array(np.array(values), node.input[1]))
    return what


def add_without_resize(model, node):
    doubled = next(n for n in model.graph.node if n.output[0] == node.input[0])
    node.input[0] = doubled.input[0]
    return doubled  # which nothing uses any more


def add_of_another_size(_, node):
    node.input[1] = 'Relu_5'


def no_transposition(model, node):
    transpose = next(n for n in model.graph.node if n.output[0] == node.input[0])
    node.input[0] = transpose.input[0]
    model.graph.node.remove(transpose)


def no_sigmoid(model, node):
    reshape = next(n for n in model.graph.node if n.output[0] == node.input[0])
    reshape.output[0] = node.output[0]
    model.graph.node.remove(node)
    return reshape


def sigmoid_of_a_box(model, node):
    node.output[0] = 'bare'
    model.graph.node.append(helper.make_node('Sigmoid', ['bare'], ['bbox_8'], 'extra'))
    return model.graph.node[-1]


def no_order(model, node):
    model.graph.node.append(copy.deepcopy(node))
    model.graph.node.remove(node)
    return next(n for n in model.graph.node if node.output[0] in n.input)


def twice(model, node):
    model.graph.node.append(copy.deepcopy(node))
    return 'node %d (%s "%s") makes what is there already' % (len(model.graph.node) - 1, node.op_type, node.name)


def unused(model, node):
    extra = copy.deepcopy(node)
    extra.output[0], extra.name = 'unused', 'extra'
    model.graph.node.append(extra)
    return model.graph.node[-1]


def read_before_relu(model, node):
    next(n for n in model.graph.node if node.output[0] in n.input).input[0] = node.input[0]
    return f'({node.op_type} "{node.name}") does not follow a convolution that it alone reads'


def inserted(model, before, *new):
    """Puts nodes before one, which reads the last of them instead of its input."""
    at = list(model.graph.node).index(before)
    before.input[0] = new[-1].output[0]
    for i, node in enumerate(new):
        model.graph.node.insert(at + i, node)
    return model.graph.node[at:at + len(new)]


def after(op, op_of_new, **attributes):
    """Another node between the last node of an operator and one of those that read it."""
    def change(model):
        node = [n for n in model.graph.node if n.op_type == op][-1]
        reader = next(n for n in model.graph.node if node.output[0] in n.input)
        new = helper.make_node(op_of_new, [node.output[0]], ['new'], 'new', **attributes)
        return inserted(model, reader, new)[0]
    return change


def addition_of(*names, doubled=False):
    """A further addition, of whose result a convolution of the last head takes its input."""
    def change(model):
        reader = next(n for n in model.graph.node if n.name == 'Conv_99')
        resize = helper.make_node('Resize', [names[0], '', 'scales'], ['doubled'], 'doubled',
                                  coordinate_transformation_mode='asymmetric', nearest_mode='floor')
        add = helper.make_node('Add', ['doubled' if doubled else names[0], names[1]], ['new'], 'new')
        return inserted(model, reader, *([resize, add] if doubled else [add]))[-1]
    return change


def convolution_of_a_transposed_tensor(model):
    after('Relu', 'Transpose', perm=[0, 2, 3, 1])(model)
    return next(n for n in model.graph.node if n.op_type == 'Conv' and n.input[0] == 'new')


def new_constant(model, name, array):
    model.graph.initializer.append(numpy_helper.from_array(array, name))


def long_chain(count, channels):
    """So many more pointwise convolutions of so many channels, all with the same weights, before a head."""
    def change(model):
        first = node_of(model, 'Conv', 29)  # of a head: 64 channels
        ends = {'in': (channels, 64), 'middle': (channels, channels), 'out': (64, channels)}
        for name, (out, inputs) in ends.items():
            new_constant(model, name + '_w', np.full((out, inputs, 1, 1), 2.0 ** -9, np.float32))
            new_constant(model, name + '_b', np.zeros(out, np.float32))
        names = ['in'] + ['middle'] * count + ['out']
        nodes = [helper.make_node('Conv', [f'c{i}' if i else first.input[0], name + '_w', name + '_b'], [f'c{i + 1}'],
                                  f'c{i + 1}', kernel_shape=[1, 1]) for i, name in enumerate(names)]
        return list(inserted(model, first, *nodes))
    return change


def too_many_layers(model):
    nodes = long_chain(240, 4)(model)
    # 45 layers come before the first head.
    return next(node for node in nodes if list(model.graph.node).index(node) - layers_saved(model) == 256)


def layers_saved(model):
    """Nodes before the first head that make no layer."""
    first = list(model.graph.node).index(next(n for n in model.graph.node if n.name == 'c1'))
    return sum(n.op_type in ('Relu', 'Resize') for n in model.graph.node[:first])


def too_many_weights(model):
    return 'brings the network to more than 1048576 weights' if long_chain(17, 256)(model) else None


def too_many_channels(model):
    node = node_of(model, 'Conv', 1)
    tensor_of(1, 1, lambda w: np.zeros((300, 16, 1, 1), np.float32))(model)
    tensor_of(1, 2, lambda b: np.zeros(300, np.float32))(model)
    return node


def constant_from(position, name):
    def what(_, node):
        node.input[position] = name
    return what


def dimension(i, size):
    def change(graph):
        graph.input[0].type.tensor_type.shape.dim[i].dim_value = size
        return 'input "input"'
    return change


def flat_input(graph):
    del graph.input[0].type.tensor_type.shape.dim[3]
    return 'input "input"'


def more_of(what, name):
    def change(_, node):
        getattr(node, what).append(name)
    return change


def one_input_less(_, node):
    del node.input[-1]
    return f'({node.op_type} "{node.name}") has'


def second_sigmoid(model, node):
    output, node.output[0] = node.output[0], 'once'
    model.graph.node.append(helper.make_node('Sigmoid', ['once'], [output], 'extra'))
    return model.graph.node[-1]


def gather_of(index):
    def change(model):
        opset(11)(model)
        computed_shapes(model)
        node = node_of(model, 'Gather')
        constant(model, node.input[1]).CopyFrom(numpy_helper.from_array(np.array(index), node.input[1]))
        return 'does not pick one size out of a shape'
    return change


def shape_of_the_graph(change):
    def whole(model):
        return change(model.graph)
    return whole


def second_input(graph):
    graph.input.append(helper.make_tensor_value_info('more', TensorProto.FLOAT, [1]))
    return 'input "more"'


def no_input(graph):
    del graph.input[:]
    return 'has no input'


def bytes_input(graph):
    graph.input[0].type.tensor_type.elem_type = TensorProto.UINT8
    return 'input "input"'


def output_missing(graph):
    name = graph.output[-1].name
    graph.output.remove(graph.output[-1])
    return next(n for n in graph.node if n.output[0] == name)


def output_twice(graph):
    graph.output.append(copy.deepcopy(graph.output[0]))
    return next(n for n in graph.node if n.output[0] == graph.output[0].name)


def output_of_a_layer(graph):
    graph.output[-1].name = 'Relu_52'
    return next(n for n in graph.node if n.output[0] == 'kps_32')


def output_from_nowhere(graph):
    graph.output.append(copy.deepcopy(graph.output[0]))
    graph.output[-1].name = 'nowhere'
    return 'output "nowhere"'


def of_opset(version):
    def change(model):
        opset(version)(model)
        return f'opset {version} is not 11 to 17'
    return change


def set_nan(array):
    array.flat[5] = np.nan
    return array


BAD = {
    'opset 10': of_opset(10),
    'opset 18': of_opset(18),
    'another operator': operator('Relu', 'LeakyRelu'),
    'another domain': operator('Conv', 'Conv', 'com.example'),
    'stride 1': attribute('Conv', strides=[1, 1]),
    'no stride': attribute('Conv', strides=None),
    'padding': attribute('Conv', 2, pads=[1, 1, 1, 0]),
    'dilation': attribute('Conv', 2, dilations=[2, 2]),
    'group': attribute('Conv', 1, group=16),
    'no group': attribute('Conv', 2, group=None),
    'kernel': attribute('Conv', 1, kernel_shape=[3, 3]),
    'automatic padding': attribute('Conv', 1, auto_pad='SAME_UPPER'),
    'attribute of another type': attribute('Conv', 2, strides='1'),
    'unknown attribute': attribute('Relu', alpha=0.5),
    'no bias': edit('Conv', 1, drop_bias),
    'weights elsewhere': edit('Conv', 1, external),
    'weights cut': edit('Conv', 1, cut_data),
    'no such tensor': edit('Conv', 29, unknown_input),
    'weights of doubles': tensor_of(1, 1, lambda w: w.astype(np.float64)),
    'weights of 5x5': tensor_of(2, 1, lambda w: np.zeros((16, 1, 5, 5), np.float32)),
    'weights for other channels': tensor_of(3, 1, lambda w: w[:, :8]),
    'bias for other channels': tensor_of(3, 2, lambda b: b[:8]),
    'no channels': tensor_of(3, 1, lambda w: w[:0]),
    'a million channels': tensor_of(3, 2, lambda b: np.zeros(100000, np.float32)),
    'nan': lambda model: tensor_of(3, 1, set_nan)(model) and 'layer 4 of the network has a weight that is not finite',
    'pool of 3': attribute('MaxPool', kernel_shape=[3, 3]),
    'pool of stride 1': attribute('MaxPool', strides=None),
    'pool of the picture': edit('MaxPool', 2, picture_input),
    'ceiling': attribute('MaxPool', ceil_mode=1),
    'scales of 3': edit('Resize', 0, scales(1, 1, 3, 3)),
    'linear': attribute('Resize', mode='linear'),
    'corners': attribute('Resize', coordinate_transformation_mode='align_corners'),
    'ceiling of pixels': attribute('Resize', nearest_mode='ceil'),
    'addition of layers': edit('Add', 0, add_without_resize),
    'addition of another size': edit('Add', 1, add_of_another_size),
    'transposition': attribute('Transpose', perm=[0, 1, 3, 2]),
    'reshape': edit('Reshape', 0, reshape_to(1, -1, 2)),
    'reshape of two': edit('Reshape', 0, reshape_to(-1, 1)),
    'reshape of pictures': edit('Reshape', 0, reshape_to(2, -1, 1)),
    'no sigmoid': edit('Sigmoid', 0, no_sigmoid),
    'sigmoid of a box': edit('Reshape', 6, sigmoid_of_a_box),
    'second sigmoid': edit('Sigmoid', 0, second_sigmoid),
    'pool with padding': attribute('MaxPool', pads=[0, 0, 1, 1]),
    'pool with dilation': attribute('MaxPool', dilations=[2, 2]),
    'pool with automatic padding': attribute('MaxPool', auto_pad='SAME_UPPER'),
    'two pictures': shape_of_the_graph(dimension(0, 2)),
    'a picture of three dimensions': shape_of_the_graph(flat_input),
    'ReLU of a pool': after('MaxPool', 'Relu'),
    'second ReLU': after('Relu', 'Relu'),
    'convolution of a transposed tensor': convolution_of_a_transposed_tensor,
    'too many layers': too_many_layers,
    'too many weights': too_many_weights,
    'too many channels': too_many_channels,
    'weights from nowhere': edit('Conv', 2, constant_from(1, 'nowhere')),
    'weights that are no constants': edit('Conv', 2, constant_from(1, 'input')),
    'bias from nowhere': edit('Conv', 2, constant_from(2, 'nowhere')),
    'bias that is no constant': edit('Conv', 2, constant_from(2, 'input')),
    'weights of two dimensions': tensor_of(1, 1, lambda w: w[:, :, 0, 0]),
    'bias of two dimensions': tensor_of(1, 2, lambda b: b[None]),
    'addition of layers without resize': addition_of('Relu_42', 'Relu_32'),
    'addition of other channels': addition_of('Relu_42', 'Conv_87', doubled=True),
    'addition of four times the size': addition_of('Relu_42', 'Relu_25', doubled=True),
    'zero that is zero': attribute('Reshape', allowzero=1),
    'second transposition': after('Transpose', 'Transpose', perm=[0, 2, 3, 1]),
    'no transposition': edit('Reshape', 11, no_transposition),
    'a size that is not there': gather_of(1000000),
    'a size before the first': gather_of(-1000000),
    'two sizes': gather_of([0, 0]),
    'ReLU of two': edit('Relu', 0, more_of('input', 'Conv_1')),
    'pool with places': edit('MaxPool', 0, more_of('output', 'places')),
    'reshape without shape': edit('Reshape', 0, one_input_less),
    'resize without scales': edit('Resize', 0, one_input_less),
    'addition of one': edit('Add', 0, one_input_less),
    'no order': edit('Conv', 4, no_order),
    'a node twice': edit('Conv', 4, twice),
    'a node unused': edit('Conv', 4, unused),
    'convolution read before and after ReLU': edit('Relu', 14, read_before_relu),
    'two inputs': shape_of_the_graph(second_input),
    'no input': shape_of_the_graph(no_input),
    'bytes': shape_of_the_graph(bytes_input),
    'grey': shape_of_the_graph(dimension(1, 1)),
    'output missing': shape_of_the_graph(output_missing),
    'output twice': shape_of_the_graph(output_twice),
    'a layer for an output': shape_of_the_graph(output_of_a_layer),
    'output from nowhere': shape_of_the_graph(output_from_nowhere),
}
