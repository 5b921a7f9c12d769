"""The examples under pipelines/, each as a user calls it: what they write is compared with each other."""
import contextlib
import glob
import os
import re
import signal
import struct
import time

import pytest

import programs
from programs import DATA, SANITIZED, SOURCE, good, lines_of, refused, run

VIDEOS = DATA / "videos"
CLIP = VIDEOS / "WolfgangLanger_Pexels.mp4"
SHORT = VIDEOS / "face-demographics-walking.mp4"  # 35 frames, two people
SCENES = DATA / "images" / "scenes"


def ids_of(lines):
    return {face["id"] for line in lines for face in line["objects"]}


def boxes_of(line):
    return [[face[side] for side in "xywh"] for face in line["objects"]]


def json_lines(folder, clip):
    path = folder / f"{clip.name}.lines"
    good(run("json", clip, "--output", path))
    return lines_of(path)


def test_json_writes_a_line_a_frame(data, tmp_path):
    lines = json_lines(tmp_path, SHORT)
    assert [line["frame"] for line in lines] == list(range(35)), f"{len(lines)} lines"
    assert ids_of(lines) == {1, 2}, f"ids {ids_of(lines)}"
    faces = [face for line in lines for face in line["objects"]]
    assert len(faces) >= 50 and all(len(face["landmarks"]) == 68 for face in faces), f"{len(faces)} faces"
    assert all(line["source"] == str(SHORT) for line in lines), "no source"
    # Standard output holds the same lines and nothing else, whatever the file is called.
    strange = tmp_path / "it's a \"new\" \\ clip.mp4"
    strange.symlink_to(SHORT)
    shown = good(run("json", strange, "--source", SHORT)).stdout
    assert shown.splitlines() == (tmp_path / f"{SHORT.name}.lines").read_text().splitlines(), "other lines"


def test_json_says_what_is_wrong(models, tmp_path):
    refused(run("json"), "INPUT is missing")
    refused(run("json", "/nonexistent.mp4"), "/nonexistent.mp4", "no such file")
    refused(run("json", SOURCE / "README.md"), "README.md", "text file")
    refused(run("json", "rtsp://127.0.0.1:1/faces"), "127.0.0.1:1")
    refused(run("json", SOURCE / "README.md", CUFACE_BUILD=str(tmp_path), GST_PLUGIN_PATH=str(tmp_path),
                GST_REGISTRY=str(tmp_path / "registry")), "no element cufacedetect", "pipelines/setup")


def test_edges_writes_a_video(data, tmp_path):
    """Its frames are those of cuedgedetect, but for what x264 makes of them; those of the other settings are not."""
    published = "linking=apron thinning=sectors convolution=full norm=l2 sigma=5 low=15 high=25"
    expected = []
    for i, settings in enumerate(("", f"mask=true {published}", published)):
        raw = tmp_path / f"{i}.gray"
        done = programs.gst_launch(f"filesrc location={SHORT} ! decodebin ! videoconvert ! cuedgedetect {settings} ! videoconvert"
                                   f" ! video/x-raw,format=GRAY8,width=480,height=270 ! filesink location={raw}")
        assert done.returncode == 0, done.stdout
        expected.append(raw.read_bytes())
    for options, own in (((), 0), (("--mask", "--published"), 1), (("--published",), 2)):
        out = tmp_path / "edges.mp4"
        assert "the edges of" in good(run("edges", SHORT, "--output", out, *options)).stdout
        written = b"".join(grey_frames(out, 480, 270))
        assert len(written) == len(expected[own]) == 35 * 480 * 270, f"{len(written)} bytes"
        step = 7  # each seventh pixel will do
        off = [sum(abs(a - b) for a, b in zip(written[::step], other[::step])) / len(written[::step]) for other in expected]
        print(f"{options}: off by {', '.join(f'{mean:.1f}' for mean in off)} grey levels")
        assert off[own] < 0.4 * min(mean for i, mean in enumerate(off) if i != own), f"{options}: {off}"
    refused(run("edges"), "INPUT is missing")
    refused(run("edges", "/nonexistent.mp4"), "/nonexistent.mp4", "no such file")


