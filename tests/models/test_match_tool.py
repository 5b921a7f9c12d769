"""cuface-match from outside: what it prints of two pictures, what it draws, exit codes, messages."""
import random
import re
import subprocess

import pytest

from programs import BUILD

TOOL = BUILD / 'models/cuface-match'
WIDTH, HEIGHT, LEFT, TOP = 260, 220, 40, 30
PART_WIDTH, PART_HEIGHT = 180, 150


def pgm(path, rows):
    path.write_bytes(b'P5 %d %d 255\n' % (len(rows[0]), len(rows)) + b''.join(rows))
    return path


@pytest.fixture(name='pictures')
def two(tmp_path):
    """A picture of soft squares, and a part of it that begins at (LEFT, TOP)."""
    draw, rows = random.Random(4), []
    for _ in range(0, HEIGHT, 10):
        row = b''.join(bytes([draw.randrange(256)]) * 10 for _ in range(0, WIDTH, 10))
        rows += [bytes((a + 2 * b + c) // 4 for a, b, c in zip(row[:1] + row, row, row[1:] + row[-1:]))] * 10
    rows = [bytes((a + 2 * b + c) // 4 for a, b, c in zip(*three))
            for three in zip(rows[:1] + rows, rows, rows[1:] + rows[-1:])]
    part = [row[LEFT:LEFT + PART_WIDTH] for row in rows[TOP:TOP + PART_HEIGHT]]
    return pgm(tmp_path / 'part.pgm', part), pgm(tmp_path / 'whole.pgm', rows)


def run(*arguments):
    return subprocess.run([TOOL, *map(str, arguments)], capture_output=True, text=True, check=False)


def matches_of(result):
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    count = int(re.match(r'(\d+) matches', lines[2])[1])
    pairs = [[float(number) for number in line.split()] for line in lines[3:]]
    assert len(pairs) == count and all(len(pair) == 5 for pair in pairs), result.stdout
    return pairs


def test_a_part_is_where_it_was_cut(pictures, tmp_path):
    out = tmp_path / 'both.png'
    pairs = matches_of(run(*pictures, '--output', out))
    right = sum(abs(bx - ax - LEFT) < 2 and abs(by - ay - TOP) < 2 for ax, ay, bx, by, _ in pairs)
    assert right >= 30 and right >= 0.9 * len(pairs), f'{right} of {len(pairs)}'
    head = out.read_bytes()[:33]
    size = [int.from_bytes(head[at:at + 4], 'big') for at in (16, 20)]
    assert head[:4] == b'\x89PNG' and size == [PART_WIDTH + WIDTH, HEIGHT] and head[25] == 2, 'side by side, in colour'


def test_options_change_what_matches(pictures):
    counts = [len(matches_of(run(*pictures, *options))) for options in (
        (), ('--ratio', '1'), ('--max-distance', '3'), ('--ratio', '1', '--cross-check'), ('--max-keypoints', '40'))]
    assert counts[1] > counts[3] > counts[0] > counts[2] > 0 and counts[0] > counts[4] > 0, f'{counts}'
    signed = matches_of(run(*pictures, '--sign-check', '--ratio', '1'))
    assert 20 <= len(signed) and signed != matches_of(run(*pictures, '--ratio', '1'))
    assert '40 keypoints' in run(*pictures, '--max-keypoints', '40', '--levels', '1', '--upright').stdout


def has_surf(pictures):
    return 'built without SURF' not in run(*pictures, '--surf').stderr


def test_surf_finds_the_part(pictures):
    if not has_surf(pictures):
        pytest.skip('the program was built without SURF')
    for options in ((), ('--sign-check', '--descriptor-size', '36', '--upright'), ('--octaves', '2', '--layers', '4')):
        pairs = matches_of(run(*pictures, '--surf', '--threshold', '50.5', *options))
        right = sum(abs(bx - ax - LEFT) < 2 and abs(by - ay - TOP) < 2 for ax, ay, bx, by, _ in pairs)
        assert right >= 20 and right >= 0.9 * len(pairs), f'{right} of {len(pairs)} with {options}'
        assert all(distance < 2 for *_, distance in pairs), 'of vectors of unit length'
    result = run(*pictures, '--surf', '--descriptor-size', '50')
    assert result.returncode == 2 and 'descriptor-size' in result.stderr


def test_a_build_without_surf_says_so(pictures):
    if has_surf(pictures):
        pytest.skip('the program was built with SURF')
    result = run(*pictures, '--surf')
    assert result.returncode == 2 and result.stdout == ''


def test_pictures_without_keypoints_match_nothing(pictures, tmp_path):
    white = pgm(tmp_path / 'white.pgm', [b'\xff' * 90] * 80)
    for a, b in ((white, pictures[1]), (pictures[0], white), (white, white)):
        assert matches_of(run(a, b)) == []


@pytest.mark.parametrize('name', ['missing', 'cut', 'text'])
def test_bad_files_are_1_with_a_sentence(pictures, tmp_path, name):
    (tmp_path / 'cut').write_bytes(pictures[0].read_bytes()[:1000])
    (tmp_path / 'text').write_text('no picture at all')
    for arguments in ((tmp_path / name, pictures[1]), (pictures[1], tmp_path / name)):
        result = run(*arguments)
        assert result.returncode == 1 and result.stdout == '' and str(tmp_path / name) in result.stderr, result.stderr
    result = run(*pictures, '--output', tmp_path / 'none' / 'both.png')
    assert result.returncode == 1 and 'both.png' in result.stderr, result.stderr


@pytest.mark.parametrize('arguments', [[], ['a'], ['a', 'b', 'c'], ['a', 'b', '--ratio'], ['a', 'b', '--ratio', 'x'],
                                       ['a', 'b', '--ratio', '2'], ['a', 'b', '--edge', '3'], ['a', 'b', '--eat', '1'],
                                       ['a', 'b', '--threshold', '2.5']])
def test_wrong_arguments_are_2(arguments):
    result = run(*arguments)
    assert result.returncode == 2 and result.stdout == '' and 'usage' in result.stderr, result.stderr


def test_help_and_version():
    for option in ('--help', '-h'):
        assert 'exit status' in run(option).stdout
    assert re.fullmatch(r'cuface-match \d+\.\d+\.\d+\n', run('--version').stdout)
