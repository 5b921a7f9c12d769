// A picture on the canvas of a turn.
#pragma once

#include <gtest/gtest.h>

#include <opencv2/core.hpp>

#include "kernels/turn/turn.h"
#include "tests/kernels/pictures.h"

namespace cuface::test {

inline cv::Mat turned(const cv::Mat& picture, const Turn& turn) {
  cv::Mat canvas(turn.canvas_height, turn.canvas_width, CV_8U);
  EXPECT_TRUE(turn_picture(
                  view_of(picture), turn,
                  {canvas.data, canvas.cols, canvas.rows, static_cast<std::ptrdiff_t>(canvas.step)})
                  .ok());
  return canvas;
}

}  // namespace cuface::test
