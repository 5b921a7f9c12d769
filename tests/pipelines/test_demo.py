"""pipelines/demo as a user calls it: a clip, a picture, and everything that can be wrong with the call."""
import os
import resource
import subprocess
import time

import programs
from programs import DATA, SANITIZED, demo, lines_of, refused

CLIP = DATA / "videos" / "WolfgangLanger_Pexels.mp4"
PICTURE = DATA / "images" / "scenes" / "multi_face.jpg"
READY_SECONDS = 40.0 if SANITIZED else 2.0


def test_a_clip_gives_a_video_lines_and_a_summary(data, tmp_path):
    done = demo(CLIP, "--output", tmp_path, "--frames", 60, "--redetect-interval", 10)
    assert done.returncode == 0, done.stderr
    for word in ("faces.jsonl", "distinct id", "cufacedetect", "culktrack", "cufacelandmark", "frames/s",
                 "gst-launch-1.0 "):
        assert word in done.stdout, f"'{word}' is not in: {done.stdout}"
    lines = lines_of(tmp_path / "faces.jsonl")
    assert len(lines) == 60, f"{len(lines)} lines"
    faces = [face for line in lines for face in line["objects"]]
    assert len(faces) >= 50 and all(len(face["landmarks"]) == 68 for face in faces), "faces are missing"
    video = next(tmp_path.glob("faces.mp4"))
    frames = subprocess.run(["ffprobe", "-v", "error", "-count_frames", "-show_entries", "stream=nb_read_frames",
                             "-of", "csv=p=0", video], text=True, stdout=subprocess.PIPE, check=True).stdout
    assert int(frames.strip().strip(",")) == len(lines), f"the video has {frames} frames"


def test_the_printed_line_runs_again(data, tmp_path):
    done = demo(CLIP, "--output", tmp_path, "--frames", 12)
    assert done.returncode == 0, done.stderr
    line = done.stdout.split("gst-launch-1.0 ", 1)[1].strip()
    before = (tmp_path / "faces.jsonl").read_text().splitlines()
    (tmp_path / "faces.jsonl").unlink()
    again = programs.gst_launch(line, env={**os.environ, "GST_PLUGIN_PATH": os.environ["CUFACE_BUILD_ROOT"] + "/gst"})
    assert again.returncode == 0, again.stdout
    after = (tmp_path / "faces.jsonl").read_text().splitlines()
    assert len(before) == 12 and len(after) > 400, f"{len(before)} and {len(after)} lines"
    assert after[:12] == before, "other faces than in the demo's own run"


def test_a_picture_gives_a_picture(data, tmp_path):
    done = demo(PICTURE, "--output", tmp_path)
    assert done.returncode == 0, done.stderr
    lines = lines_of(tmp_path / "faces.jsonl")
    assert len(lines) == 1 and len(lines[0]["objects"]) >= 4, f"{lines}"
    assert (tmp_path / "faces.png").stat().st_size > 10000, "no picture"


def cpu_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def test_a_second_call_starts_within_two_seconds(data, tmp_path):
    """Of the processor, so that a busy machine does not count; of the clock, enough for that."""
    demo(PICTURE, "--output", tmp_path)
    times, cpu_times = [], []
    for _ in range(3):
        start, cpu_start = time.monotonic(), cpu_seconds()
        done = demo(PICTURE, "--output", tmp_path)
        times.append(time.monotonic() - start)
        cpu_times.append(cpu_seconds() - cpu_start)
        assert done.returncode == 0, done.stderr
    text = f"{min(cpu_times):.2f} s of the processor, {min(times):.2f} s"
    print(f"whole call on one picture: {text}")
    assert 0.05 < min(cpu_times) < READY_SECONDS and min(times) < 15 * READY_SECONDS, text


def test_a_missing_file_is_named():
    refused(demo("/nonexistent/clip.mp4"), "/nonexistent/clip.mp4", "no such file")


def test_a_file_that_is_no_video_is_named(tmp_path):
    text = tmp_path / "notes.mp4"
    text.write_text("this is no video\n" * 100)
    refused(demo(text, "--output", tmp_path), "notes.mp4")


def test_a_missing_cascade_is_named(data, tmp_path):
    refused(demo(CLIP, "--output", tmp_path, "--cascade", "/nonexistent/cascade.xml"), "/nonexistent/cascade.xml")


def test_a_truncated_model_is_named(data, tmp_path):
    model = tmp_path / "short.dat"
    model.write_bytes(b"\x01\x01" * 100)
    refused(demo(CLIP, "--output", tmp_path, "--model", model), "short.dat")


def test_an_output_that_is_a_file_is_named(tmp_path):
    path = tmp_path / "taken"
    path.write_text("")
    refused(demo(PICTURE, "--output", path / "sub"), str(path))
