#!/usr/bin/env bash
# cuface-train with --backend cuda writes the bytes that --backend cpu writes: cascade of drawn windows
# (tests/train/drawn_training.py), with several kinds of boosting; forest of drawn heads, with several options, and where
# each processor goes on with what the other has begun.
#
#   tests/gpu/pipelines/train.sh
#
# Says as lines of JSON how long each took for its boosting, or for growing trees.
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
# Once few windows pass mining searches pictures, instead of drawing windows; with tilted features not in pairs.
for options in "--bt discrete" "--bt gentle --max-depth 2" "--bt real --mode ALL" "--bt logit --max-depth 3" \
  "--stages 16 --generated 20000" "--stages 13 --generated 20000 --mode ALL"; do
  stages=6
  if [[ $options == --stages* ]]; then stages=$(cut -d ' ' -f 2 <<< "$options"); fi
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
    $(reports mining_on_gpu cpu) != 0 || $(reports mining_on_gpu cuda) == 0 ]]; then
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

cuface-train heads --output "$work/heads" --count 200 --size 96x96 > "$work/log"
cuface-train heads --output "$work/others" --count 40 --first 1000 --size 96x96 > "$work/log"
# grow BACKEND OUTPUT OPTION...: in a folder of that backend's name.
grow() {
  local backend=$1 output=$2
  shift 2
  rm -rf "${work:?}/$backend"
  mkdir "$work/$backend"
  (cd "$work/$backend" && cuface-train forest --images ../heads/labels.csv --cascade-depth 4 \
    --num-trees-per-cascade-level 40 --backend "$backend" --output "$output" --report report.json --quiet "$@")
}
of_report() { python3 -c "import json; print(json.load(open('$work/$2/report.json'))['$1'])"; }
for options in "m.dat" "m.cuface --mirror --tree-depth 5 --weights glasses=4" "m.dat --num-test-splits 33" \
  "m.cuface --validation ../others/labels.csv --padding-mode bounding-box-relative --oversampling-translation-jitter 0.1"; do
  ok=yes output=${options%% *}
  for backend in cpu cuda; do
    # shellcheck disable=SC2086 # several options
    grow $backend $options > "$work/log" 2>&1 || { ok=; echo "FAIL forest $options, $backend: $(tail -n 3 "$work/log")"; }
  done
  if [[ ! $ok ]]; then
    :
  elif ! cmp "$work/cpu/$output" "$work/cuda/$output"; then
    ok=
    echo "FAIL forest $options: other bytes"
  elif [[ $(of_report growing_on_gpu cpu) != False || $(of_report growing_on_gpu cuda) != True ]]; then
    ok=
    echo "FAIL forest $options: trees did not grow where it was asked for"
  fi
  if [[ ! $ok ]]; then
    failed=$((failed + 1))
    continue
  fi
  passed=$((passed + 1))
  printf '{"what":"cuface-train forest, growing","options":"%s","faces":200,"trees":160,"s on the GPU":%.3f,"CPU s":%.3f}\n' \
    "${options#* }" "$(of_report growing_seconds cuda)" "$(of_report growing_seconds cpu)"
done
# dlib's sums are the CPU's: asked for on CUDA they are refused, and auto takes the CPU.
if grow cuda m.dat --random dlib > "$work/log" 2>&1 || ! grep -q "only the CPU can" "$work/log"; then
  failed=$((failed + 1))
  echo "FAIL forest --random dlib on CUDA: $(tail -n 3 "$work/log")"
elif grow cpu m.dat --random dlib > "$work/log" 2>&1 && grow auto m.dat --random dlib > "$work/log" 2>&1 &&
  cmp "$work/cpu/m.dat" "$work/auto/m.dat" && [[ $(of_report growing_on_gpu auto) == False ]]; then
  passed=$((passed + 1))
else
  failed=$((failed + 1))
  echo "FAIL forest --random dlib: $(tail -n 3 "$work/log")"
fi
# Ended behind its first stage by a signal, gone on with by the other.
long=(--images "$work/heads/labels.csv" --cascade-depth 2 --num-trees-per-cascade-level 800)
cuface-train forest "${long[@]}" --backend cpu --output "$work/whole.dat" --quiet > "$work/log" 2>&1
for backend in cpu cuda; do
  other=$([[ $backend == cpu ]] && echo cuda || echo cpu) model=$work/by-$backend.dat
  cuface-train forest "${long[@]}" --backend "$backend" --output "$model" > /dev/null 2> "$work/told" &
  pid=$!
  until grep -q "stage 1 done" "$work/told" || ! kill -0 $pid 2> /dev/null; do sleep 0.02; done
  kill -TERM $pid 2> /dev/null || true # a script's own child ignores SIGINT
  wait $pid || true
  trees=$(cuface-train info "$model.checkpoint" | sed -n 's/^trees *\([0-9]*\) of.*/\1/p')
  if ((trees >= 800 && trees < 1600)) &&
    cuface-train resume "$model.checkpoint" --backend "$other" --quiet > "$work/log" 2>&1 && cmp "$model" "$work/whole.dat"; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "FAIL forest begun by $backend ($trees trees), gone on with by $other: $(tail -n 3 "$work/log")"
  fi
done
echo "$passed passed, $failed failed, 0 skipped"
((failed == 0 && passed > 0))
