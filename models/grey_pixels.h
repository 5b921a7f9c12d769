// Grey of a picture's pixels, by the rule that video frames have (kernels/luma).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "kernels/common/image.h"
#include "kernels/common/status.h"

namespace cuface {

/// Of pixels of `channels` bytes each: 1, 3 (red first), or 4 with transparency, which lies over
/// black.
Image<std::uint8_t> grey_of(const std::uint8_t* pixels, int width, int height,
                            std::ptrdiff_t stride, int channels);

/// A PNG file's picture. Errors as load_png_rgba().
Result<Image<std::uint8_t>> load_png_luma(const std::string& path);

}  // namespace cuface
