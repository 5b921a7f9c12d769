// The steps of edges on whole pictures, plainly. All pictures of a call have one size.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/common/image.h"
#include "kernels/edges/rules.h"

namespace cuface::edges {

using Bytes = ImageView<const std::uint8_t>;
using Gradient = ImageView<const std::int16_t>;
using Magnitude = ImageView<const std::int32_t>;

void gradients(Bytes grey, const EdgeRules& rules, ImageView<std::int16_t> dx,
               ImageView<std::int16_t> dy);
void magnitudes(Gradient dx, Gradient dy, const EdgeRules& rules, ImageView<std::int32_t> out);
/// Each pixel's EdgeClass.
void thin(Gradient dx, Gradient dy, Magnitude magnitude, const EdgeRules& rules,
          ImageView<std::uint8_t> classes);
/// The edge map of the classes. `waiting` is emptied first; hysteresis keeps pixels there whose
/// neighbours it has not looked at yet, as y * width + x.
void link(ImageView<std::uint8_t> classes, Magnitude magnitude, const EdgeRules& rules,
          std::vector<std::int32_t>& waiting, ImageView<std::uint8_t> map);

extern const OctaveTable kOctave;

}  // namespace cuface::edges
