"""cuface-model from outside: exit codes, messages, files."""
import hashlib
import json
import os
import pathlib
import re
import resource
import subprocess

import pytest

from programs import BUILD, CACHE, SOURCE

TOOL = BUILD / 'models/cuface-model'
CASCADE = '/usr/share/opencv4/haarcascades/haarcascade_frontalface_alt2.xml'


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_help_and_version():
    for option in ('--help', '-h'):
        result = run(TOOL, option)
        assert result.returncode == 0
        for word in ('info', 'check', 'convert', 'exit status'):
            assert word in result.stdout
    result = run(TOOL, '--version')
    assert result.returncode == 0
    assert re.search(r'^cuface-model \d+\.\d+\.\d+\n$', result.stdout)


@pytest.mark.parametrize('arguments', [[], ['info'], ['check', 'a', 'b'], ['convert', 'a'], ['eat', 'a'], ['']])
def test_wrong_arguments_are_2(arguments):
    result = run(TOOL, *arguments)
    assert result.returncode == 2
    assert result.stdout == ''
    assert 'usage' in result.stderr


@pytest.mark.parametrize('command', ['info', 'check', 'convert'])
@pytest.mark.parametrize('name', ['missing', 'text', 'empty', ''])
def test_bad_files_are_1_with_a_sentence(tmp_path, command, name):
    (tmp_path / 'text').write_text('no model at all')
    (tmp_path / 'empty').write_text('')
    out = tmp_path / 'out'
    result = run(TOOL, command, tmp_path / name, *([out] if command == 'convert' else []))
    assert result.returncode == 1
    assert str(tmp_path / name) in result.stderr
    assert result.stdout == ''
    assert not out.exists()


@pytest.mark.skipif(not os.path.exists(CASCADE), reason='no opencv-data')
def test_convert_info_check_damage(tmp_path):
    ours = tmp_path / 'ours.cuface'
    assert run(TOOL, 'convert', CASCADE, ours).returncode == 0
    assert os.listdir(tmp_path) == ['ours.cuface']
    assert run(TOOL, 'check', ours).returncode == 0
    sha256 = hashlib.sha256(pathlib.Path(CASCADE).read_bytes()).hexdigest()
    for path in (CASCADE, ours):
        text = run(TOOL, 'info', path).stdout
        for part in ('20x20', '20 stages', 'frontalface_alt2.xml', sha256, 'licence'):
            assert part in text
    damaged = bytearray(ours.read_bytes())
    damaged[-100] ^= 1
    ours.write_bytes(damaged)
    result = run(TOOL, 'check', ours)
    assert result.returncode == 1
    assert 'damaged' in result.stderr


@pytest.mark.skipif(not os.path.exists(CASCADE), reason='no opencv-data')
def test_a_cascade_and_its_source_go_to_xml_and_back(tmp_path):
    ours, xml, again = (tmp_path / name for name in ('ours.cuface', 'theirs.xml', 'again.cuface'))
    assert run(TOOL, 'convert', CASCADE, ours).returncode == 0
    # As cuface-train writes it, with what a comment may not hold.
    assert run(TOOL, 'convert', ours, xml).returncode == 0
    text = xml.read_text().replace('"licence"', '"training": [["seed", "7"], ["settings", "-\\u002dx"]],\n "licence"')
    xml.write_text(text)
    assert run(TOOL, 'convert', xml, again).returncode == 0
    assert run(TOOL, 'convert', again, tmp_path / 'again.xml').returncode == 0
    assert (tmp_path / 'again.xml').read_text().split('-->')[1] == text.split('-->')[1]
    for path in (xml, again, tmp_path / 'again.xml'):
        told = run(TOOL, 'info', path).stdout
        for line in ('trained    seed: 7', 'trained    settings: --x', 'haarcascade_frontalface_alt2.xml',
                     hashlib.sha256(pathlib.Path(CASCADE).read_bytes()).hexdigest()):
            assert line in told
    assert 'trained' not in run(TOOL, 'info', ours).stdout
    xml.write_text(text.replace('"seed"', '"Seed"'))
    for command in (['info', xml], ['convert', xml, again]):
        result = run(TOOL, *command)
        assert result.returncode == 1
        assert 'delete the comment' in result.stderr
    # It is a comment: the cascade is good.
    assert run(TOOL, 'check', xml).returncode == 0


@pytest.mark.skipif(not os.path.exists('/dev/full'), reason='no /dev/full')
def test_a_full_disk_is_no_success():
    with open('/dev/full', 'w', encoding='ascii') as full:
        result = subprocess.run([TOOL, '--help'], stdout=full, stderr=subprocess.PIPE, check=False)
    assert result.returncode == 1


@pytest.mark.skipif(not os.path.exists(CASCADE), reason='no opencv-data')
def test_a_disk_that_fills_up_leaves_the_old_file(tmp_path):
    ours = tmp_path / 'ours.cuface'
    ours.write_text('old')
    result = subprocess.run([TOOL, 'convert', CASCADE, ours], stderr=subprocess.PIPE, text=True, check=False,
                            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (10000, 10000)))
    assert result.returncode == 1
    assert str(ours) in result.stderr
    assert 'cannot be written' in result.stderr
    assert os.listdir(tmp_path) == ['ours.cuface']
    assert ours.read_text() == 'old'


