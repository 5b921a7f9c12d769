#include "tests/bench/dlib_native_trainer.h"

#include <dlib/array2d.h>
#include <dlib/image_processing/shape_predictor_trainer.h>

#include <cmath>
#include <sstream>
#include <vector>

namespace cuface::bench {

struct DlibNativeTrainer::State {
  std::vector<dlib::array2d<unsigned char>> pictures;
  std::vector<std::vector<dlib::full_object_detection>> faces;
};

DlibNativeTrainer::DlibNativeTrainer() : state_(std::make_unique<State>()) {}
DlibNativeTrainer::~DlibNativeTrainer() = default;

void DlibNativeTrainer::add_picture(const unsigned char* data, int width, int height,
                                    std::ptrdiff_t stride) {
  auto& picture = state_->pictures.emplace_back(height, width);
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) picture[y][x] = data[y * stride + x];
  state_->faces.emplace_back();
}

void DlibNativeTrainer::add_face(long left, long top, long right, long bottom, const float* points,
                                 int landmarks) {
  std::vector<dlib::point> parts;
  for (int i = 0; i < landmarks; ++i)
    parts.emplace_back(std::lround(points[2 * i]), std::lround(points[2 * i + 1]));
  state_->faces.back().emplace_back(dlib::rectangle(left, top, right, bottom), parts);
}

std::string DlibNativeTrainer::train(int stages, int trees, int oversampling, int threads,
                                     const std::string& seed) const {
  dlib::shape_predictor_trainer trainer;
  trainer.set_cascade_depth(static_cast<unsigned long>(stages));
  trainer.set_num_trees_per_cascade_level(static_cast<unsigned long>(trees));
  trainer.set_oversampling_amount(static_cast<unsigned long>(oversampling));
  trainer.set_num_threads(static_cast<unsigned long>(threads));
  trainer.set_random_seed(seed);
  std::ostringstream out;
  serialize(trainer.train(state_->pictures, state_->faces), out);
  return out.str();
}

}  // namespace cuface::bench