def test_match_finds_a_poster_where_it_is(tmp_path):
    """In the clip that it makes, whose poster moves by three and two pixels a frame."""
    said = good(run("match", "--output", tmp_path, "--match", "cross-check=true")).stdout
    assert re.search(r"poster\.png: in 50 of 50 frames, \d+ matches", said), said
    right = total = 0
    for line in lines_of(tmp_path / "matches.jsonl"):
        x, y = 20 + 3 * line["frame"], 20 + 2 * line["frame"]
        for pair in line["matches"]["pairs"]:
            total += 1
            right += abs(pair["x"] - pair["reference_x"] - x) < 3 and abs(pair["y"] - pair["reference_y"] - y) < 3
    print(f"{right} of {total} matches are on the poster, in their places")
    assert right >= 0.9 * total >= 50 * 30
    assert next(tmp_path.glob("matches.[amw]*")).stat().st_size > 10_000
    refused(run("match", SHORT), "INPUT and --reference")
    refused(run("match", SHORT, "--reference", "/nonexistent.png", "--output", tmp_path), "/nonexistent.png", "no such file")
    damaged = tmp_path / "damaged.png"
    damaged.write_bytes((tmp_path / "poster.png").read_bytes()[:200])
    refused(run("match", SHORT, "--reference", damaged, "--output", tmp_path), "damaged.png", "Set reference to PNG files")


def test_match_finds_the_poster_by_blobs(tmp_path):
    done = run("match", "--output", tmp_path, "--detector", "cusurf", "--match", "sign-check=true")
    if "this build is without it" in done.stderr:
        pytest.skip("this build is without SURF")
    assert re.search(r"poster\.png: in 50 of 50 frames, \d+ matches", good(done).stdout), done.stdout


def test_planar_follows_a_card_and_lays_a_picture_on_it(tmp_path):
    """In the clip that it makes, whose card moves by 140 and 60 pixels over 50 frames."""
    said = good(run("planar", "--output", tmp_path)).stdout
    assert "card: in 50 of 50 frames" in said, said
    for line in lines_of(tmp_path / "planar.jsonl"):
        (known,) = line["planar"]["objects"]
        x, y = 170 + 140 * line["frame"] / 49, 150 + 60 * line["frame"] / 49
        h = known["homography"]
        w = h[6] * 79.5 + h[7] * 59.5 + h[8]
        middle = ((h[0] * 79.5 + h[1] * 59.5 + h[2]) / w, (h[3] * 79.5 + h[4] * 59.5 + h[5]) / w)
        assert abs(middle[0] - x) < 2 and abs(middle[1] - y) < 2, f"frame {line['frame']}: {middle}, not {x}, {y}"
        assert known["id"] == 1
    assert next(tmp_path.glob("planar.[amw]*")).stat().st_size > 10_000
    made = next(tmp_path.glob("made.[amw]*"))
    card = f"card={tmp_path / 'card.png'}"
    good(run("mask_picture.py", tmp_path / "mask.png"))
    said = good(run("planar", made, "--reference", card, "--picture", tmp_path / "mask.png", "--output", tmp_path)).stdout
    assert "card: in 50 of 50 frames" in said, said
    refused(run("planar", made), "INPUT and --reference")
    refused(run("planar", "/dev/video99", "--reference", card, "--output", tmp_path), "/dev/video99", "no such camera")
    refused(run("planar", made, "--reference", "a=/nonexistent.png", "--output", tmp_path), "/nonexistent.png", "no such file")


def grey_frames(video, width, height):
    """Its frames as bytes of luma."""
    raw = video.with_suffix(".gray")
    done = programs.gst_launch(f"filesrc location={video} ! decodebin ! videoconvert ! video/x-raw,format=GRAY8,width={width}"
                               f",height={height} ! filesink location={raw}")
    assert done.returncode == 0, done.stdout
    data = raw.read_bytes()
    return [data[at:at + width * height] for at in range(0, len(data), width * height)]


