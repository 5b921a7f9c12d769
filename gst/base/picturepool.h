// Grey pictures and their pyramids, which outlive the frame they were made of: a tracker keeps the
// last one. And the pool of whatever does.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/common/image.h"
#include "kernels/pyramid/pyramid.h"

namespace cuface::gst {

/// The luma of a frame, and the flow pyramid of it: level 0 is the luma itself, the others are made
/// where somebody reads them. So it takes no time, and no memory but of what was read.
class LumaAndPyramid {
 public:
  LumaAndPyramid(int width, int height) : luma_(width, height), pyramid_(width, height) {}

  ImageView<const std::uint8_t> view() const { return luma_.view(); }
  /// Reading the pyramid makes its parts, though the picture stays the same: one thread at a time.
  GaussianPyramid& pyramid() const { return pyramid_; }

  int width() const { return luma_.width(); }
  int height() const { return luma_.height(); }
  /// For another frame: where its luma goes.
  ImageView<std::uint8_t> begin() {
    pyramid_.refer(luma_.view());
    return luma_.view();
  }

 private:
  Image<std::uint8_t> luma_;
  mutable GaussianPyramid pyramid_;
};

using GreyPicture = std::shared_ptr<const LumaAndPyramid>;
/// Holds the luma too.
using FlowPyramid = std::shared_ptr<GaussianPyramid>;

/// What is made for a size, T(width, height). Only one thread takes and writes them; any thread may
/// release them. Grows only when more are held at once than ever before.
template <typename T>
class SizedPool {
 public:
  /// One that nobody else holds.
  std::shared_ptr<T> take(int width, int height) {
    std::erase_if(all_,
                  [&](const auto& p) { return p->width() != width || p->height() != height; });
    const auto free =
        std::find_if(all_.begin(), all_.end(), [](const auto& p) { return p.use_count() == 1; });
    if (free == all_.end()) return all_.emplace_back(std::make_shared<T>(width, height));
    return *free;
  }

 private:
  std::vector<std::shared_ptr<T>> all_;
};

/// begin() what it gives.
using PicturePool = SizedPool<LumaAndPyramid>;

}  // namespace cuface::gst
