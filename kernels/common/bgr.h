// A pixel of a colour picture.
#pragma once

#include <cstdint>

namespace cuface {

/// Full range; the order is OpenCV's.
struct Bgr {
  std::uint8_t b, g, r;
  friend bool operator==(const Bgr&, const Bgr&) = default;
};

}  // namespace cuface