def test_four_views_are_those_of_one_frame(tmp_path):
    """A ball on black: its outline is the edges, where it moves is the difference, and the cell it is in moves."""
    clip, out = tmp_path / "ball.mp4", tmp_path / "views.mp4"
    done = programs.gst_launch("videotestsrc num-buffers=40 pattern=ball ! video/x-raw,format=I420,width=320,height=240,"
                               f"framerate=25/1 ! x264enc quantizer=15 pass=quant ! mp4mux ! filesink location={clip}")
    assert done.returncode == 0, done.stdout
    for options in ((), ("--background",)):
        assert "picture, edges" in good(run("four-views", clip, "--output", out, "--size", "320x240", *options)).stdout
        frames = grey_frames(out, 640, 480)
        assert len(frames) >= 38, f"{len(frames)} frames"
        frame = frames[-4]
        views = [[bytes(frame[640 * (y + 240 * down) + 320 * right:][:320]) for y in range(240)]
                 for down in (0, 1) for right in (0, 1)]
        bright = [[sum(value > 160 for value in row) for row in view] for view in views]
        picture, edges, difference, cells = (sum(rows) for rows in bright)
        print(f"bright pixels of picture, edges, difference and motion: {picture}, {edges}, {difference}, {cells}")
        assert picture > 500 and 50 < edges, f"{picture} {edges}"
        if not options:
            assert 20 < difference < 5000 and cells >= 1000, f"{difference} {cells}"
            # The edges are where the ball is, in the same frame.
            rows = [y for y in range(240) if bright[0][y] > 2]
            assert all(rows[0] - 8 <= y <= rows[-1] + 8 for y in range(240) if bright[1][y] > 2), "another frame"
    refused(run("four-views", clip, DISPLAY="", WAYLAND_DISPLAY=""), "no screen", "--output")
    refused(run("four-views", clip, "--size", "big"), "--size big")
    refused(run("four-views", "/nonexistent.mp4", "--output", out), "/nonexistent.mp4", "no such file")


def test_confidence_colours_points_and_times_stages(data, tmp_path):
    """Sure points are green, which they are not in the clip itself, and a text at the top says what each stage takes."""
    out = good(run("confidence", SHORT, "--output", tmp_path)).stdout
    (video,) = tmp_path.glob("confidence.*")
    assert str(video) in out, out
    said = re.search(r"^35 frames, [0-9.]+ ms: search (\d+) %  tracker (\d+) %  landmarks (\d+) %  drawing (\d+) %$", out, re.M)
    assert said and abs(sum(map(int, said.groups())) - 100) <= 2, out
    lines, green, tops = json_lines(tmp_path, SHORT), {}, {}
    for path in (SHORT, video):
        raw = tmp_path / "raw.rgb"
        done = programs.gst_launch(f"filesrc location={path} ! decodebin ! videoconvert ! video/x-raw,format=RGBx ! filesink"
                                   f" location={raw}")
        assert done.returncode == 0, done.stdout
        pixels, width, height = raw.read_bytes(), *(lines[0]["resolution"][side] for side in ("width", "height"))
        green[path], tops[path] = [], []
        for number, line in enumerate(lines):
            first = 4 * number * width * height
            tops[path].append(pixels[first + 1:first + 4 * 60 * width:4])
            for face in line["objects"]:
                for (x, y), confidence in zip(face["landmarks"], face["landmark_confidences"], strict=True):
                    if confidence > 0.92 and 0 <= x < width - 1 and 0 <= y < height - 1:
                        at = 4 * (number * width * height + round(y) * width + round(x))
                        r, g, b = pixels[at:at + 3]
                        green[path].append(g - (r + b) / 2)
    assert len(green[video]) > 500, f"{len(green[video])} sure points"
    rise = (sum(green[video]) - sum(green[SHORT])) / len(green[video])
    print(f"{len(green[video])} sure points, greener by {rise:.0f}")
    assert rise > 40, f"greener by {rise:.0f}"
    shaded = [sum(new < 40 and old > 80 for new, old in zip(*top)) for top in zip(tops[video], tops[SHORT])]
    print(f"pixels of the text's ground: {min(shaded)} to {max(shaded)}")
    assert min(shaded) > 2000, "no text"
    refused(run("confidence", "/nonexistent.mp4", "--output", tmp_path), "/nonexistent.mp4", "no such file")
    refused(run("confidence", SHORT, "--landmark", "sampels=4", "--output", tmp_path), "sampels")


