#!/usr/bin/env python3
"""What tests/gpu/tools/run found, as one JSON file and as a table.

  results.py collect FOLDER COMMIT FILE.json   from the logs and reports in FOLDER
  results.py merge FILE.json FIRST.json ...    of runs of one commit, which several cards or programs shared
  results.py table FILE.json                   as Markdown, to standard output, with the figures of the
                                               CPU (docs/results/cpu-*.json)
  results.py check FILE.json                   exit status 1 when FILE.md is not that
  results.py repeat FIRST.json SECOND.json OUT.json
                                               which figures of the published experiments a second run on the
                                               same card has not repeated within 5 %: printed, and to OUT.json

Beside FILE.json there may be FILE-part.json, of tests of the same commit that ran later: the page has their figures,
too. And FILE-two.json, of a machine with two GPUs: the page has its section.

In FOLDER: `items` with lines "name exit-status seconds" (tabs), NAME.log, and NAME.json where
GoogleTest wrote a report. A script's status is 0 passed, 77 skipped, else failed; if the last line of
its log is "N passed, N failed, N skipped" these are its counts. A line of a log that is a JSON object
with a key "what" is a measurement. FILE.json has date, device, driver, commit, seconds of each
test, runs (which card was held, until when, for how many seconds: tests/ledger.py holds them against the budget),
tests, benchmarks.
"""
import collections
import contextlib
import datetime
import io
import json
import os
import pathlib
import re
import subprocess
import sys

SKIPPED = 77
COUNTS = re.compile(r'(\d+) passed, (\d+) failed, (\d+) skipped$')


def skip_reasons(log):
    """{case: the line behind "Skipped"} of GoogleTest's output: the report does not have it."""
    return {case: why for why, case in
            re.findall(r': Skipped\n(.*)\n(?:.*\n)*?\[  SKIPPED \] (\S+) \(', log)}


class Tests:
    def __init__(self):
        self.passed, self.failures, self.skips = 0, [], []
        self.more_failed = self.more_skipped = 0

    def add(self, name, rc, log, report):
        if report:
            self.add_report(name, report, skip_reasons(log))
        elif counts := COUNTS.match(log.rstrip().rpartition('\n')[2]):
            passed, failed, skipped = (int(n) for n in counts.groups())
            self.passed += passed
            self.more_skipped += skipped
            if failed:
                self.failures.append({'test': name, 'message': log[-1000:]})
                self.more_failed += failed - 1
                return
        elif rc == 0:
            self.passed += 1
        elif rc == SKIPPED:
            self.skips.append({'test': name, 'why': log.rstrip().rpartition('\n')[2]})
        if rc not in (0, SKIPPED) and not any(f['test'].startswith(name) for f in self.failures):
            running = re.findall(r'^\[ RUN      \] (\S+)', log, re.M)
            where = f' in {running[-1]}' if running and not report else ''
            self.failures.append({'test': name, 'message': f'ended with {rc}{where}: {log[-1000:]}'})

    def add_report(self, name, report, reasons):
        for suite in report['testsuites']:
            for case in suite['testsuite']:
                full = f"{name}: {suite['name']}.{case['name']}"
                if case.get('failures'):
                    message = '\n'.join(f['failure'] for f in case['failures'])
                    self.failures.append({'test': full, 'message': message[:2000]})
                elif case['result'] == 'SKIPPED':
                    why = reasons.get(full.partition(': ')[2], '')
                    self.skips.append({'test': full, 'why': why})
                elif case['result'] == 'COMPLETED':
                    self.passed += 1

    def as_dict(self):
        return {'passed': self.passed, 'failed': len(self.failures) + self.more_failed,
                'skipped': len(self.skips) + self.more_skipped,
                'failures': self.failures, 'skips': self.skips}


def measurements(log):
    for line in log.splitlines():
        if line.startswith('{'):
            try:
                value = json.loads(line)
            except ValueError:
                continue
            if 'what' in value:
                yield value


