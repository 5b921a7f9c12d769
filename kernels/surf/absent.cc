// A build without the option `surf`.
#include "kernels/surf/surf.h"

namespace cuface {
namespace {

Status absent() { return {StatusCode::kUnsupported, "this program was built without SURF"}; }

}  // namespace

bool has_surf() { return false; }

Status validate(const SurfConfig&) { return absent(); }

Result<SurfDetector> SurfDetector::create(const SurfConfig&) { return absent(); }

Status SurfDetector::run(ImageView<const std::uint8_t>, FloatFeatures&, const StopFlag*) {
  return absent();
}

Status SurfDetector::describe(ImageView<const std::uint8_t>, std::span<const Keypoint>,
                              FloatFeatures&, const StopFlag*) {
  return absent();
}

}  // namespace cuface
