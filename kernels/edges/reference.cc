#include "kernels/edges/reference.h"

#include <algorithm>
#include <cstddef>

namespace cuface::edges {

const OctaveTable kOctave = {
    {13177456,  39548253,  65966781,  92465117,  119075726, 145831619, 172766522, 199915050,
     227312888, 254996985, 283005767, 311379359, 340159828, 369391456, 399121027, 429398159,
     460275657, 491809923, 524061402, 557095091, 590981117, 625795381, 661620305, 698545681,
     736669642, 776099788, 816954487, 859364383, 903474163, 949444628, 997455123, 1047706430}};

void gradients(Bytes grey, const EdgeRules& rules, ImageView<std::int16_t> dx,
               ImageView<std::int16_t> dy) {
  const int half = rules.taps / 2;
  for (int y = 0; y < grey.height; ++y) {
    for (int x = 0; x < grey.width; ++x) {
      std::int32_t sum_x = 0, sum_y = 0;
      for (int j = 0; j < rules.taps; ++j) {
        const std::uint8_t* row = grey.row(std::clamp(y + j - half, 0, grey.height - 1));
        for (int i = 0; i < rules.taps; ++i) {
          const std::int32_t value = row[std::clamp(x + i - half, 0, grey.width - 1)];
          sum_x += value * rules.slope[i] * rules.smooth[j];
          sum_y += value * rules.smooth[i] * rules.slope[j];
        }
      }
      if (rules.sixteenths) {
        sum_x = divide_by_sixteen(sum_x);
        sum_y = divide_by_sixteen(sum_y);
      }
      dx.at(x, y) = static_cast<std::int16_t>(sum_x);
      dy.at(x, y) = static_cast<std::int16_t>(sum_y);
    }
  }
}

void magnitudes(Gradient dx, Gradient dy, const EdgeRules& rules, ImageView<std::int32_t> out) {
  for (int y = 0; y < dx.height; ++y) {
    for (int x = 0; x < dx.width; ++x)
      out.at(x, y) = magnitude_of(dx.at(x, y), dy.at(x, y), rules.norm);
  }
}

void thin(Gradient dx, Gradient dy, Magnitude magnitude, const EdgeRules& rules,
          ImageView<std::uint8_t> classes) {
  const auto at = [&](int x, int y) {
    const bool inside = x >= 0 && x < magnitude.width && y >= 0 && y < magnitude.height;
    return inside ? magnitude.at(x, y) : 0;
  };
  for (int y = 0; y < dx.height; ++y) {
    for (int x = 0; x < dx.width; ++x) {
      const std::int32_t here = magnitude.at(x, y);
      const bool ridge =
          here > rules.low && is_ridge(here, dx.at(x, y), dy.at(x, y), rules.thinning,
                                       [&](int i, int j) { return at(x + i, y + j); });
      classes.at(x, y) = !ridge ? kNoRidge : here > rules.high ? kEdge : kRidge;
    }
  }
}

namespace {

/// Calls `visit` for the pixels at most `reach` away from (x, y) along either axis.
template <typename Visit>
void around(int x, int y, int reach, int width, int height, Visit visit) {
  for (int j = std::max(y - reach, 0); j <= std::min(y + reach, height - 1); ++j) {
    for (int i = std::max(x - reach, 0); i <= std::min(x + reach, width - 1); ++i) visit(i, j);
  }
}

/// Makes edges of the ridge pixels that hang together with one.
void grow(ImageView<std::uint8_t> classes, std::vector<std::int32_t>& waiting) {
  waiting.clear();
  for (int y = 0; y < classes.height; ++y) {
    for (int x = 0; x < classes.width; ++x) {
      if (classes.at(x, y) == kEdge) waiting.push_back(y * classes.width + x);
    }
  }
  while (!waiting.empty()) {
    const int x = waiting.back() % classes.width, y = waiting.back() / classes.width;
    waiting.pop_back();
    around(x, y, 1, classes.width, classes.height, [&](int i, int j) {
      if (classes.at(i, j) != kRidge) return;
      classes.at(i, j) = kEdge;
      waiting.push_back(j * classes.width + i);
    });
  }
}

}  // namespace

void link(ImageView<std::uint8_t> classes, Magnitude magnitude, const EdgeRules& rules,
          std::vector<std::int32_t>& waiting, ImageView<std::uint8_t> map) {
  if (rules.linking == Linking::kHysteresis) grow(classes, waiting);
  for (int y = 0; y < map.height; ++y) {
    for (int x = 0; x < map.width; ++x) map.at(x, y) = classes.at(x, y) == kEdge ? 255 : 0;
  }
  if (rules.linking != Linking::kApron) return;
  for (int y = 0; y < map.height; ++y) {
    for (int x = 0; x < map.width; ++x) {
      if (classes.at(x, y) != kEdge) continue;
      around(x, y, rules.apron, map.width, map.height, [&](int i, int j) {
        if (magnitude.at(i, j) > rules.low) map.at(i, j) = 255;
      });
    }
  }
}

}  // namespace cuface::edges
