#!/usr/bin/env python3
"""Writes small valid models for the fuzz targets to start from: tests/fuzz/seeds.py FOLDER CUFACE_MODEL

FOLDER/cascade_xml, FOLDER/dlib_dat and FOLDER/cuface; the last are the others, converted with the tool.
FOLDER/detect and FOLDER/landmark are random choices, of which those targets build models. FOLDER/network has choices
and a .cuface file, FOLDER/shape two such files, whose checksums the target makes right. FOLDER/wire has a meta of each
kind.
"""
import glob
import json
import os
import random
import struct
import subprocess
import sys

TREE = '<_><internalNodes>{}</internalNodes><leafValues>{}</leafValues></_>'
NEW = ('<?xml version="1.0"?>\n<opencv_storage><cascade type_id="opencv-cascade-classifier">'
       '<stageType>BOOST</stageType><featureType>HAAR</featureType><height>20</height><width>24</width>\n'
       '<stages><_><stageThreshold>-0.5</stageThreshold>\n<weakClassifiers>{}</weakClassifiers></_></stages>\n'
       '<features><_><rects><_>2 3 8 4 -1.</_><_>2 3 4 4 2.</_></rects></_>\n'
       '<_><rects><_>10 3 8 4 -1.</_><_>10 3 4 4 3.</_><_>10 5 2 2 1.</_></rects><tilted>1</tilted></_>'
       '</features></cascade></opencv_storage>\n')
COMMENT = ('<!-- model source, for cuface-model\n{{"file": "face.xml", "licence": "None.", "training": '
           '[["program", "cuface-train 1"], ["seed", "1"], ["settings", "-\\u002dsize 24x24"]]}}\n-->\n')
OLD = ('<?xml version="1.0"?>\n<opencv_storage><c type_id="opencv-haar-classifier"><size>20 20</size>\n'
       '<stages><_><trees><_><_><feature><rects><_>0 0 8 8 -1.</_><_>0 0 4 8 2.</_></rects><tilted>0</tilted>'
       '</feature><threshold>0.01</threshold><left_val>-1.</left_val><right_node>1</right_node></_>\n'
       '<_><feature><rects><_>0 0 8 8 -1.</_><_>0 0 8 4 2.</_></rects><tilted>0</tilted></feature>'
       '<threshold>0.02</threshold><left_val>0.5</left_val><right_val>1.</right_val></_></_></trees>\n'
       '<stage_threshold>-0.5</stage_threshold><parent>-1</parent><next>-1</next></_></stages></c>'
       '</opencv_storage>\n')


