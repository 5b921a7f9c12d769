"""What the library and the plugin export, and what a plugin says that meets the library of another build.

The symbols file of the Debian package is the list of the library's symbols: a new function belongs there.
"""
import os
import re
import subprocess

import pytest

from programs import BUILD, SANITIZED, SOURCE

LIBRARY = BUILD / "gst/libgstcuface-1.0.so.0"
PLUGINS = (BUILD / "gst/libgstcuface.so", BUILD / "tests/pipelines/aliases/libgstcuface.so")
OTHER_LIBRARY = BUILD / "tests/pipelines/libother_internal.so"
SYMBOLS = SOURCE / "debian/libgstcuface-1.0-0.symbols"
OF_THE_PLUGIN = {"gst_plugin_cuface_get_desc", "gst_plugin_cuface_register"}
FEWEST = 20


def exported(path):
    listed = subprocess.run(["nm", "-D", "--defined-only", path], capture_output=True, text=True, check=True).stdout
    return {line.split()[-1] for line in listed.splitlines()}


def need_equal(path, allowed):
    found = exported(path)
    assert found <= allowed, f"{path} exports {sorted(found - allowed)}"
    assert found == allowed, f"{path} lacks {sorted(allowed - found)}"


def test_the_library_exports_what_its_symbols_file_lists():
    listed = set(re.findall(r"^ (\w+)@Base ", SYMBOLS.read_text(encoding="utf-8"), re.MULTILINE))
    assert len(listed) >= FEWEST, f"{SYMBOLS} lists {len(listed)} symbols"
    assert all(name.startswith("gst_cuface_") for name in listed), f"{SYMBOLS} lists {sorted(listed)}"
    need_equal(LIBRARY, listed)


def test_the_plugin_exports_what_gstreamer_asks_for():
    for plugin in PLUGINS:
        need_equal(plugin, OF_THE_PLUGIN)


def test_a_library_of_another_build_is_refused(tmp_path):
    if SANITIZED:
        pytest.skip("a sanitizer wants to be the first library loaded")
    done = subprocess.run(["gst-inspect-1.0", "cufacedetect"], capture_output=True, text=True, check=False, timeout=120,
                          env={**os.environ, "LD_PRELOAD": str(OTHER_LIBRARY), "GST_PLUGIN_SYSTEM_PATH": "",
                               "GST_REGISTRY": str(tmp_path / "registry.bin"), "GST_REGISTRY_FORK": "no"})
    assert done.returncode != 0, f"cufacedetect is there: {done.stdout[:500]}"
    told = re.search(r"the plugin is of gst-cuface (\S+ \(\d+\)).* is of gst-cuface 99\.1\.2 \(77\)", done.stderr)
    assert told, f"no line with both versions: {done.stderr}"