def gpu():
    """(name, driver, UUID) of the first GPU that programs see, or None."""
    try:
        first = os.environ.get('CUDA_VISIBLE_DEVICES', '').split(',')[0] or '0'
        out = subprocess.run(['nvidia-smi', '-i', first, '--query-gpu=name,driver_version,uuid', '--format=csv,noheader'],
                             check=True, capture_output=True, text=True, timeout=60).stdout
        name, driver, card = out.splitlines()[0].split(', ')
        return name, driver, card
    except (OSError, subprocess.SubprocessError, IndexError, ValueError):
        return None, None, None


def collect(folder, commit, path):
    folder, tests, benchmarks, seconds = pathlib.Path(folder), Tests(), [], {}
    items = folder / 'items'
    for line in items.read_text().splitlines() if items.exists() else []:
        name, rc, took = line.split('\t')
        seconds[name] = int(took)
        log = (folder / f'{name}.log').read_text(errors='replace')
        report = folder / f'{name}.json'
        try:
            report = json.loads(report.read_text())
        except (OSError, ValueError):
            report = None
        tests.add(name, int(rc), log, report)
        benchmarks += measurements(log)
    device, driver, card = gpu()
    counts = tests.as_dict()
    date = datetime.datetime.now(datetime.timezone.utc).strftime('%Y-%m-%dT%H:%M:%SZ')
    result = {'date': date, 'device': device, 'driver': driver, 'commit': commit, 'seconds': seconds,
              'runs': [{'card': card, 'end': date, 'seconds': sum(seconds.values())}],
              'tests': counts, 'benchmarks': benchmarks}
    pathlib.Path(path).write_text(json.dumps(result, indent=1) + '\n')
    for skip in counts['skips']:
        print('skipped:', skip['test'] + ':', skip['why'])
    for failure in counts['failures']:
        print('FAILED:', failure['test'] + ':', failure['message'][:300].replace('\n', '\n  '))
    print('{passed} passed, {failed} failed, {skipped} skipped'.format(**counts))
    return 1 if counts['failed'] or not counts['passed'] else 0


def merge(path, parts):
    parts = [json.loads(pathlib.Path(part).read_text()) for part in parts]
    for key in ('device', 'driver', 'commit'):
        if len(different := {part[key] for part in parts}) > 1:
            sys.exit(f'results.py: runs of more than one {key}: {", ".join(sorted(different))}')
    seconds, tests = collections.Counter(), {}
    for part in parts:
        seconds.update(part['seconds'])
        for key, value in part['tests'].items():
            tests[key] = tests.get(key, type(value)()) + value
    pathlib.Path(path).write_text(json.dumps({
        **parts[0], 'date': max(part['date'] for part in parts), 'seconds': dict(sorted(seconds.items())),
        'runs': [run for part in parts for run in part['runs']], 'tests': tests,
        'benchmarks': [row for part in parts for row in part['benchmarks']]}, indent=1) + '\n')


# What is measured on both: what, size; the GPU's row; the CPU's file and case, where its figure lies and
# what makes microseconds of it.
RESULTS = pathlib.Path(__file__).resolve().parents[3] / 'docs/results'
DETECT = 'detect haarcascade_frontalface_{} 1.1 min 24 graph'
ALT, DEFAULT = ({'cascade': f'frontalface_{c}', 'scale_factor': 1.1, 'min_size': 24, 'threads': 1}
                for c in ('alt', 'default'))
