#!/usr/bin/python3
"""Serves an H.264 file in an endless loop on rtsp://127.0.0.1:PORT/faces; prints PORT, then runs until killed.

  rtsp_server.py FILE.mp4 [PORT]
"""
import sys

import gi

gi.require_version("Gst", "1.0")
gi.require_version("GstRtspServer", "1.0")
from gi.repository import GLib, Gst, GstRtspServer  # noqa: E402


def main(file, port="0"):
    Gst.init(None)
    server = GstRtspServer.RTSPServer.new()
    server.set_address("127.0.0.1")
    server.set_service(port)
    factory = GstRtspServer.RTSPMediaFactory.new()
    factory.set_launch(f"( multifilesrc location={file} loop=true ! qtdemux ! h264parse"
                       " ! rtph264pay name=pay0 config-interval=-1 )")
    factory.set_shared(True)
    server.get_mount_points().add_factory("/faces", factory)
    if server.attach(None) == 0:
        sys.exit("cannot listen")
    print(server.get_bound_port(), flush=True)
    GLib.MainLoop().run()


if __name__ == "__main__":
    main(*sys.argv[1:])
