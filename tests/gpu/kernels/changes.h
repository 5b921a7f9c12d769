// Pictures that change from one to the next, and people who are followed in them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "kernels/faces/followed.h"
#include "tests/gpu/kernels/detect_pair.h"

namespace cuface::test {

class Changes {
 public:
  int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  /// A few places get brighter, some so little that it takes several pictures to be seen.
  void change(Picture& picture, int places, int largest) {
    for (int i = 0; i < places; ++i) {
      const int left = below(picture.width), top = below(picture.height), side = 1 + below(largest);
      const int by = below(12);
      for (int y = top; y < std::min(top + side, picture.height); ++y)
        for (int x = left; x < std::min(left + side, picture.width); ++x) {
          std::uint8_t& pixel =
              picture.bytes[static_cast<std::size_t>(picture.lead + y * picture.stride + x)];
          pixel = static_cast<std::uint8_t>(pixel + by);
        }
    }
  }
  std::vector<Followed> followed(int count, int width, int height) {
    std::vector<Followed> faces;
    for (int i = 0; i < count; ++i) {
      const auto side = static_cast<float>(10 + below(2 * width / 3)) + 0.25f;
      const auto x = static_cast<float>(below(width)) - side / 2;
      const auto y = static_cast<float>(below(height)) - side / 2;
      faces.push_back({{x, y, side, side * 0.9f}, {}});
      if (i % 9 == 5) faces.back().box.x = std::numeric_limits<float>::quiet_NaN();
      if (i % 9 == 7) faces.back().box.w = 0;
      if (i % 9 == 8) faces.back().box = {-3e9f, 2e9f, 4e9f, 4e9f};
    }
    return faces;
  }

 private:
  std::mt19937 random_{3};
};

}  // namespace cuface::test