def test_licence_of_the_68_point_model(tmp_path):
    model = CACHE / 'shape_predictor_68_face_landmarks.dat'
    if not model.exists():
        pytest.skip(f'no {model}: run models/fetch --models')
    for path in (model, tmp_path / '68.cuface'):
        if path != model:
            assert run(TOOL, 'convert', model, path).returncode == 0
        text = run(TOOL, 'info', path).stdout
        assert '300-W' in text
        assert 'exclude commercial use' in text
        assert 'landmarks  68' in text
    compact = tmp_path / 'compact.cuface'
    assert run(TOOL, 'convert', '--compact', tmp_path / '68.cuface', compact).returncode == 0
    assert 'compact: integers' in run(TOOL, 'info', compact).stdout
    assert os.path.getsize(compact) < 0.52 * os.path.getsize(tmp_path / '68.cuface')


@pytest.mark.skipif(not os.path.exists(CASCADE), reason='no opencv-data')
def test_a_cascade_has_no_compact_form(tmp_path):
    result = run(TOOL, 'convert', '--compact', CASCADE, tmp_path / 'out')
    assert result.returncode == 1
    assert 'only a landmark model has a compact form' in result.stderr
    assert not (tmp_path / 'out').exists()


def test_convert_takes_a_scheme(tmp_path):
    model = CACHE / 'shape_predictor_68_face_landmarks.cuface'
    if not model.exists():
        pytest.skip('no landmark model')
    scheme, out = tmp_path / 'scheme.json', tmp_path / 'out.cuface'
    scheme.write_text('{"eyes": [36, 42, 6], "curves": [[0, 16, 0], [48, 59, 1]]}')
    assert 'scheme     eyes, mouth, jaw, 9 curves' in run(TOOL, 'info', model).stdout
    result = run(TOOL, 'convert', '--scheme', scheme, model, out)
    assert result.returncode == 0, result.stderr
    assert 'scheme     eyes, 2 curves' in run(TOOL, 'info', out).stdout
    for text, word in (('{', 'not an object'), ('{"eyes": [63, 42, 6]}', 'an eye'), ('{"nose": [1, 2]}', '"nose"')):
        scheme.write_text(text)
        result = run(TOOL, 'convert', '--scheme', scheme, model, tmp_path / 'none')
        assert result.returncode == 1 and str(scheme) in result.stderr and word in result.stderr
        assert not (tmp_path / 'none').exists()
    assert run(TOOL, 'convert', '--scheme', model, out).returncode == 2
    result = run(TOOL, 'convert', '--scheme', scheme, CASCADE, tmp_path / 'none')
    assert result.returncode == 1 and 'only models of landmarks' in result.stderr


def header(path):
    data = pathlib.Path(path).read_bytes()
    return json.loads(data[40:40 + int.from_bytes(data[12:16], 'little')])


def test_confidences(tmp_path):
    model = CACHE / 'shape_predictor_68_face_landmarks.dat'
    if not model.exists():
        pytest.skip('no landmark model')
    out, table = tmp_path / 'out.cuface', tmp_path / 'table.json'
    assert run(TOOL, 'convert', model, out).returncode == 0
    results = json.loads((SOURCE / 'docs/results/confidence.json').read_text())
    assert header(out)['confidence'] == results['table'], 'the default is the one that was calibrated'
    assert 'confidence of each point, by 22 steps' in run(TOOL, 'info', out).stdout
    five = CACHE / 'shape_predictor_5_face_landmarks.dat'
    if five.exists():
        assert run(TOOL, 'convert', five, tmp_path / 'five').returncode == 0
        assert 'confidence' not in header(tmp_path / 'five'), 'nobody has calibrated it'
        assert '\nconfidence ' not in run(TOOL, 'info', five).stdout
    table.write_text('{"first": -3, "at": [1, 0.5, 0.25]}')
    assert run(TOOL, 'convert', '--confidence', table, model, out).returncode == 0
    assert header(out)['confidence'] == {'first': -3, 'at': [1.0, 0.5, 0.25]}
    assert run(TOOL, 'check', out).returncode == 0
    for text in ('7', '{}', '{"first": 0.5, "at": [1]}', '{"first": 9999, "at": [1]}', '{"first": 0, "at": []}',
                 '{"first": 0, "at": [0.5, 0.6]}', '{"first": 0, "at": [1.5]}', '{"first": 0, "at": [1e300]}',
                 '{"first": 0, "at": ["1"]}', '{"first": 0, "at": [' + '0,' * 40 + '0]}',
                 '{"first": 0, "at": [1], "more": 1}'):
        table.write_text(text)
        result = run(TOOL, 'convert', '--confidence', table, model, tmp_path / 'none')
        assert result.returncode == 1 and str(table) in result.stderr and 'confidences' in result.stderr, text
    result = run(TOOL, 'convert', '--confidence', table, CASCADE, tmp_path / 'none')
    assert result.returncode == 1 and 'only models of landmarks' in result.stderr
