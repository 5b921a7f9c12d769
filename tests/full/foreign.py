"""What the comparisons with elements of others share: GstAnalytics read as any application would, and rectangles."""
import gi

gi.require_version("Gst", "1.0")
gi.require_version("GstAnalytics", "1.0")
from gi.repository import GLib, Gst, GstAnalytics  # noqa: E402

RELATED = GstAnalytics.RelTypes.RELATE_TO


def overlap(a, b):
    """Intersection over union."""
    width = min(a[0] + a[2], b[0] + b[2]) - max(a[0], b[0])
    height = min(a[1] + a[3], b[1] + b[3]) - max(a[1], b[1])
    common = max(width, 0) * max(height, 0)
    return common / (a[2] * a[3] + b[2] * b[3] - common)


def add_detections(buffer, boxes):
    meta = GstAnalytics.buffer_add_analytics_relation_meta(buffer)
    for x, y, width, height in boxes:
        meta.add_od_mtd(GLib.quark_from_string("face"), round(x), round(y), round(width), round(height), 0.9)


def faces_of(buffer):
    """[(box, id or None)] of the faces, and the ids of all tracks that are not lost."""
    meta = GstAnalytics.buffer_get_analytics_relation_meta(buffer)
    if not meta:
        return [], set()
    entries = range(GstAnalytics.relation_get_length(meta))
    tracks = {}
    for entry in entries:
        found, track = meta.get_tracking_mtd(entry)
        if found:
            _, number, _, _, lost = track.get_info()
            if not lost:
                tracks[entry] = number
    faces = []
    for entry in entries:
        found, detection = meta.get_od_mtd(entry)
        if found:
            location = detection.get_location()
            number = next((number for track, number in tracks.items() if meta.get_relation(entry, track) & RELATED), None)
            faces.append((location[1:5], number))
    return faces, set(tracks.values())


def run(pipeline, each, seconds=300):
    """Plays a pipeline whose appsink is called out; each(buffer) for every buffer that comes."""
    out = pipeline.get_by_name("out")
    pipeline.set_state(Gst.State.PLAYING)
    while sample := out.emit("try-pull-sample", seconds * Gst.SECOND):
        each(sample.get_buffer())
    message = pipeline.get_bus().pop_filtered(Gst.MessageType.ERROR)
    pipeline.set_state(Gst.State.NULL)
    if message:
        raise RuntimeError(message.parse_error()[0].message)
