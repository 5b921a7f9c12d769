#!/usr/bin/python3
"""pipelines/demo as a user calls it: a clip, a picture, and everything that can be wrong with the call."""
import os
import resource
import subprocess
import time

import tap
from tap import demo, lines_of, refused

CLIP = tap.DATA / "videos" / "WolfgangLanger_Pexels.mp4"
PICTURE = tap.DATA / "images" / "scenes" / "multi_face.jpg"
READY_SECONDS = 40.0 if tap.SANITIZED else 2.0


def a_clip_gives_a_video_lines_and_a_summary():
    tap.need_data()
    with tap.Folder() as folder:
        done = demo(CLIP, "--output", folder, "--frames", 60, "--redetect-interval", 10)
        tap.need(done.returncode == 0, done.stderr)
        for word in ("faces.jsonl", "distinct id", "cufacedetect", "culktrack", "cufacelandmark", "frames/s",
                     "gst-launch-1.0 "):
            tap.need(word in done.stdout, f"'{word}' is not in: {done.stdout}")
        lines = lines_of(folder / "faces.jsonl")
        tap.need(len(lines) == 60, f"{len(lines)} lines")
        faces = [face for line in lines for face in line["objects"]]
        tap.need(len(faces) >= 50 and all(len(face["landmarks"]) == 68 for face in faces), "faces are missing")
        video = next(folder.glob("faces.mp4"))
        frames = subprocess.run(["ffprobe", "-v", "error", "-count_frames", "-show_entries", "stream=nb_read_frames",
                                 "-of", "csv=p=0", video], text=True, stdout=subprocess.PIPE, check=True).stdout
        tap.need(int(frames.strip().strip(",")) == len(lines), f"the video has {frames} frames")


def the_printed_line_runs_again():
    tap.need_data()
    with tap.Folder() as folder:
        done = demo(CLIP, "--output", folder, "--frames", 12)
        tap.need(done.returncode == 0, done.stderr)
        line = done.stdout.split("gst-launch-1.0 ", 1)[1].strip()
        before = (folder / "faces.jsonl").read_text().splitlines()
        (folder / "faces.jsonl").unlink()
        again = tap.gst_launch(line, env={**os.environ, "GST_PLUGIN_PATH": os.environ["CUFACE_BUILD_ROOT"] + "/gst"})
        tap.need(again.returncode == 0, again.stdout)
        after = (folder / "faces.jsonl").read_text().splitlines()
        tap.need(len(before) == 12 and len(after) > 400, f"{len(before)} and {len(after)} lines")
        tap.need(after[:12] == before, "other faces than in the demo's own run")


def a_picture_gives_a_picture():
    tap.need_data()
    with tap.Folder() as folder:
        done = demo(PICTURE, "--output", folder)
        tap.need(done.returncode == 0, done.stderr)
        lines = lines_of(folder / "faces.jsonl")
        tap.need(len(lines) == 1 and len(lines[0]["objects"]) >= 4, f"{lines}")
        tap.need((folder / "faces.png").stat().st_size > 10000, "no picture")


def cpu_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def a_second_call_starts_within_two_seconds():
    """Of the processor, so that a busy machine does not count; of the clock, enough for that."""
    tap.need_data()
    with tap.Folder() as folder:
        demo(PICTURE, "--output", folder)
        times, cpu_times = [], []
        for _ in range(3):
            start, cpu_start = time.monotonic(), cpu_seconds()
            done = demo(PICTURE, "--output", folder)
            times.append(time.monotonic() - start)
            cpu_times.append(cpu_seconds() - cpu_start)
            tap.need(done.returncode == 0, done.stderr)
        text = f"{min(cpu_times):.2f} s of the processor, {min(times):.2f} s"
        print(f"# whole call on one picture: {text}")
        tap.need(0.05 < min(cpu_times) < READY_SECONDS and min(times) < 15 * READY_SECONDS, text)


def a_missing_file_is_named():
    refused(demo("/nonexistent/clip.mp4"), "/nonexistent/clip.mp4", "no such file")


def a_file_that_is_no_video_is_named():
    with tap.Folder() as folder:
        text = folder / "notes.mp4"
        text.write_text("this is no video\n" * 100)
        refused(demo(text, "--output", folder), "notes.mp4")


def a_missing_cascade_is_named():
    tap.need_data()
    with tap.Folder() as folder:
        refused(demo(CLIP, "--output", folder, "--cascade", "/nonexistent/cascade.xml"), "/nonexistent/cascade.xml")


def a_truncated_model_is_named():
    tap.need_data()
    with tap.Folder() as folder:
        model = folder / "short.dat"
        model.write_bytes(b"\x01\x01" * 100)
        refused(demo(CLIP, "--output", folder, "--model", model), "short.dat")


def an_output_that_is_a_file_is_named():
    with tap.Folder() as folder:
        path = folder / "taken"
        path.write_text("")
        refused(demo(PICTURE, "--output", path / "sub"), str(path))


if __name__ == "__main__":
    tap.run_cases(a_clip_gives_a_video_lines_and_a_summary, the_printed_line_runs_again, a_picture_gives_a_picture,
                  a_second_call_starts_within_two_seconds, a_missing_file_is_named, a_file_that_is_no_video_is_named,
                  a_missing_cascade_is_named, a_truncated_model_is_named, an_output_that_is_a_file_is_named)
