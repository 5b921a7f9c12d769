#!/usr/bin/env python3
"""cuface-model and models/fetch from outside: exit codes, messages, files. Needs no network."""
import glob
import hashlib
import os
import resource
import subprocess
import sys
import tarfile
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), '..', 'pipelines'))
import tap  # noqa: E402

TOOL = os.path.join(os.environ['CUFACE_BUILD_ROOT'], 'models', 'cuface-model')
FETCH = os.path.join(os.environ['CUFACE_SOURCE_ROOT'], 'models', 'fetch')
CASCADE = '/usr/share/opencv4/haarcascades/haarcascade_frontalface_alt2.xml'


def run(*command, **variables):
    environment = {**os.environ, **variables}
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)


class Tool(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.addCleanup(self.temporary.cleanup)
        self.folder = self.temporary.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def test_help_and_version(self):
        for option in ('--help', '-h'):
            result = run(TOOL, option)
            self.assertEqual(result.returncode, 0)
            for word in ('info', 'check', 'convert', 'exit status'):
                self.assertIn(word, result.stdout)
        result = run(TOOL, '--version')
        self.assertEqual(result.returncode, 0)
        self.assertRegex(result.stdout, r'^cuface-model \d+\.\d+\.\d+\n$')

    def test_wrong_arguments_are_2(self):
        for arguments in ([], ['info'], ['check', 'a', 'b'], ['convert', 'a'], ['eat', 'a'], ['']):
            result = run(TOOL, *arguments)
            self.assertEqual(result.returncode, 2, arguments)
            self.assertEqual(result.stdout, '')
            self.assertIn('usage', result.stderr)

    def test_bad_files_are_1_with_a_sentence(self):
        with open(self.path('text'), 'w', encoding='ascii') as f:
            f.write('no model at all')
        open(self.path('empty'), 'w', encoding='ascii').close()
        for name in ('missing', 'text', 'empty', ''):
            for command in (['info'], ['check'], ['convert']):
                arguments = command + [self.path(name)]
                if command == ['convert']:
                    arguments.append(self.path('out'))
                result = run(TOOL, *arguments)
                self.assertEqual(result.returncode, 1, arguments)
                self.assertIn(self.path(name), result.stderr)
                self.assertEqual(result.stdout, '')
                self.assertFalse(os.path.exists(self.path('out')))

    @unittest.skipUnless(os.path.exists(CASCADE), 'no opencv-data')
    def test_convert_info_check_damage(self):
        ours = self.path('ours.cuface')
        self.assertEqual(run(TOOL, 'convert', CASCADE, ours).returncode, 0)
        self.assertEqual(os.listdir(self.folder), ['ours.cuface'])
        self.assertEqual(run(TOOL, 'check', ours).returncode, 0)
        with open(CASCADE, 'rb') as f:
            sha256 = hashlib.sha256(f.read()).hexdigest()
        for path in (CASCADE, ours):
            text = run(TOOL, 'info', path).stdout
            for part in ('20x20', '20 stages', 'frontalface_alt2.xml', sha256, 'licence'):
                self.assertIn(part, text)
        with open(ours, 'r+b') as f:
            f.seek(-100, os.SEEK_END)
            byte = f.read(1)
            f.seek(-100, os.SEEK_END)
            f.write(bytes([byte[0] ^ 1]))
        result = run(TOOL, 'check', ours)
        self.assertEqual(result.returncode, 1)
        self.assertIn('damaged', result.stderr)

    @unittest.skipUnless(os.path.exists('/dev/full'), 'no /dev/full')
    def test_a_full_disk_is_no_success(self):
        with open('/dev/full', 'w', encoding='ascii') as full:
            result = subprocess.run([TOOL, '--help'], stdout=full, stderr=subprocess.PIPE, check=False)
        self.assertEqual(result.returncode, 1)

    @unittest.skipUnless(os.path.exists(CASCADE), 'no opencv-data')
    def test_a_disk_that_fills_up_leaves_the_old_file(self):
        ours = self.path('ours.cuface')
        with open(ours, 'w', encoding='ascii') as f:
            f.write('old')
        result = subprocess.run([TOOL, 'convert', CASCADE, ours], stderr=subprocess.PIPE, text=True, check=False,
                                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (10000, 10000)))
        self.assertEqual(result.returncode, 1)
        self.assertIn(ours, result.stderr)
        self.assertIn('cannot be written', result.stderr)
        self.assertEqual(os.listdir(self.folder), ['ours.cuface'])
        with open(ours, encoding='ascii') as f:
            self.assertEqual(f.read(), 'old')

    def test_licence_of_the_68_point_model(self):
        model = os.path.join(os.environ.get('CUFACE_MODEL_PATH') or os.path.join(
            os.environ.get('XDG_CACHE_HOME') or os.path.expanduser('~/.cache'), 'gst-cuface'),
            'shape_predictor_68_face_landmarks.dat')
        if not os.path.exists(model):
            self.skipTest(f'no {model}: run models/fetch --models')
        for path in (model, self.path('68.cuface')):
            if path != model:
                self.assertEqual(run(TOOL, 'convert', model, path).returncode, 0)
            text = run(TOOL, 'info', path).stdout
            self.assertIn('300-W', text)
            self.assertIn('exclude commercial use', text)
            self.assertIn('landmarks  68', text)
        compact = self.path('compact.cuface')
        self.assertEqual(run(TOOL, 'convert', '--compact', self.path('68.cuface'), compact).returncode, 0)
        self.assertIn('compact: integers', run(TOOL, 'info', compact).stdout)
        self.assertLess(os.path.getsize(compact), 0.52 * os.path.getsize(self.path('68.cuface')))

    @unittest.skipUnless(os.path.exists(CASCADE), 'no opencv-data')
    def test_a_cascade_has_no_compact_form(self):
        result = run(TOOL, 'convert', '--compact', CASCADE, self.path('out'))
        self.assertEqual(result.returncode, 1)
        self.assertIn('no compact form', result.stderr)
        self.assertFalse(os.path.exists(self.path('out')))