def integer(value):
    magnitude = abs(value)
    size = max(1, (magnitude.bit_length() + 7) // 8)
    return bytes([size | (0x80 if value < 0 else 0)]) + magnitude.to_bytes(size, 'little')


def number(value):
    return integer(round(value * 4096)) + integer(-12)


def column(values):
    return integer(-len(values)) + integer(-1) + b''.join(map(number, values))


def dat(landmarks, cascades, trees, depth, pool):
    """A shape predictor as dlib writes it."""
    draw = random.Random(landmarks)
    some = lambda n: [draw.uniform(0, 1) for _ in range(n)]
    out = integer(1) + column(some(2 * landmarks)) + integer(cascades)
    for _ in range(cascades):
        out += integer(trees)
        for _ in range(trees):
            out += integer(2 ** depth - 1)
            for _ in range(2 ** depth - 1):
                out += integer(draw.randrange(pool)) + integer(draw.randrange(pool)) + number(draw.uniform(-30, 30))
            out += integer(2 ** depth)
            for _ in range(2 ** depth):
                out += column([x / 50 for x in some(2 * landmarks)])
    out += integer(cascades)
    for _ in range(cascades):
        out += integer(pool) + b''.join(integer(draw.randrange(landmarks)) for _ in range(pool))
    out += integer(cascades)
    for _ in range(cascades):
        out += integer(pool) + b''.join(map(number, some(2 * pool)))
    return out


def container(kind, header, blocks):
    """A .cuface file, as docs/design/model-file.md describes it, without checksums."""
    header, data = {'kind': kind, 'source': {}, **header, 'blocks': {}}, b''
    for name, block in blocks.items():
        data += bytes(-len(data) % 64)
        header['blocks'][name] = [len(data), len(block)]
        data += block
    text = json.dumps(header).encode()
    text += b' ' * (-(40 + len(text)) % 64)
    return b'\x89CUFACE\n' + struct.pack('<IIQQQ', 1, len(text), len(data), 0, 0) + text + data


def shape(iterated):
    """A shape model of five points: lines, a HAT descriptor and patches, rules, refits and confidences."""
    points, modes, line, patch, rows, hat = 5, 2, 3, 3, 2, 2 * 2 * 2
    draw = random.Random(40)
    doubles = lambda values: struct.pack('<%dd' % len(values), *values)
    some = lambda n: [draw.uniform(-1, 1) for _ in range(n)]
    numbers, profiles = [], b''
    for kind in (0, 1, 2, 0, 2):
        profiles += struct.pack('<iI', kind, len(numbers))
        of_patch = patch * patch * (1 + rows) + (patch * patch + 1 if iterated else 0)
        numbers += {0: some(line * (line + 1)), 1: some(1 + hat), 2: [rows, 1.5] + some(of_patch)}[kind]
    term = lambda point, weight: struct.pack('<iid', point, 0, weight)
    rule = struct.pack('<iiiiII', 1, 0, 0, 1, 0, 1) + term(1, 1) + term(2, -1) + 4 * term(0, 0) + struct.pack('<2d', 0.1, 0.06)
    header = {'landmarks': points, 'modes': modes, 'levels': 1, 'iterations': 2, 'size_left': 0, 'size_right': 1, 'size_below': 4,
              'first_rule_level': 0, 'line_length': line, 'line_reach': 2, 'line_step': 1, 'hat_rows': 2, 'hat_columns': 2,
              'hat_bins': 2, 'hat_patch': 5, 'hat_patch_change': 0, 'hat_reach': 2, 'hat_step': 1, 'size': 16, 'mode_limit': 2,
              'missing_within': 0, 'start_scale': 0.04, 'window': 1, 'hat_sigma': 0.5, 'hat_length': 10,
              'constraint': int(iterated), 'pyramid': int(iterated), 'refits': 1, 'patch_side': patch, 'patch_reach': 1,
              'patch_step': 1, 'patch_gradient': 2 if iterated else 1, 'patch_bilinear': 1, 'rest': 0.5, 'patch_q': 10,
              'patch_likelihood': 3 if iterated else 0,
              'least_weight': 1, 'noise': 1.5 if iterated else 0,
              'confidence': {'first': -2, 'at': [0.9, 0.5, 0.1],
                             'parts': {'own': 1, 'around': 2, 'face': 1, 'reach': 0.5, 'shape': 1, 'least': -3, 'most': 10}}}
    return container('shape', header, {
        'mean_shape': doubles([-8, -8, 8, -8, -4, 0, 4, 0, 0, 8]), 'eigenvalues': doubles([4, 1]),
        'eigenvectors': doubles([x / 4 for x in some(2 * points * modes)]), 'weights': doubles([1] * points),
        'refit_limits': doubles([1] * points),
        'neighbours': b''.join(struct.pack('<3i', max(i - 1, 0), min(i + 1, 4), i) for i in range(points)),
        'profiles': profiles, 'numbers': doubles(numbers), 'rules': rule,
        'moves': struct.pack('<iid', 1, 0, 1), 'usual_costs': doubles([1, 2] * (points + 1)), 'score_offsets': doubles([0.5] * points)})


def network():
    """A network of two channels with heads at strides 4 and 8, as docs/design/model-file.md describes the file."""
    picture, pointwise, depthwise, pool, upsample_add = range(5)
    taps = {picture: 27, pointwise: 2, depthwise: 9}
    rows = [(picture, 0, 0, 2, 1), (pool, 1, 0, 2, 0), (pointwise, 2, 0, 2, 0), (depthwise, 3, 0, 2, 1),
            (pool, 4, 0, 2, 0), (pointwise, 5, 0, 2, 1), (upsample_add, 6, 4, 2, 0)]
    rows += [(pointwise, tensor, 0, channels, 0) for tensor in (7, 6) for channels in (1, 1, 4, 10)]
    layers, weights = b'', 0
    for row in rows:
        layers += struct.pack('<5iI', *row, weights)
        weights += row[3] * (taps[row[0]] + 1) if row[0] in taps else 0
    draw = random.Random(36)
    blocks = {'layers': layers, 'heads': struct.pack('<8i', *range(8, 16)),
              'weights': struct.pack('<%df' % weights, *(draw.uniform(-0.5, 0.5) for _ in range(weights)))}
    return container('network', {}, blocks)


def wire():
    """Faces, motion, edges, keypoints, matches and flat objects of a picture of 64 x 48, as gst/meta/wire.cc lays them out."""
    size = struct.pack('<2i', 64, 48)
    face = struct.pack('<Qfi??i6f', 7, 0.5, -1, False, True, 0, 8, 8, 16, 16, 1, 0) + struct.pack('<10f', *range(10))
    faces = size + b'\1' + struct.pack('<I', 5) + b'yunet' + struct.pack('<I', 1) + face + struct.pack('<iI10f', 5, 5, *range(10))
    motion = size + struct.pack('<???f3i', True, False, True, 0.25, 1, 2, 1)
    motion += struct.pack('<If?f?', 2, 0.5, True, 0, False) + struct.pack('<IQi4f', 1, 3, 1, 0, 0, 32, 48)
    config = struct.pack('<iiifi??', 1020, 20, 8, 1.2, 31, False, False)
    matches = size + struct.pack('<II1s3i', 1, 1, b'a', 9, 7, 5) + struct.pack('<Ii5f', 1, 0, 8, 9, 2, 3, 17)
    planar = size + struct.pack('<II1s3i', 1, 1, b'a', 9, 7, 5)
    planar += struct.pack('<IiQ?i8f9d', 1, 0, 7, True, 12, *range(8), *range(9))
    features = size + config + struct.pack('<I5fi', 1, 8, 9, 31, 45, 0.5, 2) + bytes(range(32))
    return faces, motion, size + struct.pack('<48Q', *range(48)), features, matches, planar


def main(folder, tool):
    for name in ('cascade_xml', 'dlib_dat', 'cuface', 'detect', 'landmark', 'network', 'shape', 'wire'):
        os.makedirs(os.path.join(folder, name), exist_ok=True)
    stump = TREE.format('0 -1 0 0.25', '-1. 1.5')
    deep = TREE.format('2 1 0 -0.5 0 -1 1 0.25 -2 -3 0 1e-3', '1 2 3 4')
    trained = NEW.replace('<opencv_storage>', COMMENT + '<opencv_storage>', 1)
    texts = {'stump': NEW.format(stump), 'trees': NEW.format(stump + deep), 'old': OLD, 'trained': trained.format(stump)}
    for name, text in texts.items():
        with open(os.path.join(folder, 'cascade_xml', name + '.xml'), 'w', encoding='ascii') as f:
            f.write(text)
    for sizes in ((1, 1, 1, 1, 1), (2, 2, 2, 2, 3), (5, 1, 3, 4, 8)):
        with open(os.path.join(folder, 'dlib_dat', '%d.dat' % sizes[0]), 'wb') as f:
            f.write(dat(*sizes))
    draw = random.Random(34)
    for name in ('detect', 'landmark', 'network'):
        for size in (200, 600, 1500):
            with open(os.path.join(folder, name, '%d.bin' % size), 'wb') as f:
                f.write(draw.randbytes(size))
    with open(os.path.join(folder, 'network', 'small.cuface'), 'wb') as f:
        f.write(network())
    for name, iterated in (('one-pass', False), ('iterated', True)):
        with open(os.path.join(folder, 'shape', name + '.cuface'), 'wb') as f:
            f.write(shape(iterated))
    for kind, result in enumerate(wire()):
        with open(os.path.join(folder, 'wire', '%d.bin' % kind), 'wb') as f:
            f.write(bytes([kind]) + struct.pack('<2i', 64, 48) + result)
    for path in sorted(glob.glob(os.path.join(folder, '*', '*.xml')) + glob.glob(os.path.join(folder, '*', '*.dat'))):
        name = os.path.splitext(os.path.basename(path))[0]
        subprocess.run([tool, 'convert', path, os.path.join(folder, 'cuface', name + '.cuface')], check=True,
                       stdout=subprocess.DEVNULL)


if __name__ == '__main__':
    main(*sys.argv[1:])
