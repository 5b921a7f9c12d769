#!/usr/bin/python3
"""The examples under pipelines/, each as a user calls it: what they write is compared with each other."""
import contextlib
import glob
import os
import re
import signal
import struct
import time

import tap
from tap import lines_of, refused, run

VIDEOS = tap.DATA / "videos"
CLIP = VIDEOS / "WolfgangLanger_Pexels.mp4"
SHORT = VIDEOS / "face-demographics-walking.mp4"  # 35 frames, two people
SCENES = tap.DATA / "images" / "scenes"


def good(done):
    tap.need(done.returncode == 0 and "Traceback" not in done.stderr, f"exit code {done.returncode}: {done.stderr}")
    return done


def ids_of(lines):
    return {face["id"] for line in lines for face in line["objects"]}


def boxes_of(line):
    return [[face[side] for side in "xywh"] for face in line["objects"]]


def json_lines(folder, clip):
    path = folder / f"{clip.name}.lines"
    good(run("json", clip, "--output", path))
    return lines_of(path)


def json_writes_a_line_a_frame():
    tap.need_data()
    with tap.Folder() as folder:
        lines = json_lines(folder, SHORT)
        tap.need([line["frame"] for line in lines] == list(range(35)), f"{len(lines)} lines")
        tap.need(ids_of(lines) == {1, 2}, f"ids {ids_of(lines)}")
        faces = [face for line in lines for face in line["objects"]]
        tap.need(len(faces) >= 50 and all(len(face["landmarks"]) == 68 for face in faces), f"{len(faces)} faces")
        tap.need(all(line["source"] == str(SHORT) for line in lines), "no source")
        # Standard output holds the same lines and nothing else, whatever the file is called.
        strange = folder / "it's a \"new\" \\ clip.mp4"
        strange.symlink_to(SHORT)
        shown = good(run("json", strange, "--source", SHORT)).stdout
        tap.need(shown.splitlines() == (folder / f"{SHORT.name}.lines").read_text().splitlines(), "other lines")


def json_says_what_is_wrong():
    tap.need_models()
    refused(run("json"), "INPUT is missing")
    refused(run("json", "/nonexistent.mp4"), "/nonexistent.mp4", "no such file")
    refused(run("json", tap.SOURCE / "README.md"), "README.md", "text file")
    refused(run("json", "rtsp://127.0.0.1:1/faces"), "127.0.0.1:1")
    with tap.Folder() as folder:
        refused(run("json", tap.SOURCE / "README.md", CUFACE_BUILD=str(folder), GST_PLUGIN_PATH=str(folder),
                    GST_REGISTRY=str(folder / "registry")), "no element cufacedetect", "pipelines/setup")


def parallel_writes_what_json_writes():
    tap.need_data()
    clips = [SHORT, VIDEOS / "classroom.mp4", VIDEOS / "sister.mkv"]
    with tap.Folder() as folder:
        text = folder / "notes.mp4"
        text.write_text("this is no video\n" * 100)
        done = run("parallel", clips[0], text, *clips[1:], "--output", folder / "out")
        refused(done, "notes.mp4 failed", "not all inputs")
        compared = 0
        for clip in clips:
            lines = lines_of(folder / "out" / f"{clip.name}.jsonl")
            tap.need(lines == json_lines(folder, clip), f"{clip.name}: other lines than pipelines/json")
            compared += sum(bool(line["objects"]) for line in lines)
        tap.need(compared >= 150, f"{compared} lines with a face")
        refused(run("parallel", clips[0], folder / clips[0].name, "--output", folder), clips[0].name, "same file")


def turned(source, target, orientation):
    """A copy of a JPEG that says in its EXIF data how the camera was held."""
    exif = b"Exif\0\0II*\0" + struct.pack("<IHHHIHHI", 8, 1, 0x0112, 3, 1, orientation, 0, 0)
    data = source.read_bytes()
    target.write_bytes(data[:2] + b"\xff\xe1" + struct.pack(">H", len(exif) + 2) + exif + data[2:])


