// Marks the small functions that the CPU and CUDA versions of a stage share, so that both compute
// the same bits from the same source.
#pragma once

#ifdef __CUDACC__
#define CUFACE_HD __host__ __device__
#else
#define CUFACE_HD
#endif
