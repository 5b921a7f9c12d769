// Keypoints that experiments describe.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "kernels/surf/surf.h"

namespace cuface::test {

/// Random places that all fit into the picture, of the sizes that SURF finds in it. Empty where it
/// finds none, or fails.
inline std::vector<Keypoint> described_places(ImageView<const std::uint8_t> picture, int count,
                                              unsigned seed) {
  auto detector = SurfDetector::create({.threshold = 20});
  FloatFeatures found;
  if (!detector.ok() || !detector.value().run(picture, found).ok() || found.keypoints.empty())
    return {};
  std::mt19937 random(seed);
  std::vector<Keypoint> out;
  // The same numbers with any standard library.
  const auto within = [&](int side, float from_side) {
    const float share = static_cast<float>(random() & 0xffff) / 65536;
    return from_side + share * (static_cast<float>(side - 1) - 2 * from_side);
  };
  while (static_cast<int>(out.size()) < count) {
    Keypoint k = found.keypoints[random() % found.keypoints.size()];
    // dlib's window and wavelets.
    const float reach = 17 * k.size * 1.2f / 9 + 2;
    if (2 * reach >= static_cast<float>(std::min(picture.width, picture.height) - 2)) continue;
    k.x = within(picture.width, reach);
    k.y = within(picture.height, reach);
    out.push_back(k);
  }
  return out;
}

}  // namespace cuface::test
