#!/usr/bin/python3
"""A stream of random flags, gaps, caps, segments, flushes and queries through a piece of pipeline.

  tests/full/validate_random.py SEED PIPELINE OUTPUT.json

All is pushed and comes out in one thread, so that two runs of a seed are alike. OUTPUT.json lists what reached the sink and
what came back: equal lists for our elements and for identity mean that ours passed everything on. tests/full/gst_validate
runs this with GStreamer's validate tracer, which looks for what the elements do wrong.
"""
import gc
import json
import random
import sys
import zlib

import gi
gi.require_version("Gst", "1.0")
gi.require_version("GstVideo", "1.0")
from gi.repository import Gst, GstVideo  # noqa: E402

ITEMS = 250
FORMATS = ("I420", "NV12", "BGRx", "GRAY8")
SIZES = ((160, 120), (64, 48), (33, 17), (320, 180))
RATES = ("0/1", "15/1", "30/1", "24000/1001", "1/2")
ASPECTS = ("1/1", "1/1", "4/3")
RANGES = ("bt601", "bt709", "1:3:5:1")
FLAGS = [getattr(Gst.BufferFlags, name) for name in
         ("DISCONT", "GAP", "DELTA_UNIT", "CORRUPTED", "MARKER", "HEADER", "RESYNC", "DROPPABLE", "LIVE", "DECODE_ONLY")]
SPEEDS = (1.0, 1.0, 2.0, 0.5, -1.0, -4.0)
JUMPS = (0, 0, 0, 1, -1, 10, -10, 3600)


