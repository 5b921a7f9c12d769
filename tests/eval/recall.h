// Recall against 1 - precision of descriptors between two pictures of which one is known to show
// the other [S2.11].
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <opencv2/core.hpp>
#include <vector>

#include "kernels/features/features.h"
#include "kernels/match/reference.h"

namespace cuface::eval {

/// Pairs of descriptors by their distance: how many are right, and of which there are how many.
struct Recall {
  static constexpr int kSteps = 512;
  std::vector<double> right = std::vector<double>(kSteps), all = std::vector<double>(kSteps);
  double correspondences = 0;

  /// The most that is had where no more than this share of the matches is false, by any distance.
  double at(double false_share) const {
    double best = 0, r = 0, a = 0;
    for (std::size_t i = 0; i < kSteps; ++i) {
      r += right[i];
      a += all[i];
      if (a > 0 && 1 - r / a <= false_share) best = std::max(best, r / correspondences);
    }
    return best;
  }
};

/// Where a homography puts a keypoint, and how large.
inline Keypoint moved(const cv::Matx33d& by, const Keypoint& k) {
  const auto put = [&](double x, double y) {
    const cv::Vec3d v = by * cv::Vec3d(x, y, 1);
    return cv::Point2d(v[0] / v[2], v[1] / v[2]);
  };
  const double x = static_cast<double>(k.x), y = static_cast<double>(k.y);
  const cv::Point2d at = put(x, y), right = put(x + 1, y) - at, down = put(x, y + 1) - at;
  Keypoint out = k;
  out.x = static_cast<float>(at.x);
  out.y = static_cast<float>(at.y);
  out.size *= static_cast<float>(std::sqrt(std::abs(right.x * down.y - right.y * down.x)));
  return out;
}

/// How far apart places that mean the same are, squared: a tenth of their size at most, and sizes
/// within a factor of 1.5. -1 where they do not.
inline float apart(const Keypoint& a, const Keypoint& b) {
  const float dx = a.x - b.x, dy = a.y - b.y, reach = std::max(1.5f, std::max(a.size, b.size) / 10);
  const float squared = dx * dx + dy * dy;
  const bool same = squared <= reach * reach && a.size < 1.5f * b.size && b.size < 1.5f * a.size;
  return same ? squared : -1;
}

/// Adds the pairs of two pictures; `by` leads from the first to the second. Of several keypoints
/// that mean the same as one the nearest is right, and the others count for nothing. So does a
/// keypoint that `by` puts outside of the second picture.
inline void add_pairs(const Features& a, const Features& b, const cv::Matx33d& by, cv::Size size,
                      Recall& out) {
  for (std::size_t i = 0; i < a.keypoints.size(); ++i) {
    const Keypoint k = moved(by, a.keypoints[i]);
    if (!(k.x >= 0 && k.y >= 0 && k.x < static_cast<float>(size.width) &&
          k.y < static_cast<float>(size.height)))
      continue;
    std::size_t right = b.keypoints.size();
    float least = 0;
    std::vector<bool> same(right);
    for (std::size_t j = 0; j < b.keypoints.size(); ++j) {
      const float squared = apart(k, b.keypoints[j]);
      same[j] = squared >= 0;
      if (!same[j] || (right < same.size() && squared >= least)) continue;
      least = squared;
      right = j;
    }
    out.correspondences += right < same.size();
    for (std::size_t j = 0; j < b.keypoints.size(); ++j) {
      if (same[j] && j != right) continue;
      // As shares of the greatest distance that there is: 2 of unit vectors, 256 bits.
      const double distance =
          a.floats.empty()
              ? match::hamming(a.descriptor(i), b.descriptor(j)) / (8.0 * kBinaryBytes)
              : std::sqrt(static_cast<double>(match::squared_distance(
                    a.floats_of(i), b.floats_of(j), static_cast<int>(a.floats_each())))) /
                    2;
      const auto step = static_cast<std::size_t>(
          std::min(distance * Recall::kSteps, static_cast<double>(Recall::kSteps - 1)));
      out.right[step] += j == right;
      out.all[step] += 1;
    }
  }
}

}  // namespace cuface::eval
