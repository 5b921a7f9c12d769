// The steps of the network on single values and cells: one source for the CPU and CUDA.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "kernels/common/exponential.h"
#include "kernels/common/geometry.h"
#include "kernels/common/host_device.h"
#include "kernels/network/network.h"

namespace cuface::network {

CUFACE_HD inline float rectified(float x) { return x > 0 ? x : 0.0f; }

CUFACE_HD inline float larger(float a, float b) { return a > b ? a : b; }

CUFACE_HD inline float sigmoid(float x) { return 1.0f / (1.0f + exponential(-x)); }

/// 0 to 1.
CUFACE_HD inline float score_of(const NetworkCell& cell) {
  return std::sqrt(sigmoid(cell.classes) * sigmoid(cell.objects));
}

/// The face that a cell describes, with its score.
CUFACE_HD inline NetworkFace face_of(const NetworkCell& cell, int stride, int row, int column,
                                     float score) {
  const float s = static_cast<float>(stride), x = static_cast<float>(column),
              y = static_cast<float>(row);
  NetworkFace face;
  face.score = score;
  const float w = exponential(cell.box[2]) * s, h = exponential(cell.box[3]) * s;
  face.box = {(x + cell.box[0]) * s - w / 2, (y + cell.box[1]) * s - h / 2, w, h};
  for (int i = 0; i < kNetworkPoints; ++i) {
    face.points[i] = {(cell.points[2 * i] + x) * s, (cell.points[2 * i + 1] + y) * s};
  }
  return face;
}

/// The order of candidates, the best first: by score, then by cell, that is by stride, y and x.
CUFACE_HD inline std::uint64_t order_key(float score, std::uint32_t cell) {
  std::uint32_t bits;  // of a float that is not negative: ordered as the floats are
  std::memcpy(&bits, &score, sizeof bits);
  return static_cast<std::uint64_t>(~bits) << 32 | cell;
}

/// A box as suppression sees it: cut to whole pixels towards 0, and to 2^23 either way.
CUFACE_HD inline Rect truncated(const Box& box) {
  constexpr float kFarthest = 8388608;
  return {static_cast<int>(clamped(box.x, kFarthest)), static_cast<int>(clamped(box.y, kFarthest)),
          static_cast<int>(clamped(box.w, kFarthest)), static_cast<int>(clamped(box.h, kFarthest))};
}

/// Whether a face suppresses another: the intersection over union as cv::dnn::NMSBoxes rounds it.
/// Two boxes without area are the same to it.
CUFACE_HD inline bool suppresses(const Rect& a, const Rect& b, float threshold) {
  const int left = a.x > b.x ? a.x : b.x, top = a.y > b.y ? a.y : b.y;
  const int right = a.x + a.w < b.x + b.w ? a.x + a.w : b.x + b.w;
  const int bottom = a.y + a.h < b.y + b.h ? a.y + a.h : b.y + b.h;
  const std::int64_t areas =
      static_cast<std::int64_t>(a.w) * a.h + static_cast<std::int64_t>(b.w) * b.h;
  if (areas == 0) return 1.0f > threshold;
  if (right <= left || bottom <= top) return false;  // 0 is never above the threshold
  const std::int64_t common = static_cast<std::int64_t>(right - left) * (bottom - top);
  const double distance = 1.0 - static_cast<double>(common) / static_cast<double>(areas - common);
  return 1.0f - static_cast<float>(distance) > threshold;
}

}  // namespace cuface::network
