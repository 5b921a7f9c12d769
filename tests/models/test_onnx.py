"""cuface-model reads ONNX networks of the YuNet family: weights bit for bit, every spelling of the graph, and nothing
else. The graphs are made of the test data's network with Debian's python3-onnx, which shares no code with ours."""
import json
import os
import random
import struct
import subprocess

import pytest

import programs

np = pytest.importorskip('numpy')
onnx = pytest.importorskip('onnx', reason='no python3-onnx')
# pylint: disable=wrong-import-position
from onnx import numpy_helper  # noqa: E402
from onnx_bad_graphs import BAD  # noqa: E402
from onnx_spellings import SPELLINGS  # noqa: E402

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


@pytest.mark.parametrize('name', SPELLINGS)
def test_the_same_network_however_it_is_written(original, model, tmp_path, name):
    wanted = converted(onnx.load(str(original)), tmp_path)
    for change in SPELLINGS[name]:
        change(model)
    assert converted(model, tmp_path) == wanted


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
        assert seconds < 2 * programs.SLOWNESS
        assert peak - base[2] < 2 * len(content) + (256 << 20)
