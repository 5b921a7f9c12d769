"""cuface-model reads ONNX networks of the YuNet family: weights bit for bit, every spelling of the graph, and nothing
else. The graphs are made of the test data's network with Debian's python3-onnx, which shares no code with ours."""
import copy
import json
import os
import random
import struct
import subprocess

import pytest

import programs

np = pytest.importorskip('numpy')
onnx = pytest.importorskip('onnx', reason='no python3-onnx')
from onnx import TensorProto, helper, numpy_helper  # noqa: E402 pylint: disable=wrong-import-position

TOOL = programs.BUILD / 'models/cuface-model'
FLIPS = 100


def run(*command):
    return subprocess.run([TOOL, *command], capture_output=True, text=True, check=False)


@pytest.fixture(name='original', scope='session')
def the_network(tmp_path_factory):
    path = programs.DATA / 'models/yunet.onnx'
    if not path.exists():
        pytest.skip(f'no {path}: set CUFACE_DATA')
    probe = tmp_path_factory.mktemp('probe') / 'probe.onnx'
    probe.write_bytes(b'no network')
    if 'built without ONNX' in run('check', probe).stderr:
        pytest.skip('cuface-model was built without ONNX: install libonnx-dev and libprotobuf-dev')
    return path


@pytest.fixture(name='model')
def a_copy_to_change(original):
    return onnx.load(str(original))


def blocks(path):
    """The arrays of a .cuface file, read by what docs/design/model-file.md says."""
    data = path.read_bytes()
    assert data[:8] == b'\x89CUFACE\n'
    version, text = struct.unpack('<II', data[8:16])
    assert version == 1
    header = json.loads(data[40:40 + text])
    assert header['kind'] == 'network'
    return {name: data[40 + text + at:40 + text + at + size] for name, (at, size) in header['blocks'].items()}


def converted(model, folder):
    """The blocks that the tool makes of a model that it must take."""
    (folder / 'some.onnx').write_bytes(model.SerializeToString())
    result = run('convert', folder / 'some.onnx', folder / 'some.cuface')
    assert result.returncode == 0, result.stderr
    return blocks(folder / 'some.cuface')


def refusal(model, folder):
    (folder / 'bad.onnx').write_bytes(model.SerializeToString())
    result = run('convert', folder / 'bad.onnx', folder / 'bad.cuface')
    assert result.returncode == 1, 'it was taken'
    assert result.stdout == ''
    assert not (folder / 'bad.cuface').exists()
    assert result.stderr.startswith(f'cuface-model: {folder / "bad.onnx"}: '), result.stderr
    return result.stderr


def weights_of(path):
    """All weights and biases in the order of the convolutions, as bits."""
    graph = onnx.load(str(path)).graph
    constants = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    arrays = [constants[node.input[i]] for node in graph.node if node.op_type == 'Conv' for i in (1, 2)]
    return np.concatenate([array.ravel() for array in arrays]).view(np.uint32)


@pytest.mark.parametrize('name', ['yunet.onnx', 'face_detection_yunet_2023mar.onnx'])
def test_weights_are_those_of_the_file_bit_for_bit(original, tmp_path, name):
    path = original if name == original.name else programs.CACHE / name
    if not path.exists():
        pytest.skip(f'no {path}: run models/fetch --network')
    assert run('convert', path, tmp_path / 'n.cuface').returncode == 0
    ours, theirs = np.frombuffer(blocks(tmp_path / 'n.cuface')['weights'], np.uint32), weights_of(path)
    assert theirs.size == 53104
    assert np.array_equal(ours, theirs)


def test_info_and_check(original, tmp_path):
    assert run('convert', original, tmp_path / 'n.cuface').returncode == 0
    for path in (original, tmp_path / 'n.cuface'):
        text = run('info', path).stdout
        for part in ('face-detection network', '59 layers, 53104 weights', 'strides    8 16 32', 'yunet.onnx',
                     'licence'):
            assert part in text
        assert 'good (face-detection network' in run('check', path).stdout
    assert run('convert', tmp_path / 'n.cuface', tmp_path / 'again.cuface').returncode == 0
    assert (tmp_path / 'again.cuface').read_bytes() == (tmp_path / 'n.cuface').read_bytes()
    assert 'compact form' in run('convert', '--compact', original, tmp_path / 'c').stderr


