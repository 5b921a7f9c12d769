"""models/fetch from outside: pip is pointed at a folder of archives instead of an index, so no network is needed."""
import os
import pathlib
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
    for option in ('--models', '--clip', '--cuda-compiler', '--dir', '--tool', '--verify'):
        assert option in result.stdout
