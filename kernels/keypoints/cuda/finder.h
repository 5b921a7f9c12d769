// keypoints in device memory: those of cuface::FeatureFinder, in its order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "kernels/common/cuda/launch.h"
#include "kernels/common/cuda/scratch.h"
#include "kernels/common/image.h"
#include "kernels/common/status.h"
#include "kernels/features/device_features.h"
#include "kernels/keypoints/keypoints.h"
#include "kernels/orb/cuda/detector.h"
#include "kernels/surf/cuda/detector.h"

namespace cuface::cuda {

/// Finds and describes the keypoints of pictures of one size. Allocates tables when it is made; its
/// scratch is used by one picture at a time.
class FeatureFinder {
 public:
  /// Adds what it needs to `layout`. Errors as cuface::FeatureFinder.
  static Result<FeatureFinder> create(const FeatureConfig& config, int width, int height,
                                      ScratchLayout& layout);
  /// The memory of the layout, before the first picture.
  void bind(std::byte* scratch);

  /// Floats of a descriptor; 0: lists are DeviceFeatures, else DeviceFloatFeatures.
  int floats() const { return surf_ ? surf_->floats() : 0; }
  /// Of a list with as many as there can be.
  std::size_t list_bytes() const;
  /// Puts kernels there, always the same ones; all lies in device memory, `out` with room for
  /// list_bytes(), aligned to 16 bytes. `counted`, in memory that the device reaches, grows by the
  /// number of keypoints. kInvalidArgument where the size is another.
  Status enqueue(ImageView<const std::uint8_t> grey, std::byte* out, Launcher launch,
                 std::uint64_t* counted = nullptr) const;

 private:
  FeatureFinder() = default;

  std::optional<OrbDetector> orb_;
  std::optional<SurfDetector> surf_;
  ScratchPart<std::byte> corners_;  ///< a list of `orb_`, where `surf_` describes it
};

/// What a list of up to `bytes` bytes may hold, and its keypoints.
std::size_t most_of_list(std::size_t bytes, int floats);
DeviceKeypoints keypoints_of_list(const std::byte* list, int floats, int most);

/// How many bytes of a list count: `list` is in host memory, or its first bytes are.
std::size_t filled_bytes(const std::byte* list, int floats);
/// A list in host memory as features.
Features features_of_list(const std::byte* list, int floats);

}  // namespace cuface::cuda
