"""The rows of the table: what is measured, its unit, and what is to be reached (docs/design/quality.md)."""

CLIPS = {"franck": "franck.mp4", "pexels": "WolfgangLanger_Pexels.mp4", "classroom": "classroom.mp4",
         "walking": "face-demographics-walking.mp4", "female-and-male": "head-pose-face-detection-female-and-male.mp4",
         "book": "book.mkv"}


def at_most(limit, text=None):
    return (text or f"≤ {limit:g}", lambda ours, _: ours <= limit)


def at_least(limit):
    return (f"≥ {limit:g}", lambda ours, _: ours >= limit)


FEWER = ("< peer", lambda ours, peer: ours < peer)
NOT_MORE = ("≤ peer", lambda ours, peer: ours <= peer)
NONE = ("", None)


def row(measure, unit, ours, peer, goal):
    """A row of the results. `ours` is None where the elements cannot do it, `peer` where it has nothing to measure."""
    text, reached = goal
    judged = reached is not None and ours is not None and not (peer is None and goal in (FEWER, NOT_MORE))
    return {"measure": measure, "unit": unit, "peer": peer, "ours": ours, "goal": text,
            "reached": bool(reached(ours, peer)) if judged else None}
