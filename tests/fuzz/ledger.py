#!/usr/bin/env python3
"""The ledger of fuzzing, docs/results/fuzz.json: how long each target ran on which sources, and what it found.

  tests/fuzz/ledger.py add FILE...   adds lines of JSON, one a target and run, as tests/fuzz/run and the
                                     pack print them: target, commit, processor_seconds, inputs, edges, findings
  tests/fuzz/ledger.py show          the sums at the newest commit of each target; fails where a target has less
                                     than the goal without a finding

`commit` is the last one that changed kernels/, models/ or tests/fuzz/. Runs on the same commit are summed up.
"""
import json
import os
import sys

PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'docs', 'results', 'fuzz.json')
GOAL_SECONDS = 1800
TARGETS = ('cascade_xml', 'dlib_dat', 'cuface', 'detect', 'landmark', 'network', 'shape', 'wire')


def load():
    if not os.path.exists(PATH):
        return {'goal_processor_seconds': GOAL_SECONDS, 'runs': []}
    with open(PATH, encoding='utf-8') as f:
        return json.load(f)


def add(ledger, run):
    if run['target'] not in TARGETS or run['processor_seconds'] < 0 or run['inputs'] < 0:
        sys.exit('no run of a target: %s' % run)
    for old in ledger['runs']:
        if (old['target'], old['commit']) == (run['target'], run['commit']):
            break
    else:
        old = {'target': run['target'], 'commit': run['commit'], 'processor_seconds': 0, 'inputs': 0,
               'edges': 0, 'findings': []}
        ledger['runs'].append(old)
    old['processor_seconds'] = round(old['processor_seconds'] + run['processor_seconds'], 1)
    old['inputs'] += run['inputs']
    old['edges'] = max(old['edges'], run['edges'])
    old['findings'] += run['findings']


def show(ledger):
    short = False
    for target in TARGETS:
        runs = [run for run in ledger['runs'] if run['target'] == target]
        if not runs:
            print('%-12s never ran' % target)
            short = True
            continue
        last = runs[-1]
        enough = last['processor_seconds'] >= GOAL_SECONDS and not last['findings']
        short = short or not enough
        print('%-12s %s: %.0f s of a processor, %d inputs, %d edges, %d findings%s' %
              (target, last['commit'], last['processor_seconds'], last['inputs'], last['edges'],
               len(last['findings']), '' if enough else ' (goal: %d s without one)' % GOAL_SECONDS))
    return 1 if short else 0


def main(arguments):
    ledger = load()
    if arguments == ['show']:
        sys.exit(show(ledger))
    if len(arguments) < 2 or arguments[0] != 'add':
        sys.exit(__doc__)
    for path in arguments[1:]:
        with open(path, encoding='utf-8') as f:
            for line in f:
                if line.startswith('{'):
                    add(ledger, json.loads(line))
    with open(PATH, 'w', encoding='utf-8') as f:
        json.dump(ledger, f, indent=1)
        f.write('\n')


if __name__ == '__main__':
    main(sys.argv[1:])
