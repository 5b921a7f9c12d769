// Motion in device memory: the result and the mask of MotionDetector, bit for bit.
//
// memory.h: what is kept, and the launches; masks.cu: what changed, and the mask; edges.cu,
// strips.cuh: the mask of the method edges; background.cu, mixture.cu: the method background;
// follow.cu, boxes.cuh: what the cells of a mask come to; words.cuh: bit maps.
#pragma once

#include <cstdint>

#include "kernels/common/cuda/launch.h"
#include "kernels/common/cuda/runtime.h"
#include "kernels/common/image.h"
#include "kernels/common/status.h"
#include "kernels/motion/cuda/memory.h"
#include "kernels/motion/motion.h"
#include "kernels/motion/references.h"

namespace cuface::cuda {

/// Follows one video. What it remembers is its own. Serves one stream at a time.
class MotionDetector {
 public:
  /// As cuface::MotionDetector. Allocates.
  static Result<MotionDetector> create(const MotionConfig& config, int width, int height);

  /// As cuface::MotionDetector; `pixels` in host memory. Waits for the device: before the first
  /// frame, not between two.
  Status ignore(ImageView<const std::uint8_t> pixels);

  /// The next frame, in device memory: grey, or for the method edges a bit map. Writes the whole of
  /// `out`. At most four launches, always the same ones. kInvalidArgument as look(), and for grey
  /// pictures with the method edges.
  Status enqueue(ImageView<const std::uint8_t> picture, std::int64_t time, MotionResult* out,
                 Launcher launch);
  Status enqueue(ImageView<const std::uint64_t> edges, std::int64_t time, MotionResult* out,
                 Launcher launch);

  /// Each frame is counted there, too: memory that the GPU reaches, and that outlives the frames.
  void count_in(motion::MotionCounters* counters) { counters_ = counters; }

  /// As cuface::MotionDetector, with the next frame.
  void forget();
  /// An event that is on its way has ended, with the next frame.
  void finish() { frame_.finish = 1; }

  /// In device memory, of the last frame.
  ImageView<const std::uint64_t> mask() const { return views_.mask; }
  const MotionPlan& plan() const { return plan_; }

 private:
  MotionDetector() = default;
  motion::MotionFrame next(std::int64_t time);

  MotionPlan plan_;
  References references_;
  motion::MotionFrame frame_;
  motion::MaskViews views_{};
  motion::ModeSlots planes_{};
  motion::Slots<std::uint8_t> pictures_;
  DeviceBuffer<motion::MotionMemory> memory_;
  DeviceBuffer<std::byte> bytes_;  ///< of all views
  std::uint64_t* kept_ = nullptr;
  std::uint32_t* cell_pixels_ = nullptr;
  motion::MotionCounters* counters_ = nullptr;
};

}  // namespace cuface::cuda
