"""A small training on drawn windows, as drawn_training.h has it, in files: for tests of the program."""


def draws(index):
    """SplitMix64, as tests/kernels/boost_samples.h draws."""
    mask = (1 << 64) - 1
    counter = 0

    def draw(least, most):
        nonlocal counter
        counter += 1
        z = (index * 0xd1342543de82ef95 + counter * 0x9e3779b97f4a7c15) & mask
        z = ((z ^ (z >> 30)) * 0xbf58476d1ce4e5b9) & mask
        z = ((z ^ (z >> 27)) * 0x94d049bb133111eb) & mask
        return least + (z ^ (z >> 31)) % (most - least + 1)
    return draw


def drawn_window(side, positive, index):
    draw = draws(2 * index + positive)
    grey = [draw(90, 160)] * (side * side)

    def add(x, y, width, height, much):
        for row in range(max(y, 0), min(y + height, side)):
            for column in range(max(x, 0), min(x + width, side)):
                grey[row * side + column] += much

    for _ in range(draw(2, 6)):
        width, height = draw(2, side), draw(2, side)
        add(draw(-(width // 2), side - width // 2), draw(-(height // 2), side - height // 2), width, height, draw(-45, 45))
    if positive:
        strength = draw(25, 100)
        for x, y, width, height, much in ((4, 6, 6, 4, -60), (14, 6, 6, 4, -60), (10, 6, 4, 9, 30), (7, 17, 10, 3, -40),
                                          (3, 11, 18, 5, 20)):
            add(x * side // 24, y * side // 24, width * side // 24, height * side // 24, much * strength // 100)
    return bytes(min(255, max(0, value + draw(-24, 24))) for value in grey)


def write_pgm(path, width, height, pixels):
    path.write_bytes(b"P5 %d %d 255\n" % (width, height) + pixels)


def write_training(folder, positives=100, backgrounds=6, side=12, columns=13, rows=10):
    """folder/positives.vec, and the pictures of folder/negatives: windows side by side."""
    vec = positives.to_bytes(4, "little") + (side * side).to_bytes(4, "little") + bytes(4)
    (folder / "positives.vec").write_bytes(vec + b"".join(
        b"\0" + b"".join(bytes((value, 0)) for value in drawn_window(side, True, i)) for i in range(positives)))
    (folder / "negatives").mkdir()
    for picture in range(backgrounds):
        pixels = bytearray()
        for y in range(rows):
            tiles = [drawn_window(side, False, 10000 + 1000 * picture + columns * y + x) for x in range(columns)]
            pixels += b"".join(tile[side * row:side * (row + 1)] for row in range(side) for tile in tiles)
        write_pgm(folder / "negatives" / f"{picture}.pgm", side * columns, side * rows, bytes(pixels))
