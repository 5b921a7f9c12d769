"""`meson install`: everything is where it belongs, and a C program, Python and gst-inspect use it there."""
import subprocess

import pytest

from installed import Installed

PROGRAM = r"""
#include <gst/cuface/gstcufaceedgemeta.h>
#include <gst/cuface/gstcufacemotionmeta.h>
int main(int argc, char** argv) {
  gst_init(&argc, &argv);
  GstElement* detect = gst_element_factory_make("cufacedetect", NULL);
  GstBuffer* buffer = gst_buffer_new();
  GstCufaceMeta* meta = gst_cuface_buffer_get_face_meta(buffer);
  g_print("%s %s %s\n", G_OBJECT_TYPE_NAME(detect), g_type_name(GST_TYPE_CUFACE_FACES), meta ? "a meta" : "no meta");
  gst_buffer_unref(buffer);
  gst_object_unref(detect);
  return 0;
}
"""
# Below the prefix; {lib} is the folder of libraries.
FILES = """
bin/cuface-fetch
bin/cuface-match
bin/cuface-model
bin/cuface-train
include/gstreamer-1.0/gst/cuface/gstcufacemeta.h
include/gstreamer-1.0/gst/cuface/gstcufaceedgemeta.h
include/gstreamer-1.0/gst/cuface/gstcufacefeaturemeta.h
include/gstreamer-1.0/gst/cuface/gstcufacematchmeta.h
include/gstreamer-1.0/gst/cuface/gstcufacemotionmeta.h
include/gstreamer-1.0/gst/cuface/gstcufaceplanarmeta.h
{lib}/gstreamer-1.0/libgstcuface.so
{lib}/libgstcuface-1.0.so
{lib}/libgstcuface-1.0.so.0
{lib}/libgstcuface-1.0.so.0.*
{lib}/pkgconfig/gstreamer-cuface-1.0.pc
share/doc/gst-cuface/CONTRIBUTING.md
share/doc/gst-cuface/README.md
share/doc/gst-cuface/docs/**/*
share/gst-cuface/draw-signs
share/gst-cuface/stasm-confidence.json
share/gstreamer-1.0/presets/GstCufaceDetect.prs
share/gstreamer-1.0/presets/GstCufaceEdgeDetect.prs
share/gstreamer-1.0/presets/GstCufaceMotionDetect.prs
share/man/man1/cuface-fetch.1*
share/man/man1/cuface-match.1*
share/man/man1/cuface-model.1*
share/man/man1/cuface-train.1*
""".split()
INTROSPECTION = ["{lib}/girepository-1.0/GstCuface-1.0.typelib", "share/gir-1.0/GstCuface-1.0.gir"]
DOCS = ("docs/README.md", "docs/guide/tutorial.md", "docs/reference/faces.schema.json", "docs/reference/elements/cufacedetect.md",
        "docs/design/track.md", "docs/reference/plugins/gst_plugins_cache.json")


@pytest.fixture(name="place", scope="module")
def installed(tmp_path_factory):
    return Installed(tmp_path_factory.mktemp("installed"))


def run(place, *command):
    done = subprocess.run([str(part) for part in command], env=place.environment(), text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.returncode == 0, f"{command[0]}: exit status {done.returncode}: {done.stdout}"
    return done.stdout


def has_introspection(place):
    return (place.lib / "girepository-1.0").is_dir()


def test_everything_is_in_its_place(place):
    lib = place.lib.relative_to(place.prefix)
    expected = set()
    for pattern in FILES + (INTROSPECTION if has_introspection(place) else []):
        found = [path for path in place.prefix.glob(pattern.format(lib=lib)) if not path.is_dir()]
        assert found, f"{pattern} is missing"
        expected.update(found)
    installed = {path for path in place.prefix.rglob("*") if not path.is_dir()} - {place.prefix / "registry.bin"}
    assert installed == expected, f"unexpected: {sorted(map(str, installed - expected))}"
    for name in DOCS:
        assert (place.prefix / "share/doc/gst-cuface" / name).is_file(), f"no {name}"
    print(f"{len(installed)} files")


def test_a_c_program_builds_and_runs(place):
    source, program = place.prefix / "program.c", place.prefix / "program"
    source.write_text(PROGRAM, encoding="ascii")
    flags = run(place, "pkg-config", "--cflags", "--libs", "gstreamer-cuface-1.0").split()
    assert f"-I{place.prefix}" in " ".join(flags), f"not the installed header: {flags}"
    run(place, "cc", "-Wall", "-Wextra", "-Werror", source, "-o", program, *flags)
    text = run(place, program)
    assert text == "GstCufaceDetect GstCufaceFaces no meta\n", text
    version = run(place, "pkg-config", "--modversion", "gstreamer-cuface-1.0").strip()
    assert run(place, "cuface-model", "--version") == f"cuface-model {version}\n", version


def test_the_guides_pictures_are_drawn(place):
    run(place, place.prefix / "share/gst-cuface/draw-signs", place.prefix / "pictures")
    drawn = {name: len(list((place.prefix / "pictures" / name).glob("*.png"))) for name in ("signs", "backgrounds", "street")}
    assert drawn == {"signs": 200, "backgrounds": 40, "street": 50}, drawn


def test_gst_inspect_finds_the_installed_plugin(place):
    text = run(place, "gst-inspect-1.0", "cuface")
    assert str(place.plugin) in text, text
    for name in ("cufacedetect", "culktrack", "cufacelandmark", "cufaceoverlay", "cufacepublish"):
        assert f"  {name}: " in text, text
    assert "redetect-interval" in run(place, "gst-inspect-1.0", "cufacedetect"), "no properties"


def test_python_finds_the_library(place):
    if not has_introspection(place):
        pytest.skip("built without introspection")
    text = run(place, "/usr/bin/python3", "-c",
               "import gi; gi.require_version('Gst', '1.0'); gi.require_version('GstCuface', '1.0'); from gi.repository import Gst, GstCuface;"
               "Gst.init(None); print(GstCuface.buffer_get_face_meta(Gst.Buffer.new()))")
    assert text == "None\n", text


def test_the_preset_is_found(place):
    text = run(place, "/usr/bin/python3", "-c",
               "import gi; gi.require_version('Gst', '1.0'); from gi.repository import Gst; Gst.init(None);"
               "detect = Gst.ElementFactory.make('cufacedetect'); print(detect.get_preset_names())")
    assert "rice-2015" in text, text


def test_the_man_pages_say_what_the_programs_say(place):
    for program, *command in (("cuface-model",), ("cuface-match",), ("cuface-train",), ("cuface-train", "cascade"), ("cuface-fetch",)):
        page = next((place.prefix / "share/man/man1").glob(program + ".1*"))
        words = set(page.read_text(encoding="utf-8").replace("Fl -", "--").replace("Fl h", "-h").split())
        options = {word.strip("[],|.;:()").split("=")[0] for word in run(place, program, *command, "--help").split()}
        for option in {word for word in options if word.startswith("-") and word.strip("-")}:
            assert option in words, f"{page.name} does not name {option}"
    for command in ("info", "check", "convert"):
        assert command in words | set((place.prefix / "share/man/man1/cuface-model.1").read_text().split()), command


def test_the_man_pages_are_well_formed(place):
    for page in (place.prefix / "share/man/man1").iterdir():
        done = subprocess.run(["groff", "-mdoc", "-wmac", "-wmissing", "-Tutf8", page], text=True, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert done.returncode == 0 and not done.stderr, f"{page.name}: {done.stderr}"
        assert len(done.stdout) > 1000, f"{page.name} is empty"
