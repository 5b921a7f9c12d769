#!/usr/bin/env bash
# Where a Fourier transform wins against a convolution on a GPU: tests/gpu/bench/fft_curves.py.
python3 "$(dirname "$0")/../bench/fft_curves.py"
