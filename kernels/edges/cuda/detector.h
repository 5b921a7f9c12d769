// Edges in device memory: the bytes of EdgeDetector.
//
// classify.h: from grey to ridges and edges as bits; link.h: what is linked, and the map;
// runs.cuh: which bits hang together; full.h: the published convolution.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "kernels/common/cuda/launch.h"
#include "kernels/common/cuda/scratch.h"
#include "kernels/common/image.h"
#include "kernels/common/status.h"
#include "kernels/edges/cuda/classify.h"
#include "kernels/edges/edges.h"

namespace cuface::cuda {

/// Finds the edges of pictures of one size. Allocates nothing; its scratch is used by one picture
/// at a time.
class EdgeDetector {
 public:
  /// Adds what it needs to `layout`. kInvalidArgument as cuface::EdgeDetector.
  static Result<EdgeDetector> create(const EdgeConfig& config, int width, int height,
                                     ScratchLayout& layout);
  /// The memory of the layout, before the first picture.
  void bind(std::byte* scratch);

  /// Puts at most three kernels there, five of Convolution::kFull, always the same ones for the
  /// same views; all lie in device memory. kInvalidArgument where a size is another.
  Status enqueue(ImageView<const std::uint8_t> grey, const EdgeViews& out, Launcher launch) const;

 private:
  struct Full;

  EdgeDetector() = default;
  static Result<EdgeDetector> create_full(const EdgeConfig& config, int width, int height,
                                          ScratchLayout& layout);
  ImageView<std::uint32_t> bits(const ScratchPart<std::uint32_t>& part) const;

  int width_ = 0, height_ = 0;
  EdgeRules rules_;
  edges::Blur blur_;
  ScratchPart<std::uint32_t> ridges_;
  ScratchPart<std::uint32_t> edges_;    ///< of all but Linking::kNone
  ScratchPart<std::uint32_t> widened_;  ///< of Linking::kApron
  ScratchPart<std::uint32_t> parents_;  ///< of Linking::kHysteresis
  std::shared_ptr<Full> full_;          ///< of Convolution::kFull, and then nothing else
};

}  // namespace cuface::cuda
