"""Runs every block of code in the documentation as a reader would, against the plugin installed from this build.

Each document gets a folder of its own with in.mp4 (two seconds of the sample clip), a home with the fetched
models, and links to the project's folders. Blocks are run from top to bottom: sh by bash, python by Python; json
must be JSON; text is what programs print. A comment before a block says what is special about it:

  <!-- file: NAME -->       the block is this file; a later block of the document uses it
  <!-- prints: TEXT -->     it prints that
  <!-- no faces: WHY -->    its pipelines need not find any
  <!-- not run: WHY -->     counted as skipped

A block fails with its exit status, with an error or warning on the bus, when a pipeline ends otherwise than by EOS,
when its elements saw no frames or no faces, and when the files that it names are not written.
"""
import json
import os
import re
import shutil
import signal
import subprocess

import pytest

import programs
from installed import Installed
from programs import BUILD, CACHE, DATA, DOCUMENTS, SOURCE

CLIP = "WolfgangLanger_Pexels.mp4"
SECONDS_OF_CLIP = 2
TIMEOUT = 240
DIRECTIVES = ("file", "prints", "no faces", "not run")
RUN = {"sh": ["bash", "-euo", "pipefail", "-c"], "python": ["/usr/bin/python3", "-c"]}


class Block:
    """One block of code: where it stands, its language, its text, and what the comments before it say."""

    def __init__(self, path, line, language, text, directives):
        self.path, self.language, self.text, self.directives = path, language, text, directives
        self.name = f"{path.relative_to(SOURCE)}:{line} {language}"


def blocks_of(path):
    """The blocks of a document. One without a language, or made by indenting, is an error."""
    found, directives, fence = [], {}, None
    lines = path.read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines, 1):
        where = f"{path.relative_to(SOURCE)}:{number}"
        if fence is not None:
            if line.strip() == "```":
                found.append(Block(path, fence[0], fence[1], "\n".join(fence[2]) + "\n", directives))
                directives, fence = {}, None
            else:
                fence[2].append(line)
        elif line.startswith("```"):
            assert line[3:].strip() in (*RUN, "c", "cpp", "json", "text"), f"{where}: which language is this block?"
            fence = (number, line[3:].strip(), [])
        elif comment := re.fullmatch(r"<!-- ([a-z ]+): (.+) -->", line):
            assert comment[1] in DIRECTIVES, f"{where}: {comment[1]}?"
            directives[comment[1]] = comment[2]
        elif line.startswith("    ") and number > 1 and not lines[number - 2].strip():
            raise AssertionError(f"{where}: a block made by indenting; give it a fence and a language")
        elif line.strip():
            assert not directives, f"{where}: no block follows {directives}"
    assert fence is None, f"{path}: an open block"
    return found


# ---- a reader's folder --------------------------------------------------------------------------

def fill(folder):
    """The reader's folder: the project's files, the fetched models, a video."""
    for entry in SOURCE.iterdir():
        if not entry.name.startswith((".git", "build")):
            (folder / entry.name).symlink_to(entry)
    (folder / "build").symlink_to(BUILD)
    (folder / "home/.cache").mkdir(parents=True)
    (folder / "home/bin").mkdir()
    (folder / "home/bin/python3").symlink_to("/usr/bin/python3")  # the one that has GStreamer
    (folder / "home/.cache/gst-cuface").symlink_to(CACHE)
    clip = next((path for path in (CACHE / CLIP, DATA / "videos" / CLIP) if path.is_file()), None)
    if clip is None:
        return
    done = shutil.which("ffmpeg") and subprocess.run(
        ["ffmpeg", "-v", "error", "-t", str(SECONDS_OF_CLIP), "-i", clip, "-c:v", "libx264", "-preset", "veryfast",
         folder / "in.mp4"], check=False)
    if not done or done.returncode:
        shutil.copy(clip, folder / "in.mp4")


# ---- one block ----------------------------------------------------------------------------------

