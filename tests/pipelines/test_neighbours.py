"""Our plugin beside those that have elements of the same names: gst-opencv's facedetect and gst-plugins-bad's
faceoverlay, which itself uses gst-opencv's facedetect.

Each case is a process with a plugin folder of its own, so that a registry is read in a moment and in a known order.
"""
import os
import pathlib
import subprocess

import pytest

from programs import BUILD

gi = pytest.importorskip("gi")
gi.require_version("Gst", "1.0")
from gi.repository import Gst  # noqa: E402

Gst.init(None)
BUILT_AS, OTHER = BUILD / "gst/libgstcuface.so", BUILD / "tests/pipelines/aliases/libgstcuface.so"
WITH, WITHOUT = (OTHER, BUILT_AS) if os.environ.get("CUFACE_ALIASES") == "false" else (BUILT_AS, OTHER)
WITH_SURF, WITHOUT_SURF = (OTHER, BUILT_AS) if os.environ.get("CUFACE_SURF") == "false" else (BUILT_AS, OTHER)
OURS = ("cufacedetect", "culktrack", "cufacelandmark", "cufaceoverlay", "cufacepublish")
ALIASES = ("facedetect", "lktrack", "facelandmark")
FRAMES = 4
PICTURE = '<svg xmlns="http://www.w3.org/2000/svg" width="8" height="8"><rect width="8" height="8"/></svg>'


def plugin_file(name):
    plugin = Gst.Registry.get().find_plugin(name)
    if not plugin:
        pytest.skip(f"the plugin {name} is not installed")
    return pathlib.Path(plugin.get_filename())


def run(folder, plugins, *command):
    """Runs a command that sees these plugin files only, in this order."""
    paths = []
    for number, plugin in enumerate(plugins):
        place = folder / str(number)
        place.mkdir(exist_ok=True)
        link = place / plugin.name
        link.unlink(missing_ok=True)
        link.symlink_to(plugin)
        paths.append(str(place))
    registry = folder / "registry.bin"
    registry.unlink(missing_ok=True)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GST_")}
    environment |= {"GST_PLUGIN_PATH": ":".join(paths), "GST_PLUGIN_SYSTEM_PATH": "", "GST_REGISTRY": str(registry),
                    "GST_REGISTRY_FORK": "no"}
    return subprocess.run(command, timeout=120, check=False, text=True, env=environment,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def owner(inspected):
    """The plugin that gst-inspect-1.0 names."""
    lines = inspected.splitlines()
    start = next((i for i, line in enumerate(lines) if line.startswith("Plugin Details")), None)
    return lines[start + 1].split()[-1] if start is not None else "nobody"


def owners(folder, plugins, elements):
    return [owner(run(folder, plugins, "gst-inspect-1.0", element).stdout) for element in elements]


def test_ours_by_the_cu_names_whatever_comes_first(tmp_path):
    opencv, overlay = plugin_file("opencv"), plugin_file("faceoverlay")
    for plugins in ([WITH, opencv, overlay], [opencv, overlay, WITH], [WITHOUT, opencv, overlay],
                    [opencv, overlay, WITHOUT]):
        found = owners(tmp_path, plugins, OURS)
        assert found == ["cuface"] * len(OURS), f"{plugins}: {found}"


def test_the_second_names_are_ours_where_they_are_built_and_nobody_else_has_them(tmp_path):
    found = owners(tmp_path, [WITH], ALIASES)
    assert found == ["cuface"] * 3, f"with aliases: {found}"
    found = owners(tmp_path, [WITHOUT], ALIASES)
    assert found == ["nobody"] * 3, f"without aliases: {found}"


def test_surf_is_there_where_it_is_built(tmp_path):
    for plugin, wanted in ((WITH_SURF, "cuface"), (WITHOUT_SURF, "nobody")):
        assert owners(tmp_path, [plugin], ("cusurf", "cufeatures")) == [wanted, "cuface"]


def test_without_aliases_the_others_keep_their_names(tmp_path):
    opencv, overlay = plugin_file("opencv"), plugin_file("faceoverlay")
    for plugins in ([WITHOUT, opencv, overlay], [opencv, overlay, WITHOUT]):
        found = owners(tmp_path, plugins, ("facedetect", "faceoverlay"))
        assert found == ["opencv", "faceoverlay"], f"{plugins}: {found}"


def test_all_work_in_one_pipeline_without_aliases(tmp_path):
    names = ["coreelements", "videotestsrc", "opencv", "faceoverlay", "rsvg"]
    names += ["videoconvertscale" if Gst.Registry.get().find_plugin("videoconvertscale") else "videoconvert"]
    plugins = [WITHOUT] + [plugin_file(name) for name in names]
    picture, lines = tmp_path / "hat.svg", tmp_path / "faces.jsonl"
    picture.write_text(PICTURE, encoding="utf-8")
    done = run(tmp_path, plugins, "gst-launch-1.0", "-m", *(
        f"videotestsrc num-buffers={FRAMES} ! video/x-raw,width=160,height=120 ! videoconvert"
        " ! facedetect name=theirs display=false updates=every_frame ! videoconvert"
        " ! cufacedetect ! culktrack ! cufaceoverlay"
        f" ! videoconvert ! faceoverlay location={picture} ! videoconvert"
        f" ! cufacepublish location={lines} ! fakesink").split())
    assert done.returncode == 0, done.stdout[-2000:]
    told = done.stdout.count("facedetect, timestamp")
    assert told >= FRAMES, f"theirs told of {told} frames: {done.stdout[-2000:]}"
    written = lines.read_text(encoding="utf-8").splitlines()
    assert len(written) == FRAMES, f"{len(written)} lines"
