"""The experiments of S3 so far: active shape models, of which the search for faces is a part."""
from experiments import Experiment, Theirs, size_of_picture

GPU, CPU = "GTX 470", "OpenCV 2.1, i7 3.2 GHz"
MS = {307200: 38.4, 442368: 52.1, 480000: 54.4, 786432: 80.8, 884736: 84.5, 1024000: 94.6, 1228800: 123.3, 1470000: 142.4}
OF_OPENCV = {307200: 313.9, 786432: 1007.3, 1024000: 1215.5, 1470000: 1744.2}


EXPERIMENTS = [Experiment(
    "S3.E6", "Search for faces, by the picture's size",
    "OpenCV's default cascade, factor 1.1, 5 neighbours, from 30 pixels on, one thread. The picture is a mosaic of 12 faces, "
    "theirs is unknown.", lambda run: run.program("faces", "S3.E6"),
    {"detect": [Theirs(GPU, {x: 1e3 * ms for x, ms in MS.items()}), Theirs(CPU, {x: 1e3 * ms for x, ms in OF_OPENCV.items()})]},
    size=size_of_picture)]
