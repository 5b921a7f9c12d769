#!/usr/bin/python3
"""Our plugin beside those that have elements of the same names: gst-opencv's facedetect and gst-plugins-bad's
faceoverlay, which itself uses gst-opencv's facedetect.

Each case is a process with a plugin folder of its own, so that a registry is read in a moment and in a known order.
"""
import os
import pathlib
import subprocess

import tap

try:
    import gi
    gi.require_version("Gst", "1.0")
    from gi.repository import Gst
except (ImportError, ValueError) as reason:
    print(f"1..0 # SKIP {reason}")
    raise SystemExit(0)

BUILD = pathlib.Path(os.environ.get("CUFACE_BUILD_ROOT", tap.SOURCE / "build"))
BUILT_AS, OTHER = BUILD / "gst/libgstcuface.so", BUILD / "tests/pipelines/aliases/libgstcuface.so"
WITH, WITHOUT = (OTHER, BUILT_AS) if os.environ.get("CUFACE_ALIASES") == "false" else (BUILT_AS, OTHER)
OURS = ("cufacedetect", "culktrack", "cufacelandmark", "cufaceoverlay", "cufacepublish")
ALIASES = ("facedetect", "lktrack", "facelandmark")
FRAMES = 4
PICTURE = '<svg xmlns="http://www.w3.org/2000/svg" width="8" height="8"><rect width="8" height="8"/></svg>'


def plugin_file(name):
    plugin = Gst.Registry.get().find_plugin(name)
    if not plugin:
        raise tap.Skip(f"the plugin {name} is not installed")
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


def ours_by_the_cu_names_whatever_comes_first():
    opencv, overlay = plugin_file("opencv"), plugin_file("faceoverlay")
    with tap.Folder() as folder:
        for plugins in ([WITH, opencv, overlay], [opencv, overlay, WITH], [WITHOUT, opencv, overlay],
                        [opencv, overlay, WITHOUT]):
            found = owners(folder, plugins, OURS)
            tap.need(found == ["cuface"] * len(OURS), f"{plugins}: {found}")


def the_second_names_are_ours_where_they_are_built_and_nobody_else_has_them():
    with tap.Folder() as folder:
        found = owners(folder, [WITH], ALIASES)
        tap.need(found == ["cuface"] * 3, f"with aliases: {found}")
        found = owners(folder, [WITHOUT], ALIASES)
        tap.need(found == ["nobody"] * 3, f"without aliases: {found}")


def without_aliases_the_others_keep_their_names():
    opencv, overlay = plugin_file("opencv"), plugin_file("faceoverlay")
    with tap.Folder() as folder:
        for plugins in ([WITHOUT, opencv, overlay], [opencv, overlay, WITHOUT]):
            found = owners(folder, plugins, ("facedetect", "faceoverlay"))
            tap.need(found == ["opencv", "faceoverlay"], f"{plugins}: {found}")


def all_work_in_one_pipeline_without_aliases():
    names = ["coreelements", "videotestsrc", "opencv", "faceoverlay", "rsvg"]
    names += ["videoconvertscale" if Gst.Registry.get().find_plugin("videoconvertscale") else "videoconvert"]
    plugins = [WITHOUT] + [plugin_file(name) for name in names]
    with tap.Folder() as folder:
        picture, lines = folder / "hat.svg", folder / "faces.jsonl"
        picture.write_text(PICTURE, encoding="utf-8")
        done = run(folder, plugins, "gst-launch-1.0", "-m", *(
            f"videotestsrc num-buffers={FRAMES} ! video/x-raw,width=160,height=120 ! videoconvert"
            " ! facedetect name=theirs display=false updates=every_frame ! videoconvert"
            " ! cufacedetect ! culktrack ! cufaceoverlay"
            f" ! videoconvert ! faceoverlay location={picture} ! videoconvert"
            f" ! cufacepublish location={lines} ! fakesink").split())
        tap.need(done.returncode == 0, done.stdout[-2000:])
        told = done.stdout.count("facedetect, timestamp")
        tap.need(told >= FRAMES, f"theirs told of {told} frames: {done.stdout[-2000:]}")
        written = lines.read_text(encoding="utf-8").splitlines()
        tap.need(len(written) == FRAMES, f"{len(written)} lines")


Gst.init(None)
tap.run_cases(ours_by_the_cu_names_whatever_comes_first,
              the_second_names_are_ours_where_they_are_built_and_nobody_else_has_them,
              without_aliases_the_others_keep_their_names, all_work_in_one_pipeline_without_aliases)
