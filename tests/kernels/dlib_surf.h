// The places that dlib's SURF finds, strongest first: a second detector, which is not OpenCV's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/common/image.h"
#include "kernels/features/features.h"

namespace cuface::test {

/// Places and sizes alone, at most `most`.
std::vector<Keypoint> dlib_surf(ImageView<const std::uint8_t> grey, long most);

}  // namespace cuface::test