# Spellings of the same graph. Each changes the model.

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


@pytest.mark.parametrize('name', SPELLINGS)
def test_the_same_network_however_it_is_written(original, model, tmp_path, name):
    wanted = converted(onnx.load(str(original)), tmp_path)
    for change in SPELLINGS[name]:
        change(model)
    assert converted(model, tmp_path) == wanted


# Graphs that are something else. Each returns the node that must be named, or a text.

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


def grey_input(graph):
    graph.input[0].type.tensor_type.shape.dim[1].dim_value = 1
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
    'grey': shape_of_the_graph(grey_input),
    'output missing': shape_of_the_graph(output_missing),
    'output twice': shape_of_the_graph(output_twice),
    'a layer for an output': shape_of_the_graph(output_of_a_layer),
    'output from nowhere': shape_of_the_graph(output_from_nowhere),
}


@pytest.mark.parametrize('name', BAD)
def test_another_network_is_refused_with_the_node(model, tmp_path, name):
    wanted = BAD[name](model)
    if not isinstance(wanted, str):
        wanted = f'node {list(model.graph.node).index(wanted)} ({wanted.op_type} "{wanted.name}")'
    message = refusal(model, tmp_path)
    assert wanted in message
    assert len(message) < len(str(tmp_path)) + 300


def cost(path):
    """Return code, processor seconds and peak memory of a check, which no crash may end."""
    with subprocess.Popen([TOOL, 'check', path], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode in (0, 1), process.returncode
    return process.returncode, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def test_damaged_files_end_no_program(original, tmp_path):
    good, draw, path = original.read_bytes(), random.Random(36), tmp_path / 'bad.onnx'
    for i in range(20):
        path.write_bytes(good[:len(good) * i // 20] or b'\0')
        assert cost(path)[0] == 1
    taken = 0
    for _ in range(FLIPS):
        bad = bytearray(good)
        # Most of the file is weights; half of the damage goes to what is not.
        at = draw.randrange(len(bad)) if draw.random() < 0.5 else draw.randrange(12000)
        bad[at] = draw.randrange(256)
        path.write_bytes(bad)
        taken += cost(path)[0] == 0
    print(f'{taken} of {FLIPS} damaged files taken')
    assert taken < FLIPS


@pytest.mark.skipif(programs.SANITIZED, reason='memory and time of instrumented code are not the product\'s')
def test_hostile_files_cost_little(original, tmp_path):
    def field(number, content):
        size, head = len(content), bytes([number << 3 | 2])
        while size > 127:
            head, size = head + bytes([size & 127 | 128]), size >> 7
        return head + bytes([size]) + content
    most = (1 << 20) - 64
    half = most // 2
    files = {'nodes': field(7, field(1, b'') * half),
             'attributes': field(7, field(1, field(5, b'') * half)),
             'constants': field(7, field(5, b'') * half),
             'inputs': field(7, field(11, b'') * half),
             'names': field(7, field(1, field(1, b'') * half)),
             'opsets': field(8, b'') * half,
             'functions': b'\xca\x01\x00' * (most // 3),
             'nested': b'',
             'over the limit': b'\x08\x07' + bytes(2 << 20)}
    for _ in range(3000):
        files['nested'] = field(6, field(1, field(5, files['nested'])))[:most]
    files['nested'] = field(7, field(1, field(5, files['nested'])))
    base = cost(original)
    assert base[0] == 0
    for name, content in files.items():
        path = tmp_path / 'hostile.onnx'
        path.write_bytes(content)
        code, seconds, peak = cost(path)
        print(f'{name}: {len(content)} bytes, {seconds:.2f} s, {(peak - base[2]) / 1e6:.0f} MB')
        assert code == 1
        assert seconds < 2
        assert peak - base[2] < 2 * len(content) + (256 << 20)
