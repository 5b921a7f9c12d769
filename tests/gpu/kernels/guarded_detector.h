// What a detector of CUDA needs on the device, in guarded memory.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <optional>
#include <utility>

#include "kernels/common/cuda/scratch.h"
#include "kernels/common/status.h"
#include "tests/gpu/compare.h"
#include "tests/gpu/gpu.h"

namespace cuface::test {

/// A detector with its scratch and its picture.
template <typename Detector>
class GuardedDetector {
 protected:
  /// Gives the detector its memory. A test failure, and false, where it was not made.
  bool hold(Result<Detector> made, const cuda::ScratchLayout& layout, int width, int height,
            int lead, int padding) {
    EXPECT_TRUE(made.ok()) << made.status().message();
    if (!made.ok()) return false;
    detector_.emplace(std::move(made.value()));
    scratch_.emplace(layout.bytes(), kCanary);
    detector_->bind(reinterpret_cast<std::byte*>(scratch_->data()));
    picture_.emplace(width, height, lead, padding);
    return true;
  }

  std::optional<Detector> detector_;
  std::optional<GuardedBytes> scratch_;
  std::optional<DevicePicture> picture_;
};

}  // namespace cuface::test