class Stream:
    def __init__(self, seed, description):
        self.random = random.Random(seed)
        self.log = []
        self.time = 0
        self.pipeline = Gst.parse_launch(f"identity name=in ! {description} ! fakesink name=sink async=false sync=false")
        self.sink = self.pipeline.get_by_name("sink").get_static_pad("sink")
        self.sink.add_probe(Gst.PadProbeType.BUFFER | Gst.PadProbeType.EVENT_DOWNSTREAM | Gst.PadProbeType.EVENT_FLUSH,
                            self.arrived)
        self.feed = Gst.Pad.new("feed", Gst.PadDirection.SRC)
        # An event from downstream ends here; what it was is part of what is compared.
        self.feed.set_event_function_full(self.returned)
        self.feed.link(self.pipeline.get_by_name("in").get_static_pad("sink"))
        self.feed.set_active(True)
        self.pipeline.set_state(Gst.State.PLAYING)
        self.push(Gst.Event.new_stream_start(f"stream-{seed}"))
        self.new_caps()
        self.new_segment()

    def note(self, *words):
        self.log.append(" ".join(map(str, words)))

    def arrived(self, _, info):
        event = info.get_event() if not info.type & Gst.PadProbeType.BUFFER else None
        if event:
            self.note("event", *self.described(event))
            return Gst.PadProbeReturn.OK
        buffer = info.get_buffer()
        self.note("buffer", buffer.pts, buffer.dts, buffer.duration, buffer.offset, int(buffer.get_flags()),
                  buffer.get_size(), zlib.crc32(buffer.extract_dup(0, buffer.get_size())))
        return Gst.PadProbeReturn.OK

    def returned(self, _pad, _parent, event):
        self.note("upstream", *self.described(event))
        return True

    @staticmethod
    def described(event):
        if event.type == Gst.EventType.SEGMENT:
            segment = event.parse_segment()
            return ("segment", segment.format.value_nick, segment.rate, segment.applied_rate, segment.base, segment.offset,
                    segment.start, segment.stop, segment.time, int(segment.flags))
        structure = event.get_structure()
        return Gst.EventType.get_name(event.type), structure.to_string() if structure else ""

    def push(self, event):
        self.note("pushed", self.feed.push_event(event))

    def new_caps(self):
        width, height = self.random.choice(SIZES)
        form = self.random.choice(FORMATS)
        colour = "" if form == "BGRx" else f",colorimetry={self.random.choice(RANGES)}"
        caps = Gst.Caps.from_string(
            f"video/x-raw,format={form},width={width},height={height},framerate={self.random.choice(RATES)},"
            f"pixel-aspect-ratio={self.random.choice(ASPECTS)}{colour}")
        self.size = GstVideo.VideoInfo.new_from_caps(caps).size
        self.push(Gst.Event.new_caps(caps))

    def new_segment(self):
        segment = Gst.Segment()
        if self.random.random() < 0.1:
            segment.init(Gst.Format.BYTES)
        else:
            segment.init(Gst.Format.TIME)
            segment.rate = self.random.choice(SPEEDS)
            segment.applied_rate = self.random.choice((1.0, 1.0, 2.0))
            segment.start = segment.time = max(0, self.time - self.random.choice((0, 0, Gst.SECOND)))
            if self.random.random() < 0.3 or segment.rate < 0:
                segment.stop = segment.start + self.random.randrange(1, 20) * Gst.SECOND
            segment.base = self.random.choice((0, Gst.SECOND))
            segment.flags = self.random.choice((Gst.SegmentFlags.NONE, Gst.SegmentFlags.TRICKMODE_KEY_UNITS,
                                                Gst.SegmentFlags.SKIP))
        self.push(Gst.Event.new_segment(segment))

    def new_buffer(self):
        buffer = Gst.Buffer.new_wrapped(self.random.randbytes(64) * (self.size // 64 + 1))
        buffer.set_size(self.size)
        self.time = max(0, self.time + Gst.SECOND // 30 + self.random.choice(JUMPS) * Gst.SECOND
                        * (self.random.random() < 0.1))
        buffer.pts = Gst.CLOCK_TIME_NONE if self.random.random() < 0.05 else self.time
        if self.random.random() < 0.8:
            buffer.duration = Gst.SECOND // 30
        for flag in FLAGS:
            if self.random.random() < 0.1:
                buffer.set_flags(flag)
        self.note("pushed", self.feed.push(buffer).value_nick)

    def flush(self):
        self.push(Gst.Event.new_flush_start())
        self.push(Gst.Event.new_flush_stop(True))
        self.new_segment()

    def downstream_event(self):
        choice = self.random.randrange(4)
        if choice == 0:
            self.push(Gst.Event.new_gap(self.time, Gst.SECOND // 10))
        elif choice == 1:
            self.push(Gst.Event.new_custom(Gst.EventType.CUSTOM_DOWNSTREAM, Gst.Structure.new_empty("test-event")))
        elif choice == 2:
            tags = Gst.TagList.new_empty()
            tags.add_value(Gst.TagMergeMode.REPLACE, "title", str(self.random.random()))
            self.push(Gst.Event.new_tag(tags))
        else:
            self.push(GstVideo.video_event_new_downstream_force_key_unit(self.time, self.time, self.time, True, 1))

    def upstream_event(self):
        event = self.random.choice((
            lambda: Gst.Event.new_qos(Gst.QOSType.UNDERFLOW, 1.5, Gst.SECOND // 50, self.time),
            lambda: Gst.Event.new_latency(Gst.SECOND // 10),
            lambda: Gst.Event.new_reconfigure(),
            lambda: GstVideo.video_event_new_upstream_force_key_unit(Gst.CLOCK_TIME_NONE, True, 1)))()
        self.note("sent", self.sink.push_event(event))

    def query(self):
        query = self.random.choice((
            lambda: Gst.Query.new_position(Gst.Format.TIME), lambda: Gst.Query.new_duration(Gst.Format.TIME),
            lambda: Gst.Query.new_latency(), lambda: Gst.Query.new_segment(Gst.Format.TIME),
            lambda: Gst.Query.new_seeking(Gst.Format.TIME)))()
        self.note("asked", Gst.QueryType.get_name(query.type), self.sink.peer_query(query))

    def ended(self):
        self.push(Gst.Event.new_eos())
        self.push(Gst.Event.new_flush_start())
        self.push(Gst.Event.new_flush_stop(True))
        self.push(Gst.Event.new_stream_start(f"stream-{self.random.random()}"))
        self.new_caps()
        self.new_segment()

    def run(self):
        kinds = (self.new_buffer, self.new_caps, self.new_segment, self.flush, self.downstream_event, self.upstream_event,
                 self.query, self.ended)
        for kind in self.random.choices(kinds, weights=(70, 4, 5, 3, 7, 4, 6, 1), k=ITEMS):
            kind()
        self.push(Gst.Event.new_eos())
        message = self.pipeline.get_bus().pop_filtered(Gst.MessageType.ERROR)
        if message:
            self.note("error", message.parse_error().gerror.message)
        self.feed.set_active(False)
        self.pipeline.set_state(Gst.State.NULL)
        return self.log


def main(seed, description, output):
    Gst.init(None)
    log = Stream(int(seed), description).run()
    with open(output, "w", encoding="utf-8") as file:
        json.dump(log, file, indent=0)
    gc.collect()
    Gst.deinit()  # here the tracer tells what it has found


main(*sys.argv[1:])
