// The property `ignore`: the part of the picture in which nothing is seen.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/common/geometry.h"
#include "kernels/common/image.h"
#include "kernels/common/status.h"

namespace cuface::gst {

/// A PNG file's picture, or polygons; in any size of the video's.
class Ignored {
 public:
  /// "" is nothing. A text of digits, points, commas, semicolons and spaces is polygons: corners
  /// "x,y" in fractions of the picture with spaces between them, at least three, and semicolons
  /// between polygons. All else is the name of a PNG file. Errors name the property, and say what
  /// helps.
  static Result<Ignored> read(const std::string& text);

  /// Not 0 where nothing is to be seen: where the PNG picture, scaled to the size, is nearer to
  /// white than to black, or the middle of a pixel is in a polygon (even-odd rule). Without pixels
  /// where there is nothing.
  Image<std::uint8_t> pixels(int width, int height) const;

 private:
  Image<std::uint8_t> picture_;
  std::vector<std::vector<Point>> polygons_;
};

}  // namespace cuface::gst