def pictures_gives_a_line_a_picture():
    tap.need_data()
    with tap.Folder() as folder:
        (folder / "a" / "b").mkdir(parents=True)
        upright, sideways = SCENES / "single_face.jpg", folder / "sideways.jpg"
        done = tap.gst_launch(f"filesrc location={upright} ! decodebin ! videoconvert ! videoflip video-direction=90l"
                              f" ! jpegenc quality=95 ! filesink location={sideways}")
        tap.need(done.returncode == 0, done.stdout)
        turned(sideways, folder / "a" / "as_held.jpg", 6)
        (folder / "a" / "b" / "many.JPG").symlink_to(SCENES / "multi_face.jpg")
        (folder / "a" / "upright.jpg").symlink_to(upright)
        (folder / "a" / "broken.png").write_bytes(b"\x89PNG\r\n\x1a\n" + b"x" * 1000)
        done = run("pictures", folder / "a", "--output", folder / "faces.jsonl")
        refused(done, "broken.png")
        tap.need("3 pictures, 1 could not be read" in done.stdout, done.stdout + done.stderr)
        lines = {line["source"]: line for line in lines_of(folder / "faces.jsonl")}
        tap.need(list(lines) == ["as_held.jpg", "b/many.JPG", "upright.jpg"], f"{list(lines)}")
        tap.need(boxes_of(lines["b/many.JPG"]) == boxes_of(json_lines(folder, SCENES / "multi_face.jpg")[0]) and
                 len(lines["b/many.JPG"]["objects"]) >= 4, f"{lines['b/many.JPG']}")
        (held,), (straight,) = boxes_of(lines["as_held.jpg"]), boxes_of(lines["upright.jpg"])
        tap.need(max(abs(a - b) for a, b in zip(held, straight)) < 8, f"{held}, upright {straight}")
        good(run("pictures", folder / "a" / "b", "--output", folder / "faces.jsonl"))
        tap.need(len(lines_of(folder / "faces.jsonl")) == 1, "an old file was not replaced")
        (folder / "none").mkdir()
        refused(run("pictures", folder / "none"), "none", "holds no picture")
        refused(run("pictures", folder / "gone"), "gone", "no such folder")


def webcam_follows_what_comes():
    tap.need_data()
    with tap.Folder() as folder:
        good(run("webcam", CLIP, "--output", folder, "--frames", 20, DISPLAY="", WAYLAND_DISPLAY=""))
        lines = lines_of(folder / "faces.jsonl")
        tap.need(len(lines) == 20 and all(len(line["objects"]) == 1 for line in lines), f"{len(lines)} lines")
        # At the clip's own pace, if not slower: frames that come too fast were left out.
        stamps = [line["timestamp"] for line in lines]
        tap.need(all(later > sooner for sooner, later in zip(stamps, stamps[1:])), f"{stamps}")
        good(run("webcam", "test", "--output", folder, "--frames", 8, DISPLAY="", WAYLAND_DISPLAY=""))
        tap.need([line["objects"] for line in lines_of(folder / "faces.jsonl")] == [[]] * 8, "faces in a test picture")


def webcam_without_a_camera_says_so():
    refused(run("webcam", "/dev/video99"), "/dev/video99", "no such camera")
    if glob.glob("/dev/video*"):
        raise tap.Skip("this machine has a camera")
    tap.need_models()
    with tap.Folder() as folder:
        done = good(run("webcam", "--output", folder, "--frames", 5, XDG_CACHE_HOME=str(folder), DISPLAY="",
                        WAYLAND_DISPLAY="", CUFACE_MODEL_PATH=os.path.expanduser("~/.cache/gst-cuface")))
        tap.need("no camera" in done.stderr and "'test'" in done.stderr, done.stderr)
        tap.need(len(lines_of(folder / "faces.jsonl")) == 5, "lines")


