# What the shell examples share; sourced by them.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
name=$(basename "$0")

# The lines of comment at the top of an example are its help.
help() { sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0"; exit 0; }

fail() { echo "$name: $*" >&2; exit 1; }
wrong_use() { echo "$name: $*; see --help" >&2; exit 2; }

# Takes the plugin from this checkout's build; where it has none, the installed one is used.
use_plugin() {
  local build=${CUFACE_BUILD:-$root/build}
  if [ -e "$build/gst/libgstcuface.so" ]; then
    export GST_PLUGIN_PATH=$build/gst${GST_PLUGIN_PATH:+:$GST_PLUGIN_PATH}
    # A registry of its own: the user's would be rewritten on every change between with and without our plugin.
    export GST_REGISTRY=${GST_REGISTRY:-$build/registry.bin}
  fi
  command -v gst-launch-1.0 >/dev/null || fail "no gst-launch-1.0: run pipelines/setup, or install gstreamer1.0-tools"
  # --exists alone asks for the version of GStreamer.
  gst-inspect-1.0 --exists --atleast-version=0.0 cufacedetect ||
    fail "no element cufacedetect: run pipelines/setup, or set GST_PLUGIN_PATH to the plugin's folder"
}

# A text as gst-launch takes it, whatever is in it.
quoted() {
  local text=${1//\\/\\\\}
  printf '"%s"' "${text//\"/\\\"}"
}

# Sets the array `decoder` to the elements that read $1, a file or a URI.
decode() {
  case $1 in
    *://*) decoder=(uridecodebin "uri=$(quoted "$1")") ;;
    *)
      [ -f "$1" ] || fail "$1: no such file; give a video, a picture or a URI such as rtsp://host/path"
      [ -r "$1" ] || fail "$1: you may not read this file"
      decoder=(filesrc "location=$(quoted "$1")" ! decodebin)
      ;;
  esac
}

readable='
  /^(Additional debug info:|\.\.\/.*|ERROR: pipeline doesn.t want to preroll\.)$/d
  s/^(ERROR|WARNING): from element .*:([^:/]*): /\1: \2: /
  s/is missing a plug-in\./&  Debian has them in gstreamer1.0-libav and gstreamer1.0-plugins-{good,bad,ugly}./'

# Hands on what gst-launch, whose number comes first, prints, and ends it where it says an error and stays. It does so
# where a source fails before its main loop runs: gst-launch asks the loop to end, and then begins it.
end_after_error() {
  local line pid
  read -r pid
  while IFS= read -r line; do
    printf '%s\n' "$line"
    if [[ $line == ERROR:* ]]; then
      (sleep 5; kill "$pid") >/dev/null 2>&1 &
    fi
  done
}

# Plays the input $1 through the pipeline that follows. Ctrl-C ends its stream, so that what it writes is whole.
# What gst-launch itself says goes to standard error, because standard output is for the pipeline, and without
# the lines that only help who develops it.
play() {
  local input=$1
  shift
  bash -c 'echo $$; exec gst-launch-1.0 "$@"' bash -q -e "$@" 2>&1 |
    (trap '' INT; end_after_error | sed -u -E "$readable" >&2) ||
    fail "$input: failed, for the reason above"
}
