"""The network of the test data, written in other ways that mean the same. Each change is made to the model."""
import copy

import numpy as np
from onnx import helper, numpy_helper


def node_of(model, op, number=0):
    return [node for node in model.graph.node if node.op_type == op][number]


def constant(model, name):
    return next(tensor for tensor in model.graph.initializer if tensor.name == name)


def set_attribute(node, name, value):
    for attribute in [a for a in node.attribute if a.name == name]:
        node.attribute.remove(attribute)
    if value is not None:
        node.attribute.append(helper.make_attribute(name, value))


def set_attributes(op, **values):
    def change(model):
        for node in [n for n in model.graph.node if n.op_type == op]:
            for name, value in values.items():
                set_attribute(node, name, value)
    return change


def opset(version):
    def change(model):
        model.opset_import[0].version = version
    return change


def any_size(model):
    for value in [*model.graph.input, *model.graph.output]:
        for i, dim in enumerate(value.type.tensor_type.shape.dim):
            if dim.dim_value not in (1, 3, 4, 10) or (value.name == 'input' and i == 0):
                dim.dim_param = f'd{i}'


def fixed_shapes(model):
    for node in [n for n in model.graph.node if n.op_type == 'Reshape']:
        channels = numpy_helper.to_array(constant(model, node.input[1]))[2]
        model.graph.initializer.append(numpy_helper.from_array(np.array([1, 1600, channels]), node.name + '_to'))
        node.input[1] = node.name + '_to'


def rename(model):
    new = {}
    outputs = {value.name for value in model.graph.output}

    def name_of(name):
        return name if name in outputs or not name else new.setdefault(name, f'v{len(new)}')
    for node in model.graph.node:
        node.name = ''
        node.input[:], node.output[:] = map(name_of, node.input), map(name_of, node.output)
    for value in [*model.graph.initializer, *model.graph.input]:
        value.name = name_of(value.name)


def inputs_too(model):
    for tensor in model.graph.initializer:
        model.graph.input.append(helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims))


def no_raw_data(model):
    for tensor in list(model.graph.initializer):
        array = numpy_helper.to_array(tensor)
        model.graph.initializer.remove(tensor)
        model.graph.initializer.append(
            helper.make_tensor(tensor.name, tensor.data_type, tensor.dims, array.ravel().tolist()))


def constant_nodes(model):
    made = [helper.make_node('Constant', [], [tensor.name], value=tensor) for tensor in model.graph.initializer]
    nodes = list(model.graph.node)
    del model.graph.initializer[:], model.graph.node[:]
    model.graph.node.extend(made + nodes)


def sigmoid_first(model):
    for node in [n for n in model.graph.node if n.op_type == 'Sigmoid']:
        reshape = next(n for n in model.graph.node if n.output[0] == node.input[0])
        transpose = next(n for n in model.graph.node if n.output[0] == reshape.input[0])
        output = node.output[0]
        node.input[0], node.output[0] = transpose.input[0], output + '_score'
        transpose.input[0], reshape.output[0] = node.output[0], output
        model.graph.node.remove(node)
        model.graph.node.insert(list(model.graph.node).index(transpose), node)


def swapped_additions(model):
    for node in [n for n in model.graph.node if n.op_type == 'Add']:
        node.input[:] = [node.input[1], node.input[0]]


def computed_shapes(model):
    """As PyTorch writes f.view(f.shape[0], -1, channels) where the number of pictures may vary."""
    late = model.opset_import[0].version >= 13
    nodes = []
    for node in model.graph.node:
        if node.op_type == 'Reshape':
            source = next(n for n in model.graph.node if n.output[0] == node.input[0]).input[0]
            to = numpy_helper.to_array(constant(model, node.input[1]))
            start = node.name + '_'
            model.graph.initializer.extend([numpy_helper.from_array(to[1:2], start + 'any'),
                                            numpy_helper.from_array(to[2:3], start + 'channels'),
                                            numpy_helper.from_array(np.array(0), start + 'zero'),
                                            numpy_helper.from_array(np.array([0]), start + 'axes')])
            nodes += [helper.make_node('Shape', [source], [start + 'shape']),
                      helper.make_node('Gather', [start + 'shape', start + 'zero'], [start + 'n'], axis=0),
                      helper.make_node('Unsqueeze', [start + 'n', start + 'axes'], [start + 'list']) if late else
                      helper.make_node('Unsqueeze', [start + 'n'], [start + 'list'], axes=[0]),
                      helper.make_node('Concat', [start + 'list', start + 'any', start + 'channels'], [start + 'to'],
                                       axis=0)]
            node.input[1] = start + 'to'
        nodes.append(node)
    nodes = copy.deepcopy(nodes)
    del model.graph.node[:]
    model.graph.node.extend(nodes)


def outputs_by_stride(model):
    outputs = sorted(model.graph.output, key=lambda value: -int(value.name.split('_')[1]))
    outputs = copy.deepcopy(outputs)
    del model.graph.output[:]
    model.graph.output.extend(outputs)


SPELLINGS = {
    **{f'opset {version}': [opset(version)] for version in range(11, 18)},
    'height and width unknown': [any_size], 'cells counted': [fixed_shapes], 'other names': [rename],
    'constants are inputs, too': [inputs_too], 'no raw data': [no_raw_data], 'constants are nodes': [constant_nodes],
    'sigmoid before transposition': [sigmoid_first], 'additions the other way': [swapped_additions],
    'shapes computed': [opset(11), computed_shapes], 'shapes computed, opset 13': [opset(13), computed_shapes],
    'other order of outputs': [outputs_by_stride],
    'defaults left out': [set_attributes('Conv', kernel_shape=None)],
    'defaults written': [set_attributes('Conv', dilations=[1, 1], auto_pad='NOTSET'),
                         set_attributes('MaxPool', pads=[0, 0, 0, 0], dilations=[1, 1], ceil_mode=0, storage_order=0)],
    'nearest of halves': [set_attributes('Resize', coordinate_transformation_mode='half_pixel',
                                         nearest_mode='round_prefer_floor')],
}
