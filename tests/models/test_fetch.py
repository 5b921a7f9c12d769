"""models/fetch from outside: pip is pointed at a folder of archives instead of an index, so no network is needed. The
face-detection network comes from a folder, too."""
import gzip
import hashlib
import importlib.machinery
import importlib.util
import os
import pathlib
import shutil
import subprocess
import tarfile

import pytest

from programs import SOURCE


def run(*arguments, **variables):
    return subprocess.run([SOURCE / 'models/fetch', *arguments], capture_output=True, text=True,
                          env={**os.environ, **variables}, check=False)


class Folders:
    def __init__(self, place):
        self.index, self.target = place / 'index', place / 'target'
        self.index.mkdir()

    def fetch(self, *arguments):
        result = run('--dir', self.target, *arguments, PIP_NO_INDEX='1', PIP_FIND_LINKS=str(self.index))
        if 'pip is missing' in result.stderr:
            pytest.skip('no pip')
        return result

    def left_over(self):
        return list(self.target.iterdir()) if self.target.exists() else []


def module_of(script):
    loader = importlib.machinery.SourceFileLoader('fetch', str(script))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader('fetch', loader))
    loader.exec_module(module)
    return module


@pytest.fixture(name='fetch', scope='module')
def the_script_as_a_module():
    return module_of(SOURCE / 'models/fetch')


@pytest.fixture(name='folders')
def an_index_and_a_target(tmp_path):
    return Folders(tmp_path)


def test_nothing_in_the_index(folders):
    result = folders.fetch('--models')
    assert result.returncode == 1
    assert 'face_recognition_models-0.3.0.tar.gz' in result.stderr
    assert 'Traceback' not in result.stderr
    assert folders.left_over() == []


def test_a_changed_archive_is_refused(folders):
    with tarfile.open(folders.index / 'face_recognition_models-0.3.0.tar.gz', 'w:gz') as tar:
        tar.add(__file__, 'setup.py')
    result = folders.fetch('--models')
    assert result.returncode == 1
    assert 'SHA-256' in result.stderr
    assert folders.left_over() == []


def test_no_compiler_in_the_index(folders):
    result = folders.fetch('--cuda-compiler', folders.target / 'cuda')
    assert result.returncode == 1
    assert 'nvidia_cuda_nvcc-13.0' in result.stderr
    assert folders.left_over() == []


def test_a_compiler_replaces_nothing_else(folders):
    result = folders.fetch('--cuda-compiler', pathlib.Path(__file__).parent)
    assert result.returncode == 1
    assert 'remove it' in result.stderr
    assert pathlib.Path(__file__).is_file()


def test_a_folder_that_cannot_be_made(folders):
    folders.target.write_text('')
    result = folders.fetch('--clip')
    assert result.returncode == 1
    assert str(folders.target) in result.stderr
    assert 'Traceback' not in result.stderr


def test_help():
    result = run('--help')
    assert result.returncode == 0
    for option in ('--models', '--clip', '--stasm', '--cuda-compiler', '--dir', '--tool', '--verify'):
        assert option in result.stdout


def test_the_network_is_taken_from_the_first_publisher_with_the_right_file(fetch, tmp_path, monkeypatch):
    content, wrong = b'a network' * 20000, tmp_path / 'wrong'
    (tmp_path / 'right').write_bytes(content)
    wrong.write_bytes(content[:-1] + b'!')
    monkeypatch.setattr(fetch, 'NETWORK_FILE', (len(content), hashlib.sha256(content).hexdigest()))
    nobody, target = 'http://127.0.0.1:9/network', tmp_path / 'target'
    with pytest.raises(fetch.Failure) as failure:
        fetch.fetch_network(str(target), False, [nobody, wrong.as_uri()])
    for part in (nobody, 'refused', wrong.as_uri(), 'SHA-256', str(target / 'face_detection_yunet_2023mar.onnx')):
        assert part in str(failure.value)
    assert not list(target.iterdir())
    fetch.fetch_network(str(target), False, [nobody, wrong.as_uri(), (tmp_path / 'right').as_uri()])
    assert [path.name for path in target.iterdir()] == ['face_detection_yunet_2023mar.onnx']
    assert (target / 'face_detection_yunet_2023mar.onnx').read_bytes() == content
    fetch.fetch_network(str(target), True, [nobody])  # which nobody asks: the file is there