def check_log(folder, block):
    """What the elements logged when they stopped: all saw frames, and some faces."""
    counts = []
    for log in folder.glob("log-*"):
        # cufaceoverlay and cufacepublish count no faces.
        of_process = re.findall(r"<([^>]+)>.*x-cuface-stats, frames=\(guint64\)(\d+),(?:.* faces=\(guint64\)(\d+))?",
                                log.read_text(encoding="utf-8", errors="replace"))
        log.unlink()
        for name, frames, _ in of_process:
            assert int(frames) > 0, f"{name} saw no frame"
        if of_process:
            counts.append(max(int(faces or 0) for _, _, faces in of_process))
    assert "no faces" in block.directives or all(counts), f"no faces: {counts}"
    elements = re.search(r"\b(cufacedetect|culktrack|cufacelandmark)\b", block.text)
    starts_pipelines = block.language == "python" or "gst-launch-1.0" in block.text
    assert counts or not (elements and starts_pipelines), "the elements logged nothing"


def check_files(folder, block, output):
    """What the block's pipelines name as their outputs has been written, and lines of JSON hold faces."""
    if block.language != "sh":
        return
    for name in re.findall(r"\blocation=(\S+)", block.text):
        if name == "in.mp4" or "$" in name:
            continue
        # Of a file a frame (%05d) the first has the first search's faces.
        path = next(iter(sorted(folder.glob(re.sub(r"%\d*d", "*", name)))), folder / name)
        if name == "-":
            lines = output.splitlines()
        else:
            assert path.is_file(), f"{name} was not written"
            if path.suffix not in (".json", ".jsonl"):
                assert path.stat().st_size > 10000, f"{name} has {path.stat().st_size} bytes"
                continue
            lines = path.read_text(encoding="utf-8").splitlines()
        if " | " not in block.text and "|\n" not in block.text:
            faces = sum(len(json.loads(line)["objects"]) for line in lines)
            assert lines and (faces or "no faces" in block.directives), f"{name}: {len(lines)} lines, {faces} faces"


def check_json(value):
    """A line of ours must keep to the schema."""
    if "objects" in value:
        jsonschema = pytest.importorskip("jsonschema")
        schema = json.loads((SOURCE / "docs/reference/faces.schema.json").read_text(encoding="utf-8"))
        jsonschema.validate(value, schema)
        assert value["objects"], "a line without a face shows little"


def dry_run():
    return subprocess.run(["ninja", "-C", BUILD, "-n"], stdout=subprocess.PIPE, text=True, check=False).stdout


def run(command, folder, environment):
    """Exit status, output and errors; what it started does not outlive it."""
    with subprocess.Popen(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, start_new_session=True) as process:
        try:
            output, errors = process.communicate(timeout=TIMEOUT)
        except subprocess.TimeoutExpired as late:
            os.killpg(process.pid, signal.SIGKILL)
            raise AssertionError(f"not over after {TIMEOUT} s: {''.join(process.communicate())[-2000:]}") from late
    return process.returncode, output, errors


def run_block(block, folder, environment):
    if "not run" in block.directives:
        pytest.skip(block.directives["not run"])
    if "file" in block.directives:
        (folder / block.directives["file"]).write_text(block.text, encoding="utf-8")
        return
    if block.language == "json":
        check_json(json.loads(block.text))
    if block.language not in RUN:
        assert block.language in ("json", "text"), "a block that nothing compiles: say which file it is"
        return
    # faces.jsonl: what an earlier block made of the clip.
    if not (folder / "in.mp4").exists() and re.search(r"\b(in\.mp4|faces\.jsonl)\b", block.text):
        pytest.skip("no sample clip: run models/fetch --clip")
    # The program that an earlier block has saved, and the lines that one with landmarks has written.
    saved = [path.read_text(encoding="utf-8") for path in folder.glob("*.py") if path.name in block.text]
    given = "faces.jsonl" in block.text and "location=" not in block.text
    if any("cufacelandmark" in text for text in (block.text, *saved)) or \
            (given and not (folder / "faces.jsonl").exists()):
        programs.need_models()
    if "cusurf" in block.text and os.environ.get("CUFACE_SURF") == "false":
        pytest.skip("built without -Dsurf=enabled")
    if "autovideosink" in block.text and "DISPLAY" not in environment:
        pytest.skip("no screen, and no Xvfb")
    if "pipelines/setup" in block.text and "no work to do" not in dry_run():
        pytest.skip("the build is not complete: pipelines/setup would build for minutes")
    status, output, errors = run(RUN[block.language] + [block.text], folder, environment)
    text = output + errors
    assert status == 0, f"exit status {status}: {text[-2000:]}"
    # A sink may warn that a busy machine drops frames.
    for word in ("ERROR: from element", "/GstCuface", "WARNING: erroneous pipeline"):
        assert word not in text, text[-2000:]
    if (want := block.directives.get("prints")) is not None:
        assert want in text, f"'{want}' is not in: {text[-2000:]}"
    launches = len(re.findall(r"gst-launch-1\.0 (?!-q)", block.text))
    if block.language == "sh" and launches:
        assert text.count("Got EOS") >= launches, f"not ended by EOS: {text[-2000:]}"
    check_log(folder, block)
    check_files(folder, block, output)


