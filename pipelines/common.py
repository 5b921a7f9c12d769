"""What the Python examples share: where the plugin is, what an input is called, how a pipeline runs to its end."""
import ctypes
import os
import pathlib
import shlex
import signal
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "gst-cuface"
SAMPLE_CLIP = CACHE / "WolfgangLanger_Pexels.mp4"


def use_build():
    """Takes the plugin and the library from this checkout's build; where it has none, the installed ones are used."""
    build = pathlib.Path(os.environ.get("CUFACE_BUILD") or ROOT / "build").absolute()
    if not (build / "gst/libgstcuface.so").exists():
        return
    for name, folder in (("GST_PLUGIN_PATH", "gst"), ("GI_TYPELIB_PATH", "gst/meta")):
        os.environ[name] = os.pathsep.join(filter(None, (str(build / folder), os.environ.get(name))))
    # A registry of its own: the user's would be rewritten on every change between with and without our plugin.
    os.environ.setdefault("GST_REGISTRY", str(build / "registry.bin"))
    # The typelib names the library without a folder: one that is loaded is found.
    ctypes.CDLL(str(build / "gst/libgstcuface-1.0.so.0"))


use_build()  # before gi, which reads the environment once

import gi  # noqa: E402

gi.require_version("Gst", "1.0")
from gi.repository import GLib, Gst  # noqa: E402

# What writes a video, best first; the first whose elements are all installed is used. x264 with a fixed
# quantizer: network cameras state frame rates like 24000/1, and a frame's share of a bit rate would be nothing.
RECORDERS = (
    ("mp4", "x264enc speed-preset=veryfast pass=quant quantizer=23 ! h264parse ! mp4mux"),
    ("mp4", "openh264enc ! h264parse ! mp4mux"),
    ("webm", "vp8enc deadline=1 ! webmmux"),
    ("avi", "jpegenc ! avimux"),
)


class UserError(Exception):
    """Something the user can mend; the text says what."""


def start(main, arguments):
    """Runs main(arguments) as a program: what a user can mend is said in a line, without a traceback."""
    name = pathlib.Path(sys.argv[0]).stem
    Gst.init(None)
    try:
        if not Gst.ElementFactory.find("cufacedetect"):
            raise UserError("no element cufacedetect: run pipelines/setup, or set GST_PLUGIN_PATH to the plugin's folder")
        sys.exit(main(arguments))
    except KeyboardInterrupt:
        sys.exit(130)
    except UserError as error:
        sys.exit(f"{name}: {error}")


def input_uri(text):
    if Gst.uri_is_valid(text):
        return text
    path = pathlib.Path(text)
    if not path.is_file():
        raise UserError(f"{text}: no such file; give a file, a picture or a URI such as rtsp://host/path")
    return path.resolve().as_uri()


def video_or_camera(text):
    """The beginning of a pipeline of a file, a URI or /dev/video0. Where a camera is too fast, frames are left out."""
    if not text.startswith("/dev/"):
        return f"uridecodebin{properties(uri=input_uri(text))} ! videoconvert ! queue"
    if not pathlib.Path(text).is_char_device():
        raise UserError(f"{text}: no such camera")
    return f"v4l2src{properties(device=text)} ! decodebin ! videoconvert ! queue leaky=downstream max-size-buffers=2"


def output_folder(text):
    folder = pathlib.Path(text)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"--output {folder}: {error.strerror}") from error
    return folder


def window():
    """The end of a pipeline that shows its video."""
    if not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        raise UserError("--display: there is no screen (neither DISPLAY nor WAYLAND_DISPLAY is set); leave it away")
    return "videoconvert ! autovideosink"


def recorder(stem, **options):
    """The end of a pipeline that writes its video, and the file: `stem` with the suffix of what can be written.
    `options` are properties of its filesink."""
    for suffix, chain in RECORDERS:
        if all(Gst.ElementFactory.find(part.split()[0]) for part in chain.split(" ! ")):
            path = stem.with_name(f"{stem.name}.{suffix}")
            return f"videoconvert ! {chain} ! filesink{properties(location=path, **options)}", path
    raise UserError("no video encoder is installed; install gstreamer1.0-plugins-ugly (x264enc)")


def properties(**values):
    """' name=value ...' of what is not None, for parse_launch()."""
    return "".join(f" {name.replace('_', '-')}={shlex.quote(str(value))}"
                   for name, value in values.items() if value is not None)


def parse(text):
    try:
        return Gst.parse_launch(text)
    except GLib.Error as error:
        raise UserError(f"{error.message}\n(pipeline: {text})") from error


def error_text(message):
    error, debug = message.parse_error()
    if error.matches(Gst.CoreError.quark(), Gst.CoreError.MISSING_PLUGIN):
        debug = f"{debug or ''}; Debian has plug-ins in gstreamer1.0-libav and gstreamer1.0-plugins-{{good,bad,ugly}}"
    return f"{message.src.get_name()}: {error.message}" + (f"\n({debug})" if debug else "")


def run(pipeline):
    """Plays to the end; Ctrl-C ends the stream, so that what is recorded is whole."""
    loop, failure = GLib.MainLoop(), []

    def on_message(_bus, message):
        if message.type == Gst.MessageType.ERROR:
            failure.append(error_text(message))
            loop.quit()
        elif message.type == Gst.MessageType.WARNING:
            warning, _debug = message.parse_warning()
            print(f"\nwarning: {message.src.get_name()}: {warning.message}", file=sys.stderr)
        elif message.type == Gst.MessageType.EOS:
            loop.quit()

    def on_interrupt():
        pipeline.send_event(Gst.Event.new_eos())
        return GLib.SOURCE_REMOVE

    bus = pipeline.get_bus()
    bus.add_signal_watch()
    bus.connect("message", on_message)
    GLib.unix_signal_add(GLib.PRIORITY_DEFAULT, signal.SIGINT, on_interrupt)
    if pipeline.set_state(Gst.State.PLAYING) == Gst.StateChangeReturn.FAILURE:
        message = bus.timed_pop_filtered(0, Gst.MessageType.ERROR)
        failure.append(error_text(message) if message else "the pipeline does not start; GST_DEBUG=3 says more")
    else:
        loop.run()
    if failure:
        raise UserError(failure[0])
