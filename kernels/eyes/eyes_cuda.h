// eyes on CUDA: the starts that the CPU's EyeStart finds, left in device memory.
#pragma once

#include <cstdint>
#include <memory>

#include "kernels/cascade/cascade.h"
#include "kernels/common/cuda/launch.h"
#include "kernels/common/cuda/runtime.h"
#include "kernels/common/image.h"
#include "kernels/common/status.h"
#include "kernels/common/stop_flag.h"
#include "kernels/detect/cuda/detector.h"
#include "kernels/eyes/eye_rules.h"
#include "kernels/faces/faces_cuda.h"
#include "kernels/shape/shape_model.h"

namespace cuface::cuda {

/// Allocates at create(), on the current context. One stream at a time.
class EyeStart {
 public:
  /// As cuface::EyeStart::create(), and cuda::Detector::create().
  static Result<std::unique_ptr<EyeStart>> create(std::shared_ptr<const CascadeModel> cascade,
                                                  const ShapeModel& model, const StopFlag& stop);

  /// Of each of the faces, all in device memory: where its search starts, into starts(). A search
  /// for eyes a face that there can be, which a graph skips where there is none.
  Status enqueue(ImageView<const std::uint8_t> luma, const DeviceFaces* faces, Launcher launch);
  /// [kMaxFaces][points], in device memory; NaN where not both eyes were found.
  const Point* starts() const { return starts_.data(); }

 private:
  EyeStart(std::unique_ptr<Detector> detector, const eyes::EyePair& pair, int points)
      : detector_(std::move(detector)), pair_(pair), points_(points) {}
  Status allocate(const std::vector<Point>& mean);

  const std::unique_ptr<Detector> detector_;
  const eyes::EyePair pair_;  ///< of the mean shape
  const int points_;
  DeviceBuffer<Point> mean_, starts_;
  DeviceBuffer<std::uint8_t> parts_;  ///< [kMaxFaces][kHeight][kWidth]
  DeviceBuffer<std::int32_t> due_;    ///< [kMaxFaces]: whether there is a part
  DeviceBuffer<DeviceFaces> found_;   ///< [kMaxFaces]: the finds in it
};

}  // namespace cuface::cuda
