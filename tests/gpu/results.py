#!/usr/bin/env python3
"""What tests/gpu/run found, as one JSON file and as a table.

  results.py collect FOLDER COMMIT FILE.json   from the logs and reports in FOLDER
  results.py table FILE.json                   as Markdown, to standard output

In FOLDER: `items` with lines "name exit-status seconds" (tabs), NAME.log, and NAME.json where
GoogleTest wrote a report. A script's status is 0 passed, 77 skipped, else failed; if the last line of
its log is "N passed, N failed, N skipped" these are its counts. A line of a log that is a JSON object
with a key "what" is a measurement. FILE.json has date, device, driver, commit, tests, benchmarks.
"""
import datetime
import json
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
    """(name, driver) of the first GPU, or None."""
    try:
        out = subprocess.run(['nvidia-smi', '--query-gpu=name,driver_version', '--format=csv,noheader'],
                             check=True, capture_output=True, text=True, timeout=60).stdout
        name, driver = out.splitlines()[0].split(', ')
        return name, driver
    except (OSError, subprocess.SubprocessError, IndexError, ValueError):
        return None, None


def collect(folder, commit, path):
    folder, tests, benchmarks = pathlib.Path(folder), Tests(), []
    items = folder / 'items'
    for line in items.read_text().splitlines() if items.exists() else []:
        name, rc, _ = line.split('\t')
        log = (folder / f'{name}.log').read_text(errors='replace')
        report = folder / f'{name}.json'
        try:
            report = json.loads(report.read_text())
        except (OSError, ValueError):
            report = None
        tests.add(name, int(rc), log, report)
        benchmarks += measurements(log)
    device, driver = gpu()
    counts = tests.as_dict()
    result = {'date': datetime.datetime.now(datetime.timezone.utc).strftime('%Y-%m-%dT%H:%M:%SZ'),
              'device': device, 'driver': driver, 'commit': commit, 'tests': counts,
              'benchmarks': benchmarks}
    pathlib.Path(path).write_text(json.dumps(result, indent=1) + '\n')
    for skip in counts['skips']:
        print('skipped:', skip['test'] + ':', skip['why'])
    for failure in counts['failures']:
        print('FAILED:', failure['test'] + ':', failure['message'][:300].replace('\n', '\n  '))
    print('{passed} passed, {failed} failed, {skipped} skipped'.format(**counts))
    return 1 if counts['failed'] or not counts['passed'] else 0


def table(path):
    result = json.loads(pathlib.Path(path).read_text())
    print('# The tests and times on a GPU\n')
    print(f'Made from {pathlib.Path(path).name}; device {result["device"]}, driver {result["driver"]}, '
          f'{result["date"]}, commit {result["commit"]}.\n')
    print('{passed} passed, {failed} failed, {skipped} skipped.\n'.format(**result['tests']))
    for failure in result['tests']['failures']:
        print(f'- failed: {failure["test"]}')
    for skip in result['tests']['skips']:
        print(f'- skipped: {skip["test"]} ({skip["why"]})')
    tables = {}  # measurements of one kind have the same keys
    for row in result['benchmarks']:
        tables.setdefault(tuple(row), []).append(row)
    for columns, rows in tables.items():
        print('\n| ' + ' | '.join(columns) + ' |\n|' + '---|' * len(columns))
        for row in rows:
            print('| ' + ' | '.join(str(row[c]) for c in columns) + ' |')
    return 0


if __name__ == '__main__':
    match sys.argv[1:]:
        case ['collect', folder, commit, path]:
            sys.exit(collect(folder, commit, path))
        case ['table', path]:
            sys.exit(table(path))
        case _:
            sys.exit(__doc__)
