// How long a search may take, by its number of windows: only for telling the user.
#pragma once

#include <algorithm>

#include "kernels/common/workers.h"
#include "kernels/detect/detect.h"

namespace cuface::gst {

/// Nanoseconds of a core a window: twice what AVX-512 takes on natural pictures, so that hardly any
/// long search goes unannounced.
inline constexpr double kPyramidWindowNs = 30;
inline constexpr double kScaledWindowNs = 300;
/// For a GPU: an H200 takes 0.12, and an H100 0.77 for scaled windows.
inline constexpr double kCudaWindowNs = 0.2;
inline constexpr double kCudaScaledWindowNs = 1.5;

/// From so many seconds on a user is told.
inline constexpr double kLongSearch = 10;

/// A search of so many windows on the CPU.
inline double search_seconds(long long windows, const DetectConfig& config) {
  if (config.scale_mode == ScaleMode::kWindow)
    return 1e-9 * kScaledWindowNs * static_cast<double>(windows);
  const int processors = Workers::processors();
  const int threads = config.threads > 0 ? std::min(config.threads, processors) : processors;
  return 1e-9 * kPyramidWindowNs * static_cast<double>(windows) / threads;
}

/// The same on a GPU.
inline double cuda_search_seconds(long long windows, const DetectConfig& config) {
  const bool scaled = config.scale_mode == ScaleMode::kWindow;
  return 1e-9 * (scaled ? kCudaScaledWindowNs : kCudaWindowNs) * static_cast<double>(windows);
}

}  // namespace cuface::gst
