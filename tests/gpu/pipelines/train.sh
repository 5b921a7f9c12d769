#!/usr/bin/env bash
# cuface-train cascade with --backend cuda writes the bytes that --backend cpu writes, of drawn windows
# (tests/train/drawn_training.py), with several kinds of boosting, and of few backgrounds with generated ones.
#
#   tests/gpu/pipelines/train.sh
#
# Says as a line of JSON how long each took for its boosting, and for its mining.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
skip() { echo "SKIP: $*"; exit 77; }
command -v cuface-train > /dev/null || skip "no cuface-train"
nvidia-smi -L > "$work/log" 2>&1 || skip "no GPU"
mkdir "$work/drawn"
python3 -c "
import pathlib, sys
sys.path.insert(0, '$here/../../train')
import drawn_training
drawn_training.write_training(pathlib.Path('$work/drawn'), positives=300, backgrounds=12, side=16)"

passed=0 failed=0
# train BACKEND OPTION...: to face.xml and report.json of a folder of that name, which the file names.
train() {
  local backend=$1
  shift
  rm -rf "${work:?}/$backend"
  mkdir "$work/$backend"
  (cd "$work/$backend" && cuface-train cascade --positives ../drawn/positives.vec --negatives ../drawn/negatives \
    --size 16x16 --stages 6 --negatives-per-stage 300 --max-false-alarm-rate 0.6 --backend "$backend" \
    --output face.xml --report report.json --quiet "$@")
}
# reports KEY BACKEND: the sum of a key over all stages.
reports() {
  python3 -c "
import json
print(sum(stage['$1'] for stage in json.load(open('$work/$2/report.json'))['stages']))"
}
# Of the sixth stage on mining searches pictures, instead of drawing windows.
for options in "--bt discrete" "--bt gentle --max-depth 2" "--bt real --mode ALL" "--bt logit --max-depth 3" \
  "--stages 16 --generated 20000"; do
  stages=6
  if [[ $options == --stages* ]]; then stages=16; fi
  ok=yes
  for backend in cpu cuda; do
    # shellcheck disable=SC2086 # several options
    train $backend $options > "$work/log" 2>&1 || { ok=; echo "FAIL $options, $backend: $(tail -n 3 "$work/log")"; }
  done
  if [[ ! $ok ]]; then
    :
  elif ! cmp "$work/cpu/face.xml" "$work/cuda/face.xml"; then
    ok=
    echo "FAIL $options: other bytes"
  elif [[ $(reports boosting_on_gpu cpu) != 0 || $(reports boosting_on_gpu cuda) != "$stages" ||
    $(reports mining_on_gpu cpu) != 0 || $(reports mining_on_gpu cuda) != $((stages - 5)) ]]; then
    ok=
    echo "FAIL $options: boosting or mining was not where it was asked for"
  elif [[ $(reports windows cpu) != $(reports windows cuda) || $(reports windows_passed cpu) != $(reports windows_passed cuda) ]]; then
    ok=
    echo "FAIL $options: other windows were looked at"
  fi
  if [[ ! $ok ]]; then
    failed=$((failed + 1))
    continue
  fi
  passed=$((passed + 1))
  printf '{"what":"cuface-train cascade, boosting","options":"%s","trees":%d,"s on the GPU":%.3f,"CPU s":%.3f}\n' "$options" \
    "$(reports trees cuda)" "$(reports boosting_seconds cuda)" "$(reports boosting_seconds cpu)"
  printf '{"what":"cuface-train cascade, mining","options":"%s","windows":%d,"s on the GPU":%.3f,"CPU s":%.3f}\n' "$options" \
    "$(reports windows cuda)" "$(reports mining_seconds cuda)" "$(reports mining_seconds cpu)"
done
echo "$passed passed, $failed failed, 0 skipped"
((failed == 0 && passed > 0))
