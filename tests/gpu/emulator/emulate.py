#!/usr/bin/env python3
"""emulate.py SOURCE OUT: a CUDA source, or launch.h, as the host's compiler takes it (emulator.h)."""
import pathlib
import re
import sys

text = pathlib.Path(sys.argv[1]).read_text(encoding="utf-8")
text = re.sub(r"extern __shared__ ([\w:]+) (\w+)\[\];", r"auto* \2 = emulator::dynamic_shared<\1>();", text)
# Typed where it is launched, the kernel is known by its address from there on.
text = text.replace("reinterpret_cast<const void*>(kernel)", "emulator::known(kernel)")
text = re.sub(r"reinterpret_cast<const void\*>\((\w+_kernel)\)", r"emulator::known(\1)", text)
pathlib.Path(sys.argv[2]).write_text(text, encoding="utf-8")