def a_probe_prints_what_is_published():
    tap.need_data()
    with tap.Folder() as folder:
        lines = json_lines(folder, SHORT)
        printed = good(run("faces.py", SHORT)).stdout.splitlines()
        expected = []
        for line in lines:
            width, height = line["resolution"]["width"], line["resolution"]["height"]
            for face in line["objects"]:
                x, y = face["landmarks"][30]
                expected.append([line["timestamp"] / 1e9, face["id"], face["x"] / width, face["y"] / height,
                                 face["w"] / width, face["h"] / height, face["detection"]["confidence"],
                                 (x + 0.5) / width, (y + 0.5) / height])
        tap.need(len(printed) == len(expected) >= 50, f"{len(printed)} printed, {len(expected)} published")
        for text, numbers in zip(printed, expected):
            found = [float(number) for number in re.findall(r"[\d.]+", text)]
            near = len(found) == len(numbers) and all(abs(a - b) < 0.006 for a, b in zip(found, numbers))
            tap.need(near, f"'{text}', published {numbers}")
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
        tap.need(process.poll() is None and time.monotonic() < late, f"{lines()} of {wanted} lines with a face")
        time.sleep(0.05)


def rtsp_survives_its_server():
    """Three times the server is killed and returns: new ids, flat memory."""
    tap.need_data()
    with tap.Folder() as folder, contextlib.ExitStack() as stack:
        path, sizes, counts, port = folder / "faces.jsonl", [], [], 0
        for life in range(4):
            server, uri = stack.enter_context(tap.rtsp_server(CLIP, port))
            port = re.search(r":(\d+)/", uri)[1]
            if life == 0:
                client = stack.enter_context(tap.start("rtsp", uri, "--output", folder, "--retry", 0.3))
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
        tap.need(client.wait(60) == 0, f"exit code {client.returncode}: {client.stderr.read()}")
        lines = lines_of(path)
        tap.need(len(lines) >= counts[-1] and [line["frame"] for line in lines] == list(range(len(lines))), "lines lost")
        lives = [ids_of(lines[begin:end]) for begin, end in zip([0, *counts], [*counts, None])]
        print(f"# ids {lives}, memory {sizes}")
        tap.need(all(lives) and all(max(a) < min(b) for a, b in zip(lives, lives[1:])), f"ids {lives}")
        # The first life fills caches; 16 MiB is one tenth of what the process takes.
        tap.need(sizes[3][0] < sizes[1][0] + 16384 or tap.SANITIZED, f"memory grows: {sizes}")
        tap.need(sizes[3][1] <= max(sizes[0][1], sizes[1][1]) + 4, f"threads pile up: {sizes}")
        tap.need(sizes[3][2] <= sizes[1][2] + 4, f"open files pile up: {sizes}")


def rtsp_serves_itself_a_clip():
    tap.need_data()
    with tap.Folder() as folder, tap.start("rtsp", "--loopback", CLIP, "--output", folder) as client:
        try:
            read_until(client, "connected")
            wait_for_faces(client, folder / "faces.jsonl", 5)
        finally:
            client.send_signal(signal.SIGINT)
        tap.need(client.wait(60) == 0, f"exit code {client.returncode}: {client.stderr.read()}")
    refused(run("rtsp"), "give INPUT or --loopback")
    refused(run("rtsp", "--loopback", "/nonexistent.mp4"), "/nonexistent.mp4", "no such file")


if __name__ == "__main__":
    tap.run_cases(json_writes_a_line_a_frame, json_says_what_is_wrong, parallel_writes_what_json_writes,
                  pictures_gives_a_line_a_picture, webcam_follows_what_comes, webcam_without_a_camera_says_so,
                  a_probe_prints_what_is_published, rtsp_survives_its_server, rtsp_serves_itself_a_clip)
