#!/usr/bin/env bash
# cuface-multi (pipelines/multi) with 32 streams of 1080p on one and on two GPUs, in turns: streams are spread, each
# one's lines are the same, and how much faster two are.
#
#   tests/gpu/pipelines/multi.sh [ROUNDS]     default: 3; needs two GPUs, nvh264dec and $CUFACE_CLIPS/bench
set -euo pipefail
rounds=${1:-3} streams=32
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
skip() { echo "SKIP: $*"; exit 77; }
(($(nvidia-smi -L 2> /dev/null | wc -l) >= 2)) || skip "one GPU only"
clip=${CUFACE_CLIPS-}/bench/pexels1080.mp4
[[ -f $clip ]] || skip "no clip $clip"
command -v cuface-multi > /dev/null || skip "no cuface-multi"
gst-inspect-1.0 nvh264device1dec > "$work/log" 2>&1 || skip "no element nvh264device1dec"

passed=0 failed=0
# check WHAT COMMAND...
check() {
  local what=$1
  shift
  if "$@"; then
    passed=$((passed + 1))
  else
    echo "FAIL $what"
    failed=$((failed + 1))
  fi
}
same() {
  local i
  for ((i = 1; i <= streams; ++i)); do cmp "$work/first" "$1/$i.jsonl" || return; done
}
is() { [[ $1 == "$2" ]] || { echo "$1, not $2"; false; }; }

inputs=()
for ((i = 0; i < streams; ++i)); do inputs+=("$clip"); done
for ((round = 0; round < rounds; ++round)); do
  for gpus in 1 2; do
    if ! cuface-multi --gpus $gpus --json "$work/$gpus" "${inputs[@]}" > "$work/log" 2>&1; then
      tail -n 5 "$work/log"
      check "$gpus GPUs: it failed" false
      continue
    fi
    check "frames on two GPUs" is "$(grep -c 'to GPU 1$' "$work/log" || true)" $((gpus == 2 ? streams / 2 : 0))
    check "decoded on the GPU" is "$(grep -c 'is copied to it' "$work/log" || true)" 0
    [[ -f $work/first ]] || cp "$work/$gpus/1.jsonl" "$work/first"
    check "the same lines on $gpus GPUs" same "$work/$gpus"
    sed -nE 's/^all: .* s, ([0-9.]+) frames\/s$/\1/p' "$work/log" >> "$work/rates$gpus"
  done
done
check "lines" is "$(wc -l < "$work/first")" 1000
faces=$(grep -o '"id":[0-9]' "$work/first" | wc -l || true)
check "faces: $faces" test "$faces" -ge 800
median() { sort -n "$1" | sed -n "$((($(wc -l < "$1") + 1) / 2))p"; }
awk -v one="$(median "$work/rates1")" -v two="$(median "$work/rates2")" -v streams=$streams 'BEGIN {
  for (gpus = 1; gpus <= 2; ++gpus)
    printf("{\"what\":\"cuface-multi --gpus N\",\"size\":\"1920x1080\",\"streams\":%d,\"gpus\":%d,\"frames/s\":%.0f,\"ratio\":%.2f}\n",
      streams, gpus, gpus == 1 ? one : two, gpus == 1 ? 1 : two / one)
  printf("goal of cuface-multi: %.2f times on two GPUs, at least 1.9: %s\n", two / one, two / one >= 1.9 ? "met" : "MISSED")
}'
echo "$passed passed, $failed failed, 0 skipped"
((failed == 0))
