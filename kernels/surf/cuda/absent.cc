// A build without the option `surf`.
#include "kernels/surf/cuda/detector.h"

namespace cuface::cuda {

Result<SurfDetector> SurfDetector::create(const SurfConfig& config, int, int, int, ScratchLayout&) {
  return validate(config);
}

void SurfDetector::bind(std::byte*) {}

Status SurfDetector::enqueue(ImageView<const std::uint8_t>, std::byte*, Launcher,
                             std::uint64_t*) const {
  return validate(config_);
}

Status SurfDetector::describe(ImageView<const std::uint8_t>, const DeviceKeypoints&, std::byte*,
                              Launcher, std::uint64_t*) const {
  return validate(config_);
}

}  // namespace cuface::cuda
