#!/usr/bin/python3
"""Rooms stand on floors: a folder includes only what lies on lower floors (docs/design/house.md).

  tests/rooms.py                     TAP: a case a room (meson runs it)

A room that no floor lists fails, and so does a floor that lists a room that is gone.
"""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "pipelines"))
import tap  # noqa: E402

# Lowest first. Rooms of one floor do not include each other.
FLOORS = [
    ["kernels/common"],
    ["kernels/cells"],
    ["kernels/faces"],
    ["kernels/luma", "kernels/turn", "kernels/pyramid"],
    ["kernels/integral"],
    ["kernels/levels"],
    ["kernels/similarity"],
    ["kernels/flow", "kernels/cascade", "kernels/network", "kernels/activity"],
    ["kernels/group", "kernels/forest"],
    ["kernels/detect", "kernels/landmark_samples", "kernels/landmark_filter", "kernels/track"],
    ["kernels/overlay"],
    ["models"],
    ["gst/meta"],
    ["gst/base"],
    ["gst/faces"],
    ["gst/facedetect", "gst/lktrack", "gst/facelandmark", "gst/faceoverlay", "gst/facepublish"],
    ["gst/plugin.cc"],
]
# Includes that still lead upwards. A pair that is no longer needed fails, so the list becomes shorter.
UPWARD = set()

FLOOR = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}
SOURCE = re.compile(r"\.(?:cc|cu|cuh|h)$")
INCLUDE = re.compile(r'^\s*#\s*(?:include|define HWY_TARGET_INCLUDE)\s+"((?:kernels|models|gst)/[^"]+)"', re.M)


def room_of(path):
    """The room of a path below the source root: models is one room, elsewhere each folder is one."""
    parts = path.split("/")
    return parts[0] if parts[0] == "models" else "/".join(parts[:2])


def files_by_room():
    rooms = {}
    for folder in ("kernels", "models", "gst"):
        for path in sorted((tap.SOURCE / folder).rglob("*")):
            if SOURCE.search(path.name):
                name = str(path.relative_to(tap.SOURCE))
                rooms.setdefault(room_of(name), []).append(name)
    return rooms


def includes(file):
    return INCLUDE.findall((tap.SOURCE / file).read_text(encoding="utf-8"))


def every_room_is_listed(rooms):
    tap.need(set(rooms) == set(FLOOR), f"on one side only: {sorted(set(rooms) ^ set(FLOOR))}")
    tap.need(sum(map(len, rooms.values())) >= 200, "too few files to be all")


def leads_upwards(room, other):
    return other != room and FLOOR[other] >= FLOOR[room]


def includes_lead_down(room, files):
    upward = [f"{file} includes {path}" for file in files for path in includes(file)
              if leads_upwards(room, room_of(path)) and (room, room_of(path)) not in UPWARD]
    tap.need(not upward, "\n".join(upward))


def exceptions_are_needed(rooms):
    used = {(room, room_of(path)) for room, files in rooms.items() for file in files for path in includes(file)
            if leads_upwards(room, room_of(path))}
    tap.need(UPWARD <= used, f"no longer needed: {sorted(UPWARD - used)}")


def the_page_names_every_room():
    page = (tap.SOURCE / "docs/design/house.md").read_text(encoding="utf-8")
    missing = [room for room in FLOOR if not re.search(rf"\b{room.rsplit('/', 1)[-1]}\b", page)]
    tap.need(not missing, f"docs/design/house.md does not name {missing}")


TYPE = re.compile(r"^(?:template <[^>]*>\s*)?(?:struct|class|enum class|enum)\s+(?:alignas\([^)]*\)\s+)?(\w+)\s*(?::[^{;]*)?\{", re.M)


def a_name_stands_for_one_thing():
    """A type of a header is of one room. In it the CPU's and CUDA's version of a contract share a name."""
    rooms = {}
    for room, files in files_by_room().items():
        for file in files:
            if file.endswith((".h", ".cuh")):
                for name in TYPE.findall((tap.SOURCE / file).read_text(encoding="utf-8")):
                    rooms.setdefault(name, set()).add(room)
    twice = {name: sorted(where) for name, where in rooms.items() if len(where) > 1}
    tap.need(not twice, f"types of several rooms: {twice}")
    tap.need(len(rooms) >= 200, f"only {len(rooms)} types")


def cuda_sources_are_kernels():
    outside = [name for room, files in files_by_room().items() for name in files
               if name.endswith((".cu", ".cuh")) and not room.startswith("kernels/")]
    tap.need(not outside, f"CUDA sources outside of kernels/: {outside}")


def main():
    rooms = files_by_room()
    cases = [("every room is listed", lambda: every_room_is_listed(rooms)),
             ("exceptions are needed", lambda: exceptions_are_needed(rooms)),
             ("CUDA sources are kernels", cuda_sources_are_kernels),
             ("a name stands for one thing", a_name_stands_for_one_thing)]
    if (tap.SOURCE / "docs/design/house.md").exists():
        cases.append(("the page names every room", the_page_names_every_room))
    for room, files in sorted(rooms.items()):
        cases.append((f"includes of {room} lead down", lambda room=room, files=files: includes_lead_down(room, files)))
    return tap.run_cases(*cases)


if __name__ == "__main__":
    sys.exit(main())
