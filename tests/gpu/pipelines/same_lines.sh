#!/usr/bin/env bash
# The CPU chain behind avdec_h264 and the CUDA chain behind nvh264dec write the same faces.jsonl, line by
# line; so does the CUDA chain that gets its frames from system memory (backend=cuda). Each clip is searched
# with the cascade and with the network, where that is there. Short clips are compared again with what is off
# by default. H.265 is compared behind avdec_h265 and nvh265dec. Two decoders of JPEG give different pictures,
# so there both chains are behind nvjpegdec.
#
#   tests/gpu/pipelines/same_lines.sh [CLIP ...]     default: the clips of $CUFACE_CLIPS
#
# Clips are compared side by side, a processor each, eight at most.
# What is equal is said as a line of JSON: clip, settings, way (decoded on the device, or uploaded), how much.
# In MP4 or Matroska; H.265 and JPEG by their names (*.h265*.*, *.jpeg.*), else H.264. Others are skipped and
# named. Needs nvh264dec and avdec_h264.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
clips=("$@")
if ((${#clips[@]} == 0)); then
  [[ ${CUFACE_CLIPS-} ]] || { echo "SKIP: no clips (CUFACE_CLIPS)"; exit 77; }
  clips=()
  for clip in "$CUFACE_CLIPS"/*; do
    # Those in the folder bench are for times; their pictures are those of others.
    if [[ -f $clip ]]; then clips+=("$clip"); fi
  done
fi
# Not --exists: that asks for a plugin as new as GStreamer itself.
for element in nvh264dec avdec_h264 cufacedetect; do
  gst-inspect-1.0 "$element" > "$work/log" 2>&1 || { echo "SKIP: no $element here"; exit 77; }
done

# play CLIP DEMUXER DECODER CHAIN OUT
play() {
  gst-launch-1.0 -q filesrc location="$1" ! "$2" ! $3 ! $4 ! cufacepublish location="$5" \
    ! fakesink sync=false > "$work/log" 2>&1
}

# decoders CLIP: sets on_cpu and on_gpu.
decoders() {
  local device="capsfilter caps=video/x-raw(memory:CUDAMemory)" host="capsfilter caps=video/x-raw"
  case $1 in
    *.h265*.*)
      on_cpu="h265parse ! avdec_h265 ! $host"
      on_gpu="h265parse ! nvh265dec ! $device"
      ;;
    *.jpeg.*)
      on_gpu="jpegparse ! nvjpegdec ! $device"
      on_cpu="$on_gpu ! cudadownload ! $host"
      ;;
    *)
      on_cpu="h264parse ! avdec_h264 ! $host"
      on_gpu="h264parse ! nvh264dec ! $device"
      ;;
  esac
}

# same CLIP DEMUXER SETTINGS DETECT LANDMARK, behind decoders(): false when the CPU chain cannot play it.
same() {
  local clip=$1 demuxer=$2 settings=$3 rest="! culktrack ! cufacelandmark $5" name decoder text found way
  play "$clip" "$demuxer" "$on_cpu" "cufacedetect backend=cpu $4 $rest" "$work/cpu" || return
  for way in "device|$on_gpu|cufacedetect $4 $rest" "upload|$on_cpu|cufacedetect backend=cuda $4 $rest"; do
    IFS='|' read -r name decoder text <<< "$way"
    if ! play "$clip" "$demuxer" "$decoder" "$text" "$work/$name"; then
      echo "FAIL ${clip##*/} $settings $name: $(tail -n 3 "$work/log")"
      failed=$((failed + 1))
    elif ! cmp -s "$work/cpu" "$work/$name"; then
      echo "FAIL ${clip##*/} $settings $name: $(wc -l < "$work/$name") lines, the CPU" \
        "$(wc -l < "$work/cpu"); first difference:"
      diff "$work/cpu" "$work/$name" | sed -n '2p;/^---$/,$p' | cut -c 1-400 | head -n 3 || true
      echo "  lines that differ: $(diff "$work/cpu" "$work/$name" | grep -c '^<' || true)"
      failed=$((failed + 1))
    else
      passed=$((passed + 1))
      compared=$((compared + $(wc -l < "$work/$name")))
      found=$(grep -o '"id":[0-9]' "$work/$name" | wc -l || true)
      # The lines of the network have its points, which are compared with the rest.
      if [[ $settings == network* && $(grep -o '"keypoints":\[\[' "$work/$name" | wc -l || true) != "$found" ]]; then
        echo "FAIL ${clip##*/} $settings $name: faces without keypoints"
        failed=$((failed + 1))
      fi
      faces=$((faces + found))
      printf '{"what":"same lines","clip":"%s","settings":"%s","way":"%s","lines":%d,"faces":%d}\n' \
        "${clip##*/}" "$settings" "$name" "$(wc -l < "$work/$name")" "$found"
    fi
  done
}

# compare CLIP: all that is compared of it; the numbers of it to $work/numbers.
compare() {
  local clip=$1 demuxer
  passed=0 failed=0 skipped=0 compared=0 faces=0
  case $clip in
    *.mp4 | *.mov) demuxer=qtdemux ;;
    *.mkv) demuxer=matroskademux ;;
    *)
      echo "skipped (neither MP4 nor Matroska): ${clip##*/}"
      skipped=1
      ;;
  esac
  if ((!skipped)); then
    decoders "$clip"
    if ! same "$clip" $demuxer "as it is" "" ""; then
      echo "skipped (not played on the CPU): ${clip##*/}: $(tail -n 1 "$work/log")"
      skipped=1
    else
      compare_settings "$clip" $demuxer
    fi
  fi
  echo "$passed $failed $skipped $compared $faces" > "$work/numbers"
}

