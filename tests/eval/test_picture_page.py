"""The page of pictures on made-up ones: which come first, and what is drawn on them."""
import base64
import re

import numpy as np

import photographs
import picture_page


def row(name, error, faces=1):
    face = {"x": 10, "y": 20, "w": 30, "h": 40, "landmarks": [[15, 25], [16, 26]]}
    return {"name": name, "picture": np.full((60, 80), 7, np.uint8), "truth": [[14, 24]], "ours": [face] * faces,
            "peer": [face], "error": error, "peer_error": error}


def test_the_worst_come_first():
    rows = [row(f"p{n}", n / 100) for n in range(9)] + [row("lost", None, 0)]
    page = picture_page.text_of(*photographs.worst_first(rows))
    assert re.findall(r"<figcaption>(\w+): ", page) == ["p8", "p7", "p6", "p5", "p4", "p3", "lost", "p2", "p1", "p0"]
    assert re.findall(r"<h2>.*: (\d+)</h2>", page) == ["6", "1", "3"]
    assert page.count('class="ours"') == 9 and page.count('class="others"') == 10, "a missed face has a box of ours"


def test_boxes_and_points_lie_where_they_were_found():
    page = picture_page.figure(row("a<b", 0.05))
    assert "a&lt;b: error 0.0500" in page and 'viewBox="0 0 80 60"' in page
    for kind in ("ours", "others"):
        assert page.count(f'<rect class="{kind}" x="10.0" y="20.0" width="30.0" height="40.0"/>') == 1
    assert page.count('class="point-ours"') == 2 and page.count('class="point-truth" cx="14.0" cy="24.0"') == 1
    data = base64.b64decode(re.search(r"base64,([^\"]+)", page)[1])
    assert data.startswith(b"\x89PNG") and picture_page.png.encoded(np.full((60, 80), 7, np.uint8)) == data
