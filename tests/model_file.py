"""The tables of doubles in a .cuface file (docs/design/model-file.md)."""
import json

import numpy as np


def blocks(path):
    """The header, and what gives the table of a name."""
    data = path.read_bytes()
    size = int.from_bytes(data[12:16], "little")
    header, base = json.loads(data[40:40 + size]), (40 + size + 63) // 64 * 64

    def table(name):
        offset, length = header["blocks"][name]
        return np.frombuffer(data, np.float64, length // 8, base + offset)
    return header, table
