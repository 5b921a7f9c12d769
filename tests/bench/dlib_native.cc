#include "tests/bench/dlib_native.h"

#include <dlib/array2d.h>
#include <dlib/image_processing/shape_predictor.h>

#include <deque>

namespace cuface::bench {

struct DlibNative::State {
  dlib::shape_predictor predictor;
  std::deque<dlib::array2d<unsigned char>> pictures;
};

DlibNative::DlibNative(const std::string& path) : state_(std::make_unique<State>()) {
  dlib::deserialize(path) >> state_->predictor;
}

DlibNative::~DlibNative() = default;

std::size_t DlibNative::add(const unsigned char* data, int width, int height,
                            std::ptrdiff_t stride) {
  auto& picture = state_->pictures.emplace_back(height, width);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) picture[y][x] = data[y * stride + x];
  }
  return state_->pictures.size() - 1;
}

long DlibNative::run(std::size_t picture, float x, float y, float w, float h) const {
  const long left = static_cast<long>(x), top = static_cast<long>(y);
  const auto found = state_->predictor(
      state_->pictures[picture],
      dlib::rectangle(left, top, left + static_cast<long>(w) - 1, top + static_cast<long>(h) - 1));
  long sum = 0;
  for (unsigned long i = 0; i < found.num_parts(); ++i)
    sum += found.part(i).x() + found.part(i).y();
  return sum;
}

}  // namespace cuface::bench
