"""The house is as its page says: who includes whom, what a name stands for, what belongs to a stage."""
import re

import pytest

import rooms
from programs import SOURCE

FILES = rooms.files_by_room()
PAGE = (SOURCE / "docs/design/house.md").read_text(encoding="utf-8")
TYPE = re.compile(r"^(?:template <[^>]*>\s*)?(?:struct|class|enum class|enum)\s+(?:alignas\([^)]*\)\s+)?(\w+)\s*(?::[^{;]*)?\{", re.M)


def test_every_room_is_listed():
    assert set(FILES) == set(rooms.FLOOR), f"on one side only: {sorted(set(FILES) ^ set(rooms.FLOOR))}"
    assert sum(map(len, FILES.values())) >= 200, "too few files to be all"


def leads_upwards(room, other):
    return other != room and rooms.FLOOR[other] >= rooms.FLOOR[room]


def upward_includes(room):
    """(file, what it includes) where that is not on a lower floor."""
    return [(file, path) for file in FILES[room] for path in rooms.includes(file) if leads_upwards(room, rooms.room_of(path))]


@pytest.mark.parametrize("room", sorted(FILES))
def test_includes_lead_down(room):
    upward = [f"{file} includes {path}" for file, path in upward_includes(room)
              if (room, rooms.room_of(path)) not in rooms.UPWARD]
    assert not upward


def test_exceptions_are_needed():
    used = {(room, rooms.room_of(path)) for room in FILES for _, path in upward_includes(room)}
    assert rooms.UPWARD <= used, f"no longer needed: {sorted(rooms.UPWARD - used)}"


def test_the_page_has_the_floors():
    rows = [(int(floor), room) for floor, room in re.findall(r"^\| (\d+) \| `([\w/.]+)` \|", PAGE, flags=re.M)]
    stands = [(number, room) for number, floor in enumerate(rooms.FLOORS, 1) for room in floor]
    assert sorted(rows) == sorted(stands), f"differ: {sorted(set(rows) ^ set(stands))}"


def test_a_name_stands_for_one_thing():
    """A type of a header is of one room. In it the CPU's and CUDA's version of a contract share a name."""
    of = {}
    for room, files in FILES.items():
        for file in files:
            if file.endswith((".h", ".cuh")):
                for name in TYPE.findall((SOURCE / file).read_text(encoding="utf-8")):
                    of.setdefault(name, set()).add(room)
    twice = {name: sorted(where) for name, where in of.items() if len(where) > 1}
    assert not twice, f"types of several rooms: {twice}"
    assert len(of) >= 200, f"only {len(of)} types"


# Folders whose headers meet in one program; those in tests/ itself meet all.
PROGRAMS = [("tests/kernels", "tests/gpu/kernels"), ("tests/gst",), ("tests/gpu/pipelines",), ("tests/models",), ("tests/bench", "tests/eval")]
FUNCTION = re.compile(r"^(?:template <[^;{}]*?>\n)?inline [^;{}()=]*?\b(\w+)\(([^{;]*?)\)[^{;()]*\{", re.M)
NAMESPACE = re.compile(r"^(?:namespace (?:([\w:]+) )?\{|\}  // namespace)", re.M)


def definitions(file):
    """Types and inline functions of a header with their namespaces; what is in an unnamed one is each file's own."""
    text = (SOURCE / file).read_text(encoding="utf-8")
    found = {m.start(): m[1] for m in TYPE.finditer(text)}
    for m in FUNCTION.finditer(text):
        types = [re.sub(r"\s*\w+\s*(=.*)?$", "", " ".join(one.split())) for one in m[2].split(", ")]
        found[m.start()] = f"{m[1]}({', '.join(types)})"
    for at, name in found.items():
        inside = []
        for m in NAMESPACE.finditer(text, 0, at):
            if m[0].startswith("}"):
                inside.pop()
            else:
                inside.append(m[1])
        if None not in inside:
            yield "::".join([*inside, name])


@pytest.mark.parametrize("folders", PROGRAMS, ids="+".join)
def test_a_program_defines_a_name_once(folders):
    """Of two inline functions alike in name and parameters the linker keeps one, and every caller gets that."""
    of = {}
    for folder in ("tests", *folders):
        for path in sorted((SOURCE / folder).glob("*.h")):
            file = str(path.relative_to(SOURCE))
            for name in definitions(file):
                of.setdefault(name, set()).add(file)
    twice = {name: sorted(files) for name, files in of.items() if len(files) > 1}
    assert not twice, f"defined twice: {twice}"
    assert len(of) >= 10, f"only {len(of)} names"


def test_cuda_sources_are_kernels():
    outside = [name for room, files in FILES.items() for name in files
               if name.endswith((".cu", ".cuh")) and not room.startswith("kernels/")]
    assert not outside, f"CUDA sources outside of kernels/: {outside}"


# Rooms of several parts, or whose parts other stages' tests and benchmarks are about.
TESTED_AS = {"faces": ["track", "detect"], "levels": ["detect"], "landmark_samples": ["samples"],
             "landmark_filter": ["inertia", "smooth"], "keypoints": ["keypoints"],
             # Its time is that of the searches.
             "eyes": ["eyes"],
             # Its benchmark is tests/full/surf_speed.cc: no package has the peer.
             "surf": ["surf"]}


def test_every_stage_has_what_contributing_asks_for():
    lists = {folder: (SOURCE / folder / "meson.build").read_text(encoding="utf-8")
             for folder in ("kernels", "tests/kernels", "tests/bench")}
    listed = re.search(r"foreach stage : \[(.*?)\]", lists["kernels"], flags=re.S)[1]
    # A room without a reference, such as faces, only holds what others share.
    stages = [name for name in re.findall(r"'(\w+)'", listed) if (SOURCE / f"kernels/{name}/{name}.cc").is_file()]
    assert len(stages) >= 10, f"stages {stages}"
    for name in stages:
        parts = TESTED_AS.get(name)
        files = [f"kernels/{name}/meson.build", *(f"tests/kernels/test_{part}.cc" for part in parts or [name])]
        if not parts:
            files += [f"kernels/{name}/{name}.h"]
            benchmarks = [SOURCE / f"tests/bench/{kind}_{name}.cc" for kind in ("bench", "cpu")]
            assert sum(file.is_file() for file in benchmarks) == 1, f"no benchmark of {name}, or two"
        for file in files:
            assert (SOURCE / file).is_file(), f"no {file}"
        for folder, text in lists.items():
            if folder != "tests/bench" or not parts:
                for part in [name] if folder == "kernels" else parts or [name]:
                    assert f"'{part}'" in text, f"{folder}/meson.build does not list {part}"
