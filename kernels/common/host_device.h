// Marks the small functions that the CPU and CUDA versions of a stage share, so that both compute
// the same bits from the same source.
//
// CUFACE_HD_GENERIC stands before such a template when its argument has members for one side only.
#pragma once

#ifdef __CUDACC__
#define CUFACE_HD __host__ __device__
#define CUFACE_HD_GENERIC _Pragma("nv_exec_check_disable")
#else
#define CUFACE_HD
#define CUFACE_HD_GENERIC
#endif