class Fetch(unittest.TestCase):
    """pip is pointed at a folder of archives instead of an index."""

    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.addCleanup(self.temporary.cleanup)
        self.index = os.path.join(self.temporary.name, 'index')
        self.target = os.path.join(self.temporary.name, 'target')
        os.mkdir(self.index)

    def fetch(self, *arguments):
        return run(FETCH, '--dir', self.target, *arguments, PIP_NO_INDEX='1',
                   PIP_FIND_LINKS=self.index)

    def left_over(self):
        return glob.glob(self.target + '/*') + glob.glob(self.target + '/.*')

    def test_nothing_in_the_index(self):
        result = self.fetch('--models')
        if 'pip is missing' in result.stderr:
            self.skipTest('no pip')
        self.assertEqual(result.returncode, 1)
        self.assertIn('face_recognition_models-0.3.0.tar.gz', result.stderr)
        self.assertNotIn('Traceback', result.stderr)
        self.assertEqual(self.left_over(), [])

    def test_a_changed_archive_is_refused(self):
        archive = os.path.join(self.index, 'face_recognition_models-0.3.0.tar.gz')
        with tarfile.open(archive, 'w:gz') as tar:
            tar.add(__file__, 'setup.py')
        result = self.fetch('--models')
        if 'pip is missing' in result.stderr:
            self.skipTest('no pip')
        self.assertEqual(result.returncode, 1)
        self.assertIn('SHA-256', result.stderr)
        self.assertEqual(self.left_over(), [])

    def test_no_compiler_in_the_index(self):
        result = self.fetch('--cuda-compiler', self.target + '/cuda')
        if 'pip is missing' in result.stderr:
            self.skipTest('no pip')
        self.assertEqual(result.returncode, 1)
        self.assertIn('nvidia_cuda_nvcc-13.0', result.stderr)
        self.assertEqual(self.left_over(), [])

    def test_a_compiler_replaces_nothing_else(self):
        result = self.fetch('--cuda-compiler', os.path.dirname(__file__))
        self.assertEqual(result.returncode, 1)
        self.assertIn('remove it', result.stderr)
        self.assertTrue(os.path.isfile(__file__))

    def test_a_folder_that_cannot_be_made(self):
        open(self.target, 'w', encoding='ascii').close()
        result = self.fetch('--clip')
        self.assertEqual(result.returncode, 1)
        self.assertIn(self.target, result.stderr)
        self.assertNotIn('Traceback', result.stderr)

    def test_help(self):
        result = run(FETCH, '--help')
        self.assertEqual(result.returncode, 0)
        for option in ('--models', '--clip', '--cuda-compiler', '--dir', '--tool', '--verify'):
            self.assertIn(option, result.stdout)


def as_case(test):
    def call():
        result = unittest.TestResult()
        test.run(result)
        if result.skipped:
            raise tap.Skip(result.skipped[0][1])
        tap.need(result.wasSuccessful(), '\n'.join(text for _, text in result.failures + result.errors))
    return test.id().split('.', 1)[1], call


if __name__ == '__main__':
    suites = unittest.defaultTestLoader.loadTestsFromModule(sys.modules['__main__'])
    sys.exit(tap.run_cases(*(as_case(test) for suite in suites for test in suite)))
