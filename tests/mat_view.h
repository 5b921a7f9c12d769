// OpenCV's grey pictures as the kernels take them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <opencv2/core.hpp>

#include "kernels/common/image.h"

namespace cuface::test {

inline ImageView<const std::uint8_t> view_of(const cv::Mat& grey) {
  return {grey.data, grey.cols, grey.rows, static_cast<std::ptrdiff_t>(grey.step)};
}

}  // namespace cuface::test