compare_settings() {
  local clip=$1 demuxer=$2 short=
  # What is off by default takes the CPU too long for long clips.
  if [[ $on_cpu == h264* ]] && (($(wc -l < "$work/cpu") < 110)); then short=yes; fi
  if [[ $network ]]; then
    same "$clip" $demuxer "network" "model=$network" ""
    if [[ $short ]]; then
      same "$clip" $demuxer "network on every frame" "model=$network redetect-interval=1" ""
      same "$clip" $demuxer "network, own size, all on" \
        "model=$network input-size=0 roll=45 redetect-interval=5" "samples=4 smooth=0.5"
      same "$clip" $demuxer "network motion" "model=$network search=motion" ""
    fi
  fi
  if [[ $short ]]; then
    same "$clip" $demuxer "all on" "roll=45 redetect-interval=5" "samples=4 smooth=0.5"
    same "$clip" $demuxer "spread" "spread=true" ""
    same "$clip" $demuxer "verify and refine off" "verify=false" "refine=false"
    same "$clip" $demuxer "smart" "search=smart redetect-interval=30" ""
    same "$clip" $demuxer "motion" "search=motion" ""
    same "$clip" $demuxer "scaled windows" "scale-mode=window scale-factor=1.2 grouping=overlap" ""
  fi
}

network=${CUFACE_MODEL_PATH:-.}/yunet.cuface
if [[ ! -f $network ]]; then
  echo "skipped (CUFACE_MODEL_PATH): no $network"
  network=
fi
# The registry is written now: several that begin together would each write it.
gst-launch-1.0 -q fakesrc num-buffers=1 ! fakesink > /dev/null 2>&1
processors=$(nproc) all=$work
if ((processors > 8)); then processors=8; fi
for i in "${!clips[@]}"; do
  while (($(jobs -rp | wc -l) >= processors)); do wait -n || true; done
  mkdir "$all/$i"
  (trap - EXIT; work=$all/$i; compare "${clips[i]}") > "$all/$i.log" 2>&1 &
done
wait

passed=0 failed=0 compared=0 faces=0
skipped=$([[ $network ]] && echo 0 || echo 1)
for i in "${!clips[@]}"; do
  cat "$all/$i.log"
  if ! read -r p f s c n < "$all/$i/numbers"; then
    echo "FAIL ${clips[i]##*/}: not compared to its end"
    failed=$((failed + 1))
    continue
  fi
  passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
  compared=$((compared + c)) faces=$((faces + n))
done
echo "$compared lines with $faces faces are equal"
if ((compared < 100 || faces < 100)); then
  echo "FAIL too little was compared"
  failed=$((failed + 1))
fi
echo "$passed passed, $failed failed, $skipped skipped"
((failed == 0))