BOTH = [
    ('search, frontalface_alt, 1.1, min-size 24', '720p', (DETECT.format('alt'), 'mosaic720'),
     ('cpu-detect', {**ALT, 'picture': 'mosaic720'}, ('ours', 'wall_ms'), 1000)),
    ('search, frontalface_alt, 1.1, min-size 24', '1080p', ('detect whole', 'mosaic1080'),
     ('cpu-detect', {**ALT, 'picture': 'mosaic1080'}, ('ours', 'wall_ms'), 1000)),
    ('search, frontalface_default, 1.1, min-size 24', '1080p', (DETECT.format('default'), 'mosaic1080'),
     ('cpu-detect', {**DEFAULT, 'picture': 'mosaic1080'}, ('ours', 'wall_ms'), 1000)),
    ('68 landmarks of a face', '720p', ('forest 68 points, 1 faces', 'mosaic720'),
     ('cpu-landmarks', {'what': '68 points of a face'}, ('ours_us',), 1)),
    ('flow of 68 points with its pyramid', '640x360', ('pyramid and flow, 68 points', 'pexels_00'),
     ('cpu-flow', {'what': '640x360, 68 points'}, ('ours_us',), 1)),
    ('flow of 68 points with its pyramid', '720p', ('pyramid and flow, 68 points', 'mosaic720'),
     ('cpu-flow', {'what': '1280x720, 68 points'}, ('ours_us',), 1)),
    ('a frame of the chain, a search every 10', '720p', ('one chain beside the decoder', '1280x720'),
     ('cpu-clips', {'clip': 'pexels720'}, ('redetect 10', 'added_ms_a_frame'), 1000)),
    ('a frame of the chain, a search every 10', '1080p', ('chains in one process', '1920x1080'),
     ('cpu-clips', {'clip': 'pexels1080'}, ('redetect 10', 'added_ms_a_frame'), 1000)),
]


def of_cpu(name, case, keys, scale):
    result = json.loads((RESULTS / f'{name}.json').read_text())
    found, = (c for c in result.get('cases') or result['clips'] if case.items() <= c.items())
    for key in keys:
        found = found[key]
    return found * scale, result['processor']


def of_gpu(rows, what, size):
    found = [r for r in rows if (r['what'], r.get('size')) == (what, size)
             and r.get('redetect-interval', 10) == 10 and r.get('chains', 1) == 1]
    return found[0].get('us') or 1e6 / found[0]['frames/s'] if found else None


def same_lines(rows):
    """The rows of same_lines.sh, summed up: one a clip."""
    clips = {}
    for row in rows:
        sums = clips.setdefault(row['clip'], {'settings': set(), 'ways': set(), 'lines': 0, 'faces': 0})
        sums['settings'].add(row['settings'])
        sums['ways'].add(row['way'])
        sums['lines'] += row['lines']
        sums['faces'] += row['faces']
    for clip, sums in clips.items():
        yield {'what': 'same lines', 'clip': clip, 'settings': len(sums['settings']),
               'ways': ', '.join(sorted(sums['ways'])), 'lines': sums['lines'], 'faces': sums['faces']}


def beside_cpu(result):
    print('\n## Beside the CPU\nMicroseconds; the CPU with one thread, its figures from [cpu.md](cpu.md). A '
          'frame of the chain: here with its decoding, which takes as long; on the CPU processor time without.\n\n'
          '| what | size | GPU | CPU | | times |\n|---|---|---|---|---|---|')
    for what, size, ours, cpu in BOTH:
        gpu_us, (cpu_us, processor) = of_gpu(result['benchmarks'], *ours), of_cpu(*cpu)
        if gpu_us:
            print(f'| {what} | {size} | {gpu_us:.0f} | {cpu_us:,.0f} | {processor} | {cpu_us / gpu_us:.1f} |')


def print_tables(rows):
    """Measurements of one kind, which have the same keys, are a table."""
    tables = {}
    for row in rows:
        tables.setdefault(tuple(row), []).append(row)
    for columns, rows in tables.items():
        print('\n| ' + ' | '.join(columns) + ' |\n|' + '---|' * len(columns))
        for row in rows:
            print('| ' + ' | '.join(f'`{row[c]}`' if c == 'what' else str(row[c]) for c in columns) + ' |')


def print_run(path, result):
    print(f'Made from {path.name}; device {result["device"]}, driver {result["driver"]}, '
          f'{result["date"]}, commit {result["commit"]}.\n')
    print('{passed} passed, {failed} failed, {skipped} skipped.\n'.format(**result['tests']))
    if 'note' in result:
        print(f'{result["note"]}\n')
    for failure in result['tests']['failures']:
        print(f'- failed: {failure["test"]}')
    for skip in result['tests']['skips']:
        print(f'- skipped: {skip["test"]} ({skip["why"]})')


