// dlib's own regression forest, for comparison. dlib's public call rounds its points to integers;
// this one keeps them: it holds the fields of dlib::shape_predictor, read by dlib, and evaluates
// them with dlib's own functions in the order of shape_predictor::operator().
#pragma once

#include <dlib/array2d.h>
#include <dlib/image_processing/shape_predictor.h>

#include <istream>
#include <opencv2/core.hpp>
#include <vector>

#include "kernels/common/geometry.h"
#include "kernels/common/image.h"

namespace cuface::test {

struct DlibForest {
  dlib::matrix<float, 0, 1> initial_shape;
  std::vector<std::vector<dlib::impl::regression_tree>> forests;
  std::vector<std::vector<unsigned long>> anchor_idx;
  std::vector<std::vector<dlib::vector<float, 2>>> deltas;

  explicit DlibForest(std::istream& in) {
    int version = 0;
    dlib::deserialize(version, in);
    dlib::deserialize(initial_shape, in);
    dlib::deserialize(forests, in);
    dlib::deserialize(anchor_idx, in);
    dlib::deserialize(deltas, in);
  }

  /// Unrounded points, in double as dlib has them before it rounds.
  std::vector<dlib::vector<double, 2>> operator()(const dlib::array2d<unsigned char>& picture,
                                                  const dlib::rectangle& rect,
                                                  std::size_t cascades = 1000) const {
    dlib::matrix<float, 0, 1> shape = initial_shape;
    std::vector<float> pool;
    for (std::size_t i = 0; i < forests.size() && i < cascades; ++i) {
      dlib::impl::extract_feature_pixel_values(picture, rect, shape, initial_shape, anchor_idx[i],
                                               deltas[i], pool);
      unsigned long leaf = 0;
      for (const auto& tree : forests[i]) shape += tree(pool, leaf);
    }
    const dlib::point_transform_affine to_picture = dlib::impl::unnormalizing_tform(rect);
    std::vector<dlib::vector<double, 2>> points;
    for (long i = 0; i < shape.size() / 2; ++i) {
      points.push_back(to_picture(dlib::impl::location(shape, static_cast<unsigned long>(i))));
    }
    return points;
  }
};

inline dlib::array2d<unsigned char> to_dlib(const cv::Mat& grey) {
  dlib::array2d<unsigned char> picture(grey.rows, grey.cols);
  for (int y = 0; y < grey.rows; ++y) {
    for (int x = 0; x < grey.cols; ++x) picture[y][x] = grey.at<unsigned char>(y, x);
  }
  return picture;
}

inline dlib::array2d<unsigned char> to_dlib(const ImageView<const std::uint8_t>& grey) {
  dlib::array2d<unsigned char> picture(grey.height, grey.width);
  for (int y = 0; y < grey.height; ++y)
    for (int x = 0; x < grey.width; ++x) picture[y][x] = grey.at(x, y);
  return picture;
}

/// dlib's inclusive rectangle of a box on whole pixels.
inline dlib::rectangle to_dlib(const Box& box) {
  const long x = static_cast<long>(box.x), y = static_cast<long>(box.y);
  return {x, y, x + static_cast<long>(box.w) - 1, y + static_cast<long>(box.h) - 1};
}

}  // namespace cuface::test
