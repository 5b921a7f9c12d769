"""Clips of people who go and come back to another place, in another size and light, 1 to 10 s later, with known truth.

Heads are cut with soft edges from the clips of the test data and from its labelled pictures, and shown before a wall. An
actor of a clip comes back with another expression. In every clip somebody else is there too: between, at the same time,
or in the place of the first. Everything depends on the set, the number and the test data alone.

Constants of revive=features are chosen on the faces of CHOOSING; figures are those of REPORTED, who are others.
"""
import math

import numpy as np

import gate_scenes
import scenes
from clips import Clip

WIDTH, HEIGHT, FPS = scenes.WIDTH, scenes.HEIGHT, 10
CHOOSING, REPORTED = 0, 1  # of labelled pictures those with an even and an odd number
ACTORS = {CHOOSING: ("franck",), REPORTED: ("book", "night", "pexels")}
ALONE, PAIRS = 20, 10  # clips; in a pair both come back
CLIPS = ALONE + PAIRS
RETURNS = ALONE + 2 * PAIRS
STAY = 15  # frames


class Head:
    """Of a person: frames of the first stay and of the second."""

    def __init__(self, data, faces, kind, number):
        self.who = f"{kind} {number}"
        if kind == "actor":
            frames, self.alpha, self.box = scenes.head(data, ACTORS[faces][number % len(ACTORS[faces])])
            self.side = scenes.SIDE
        else:
            frames, self.alpha, self.box, self.side = gate_scenes.still_head(data, number)
        self.stays = frames[:STAY], frames[-STAY:]

    def draw(self, canvas, stay, t, place, side):
        """Returns the face's box."""
        frames, scale = self.stays[stay], side / self.side
        picture, alpha = (gate_scenes.resized(part, scale) for part in (frames[t % len(frames)], self.alpha))
        left, top = (round(middle - side / 2 - scale * edge) for middle, edge in zip(place, self.box))
        gate_scenes.put(canvas, picture, alpha, left, top)
        return {"x": left + scale * self.box[0], "y": top + scale * self.box[1], "w": side, "h": side}


def lit(canvas, light):
    """Another light: gamma, gain that changes over the picture, offset."""
    y, x = np.mgrid[-0.5:0.5:canvas.shape[0] * 1j, -0.5:0.5:canvas.shape[1] * 1j]
    gain = light["gain"] * (1 + light["along"] * x + light["down"] * y)
    return 255 * (np.clip(canvas, 0, 255) / 255) ** light["gamma"] * gain + light["offset"]


class Scene:
    """`clip` is its clip; truth: `people` ({who: face} of each frame), `back` (the frame of the return) and `returning`
    (who come back)."""

    def __init__(self, data, faces, number):
        self.random = np.random.default_rng([faces, number])
        self.wall = scenes.wall(data)
        is_pair = number >= ALONE
        gap = 1 + 9 * (number % ALONE) / (ALONE - 1) if not is_pair else 1 + (number - ALONE)
        self.back = STAY + round(FPS * gap)
        pictures = range(faces, len(gate_scenes.labelled(data)), 2)
        first, second = (int(n) for n in self.random.choice(len(pictures), 2, replace=False))
        heads = [Head(data, faces, "actor", number // 2) if number % 2 == 0 else
                 Head(data, faces, "still", pictures[first]), Head(data, faces, "still", pictures[second])]
        sides, others = self.sizes(), self.sizes()
        left, right = (self.place(x) for x in (0.27, 0.73))
        here, there = (left, right) if self.random.random() < 0.5 else (right, left)
        self.returning = [heads[0].who]
        self.shown = [(heads[0], 0, 0, STAY, here, sides[0]), (heads[0], 1, self.back, STAY, there, sides[1])]
        if is_pair:  # they change their places
            self.returning.append(heads[1].who)
            self.shown += [(heads[1], 0, 0, STAY, there, others[0]), (heads[1], 1, self.back, STAY, here, others[1])]
        elif number % 4 < 2 and gap > 3:  # a stranger in the place of the first, meanwhile
            self.shown.append((heads[1], 0, STAY + 10, STAY, here, others[0]))
        else:  # one who comes with the first, and stands where that one was
            self.shown.append((heads[1], 0, self.back, STAY, here, others[0]))
        uniform = self.random.uniform
        self.light = {"gamma": uniform(0.8, 1.25), "gain": uniform(0.6, 1.25), "along": uniform(-0.4, 0.4),
                      "down": uniform(-0.4, 0.4), "offset": uniform(-10, 30)}
        people = [self.frame(t)[1] for t in range(self.back + STAY)]
        self.clip = Clip(f"return {number}", WIDTH, HEIGHT, f"{FPS}/1", self.frames, people=people, back=self.back,
                         returning=self.returning)

    def sizes(self):
        """px, of the first stay and of the second."""
        side = self.random.uniform(60, 105)
        return side, float(np.clip(side * math.exp(self.random.uniform(-0.45, 0.45)), 50, 125))

    def place(self, x):
        return WIDTH * (x + self.random.uniform(-0.05, 0.05)), HEIGHT * self.random.uniform(0.4, 0.6)

    def frame(self, t):
        canvas, people = self.wall.copy(), {}
        for head, stay, begin, frames, (x, y), side in self.shown:
            if begin <= t < begin + frames:
                place = x + 3 * math.sin(0.5 * t), y
                people[head.who] = head.draw(canvas, stay, t - begin, place, side)
        return canvas, people

    def frames(self):
        noise = np.random.default_rng([7, self.back])
        for t in range(self.back + STAY):
            canvas, _ = self.frame(t)
            if t >= STAY + (self.back - STAY) // 2:
                canvas = lit(canvas, self.light)
            yield np.clip(np.rint(canvas + noise.normal(0, 2, canvas.shape)), 0, 255).astype(np.uint8)
