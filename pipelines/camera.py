"""A network camera that fails and returns: shared by the examples that watch one."""
import pathlib
import re
import signal
import subprocess
import sys
import urllib.parse

import common
from common import UserError

from gi.repository import GLib, Gst


def add_arguments(parser):
    parser.add_argument("input", nargs="?", metavar="INPUT", help="rtsp://USER:PASSWORD@HOST/PATH")
    parser.add_argument("--loopback", metavar="CLIP", nargs="?", const=str(common.SAMPLE_CLIP),
                        help="without a camera: serve this H.264 clip (default: the sample clip) on this machine")
    parser.add_argument("--retry", type=float, default=2, metavar="SECONDS",
                        help="how long to wait before the camera is asked again (default %(default)s)")


def check(parser, arguments):
    if bool(arguments.input) == bool(arguments.loopback):
        parser.error("give INPUT or --loopback")
    if arguments.input and not re.match(r"rtsp[a-z-]*://.", arguments.input):
        parser.error(f"INPUT: '{arguments.input}' is no address such as rtsp://USER:PASSWORD@HOST/PATH")
    if arguments.retry <= 0:
        parser.error("--retry: more than 0 seconds")
    return arguments


def start_server(clip):
    """Serves the clip on this machine; returns the process and the URI."""
    if not pathlib.Path(clip).is_file():
        raise UserError(f"{clip}: no such file")
    server = subprocess.Popen([sys.executable, pathlib.Path(__file__).with_name("rtsp_server.py"), clip],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    port = server.stdout.readline().strip()
    if not port:
        raise UserError(f"the server does not start: {server.stderr.read().strip()}")
    return server, f"rtsp://127.0.0.1:{port}/faces"


class Camera:
    """The part of the pipeline that fails and is made anew. What is behind it, from the element `chain` on, never
    leaves PLAYING, so the ids go on counting and no line is lost. `reader` makes of the camera's packets what the
    chain takes."""

    def __init__(self, pipeline, uri, retry, reader):
        self.pipeline, self.uri, self.retry, self.reader = pipeline, uri, retry, reader
        self.chain = pipeline.get_by_name("chain")
        self.source, self.loop, self.failure = None, GLib.MainLoop(), ""
        # The end of the camera's stream is not the end of ours.
        self.chain.get_static_pad("sink").add_probe(Gst.PadProbeType.EVENT_DOWNSTREAM, self.on_event)

    def connect(self):
        # The watchdog makes an error of a camera that says nothing for ten seconds.
        self.source = Gst.parse_bin_from_description(
            "rtspsrc name=rtspsrc protocols=tcp latency=200 ! application/x-rtp,media=video"
            f" ! watchdog timeout=10000 ! {self.reader} name=last", False)
        # A pipeline that plays already does not take a newcomer along that prepares itself in the background
        # (ASYNC): it has to get to PLAYING by itself.
        self.source.set_property("async-handling", True)
        self.source.get_by_name("rtspsrc").set_property("location", self.uri)
        last = self.source.get_by_name("last").get_static_pad("src")
        last.add_probe(Gst.PadProbeType.BUFFER, self.on_first_frame)
        self.source.add_pad(Gst.GhostPad.new("src", last))
        self.pipeline.add(self.source)
        self.source.link(self.chain)
        self.source.sync_state_with_parent()
        return GLib.SOURCE_REMOVE

    def lost(self, reason):
        """On the main loop's thread only: a streaming thread cannot wait for itself to stop."""
        if self.source:
            self.source.set_state(Gst.State.NULL)
            self.pipeline.remove(self.source)
            # A pipeline that was still on its way to PLAYING takes a part that leaves for the end of the way.
            self.pipeline.set_state(Gst.State.PLAYING)
            self.source = None
            # A flush ends the tracks: who is there afterwards may be somebody else, and gets a new id.
            pad = self.chain.get_static_pad("sink")
            pad.send_event(Gst.Event.new_flush_start())
            pad.send_event(Gst.Event.new_flush_stop(False))
            print(f"lost: {reason}; again in {self.retry:g} s", flush=True)
            GLib.timeout_add(int(1000 * self.retry), self.connect)
        return GLib.SOURCE_REMOVE

    def on_first_frame(self, _pad, _info):
        print("connected", flush=True)
        return Gst.PadProbeReturn.REMOVE

    def on_event(self, _pad, info):
        if info.get_event().type != Gst.EventType.EOS:
            return Gst.PadProbeReturn.OK
        GLib.idle_add(self.lost, "the stream has ended")
        return Gst.PadProbeReturn.DROP

    def reason(self, error):
        """Where nobody answers, rtspsrc says only that it cannot open a resource."""
        if error.matches(Gst.ResourceError.quark(), Gst.ResourceError.OPEN_READ_WRITE):
            return f"cannot connect to {urllib.parse.urlsplit(self.uri).netloc.rpartition('@')[2]}"
        return error.message

    def owns(self, element):
        return self.source is not None and element.has_as_ancestor(self.source)

    def fail(self, text):
        """Something failed that is not the camera; the text says what."""
        self.failure = text
        self.loop.quit()

    def on_message(self, _bus, message):
        if message.type == Gst.MessageType.LATENCY:
            self.pipeline.recalculate_latency()
        elif message.type == Gst.MessageType.ERROR and self.owns(message.src):
            self.lost(self.reason(message.parse_error()[0]))
        elif message.type == Gst.MessageType.ERROR and message.src.has_as_ancestor(self.pipeline):
            self.fail(common.error_text(message))

    def run(self):
        """Until Ctrl-C, or until something fails that is not the camera."""
        bus = self.pipeline.get_bus()
        bus.add_signal_watch()
        bus.connect("message", self.on_message)
        for number in (signal.SIGINT, signal.SIGTERM):
            GLib.unix_signal_add(GLib.PRIORITY_DEFAULT, number, self.loop.quit)
        self.connect()
        self.pipeline.set_state(Gst.State.PLAYING)
        self.loop.run()
        if self.failure:
            raise UserError(self.failure)
