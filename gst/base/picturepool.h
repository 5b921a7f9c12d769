// Grey pictures that outlive the frame they were made of: a tracker keeps the last one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/common/image.h"

namespace cuface::gst {

using GreyPicture = std::shared_ptr<const Image<std::uint8_t>>;

/// Of one thread, which alone reads and writes the pictures; they may be let go in any. Grows only
/// when more are held at once than ever before.
class PicturePool {
 public:
  /// One that nobody else holds; contents undefined.
  std::shared_ptr<Image<std::uint8_t>> take(int width, int height) {
    std::erase_if(pictures_,
                  [&](const auto& p) { return p->width() != width || p->height() != height; });
    const auto free = std::find_if(pictures_.begin(), pictures_.end(),
                                   [](const auto& p) { return p.use_count() == 1; });
    if (free == pictures_.end())
      return pictures_.emplace_back(std::make_shared<Image<std::uint8_t>>(width, height));
    return *free;
  }

 private:
  std::vector<std::shared_ptr<Image<std::uint8_t>>> pictures_;
};

}  // namespace cuface::gst
