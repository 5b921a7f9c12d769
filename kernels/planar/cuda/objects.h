// Flat objects in device memory: what cuface::PlanarObjects finds and follows, bit for bit. Where
// they are, their ids and what is decided live there, and the host never waits for them.
//
// steps.h: its kernels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "kernels/common/cuda/launch.h"
#include "kernels/common/cuda/runtime.h"
#include "kernels/common/cuda/scratch.h"
#include "kernels/common/image.h"
#include "kernels/common/status.h"
#include "kernels/features/device_features.h"
#include "kernels/features/features.h"
#include "kernels/match/cuda/matcher.h"
#include "kernels/orb/cuda/detector.h"
#include "kernels/planar/cuda/steps.h"
#include "kernels/planar/objects.h"
#include "kernels/pyramid/cuda/octaves.h"

namespace cuface::cuda {

/// The objects of frames of one size. One thread at a time, one stream (or streams ordered by the
/// caller), with the same context current throughout, the destructor included.
class PlanarObjects {
 public:
  using Reference = cuface::PlanarObjects::Reference;

  /// What is looked for; `ids`, of as many or none: those that others have given them. Copies all
  /// of the references to the device, and waits for that. Errors as
  /// cuface::PlanarObjects::create(), and describe().
  static Result<PlanarObjects> create(const std::vector<Reference>& references,
                                      const PlanarSearchConfig& config,
                                      const std::vector<std::uint64_t>& ids = {});
  /// Descriptors of the same pictures from now on, which may have other keypoints; what is followed
  /// stays. Allocates, and waits. Nothing that has been enqueued may be under way. kInvalidArgument
  /// where they have descriptors of several sizes.
  Status describe(const std::vector<const Features*>& features);
  /// Frames have this size from now on. Nothing is visible; ids stay. The same holds.
  Status resize(int width, int height);
  /// Keypoints of frames that others have found are at most so many from now on; 0: nobody has, and
  /// ORB's are found, for references that have such. The same holds.
  Status expect(int most_known);

  int count() const { return work_.count; }
  /// 0 of those that have none yet. Waits for the device, on which nothing is under way.
  Result<std::vector<std::uint64_t>> ids() const;

  /// A frame, as in cuface::PlanarObjects::step(); `known`, a list of
  /// kernels/keypoints/cuda with descriptors as the references have them, exactly where expect()
  /// said so. All lies in device memory; `out` has room for count(), `counted` may be null. Holds
  /// `now` until the next one, which reads it.
  Status enqueue(std::shared_ptr<GaussianPyramid> now, const std::byte* known, std::uint64_t frame,
                 DevicePlanarObjects* out, PlanarCounts* counted, Launcher launch);
  /// The pyramid of the frame before, or null.
  const std::shared_ptr<GaussianPyramid>& before() const { return before_; }
  /// A frame that is not looked at: objects are where they were.
  Status rest(DevicePlanarObjects* out, PlanarCounts* counted, Launcher launch);
  /// From the next enqueue() or rest() on nothing is visible until it is found again; ids stay.
  void lose() { before_ = nullptr; }

 private:
  PlanarObjects() = default;
  Status plan();
  Status search(ImageView<const std::uint8_t> frame, const std::byte* known, Launcher launch);

  PlanarSearchConfig config_;
  std::vector<DeviceImage<std::uint8_t>> pictures_;
  std::vector<std::unique_ptr<GaussianPyramid>> octaves_;
  std::vector<planar::Model> host_models_;
  std::vector<std::size_t> first_keypoint_;  ///< of each picture, and of none behind them
  DeviceBuffer<planar::Model> models_;
  DeviceBuffer<planar::Object> objects_;
  DeviceBuffer<planar::Shared> shared_;
  DeviceBuffer<Point> points_;
  DeviceBuffer<std::uint8_t> alike_;
  DeviceBuffer<std::byte> scratch_;
  DeviceBuffer<Keypoint> keypoints_;
  DeviceBuffer<std::uint8_t> descriptors_;
  DeviceBuffer<std::int8_t> signs_;  ///< beside floats
  int floats_ = 0;                   ///< of a descriptor; 0: it has bytes
  planar::PlanarWork work_{};
  int width_ = 0, height_ = 0, most_known_ = 0;
  std::optional<OrbDetector> detector_;
  std::optional<Matcher> matcher_;
  ScratchPart<std::byte> found_;
  ScratchPart<DeviceMatches> matches_;
  std::shared_ptr<GaussianPyramid> before_;
};

}  // namespace cuface::cuda