def test_mask_puts_a_picture_on_the_face(data, tmp_path):
    """The carnival mask is red; what the clip has in its place is not."""
    out = good(run("mask", SHORT, "--output", tmp_path)).stdout
    (video,) = tmp_path.glob("masked.*")
    assert str(video) in out and (tmp_path / "mask.png").stat().st_size > 1000, out
    lines, red = json_lines(tmp_path, SHORT), {}
    for path in (SHORT, video):
        raw = tmp_path / "raw.rgb"
        size = lines[0]["resolution"]
        done = programs.gst_launch(f"filesrc location={path} ! decodebin ! videoconvert ! video/x-raw,format=RGBx ! filesink"
                                   f" location={raw}")
        assert done.returncode == 0, done.stdout
        pixels, width, height = raw.read_bytes(), size["width"], size["height"]
        red[path] = []
        for number, line in enumerate(lines):
            for one in line["objects"]:
                # Between the eyes the mask covers the nose's root.
                x, y = (round((one["landmarks"][39][k] + one["landmarks"][42][k]) / 2) for k in (0, 1))
                at = 4 * (number * width * height + y * width + x)
                r, g, b = pixels[at:at + 3]
                red[path].append(r > 110 and g < 90 and b < 100)
    print({path.name: f"{sum(found)} of {len(found)}" for path, found in red.items()})
    assert len(red[video]) >= 30 and sum(red[video]) >= 0.9 * len(red[video]), f"{sum(red[video])} of {len(red[video])}"
    assert sum(red[SHORT]) <= 0.1 * len(red[SHORT]), f"{sum(red[SHORT])} are red without"
    refused(run("mask", SHORT, "--picture", "/nonexistent.png", "--output", tmp_path), "/nonexistent.png", "image")
    refused(run("mask", "/nonexistent.mp4", "--output", tmp_path), "/nonexistent.mp4", "no such file")
    refused(run("mask", "/dev/video99", "--output", tmp_path), "/dev/video99", "no such camera")


def test_parallel_writes_what_json_writes(data, tmp_path):
    clips = [SHORT, VIDEOS / "classroom.mp4", VIDEOS / "sister.mkv"]
    text = tmp_path / "notes.mp4"
    text.write_text("this is no video\n" * 100)
    done = run("parallel", clips[0], text, *clips[1:], "--output", tmp_path / "out")
    refused(done, "notes.mp4 failed", "not all inputs")
    compared = 0
    for clip in clips:
        lines = lines_of(tmp_path / "out" / f"{clip.name}.jsonl")
        assert lines == json_lines(tmp_path, clip), f"{clip.name}: other lines than pipelines/json"
        compared += sum(bool(line["objects"]) for line in lines)
    assert compared >= 150, f"{compared} lines with a face"
    refused(run("parallel", clips[0], tmp_path / clips[0].name, "--output", tmp_path), clips[0].name, "same file")


def turned(source, target, orientation):
    """A copy of a JPEG that says in its EXIF data how the camera was held."""
    exif = b"Exif\0\0II*\0" + struct.pack("<IHHHIHHI", 8, 1, 0x0112, 3, 1, orientation, 0, 0)
    data = source.read_bytes()
    target.write_bytes(data[:2] + b"\xff\xe1" + struct.pack(">H", len(exif) + 2) + exif + data[2:])


