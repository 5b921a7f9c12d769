"""What leaves the plugin, as a Python application sees it: the face meta, the bus messages, the standard metas
and the lines of JSON. Boxes are given as regions of interest, so that no model is needed; culktrack takes them up.
"""
import copy
import json

import pytest

import programs
from programs import BUILD, DATA, SOURCE, lines_of

gi = pytest.importorskip("gi")
gi.require_version("Gst", "1.0")
gi.require_version("GstVideo", "1.0")
try:
    gi.require_version("GstCuface", "1.0")
except ValueError as reason:
    pytest.skip(f"built without introspection: {reason}", allow_module_level=True)
from gi.repository import Gst, GstCuface, GstVideo  # noqa: E402

Gst.init(None)
WIDTH, HEIGHT, FRAMES = 320, 240, 12
BOX = (100, 60, 120, 120)
SCHEMA = SOURCE / "docs/reference/faces.schema.json"


def texture():
    """A picture that a tracker can hold on to."""
    return bytes((x * x // 7 + y * y // 5 + x * y // 11 + 40 * ((x // 8 + y // 8) % 3)) % 256
                 for y in range(HEIGHT) for x in range(WIDTH))


def run(chain, on_buffer=None, messages=None, region=True, picture_of=None):
    """Pushes FRAMES pictures, each with a region of interest, through the chain; nothing of it is left. The pictures are
    equal, unless picture_of(number) gives them."""
    pipeline = Gst.parse_launch(
        f"appsrc name=src format=time caps=video/x-raw,format=GRAY8,width={WIDTH},height={HEIGHT},framerate=25/1"
        f" ! {chain} ! fakesink name=sink sync=false")
    if on_buffer:
        def probe(_, info):
            on_buffer(info.get_buffer())
            return Gst.PadProbeReturn.OK
        pipeline.get_by_name("sink").get_static_pad("sink").add_probe(Gst.PadProbeType.BUFFER, probe)
    source, picture = pipeline.get_by_name("src"), texture()
    pipeline.set_state(Gst.State.PLAYING)
    for number in range(FRAMES):
        buffer = Gst.Buffer.new_wrapped(picture_of(number) if picture_of else picture)
        buffer.pts, buffer.duration = number * 40 * Gst.MSECOND, 40 * Gst.MSECOND
        if region:
            GstVideo.buffer_add_video_region_of_interest_meta(buffer, "face", *BOX)
        source.emit("push-buffer", buffer)
    source.emit("end-of-stream")
    bus = pipeline.get_bus()
    while True:
        message = bus.timed_pop(20 * Gst.SECOND)
        assert message is not None, "the pipeline hangs"
        if message.type == Gst.MessageType.ERROR:
            raise AssertionError(message.parse_error()[0].message)
        if message.type == Gst.MessageType.ELEMENT and messages is not None:
            messages.append(message.get_structure().copy())
        if message.type == Gst.MessageType.EOS:
            break
    pipeline.set_state(Gst.State.NULL)


def check_face(faces):
    assert faces.get_count() == 1, f"{faces.get_count()} faces"
    assert faces.get_id(0) == 1, f"id {faces.get_id(0)}"
    assert 0 <= faces.get_confidence(0) <= 1, f"confidence {faces.get_confidence(0)}"
    x, y, w, h = faces.get_box(0)
    near = all(abs(got - want / size) < 0.02
               for got, want, size in zip((x, y, w, h), BOX, (WIDTH, HEIGHT) * 2))
    assert near, f"box {x, y, w, h}"


def test_a_snapshot_outlives_the_pipeline():
    kept = []

    def keep(buffer):
        meta = GstCuface.buffer_get_face_meta(buffer)
        assert meta is not None, "no meta"
        assert meta.is_ready(), "faces in system memory are there at once"
        assert meta.get_n_faces() == 1, f"{meta.get_n_faces()} faces"
        kept.append(meta.get_faces())
    run("culktrack", keep)
    assert len(kept) == FRAMES, f"{len(kept)} of {FRAMES} frames"
    for faces in kept:
        check_face(faces)
        assert faces.get_n_landmarks() == 0, "nobody has put landmarks"
    assert isinstance(kept[0].get_origin(0), GstCuface.Origin), "an enum of ours"


def test_how_sure_a_landmark_is():
    for samples, known in ((4, True), (1, False)):
        found = []
        run(f"culktrack ! cufacelandmark samples={samples} model={BUILD}/tests/drawn-heads.dat",
            lambda buffer, found=found: found.append(GstCuface.buffer_get_face_meta(buffer).get_faces()))
        assert len(found) == FRAMES
        assert all(faces.get_n_landmarks() == 68 for faces in found)
        sure = {faces.get_landmark_confidence(0, i) for faces in found for i in range(68)}
        assert min(sure) >= 0 and max(sure) <= 1 and len(sure) > 10 if known else sure == {-1}, sure


def test_without_our_elements_there_is_no_meta():
    found = []
    run("identity", lambda buffer: found.append(GstCuface.buffer_get_face_meta(buffer)))
    assert found == [None] * FRAMES, f"{found}"


def test_messages_are_read_without_our_typelib():
    messages = []
    run("culktrack post-messages=true ! cufacepublish post-messages=true source=door", messages=messages)
    comings = [message for message in messages if message.get_name() != "cuface-faces"]
    assert [message.get_name() for message in comings] == ["face-appeared", "face-lost"]
    assert [message.get_value("id") for message in comings] == [1, 1]
    assert comings[1].get_value("duration") == (FRAMES - 1) * 40 * Gst.MSECOND
    messages = [message for message in messages if message.get_name() == "cuface-faces"]
    assert len(messages) == FRAMES, f"{len(messages)} messages"
    for number, message in enumerate(messages):
        assert message.get_value("frame") == number, message.to_string()
        assert message.get_value("timestamp") == number * 40 * Gst.MSECOND, message.to_string()
        assert message.get_value("source") == "door", message.to_string()
        found, faces = message.get_list("faces")
        assert found and faces.n_values == 1, message.to_string()
        for face in (faces.get_nth(0), comings[0]):
            assert face.get_value("id") == 1, message.to_string()
            box = [face.get_value(field) for field in ("x", "y", "width", "height")]
            assert all(abs(got - want) < 4 for got, want in zip(box, BOX)), f"{box}"


def regions_of(buffer):
    """The boxes of the regions with the id that culktrack gives the first face."""
    meta = GstVideo.buffer_get_video_region_of_interest_meta_id(buffer, 1)
    return [(meta.x, meta.y, meta.w, meta.h)] if meta else []


def test_regions_of_interest_carry_the_id():
    found = []
    run("culktrack", lambda buffer: found.extend(regions_of(buffer)))
    assert len(found) == FRAMES, f"{len(found)} regions with our id"
    assert all(abs(got - want) <= 4 for box in found for got, want in zip(box, BOX)), f"{found}"
    none = []
    run("culktrack standard-metas=never", lambda buffer: none.extend(regions_of(buffer)))
    assert not none, f"standard-metas=never, and {none}"


@pytest.fixture(name="schema", scope="module")
def validator():
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    jsonschema.Draft7Validator.check_schema(schema)
    return jsonschema.Draft7Validator(schema)


def published(chain, path, **options):
    run(f"{chain} ! cufacepublish location={path}", **options)
    return lines_of(path)


@pytest.mark.parametrize("chain, region", [("culktrack", True), ("culktrack", False), ("identity", False)])
def test_lines_keep_to_the_schema(schema, tmp_path, chain, region):
    lines = published(chain, tmp_path / "faces.jsonl", region=region)
    assert [line["frame"] for line in lines] == list(range(FRAMES))
    for line in lines:
        errors = list(schema.iter_errors(line))
        assert not errors, errors[0].message
        assert len(line["objects"]) == region


def test_motion_keeps_to_the_schema_and_is_that_of_the_meta(schema, tmp_path):
    """A bright bar comes down the texture; its edges are in a meta of their own."""
    seen, still = [], texture()

    def picture_of(number):
        at = WIDTH * (40 + 12 * number)
        return still[:at] + b"\xff" * WIDTH * 20 + still[at + 20 * WIDTH:]

    def on_buffer(buffer):
        motion = GstCuface.buffer_get_motion_meta(buffer).get_motion()
        seen.append({"compared": motion.get_compared(), "global_change": motion.get_global_change(),
                     "in_event": motion.get_in_event(), "share": motion.get_share(),
                     "boxes": [motion.get_box(i) for i in range(motion.get_n_boxes())],
                     "cells": [[c, r] for r in range(motion.get_rows()) for c in range(motion.get_columns()) if motion.get_cell(c, r)[0]]})
        edges = GstCuface.buffer_get_edge_meta(buffer).get_edges()
        assert (edges.get_width(), edges.get_height()) == (WIDTH, HEIGHT)
        row = edges.get_row(HEIGHT // 2)
        bits = [bool(row[x // 8] >> x % 8 & 1) for x in range(WIDTH)]
        assert bits == [bool(edges.get_pixel(x, HEIGHT // 2)) for x in range(WIDTH)]
    lines = published("cumotiondetect method=difference interval=0 min-frames=1 ! cuedgedetect output=meta", tmp_path / "faces.jsonl",
                      on_buffer=on_buffer, region=False, picture_of=picture_of)
    assert len(lines) == len(seen) == FRAMES
    moving = 0
    for line, of_meta in zip(lines, seen):
        errors = list(schema.iter_errors(line))
        assert not errors, errors[0].message
        motion = line["motion"]
        assert {name: motion[name] for name in ("compared", "global_change", "in_event")} == {
            name: bool(of_meta[name]) for name in ("compared", "global_change", "in_event")}
        assert motion["share"] == pytest.approx(of_meta["share"], abs=1e-6)
        assert [box["id"] for box in motion["boxes"]] == [box[0] for box in of_meta["boxes"]]
        for written, (_, x, y, w, h) in zip(motion["boxes"], of_meta["boxes"]):
            assert [written[side] for side in ("x", "y", "w", "h")] == pytest.approx([x * WIDTH, y * HEIGHT, w * WIDTH, h * HEIGHT], abs=0.1)
        assert motion["cells"] == of_meta["cells"]
        moving += bool(of_meta["boxes"] and of_meta["cells"])
    assert moving >= FRAMES - 2, f"{moving} frames with motion"


def test_matches_keep_to_the_schema_and_are_those_of_the_meta(schema, tmp_path):
    picture, seen = tmp_path / "snow.png", []
    done = programs.gst_launch("videotestsrc num-buffers=1 pattern=snow ! video/x-raw,format=GRAY8,width=120,height=100"
                               f" ! pngenc ! filesink location={picture}")
    assert done.returncode == 0, done.stdout

    def on_buffer(buffer):
        matches = GstCuface.buffer_get_match_meta(buffer).get_matches()
        assert matches.get_reference_count() == 1
        assert matches.get_reference(0)[:3] == (str(picture), 120, 100), f"{matches.get_reference(0)}"
        seen.append([matches.get_match(i) for i in range(matches.get_count())])
    # With this ratio each keypoint of the picture has a match, though it is a bad one.
    lines = published(f"cufeatures ! cufeaturematch reference={picture} ratio=1", tmp_path / "faces.jsonl",
                      on_buffer=on_buffer, region=False)
    assert len(lines) == len(seen) == FRAMES
    for line, places in zip(lines, seen):
        errors = list(schema.iter_errors(line))
        assert not errors, errors[0].message
        pairs = line["matches"]["pairs"]
        assert len(pairs) == len(places) == line["matches"]["references"][0]["keypoints"] >= 5, f"{len(pairs)} pairs"
        for pair, (reference, x, y, *_, distance) in zip(pairs, places):
            assert (reference, distance) == (0, pair["distance"])
            assert abs(x * WIDTH - 0.5 - pair["x"]) < 1e-2 and abs(y * HEIGHT - 0.5 - pair["y"]) < 1e-2


def test_flat_objects_keep_to_the_schema_and_are_those_of_the_meta(schema, tmp_path):
    """A clip's own first frame is what it shows, all the time."""
    picture, seen = tmp_path / "texture.png", []
    run(f"tee name=t ! queue ! pngenc snapshot=true ! filesink location={picture} t. ! queue", region=False)

    def on_buffer(buffer):
        planar = GstCuface.buffer_get_planar_meta(buffer).get_objects()
        assert planar.get_reference_count() == 1
        assert planar.get_reference(0)[:3] == ("wheel", WIDTH, HEIGHT), f"{planar.get_reference(0)}"
        seen.append([(planar.get_object(i), [planar.get_corner(i, k) for k in range(4)], planar.get_homography(i))
                     for i in range(planar.get_count())])
    lines = published(f"cuplanartrack reference=wheel={picture}", tmp_path / "faces.jsonl", on_buffer=on_buffer,
                      region=False)
    assert len(lines) == len(seen) == FRAMES
    for number, (line, objects) in enumerate(zip(lines, seen)):
        errors = list(schema.iter_errors(line))
        assert not errors, errors[0].message
        (written,) = line["planar"]["objects"]
        ((reference, ident, inliers, found), corners, homography), = objects
        assert (reference, ident) == (written["reference"], written["id"]) == (0, 1)
        assert (inliers, found) == (written["inliers"], written["found"]) and found == (number == 0)
        for (x, y), (u, v), (right, down) in zip(corners, written["corners"], ((0, 0), (1, 0), (1, 1), (0, 1))):
            assert abs(x * WIDTH - 0.5 - u) < 1e-2 and abs(y * HEIGHT - 0.5 - v) < 1e-2
            assert abs(x - right) < 1e-2 and abs(y - down) < 1e-2, "it fills the frame"
        assert len(homography) == 9 and abs(homography[0] / homography[8] - 1) < 1e-2


def test_keypoints_are_those_of_a_networks_face(schema, network, tmp_path):
    """In the lines and in the meta: five, each on its side of the face; a cascade's face has none."""
    found = {}
    for detector in (f"cufacedetect model={network}", "cufacedetect"):
        kept, path = [], tmp_path / f"{len(found)}.jsonl"
        pipeline = Gst.parse_launch(
            f"filesrc location={DATA}/videos/franck.mp4 ! decodebin ! videoconvert ! identity eos-after=6 ! {detector}"
            f" redetect-interval=3 ! culktrack ! cufacepublish location={path} ! fakesink name=sink sync=false")

        def probe(_, info, kept=kept):
            kept.append(GstCuface.buffer_get_face_meta(info.get_buffer()).get_faces())
            return Gst.PadProbeReturn.OK
        pipeline.get_by_name("sink").get_static_pad("sink").add_probe(Gst.PadProbeType.BUFFER, probe)
        pipeline.set_state(Gst.State.PLAYING)
        message = pipeline.get_bus().timed_pop_filtered(20 * Gst.SECOND, Gst.MessageType.EOS | Gst.MessageType.ERROR)
        pipeline.set_state(Gst.State.NULL)
        assert message and message.type == Gst.MessageType.EOS, message and message.parse_error()[0].message
        found[detector] = list(zip(lines_of(path), kept, strict=True))
    with_network, with_cascade = found.values()
    assert len(with_network) >= 5 and len(with_cascade) >= 5
    for line, faces in with_network + with_cascade:
        assert schema.is_valid(line)
        assert faces.get_count() == len(line["objects"]) == 1
    for line, faces in with_network:
        face, width, height = line["objects"][0], *line["resolution"].values()
        points = [faces.get_keypoint(0, i) for i in range(faces.get_n_keypoints(0))]
        assert len(points) == len(face["keypoints"]) == 5
        for (x, y), (pixel_x, pixel_y) in zip(points, face["keypoints"]):
            assert abs(x - (pixel_x + 0.5) / width) < 1e-6 and abs(y - (pixel_y + 0.5) / height) < 1e-6
        (right_eye, _), (left_eye, eye_y), (nose, nose_y), (right_mouth, _), (left_mouth, mouth_y) = face["keypoints"]
        assert face["x"] < right_eye < nose < left_eye < face["x"] + face["w"] and right_mouth < left_mouth
        assert face["y"] < eye_y < nose_y < mouth_y < face["y"] + face["h"]
        wrong = copy.deepcopy(line)
        wrong["objects"][0]["keypoints"].pop()
        assert not schema.is_valid(wrong), "four keypoints pass"
    assert {line["objects"][0]["origin"] for line, _ in with_network} == {"detected", "tracked"}
    for line, faces in with_cascade:
        assert faces.get_n_keypoints(0) == 0 and "keypoints" not in line["objects"][0]


def test_the_schema_refuses_what_is_wrong(schema, tmp_path):
    good = published("culktrack", tmp_path / "faces.jsonl")[0]
    good["objects"][0]["landmarks"] = [[1.5, 2.5]]
    assert schema.is_valid(good), "the sample itself is wrong"
    face = good["objects"][0]
    wrong = [(good, key, None) for key in ("frame", "resolution", "objects")]
    wrong += [(face, key, None) for key in ("x", "y", "w", "h", "detection", "origin", "age", "landmarks", "roi_type")]
    wrong += [(good, "frame", -1), (good, "timestamp", 1.5), (good, "source", 3), (face, "id", 0), (face, "id", "1"),
              (face, "origin", "seen"), (face, "landmarks", [[1]]), (face, "landmarks", [1, 2]),
              (face, "neighbors", -1), (face["detection"], "confidence", 1.5), (face["detection"], "confidence", None),
              (face["detection"]["bounding_box"], "x_min", "0")]
    for place, key, value in wrong:
        saved = place[key]
        place[key] = value
        assert not schema.is_valid(good), f"{key} = {value} passes"
        place[key] = saved
    required = [(good, key) for key in list(good)] + [(face, key) for key in list(face)]
    for place, key in required:
        saved = copy.copy(place)
        del place[key]
        assert not schema.is_valid(good), f"a line without {key} passes"
        place.clear()
        place.update(saved)
    assert schema.is_valid(good), "the sample has changed"
