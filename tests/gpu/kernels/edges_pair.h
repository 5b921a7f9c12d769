// Edges on CUDA and on the CPU side by side: pictures, settings, and every byte and bit of all
// results.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "kernels/common/bits.h"
#include "kernels/edges/cuda/detector.h"
#include "kernels/edges/edges.h"
#include "tests/gpu/compare.h"
#include "tests/gpu/gpu.h"
#include "tests/gpu/kernels/guarded_detector.h"
#include "tests/moving_faces.h"

namespace cuface::test {

inline Grey noisy_grey(int width, int height, unsigned seed) {
  std::mt19937 random(seed);
  Grey out(width, height);
  const unsigned kind = random() % 3;
  for (auto& p : out.pixels) {
    const unsigned value = random();
    p = static_cast<std::uint8_t>(kind == 0   ? value
                                  : kind == 1 ? 100 + value % 30
                                              : (value % 12 ? 100 : 180));
  }
  return out;
}

inline EdgeConfig without_blur() {
  EdgeConfig c;
  c.kernel_size = 1;
  return c;
}

/// Any, with thresholds that fit the operator.
inline EdgeConfig random_config(std::mt19937& random) {
  const int sizes[] = {1, 1, 3, 5, 5, 7, 9, 31};
  EdgeConfig c;
  c.kernel_size = sizes[random() % 8];
  c.sigma = random() % 3 ? 0 : 1.3;
  c.op = static_cast<GradientOperator>(random() % 3);
  if (c.op == GradientOperator::kSobel) c.aperture = 3 + 2 * static_cast<int>(random() % 3);
  c.norm = static_cast<GradientNorm>(random() % 2);
  const double scale = c.aperture == 3 ? 1 : c.aperture == 5 ? 12 : 160;
  c.low = random() % 120 * scale;
  c.high = c.low + random() % 300 * scale;
  c.linking = random() % 2 ? Linking::kHysteresis : static_cast<Linking>(random() % 3);
  c.apron = static_cast<int>(random() % (kMostApron + 1));
  c.thinning = static_cast<Thinning>(random() % 2);
  return c;
}

/// All results on one processor, without gaps.
struct Found {
  std::vector<std::uint8_t> map, magnitude, angle;
  std::vector<std::uint64_t> bits;
  friend bool operator==(const Found&, const Found&) = default;
};

template <typename T>
std::vector<T> rows_of(ImageView<T> view) {
  std::vector<T> out;
  for (int y = 0; y < view.height; ++y)
    out.insert(out.end(), view.row(y), view.row(y) + view.width);
  return out;
}

inline Found reference(const Grey& picture, const EdgeConfig& config) {
  const int w = picture.width, h = picture.height;
  auto detector = EdgeDetector::create(config, w, h);
  EXPECT_TRUE(detector.ok()) << detector.status().message();
  Image<std::uint8_t> map(w, h), magnitude(w, h), angle(w, h);
  Image<std::uint64_t> bits(words_of(w), h);
  if (detector.ok()) {
    const Status found = detector.value().run(
        picture.view(), {map.view(), magnitude.view(), angle.view(), bits.view()});
    EXPECT_TRUE(found.ok()) << found.message();
  }
  const auto rows = [](auto& image) { return rows_of(image.view()); };
  return {rows(map), rows(magnitude), rows(angle), rows(bits)};
}

/// A detector of CUDA with its scratch, and results in guarded memory, rows `padding` apart.
class Device : public GuardedDetector<cuda::EdgeDetector> {
 public:
  Device(const EdgeConfig& config, int width, int height, int lead = 0, int padding = 0)
      : width_(width), height_(height), lead_(lead), padding_(padding) {
    cuda::ScratchLayout layout;
    auto made = cuda::EdgeDetector::create(config, width, height, layout);
    if (!hold(std::move(made), layout, width, height, lead, padding)) return;
    const auto bytes = static_cast<std::size_t>(lead + (width + padding) * height);
    for (auto& picture : pictures_) picture.emplace(bytes, kCanary);
    bits_.emplace(static_cast<std::size_t>(words_of(width) * height) * 8, kCanary);
  }

  void set(const Grey& picture) { picture_->set(picture.view()); }
  EdgeViews views() {
    const auto view = [&](int i) {
      return ImageView<std::uint8_t>{pictures_[i]->data() + lead_, width_, height_,
                                     width_ + padding_};
    };
    const int words = words_of(width_);
    return {view(0),
            view(1),
            view(2),
            {reinterpret_cast<std::uint64_t*>(bits_->data()), words, height_, words * 8}};
  }
  Status enqueue(const EdgeViews& out, cuda::Launcher launch) {
    return detector_->enqueue(picture_->view(), out, launch);
  }
  Found found() {
    scratch_->get();  // looks at the guards
    return {picture(0), picture(1), picture(2), values_of<std::uint64_t>(bits_->get())};
  }

 private:
  std::vector<std::uint8_t> picture(int i) {
    const std::vector<std::uint8_t> all = pictures_[i]->get();
    std::vector<std::uint8_t> out;
    const int stride = width_ + padding_;
    for (int y = 0; y < height_; ++y) {
      const auto row = all.begin() + lead_ + y * stride;
      out.insert(out.end(), row, row + width_);
      EXPECT_EQ(std::count(row + width_, row + stride, kCanary), padding_)
          << "wrote behind row " << y;
    }
    return out;
  }

  int width_, height_, lead_, padding_;
  std::optional<GuardedBytes> pictures_[3], bits_;
};

}  // namespace cuface::test