def two_gpus(path):
    """The section of a machine with two GPUs, where one was there."""
    path = path.with_name(f'{path.stem}-two.json')
    if not path.exists():
        return
    result = json.loads(path.read_text())
    print('\n## Two GPUs\nMedians of several runs in turns, all in one process. `ratio` is beside one GPU of the same '
          'machine; the goal for 32 streams is 1.9.\n')
    print_run(path, result)
    print_tables(row for row in result['benchmarks'] if 'gpus' in row)


def runs_of(path):
    """[(its file, the run)]: FILE.json, and FILE-part.json where that is of the same commit."""
    files = [file for file in (path, path.with_name(f'{path.stem}-part.json')) if file.exists()]
    runs = [(file, json.loads(file.read_text())) for file in files]
    return [(file, run) for file, run in runs if run['commit'] == runs[0][1]['commit']]


def print_page(path):
    """Prints the page."""
    print('# The tests and times on a GPU')
    runs = runs_of(path)
    for file, run in runs:
        print()
        print_run(file, run)
    result = {'benchmarks': [row for _, run in runs for row in run['benchmarks']]}
    # What this machine's CPU took stays in the file: cpu.md has the figures of a CPU.
    rows = [r for r in result['benchmarks'] if r['what'] != 'same lines' and 'CPU us' not in r]
    print_tables([*rows, *same_lines(r for r in result['benchmarks'] if r['what'] == 'same lines')])
    two_gpus(path)
    beside_cpu(result)


def table(path):
    print_page(pathlib.Path(path))
    return 0


def check(path):
    path, page = pathlib.Path(path), io.StringIO()
    with contextlib.redirect_stdout(page):
        print_page(path)
    stale = path.with_suffix('.md').read_text() != page.getvalue()
    print(f'stale: {path.stem}.md' if stale else 'stale: none')
    return stale


# Whatever the page of the published experiments shows of a GPU (test_eval).
REPEATED = ('curve', 'pipeline', 'pipeline, ratios', DETECT.format('alt'), DETECT.format('default'),
            'pyramid and flow, 68 points graph', 'edges, aperture 3', 'edges, blur 5, aperture 3', 'edges, winding')
WITHIN = 0.05


def figures_of(rows):
    """{what was measured: its figure}: the floats of a row, named by all else that it has."""
    found = {}
    for row in rows:
        figures = [key for key, value in row.items() if isinstance(value, float)]
        name = ', '.join(str(value) for key, value in row.items() if key not in figures)
        found.update({f'{name}, {key}': row[key] for key in figures if row['what'] in REPEATED})
    return found


def repeat(first, second, out):
    runs = [json.loads(pathlib.Path(path).read_text()) for path in (first, second)]
    if runs[0]['device'] != runs[1]['device']:
        sys.exit(f"results.py: the runs are of two cards: {runs[0]['device']}, {runs[1]['device']}")
    before, after = (figures_of(run['benchmarks']) for run in runs)
    if once := before.keys() ^ after.keys():
        sys.exit(f'results.py: measured in one of the runs only: {"; ".join(sorted(once))}')
    ratios = {name: after[name] / figure for name, figure in before.items()}
    others = {name: round(ratio, 3) for name, ratio in ratios.items() if abs(ratio - 1) > WITHIN}
    for name, ratio in others.items():
        print(f'{name}: {before[name]}, then {after[name]}, {100 * (ratio - 1):+.1f} %')
    print(f'{len(ratios) - len(others)} of {len(ratios)} figures within {100 * WITHIN:.0f} %')
    pathlib.Path(out).write_text(json.dumps({
        'device': runs[0]['device'], 'runs': [{key: run[key] for key in ('date', 'commit')} for run in runs],
        'times': len(ratios), 'repeated': len(ratios) - len(others), 'others': others}, indent=1) + '\n')
    return bool(others) or not ratios


if __name__ == '__main__':
    match sys.argv[1:]:
        case ['collect', folder, commit, path]:
            sys.exit(collect(folder, commit, path))
        case ['merge', path, first, *others]:
            merge(path, [first, *others])
        case ['table', path]:
            sys.exit(table(path))
        case ['check', path]:
            sys.exit(check(path))
        case ['repeat', first, second, out]:
            sys.exit(repeat(first, second, out))
        case _:
            sys.exit(__doc__)
