// What the tables for CUDA need of the toolkit's header, for builds without the toolkit.
#pragma once

struct alignas(16) uint4 {
  unsigned x, y, z, w;
};