# ---- all of them --------------------------------------------------------------------------------

BLOCKS = {path: blocks_of(path) for path in DOCUMENTS}


@pytest.fixture(name="reader", scope="module")
def a_readers_environment(tmp_path_factory):
    """What all readers have: the installed plugin, and a screen where there can be one."""
    environment = Installed(tmp_path_factory.mktemp("installed")).environment()
    environment["CUFACE_BUILD"] = str(BUILD)
    for name in ("XDG_CACHE_HOME", "CUFACE_MODEL_PATH", "WAYLAND_DISPLAY", "DISPLAY"):
        environment.pop(name, None)
    if not shutil.which("Xvfb"):
        yield environment
        return
    with programs.x_server(tmp_path_factory.mktemp("screen")) as (display, _):
        yield environment | {"DISPLAY": display}


@pytest.fixture(name="folders", scope="module")
def readers_folders(tmp_path_factory):
    """A document's folder, made with its first block."""
    made = {}

    def folder_of(path):
        if path not in made:
            made[path] = tmp_path_factory.mktemp(path.stem)
            fill(made[path])
        return made[path]
    return folder_of


@pytest.mark.parametrize("block", [pytest.param(block, id=block.name) for blocks in BLOCKS.values() for block in blocks])
def test_block(block, reader, folders):
    folder = folders(block.path)
    run_block(block, folder, reader | {
        "HOME": str(folder / "home"), "PATH": f"{folder}/home/bin:{reader['PATH']}", "GST_DEBUG": "cufacefilter:4",
        "GST_DEBUG_NO_COLOR": "1", "GST_DEBUG_FILE": str(folder / "log-%p")})


def test_the_tutorial_and_the_readme_are_run():
    """What is skipped stays the exception, and the tutorial is run but for what needs a camera or a GPU."""
    for path, least in ((SOURCE / "docs/guide/tutorial.md", 0.75), (SOURCE / "README.md", 0.4)):
        blocks = [block for block in BLOCKS[path] if block.language not in ("text", "json")]
        run = sum("not run" not in block.directives for block in blocks)
        assert run >= least * len(blocks) and run >= 3, f"{path.name}: {run} of {len(blocks)} blocks are run"


def test_every_element_has_two_pipelines():
    for path in sorted((SOURCE / "docs/reference/elements").glob("*.md")):
        pipelines = sum(block.text.count("gst-launch-1.0 ") for block in BLOCKS[path]
                        if "not run" not in block.directives and path.stem in block.text)
        assert pipelines >= 2, f"{path.name}: {pipelines} pipelines"


@pytest.mark.parametrize("path", BLOCKS, ids=lambda path: path.stem)
def test_saved_files_are_used(path):
    for number, block in enumerate(BLOCKS[path]):
        name = block.directives.get("file")
        used = any(name in later.text for later in BLOCKS[path][number + 1:] if name and "not run" not in later.directives)
        assert not name or used, f"no later block uses {name}"