def test_pictures_gives_a_line_a_picture(data, tmp_path):
    (tmp_path / "a" / "b").mkdir(parents=True)
    upright, sideways = SCENES / "single_face.jpg", tmp_path / "sideways.jpg"
    done = programs.gst_launch(f"filesrc location={upright} ! decodebin ! videoconvert ! videoflip video-direction=90l"
                               f" ! jpegenc quality=95 ! filesink location={sideways}")
    assert done.returncode == 0, done.stdout
    turned(sideways, tmp_path / "a" / "as_held.jpg", 6)
    (tmp_path / "a" / "b" / "many.JPG").symlink_to(SCENES / "multi_face.jpg")
    (tmp_path / "a" / "upright.jpg").symlink_to(upright)
    (tmp_path / "a" / "broken.png").write_bytes(b"\x89PNG\r\n\x1a\n" + b"x" * 1000)
    done = run("pictures", tmp_path / "a", "--output", tmp_path / "faces.jsonl")
    refused(done, "broken.png")
    assert "3 pictures, 1 could not be read" in done.stdout, done.stdout + done.stderr
    lines = {line["source"]: line for line in lines_of(tmp_path / "faces.jsonl")}
    assert list(lines) == ["as_held.jpg", "b/many.JPG", "upright.jpg"], f"{list(lines)}"
    assert (boxes_of(lines["b/many.JPG"]) == boxes_of(json_lines(tmp_path, SCENES / "multi_face.jpg")[0]) and
             len(lines["b/many.JPG"]["objects"]) >= 4), f"{lines['b/many.JPG']}"
    (held,), (straight,) = boxes_of(lines["as_held.jpg"]), boxes_of(lines["upright.jpg"])
    assert max(abs(a - b) for a, b in zip(held, straight)) < 8, f"{held}, upright {straight}"
    good(run("pictures", tmp_path / "a" / "b", "--output", tmp_path / "faces.jsonl"))
    assert len(lines_of(tmp_path / "faces.jsonl")) == 1, "an old file was not replaced"
    (tmp_path / "none").mkdir()
    refused(run("pictures", tmp_path / "none"), "none", "holds no picture")
    refused(run("pictures", tmp_path / "gone"), "gone", "no such folder")


def test_webcam_follows_what_comes(data, tmp_path):
    good(run("webcam", CLIP, "--output", tmp_path, "--frames", 20, DISPLAY="", WAYLAND_DISPLAY=""))
    lines = lines_of(tmp_path / "faces.jsonl")
    assert len(lines) == 20 and all(len(line["objects"]) == 1 for line in lines), f"{len(lines)} lines"
    # At the clip's own pace, if not slower: frames that come too fast were left out.
    stamps = [line["timestamp"] for line in lines]
    assert all(later > sooner for sooner, later in zip(stamps, stamps[1:])), f"{stamps}"
    good(run("webcam", "test", "--output", tmp_path, "--frames", 8, DISPLAY="", WAYLAND_DISPLAY=""))
    assert [line["objects"] for line in lines_of(tmp_path / "faces.jsonl")] == [[]] * 8, "faces in a test picture"


def test_webcam_without_a_camera_says_so(models, tmp_path):
    refused(run("webcam", "/dev/video99"), "/dev/video99", "no such camera")
    if glob.glob("/dev/video*"):
        pytest.skip("this machine has a camera")
    done = good(run("webcam", "--output", tmp_path, "--frames", 5, XDG_CACHE_HOME=str(tmp_path), DISPLAY="",
                    WAYLAND_DISPLAY="", CUFACE_MODEL_PATH=os.path.expanduser("~/.cache/gst-cuface")))
    assert "no camera" in done.stderr and "'test'" in done.stderr, done.stderr
    assert len(lines_of(tmp_path / "faces.jsonl")) == 5, "lines"


def test_a_probe_prints_what_is_published(data, tmp_path):
    lines = json_lines(tmp_path, SHORT)
    printed = good(run("faces.py", SHORT)).stdout.splitlines()
    expected = []
    for line in lines:
        width, height = line["resolution"]["width"], line["resolution"]["height"]
        for face in line["objects"]:
            x, y = face["landmarks"][30]
            expected.append([line["timestamp"] / 1e9, face["id"], face["x"] / width, face["y"] / height,
                             face["w"] / width, face["h"] / height, face["detection"]["confidence"],
                             (x + 0.5) / width, (y + 0.5) / height])
    assert len(printed) == len(expected) >= 50, f"{len(printed)} printed, {len(expected)} published"
    for text, numbers in zip(printed, expected):
        found = [float(number) for number in re.findall(r"[\d.]+", text)]
        near = len(found) == len(numbers) and all(abs(a - b) < 0.006 for a, b in zip(found, numbers))
        assert near, f"'{text}', published {numbers}"
    refused(run("faces.py", "/nonexistent.mp4"), "/nonexistent.mp4", "no such file")