def test_the_network_is_known_by_its_checksum(fetch):
    assert fetch.NETWORK_FILE == (232589, '8f2383e4dd3cfbb4553ea8718107fc0423210dc964f9f4280604804ed2552fa4')
    assert len(fetch.NETWORK_URLS) == 2
    assert all(url.startswith('https://') for url in fetch.NETWORK_URLS)


def test_stasm_is_kept_without_its_compression(fetch, tmp_path, monkeypatch):
    content = b'an archive' * 20000

    def downloaded(archive, folder):
        assert archive.filename == 'PyStasm-0.3.1.tar.gz'
        path = pathlib.Path(folder) / archive.filename
        path.write_bytes(gzip.compress(content))
        return str(path)

    monkeypatch.setattr(fetch, 'downloaded', downloaded)
    with pytest.raises(fetch.Failure) as failure:
        fetch.fetch_stasm(str(tmp_path), False)
    assert 'SHA-256' in str(failure.value) and not list(tmp_path.iterdir())
    monkeypatch.setattr(fetch, 'STASM_FILE', (len(content), hashlib.sha256(content).hexdigest()))
    fetch.fetch_stasm(str(tmp_path), False)
    assert [path.name for path in tmp_path.iterdir()] == ['PyStasm-0.3.1.tar']
    assert (tmp_path / 'PyStasm-0.3.1.tar').read_bytes() == content
    monkeypatch.setattr(fetch, 'downloaded', None)  # which nobody calls: the file is there
    fetch.fetch_stasm(str(tmp_path), True)


# Stands in for cuface-model: a converted file holds the arguments, and `info` tells of confidences where they had some.
TOOL = """#!/bin/sh
if [ "$1" = info ]; then
  [ -s "$2" ] || exit 1
  echo "kind       shape model"
  ! grep -q -- --confidence "$2" || echo "confidence of each point, by 32 steps"
else
  for out; do :; done
  echo "$@" > "$out"
fi
"""


def test_stasm_is_converted_with_its_confidences(fetch, tmp_path):
    """From a checkout and installed; an older file without them, or with older ones, is converted again."""
    tool, model = tmp_path / 'tool', tmp_path / 'PyStasm-0.3.1.cuface'
    tool.write_text(TOOL)
    tool.chmod(0o755)
    convert = (str(tool), str(tmp_path), 'PyStasm-0.3.1', '.tar')
    fetch.convert(*convert)
    assert '--confidence' not in model.read_text()
    fetch.convert(*convert, fetch.stasm_confidence())
    assert f"--confidence {SOURCE / 'models/stasm-confidence.json'} " in model.read_text()
    model.write_text('--confidence, and once more would change it')
    fetch.convert(*convert, fetch.stasm_confidence())
    assert model.read_text().endswith('would change it')
    os.utime(model, (0, 0))  # so the confidences are newer
    fetch.convert(*convert, fetch.stasm_confidence())
    assert not model.read_text().endswith('would change it')


def test_the_installed_program_finds_the_confidences(tmp_path):
    (tmp_path / 'bin').mkdir()
    program = shutil.copy(SOURCE / 'models/fetch', tmp_path / 'bin/cuface-fetch')
    installed = module_of(program)
    with pytest.raises(installed.Failure) as failure:
        installed.stasm_confidence()
    table = tmp_path / 'share/gst-cuface/stasm-confidence.json'
    assert str(table) in str(failure.value)
    table.parent.mkdir(parents=True)
    table.write_text('{}')
    assert installed.stasm_confidence() == str(table)