def memory_of(process):
    """(resident KiB, threads, open files)"""
    with open(f"/proc/{process.pid}/status", encoding="utf-8") as file:
        status = dict(line.split(":", 1) for line in file)
    return int(status["VmRSS"].split()[0]), int(status["Threads"]), len(os.listdir(f"/proc/{process.pid}/fd"))


def read_until(process, word):
    """The next line of its output that begins with the word; whatever else it says is kept for the report."""
    said = []
    for line in process.stdout:
        said.append(line)
        if line.startswith(word):
            return line
    raise AssertionError(f"no '{word}' in: {said} {process.stderr.read()}")


def wait_for_faces(process, path, count):
    """Until that many more lines with a face are there; a process that is stuck is an error after two minutes."""
    def lines():
        return sum('"landmarks":[[' in line for line in path.read_text().splitlines())

    wanted, late = lines() + count, time.monotonic() + 120
    while lines() < wanted:
        assert process.poll() is None and time.monotonic() < late, f"{lines()} of {wanted} lines with a face"
        time.sleep(0.05)


def test_rtsp_survives_its_server(data, tmp_path):
    """Three times the server is killed and returns: new ids, flat memory."""
    with contextlib.ExitStack() as stack:
        path, sizes, counts, port = tmp_path / "faces.jsonl", [], [], 0
        for life in range(4):
            server, uri = stack.enter_context(programs.rtsp_server(CLIP, port))
            port = re.search(r":(\d+)/", uri)[1]
            if life == 0:
                client = stack.enter_context(programs.start("rtsp", uri, "--output", tmp_path, "--retry", 0.3))
                stack.callback(client.kill)
            read_until(client, "connected")
            wait_for_faces(client, path, 10)
            sizes.append(memory_of(client))
            if life < 3:
                server.kill()
                server.wait()
                read_until(client, "lost")
                counts.append(len(path.read_text().splitlines()))
        client.send_signal(signal.SIGINT)
        assert client.wait(60) == 0, f"exit code {client.returncode}: {client.stderr.read()}"
        lines = lines_of(path)
        assert len(lines) >= counts[-1] and [line["frame"] for line in lines] == list(range(len(lines))), "lines lost"
        lives = [ids_of(lines[begin:end]) for begin, end in zip([0, *counts], [*counts, None])]
        print(f"ids {lives}, memory {sizes}")
        assert all(lives) and all(max(a) < min(b) for a, b in zip(lives, lives[1:])), f"ids {lives}"
        # The first life fills caches; 16 MiB is one tenth of what the process takes.
        assert sizes[3][0] < sizes[1][0] + 16384 or SANITIZED, f"memory grows: {sizes}"
        assert sizes[3][1] <= max(sizes[0][1], sizes[1][1]) + 4, f"threads pile up: {sizes}"
        assert sizes[3][2] <= sizes[1][2] + 4, f"open files pile up: {sizes}"


def test_rtsp_serves_itself_a_clip(data, tmp_path):
    with programs.start("rtsp", "--loopback", CLIP, "--output", tmp_path) as client:
        try:
            read_until(client, "connected")
            wait_for_faces(client, tmp_path / "faces.jsonl", 5)
        finally:
            client.send_signal(signal.SIGINT)
        assert client.wait(60) == 0, f"exit code {client.returncode}: {client.stderr.read()}"
    refused(run("rtsp"), "give INPUT or --loopback")
    refused(run("rtsp", "--loopback", "/nonexistent.mp4"), "/nonexistent.mp4", "no such file")
