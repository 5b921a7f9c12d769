// SURF in device memory: the keypoints and floats of cuface::SurfDetector, in its order.
//
// layers.h: what kernels leave each other; find.h: where determinants have a maximum; strongest.h:
// which of these become keypoints, and their directions; patches.h: windows around them; mipmap.h:
// means that stand in for sums; descriptors.h: descriptors.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/common/cuda/launch.h"
#include "kernels/common/cuda/runtime.h"
#include "kernels/common/cuda/scratch.h"
#include "kernels/common/image.h"
#include "kernels/common/status.h"
#include "kernels/features/device_features.h"
#include "kernels/integral/integral_cuda.h"
#include "kernels/surf/cuda/layers.h"
#include "kernels/surf/cuda/mipmap.h"
#include "kernels/surf/surf.h"

namespace cuface::cuda {

/// Finds and describes the keypoints of pictures of one size. Allocates tables when it is made; its
/// scratch is used by one picture at a time.
class SurfDetector {
 public:
  /// Adds what it needs to `layout`: for `most_given` keypoints that describe() is given, or for
  /// enqueue() where that is 0. Errors as cuface::SurfDetector, and kInvalidArgument where the
  /// picture is none that it takes, or `most_given` none of 0 to kMostKeypoints.
  static Result<SurfDetector> create(const SurfConfig& config, int width, int height,
                                     int most_given, ScratchLayout& layout);
  /// The memory of the layout, before the first picture.
  void bind(std::byte* scratch);

  /// Keypoints of a picture, at most; floats of a descriptor.
  std::size_t most() const { return most_; }
  int floats() const { return shape_.floats(); }
  /// Puts kernels there, always the same ones; all lies in device memory, `out` with room for
  /// most(), aligned to 16 bytes. `counted`, in memory that the device reaches, grows by the number
  /// of keypoints. kInvalidArgument where the size is another, or where it was made for given ones.
  Status enqueue(ImageView<const std::uint8_t> grey, std::byte* out, Launcher launch,
                 std::uint64_t* counted = nullptr) const;
  /// As cuface::SurfDetector::describe(), of given.most keypoints at most. kInvalidArgument where
  /// the size is another, or more may be given than planned.
  Status describe(ImageView<const std::uint8_t> grey, const DeviceKeypoints& given, std::byte* out,
                  Launcher launch, std::uint64_t* counted = nullptr) const;

 private:
  explicit SurfDetector(const SurfConfig& config) : config_(config) {}
  void plan_layers();
  Status upload_tables();
  bool is_patch() const { return config_.sampling == SurfSampling::kPatch; }
  Status validate_picture(ImageView<const std::uint8_t> grey) const;
  surf::BlobWork work() const;
  surf::Tables tables() const;
  Status enqueue_sums(ImageView<const std::uint8_t> grey, Launcher launch) const;
  Status enqueue_descriptors(const surf::SummedPicture& picture, int most,
                             const DeviceFloatFeatures& out, std::uint64_t* counted,
                             Launcher launch) const;

  SurfConfig config_;
  int width_ = 0, height_ = 0;
  std::size_t most_ = 0, most_found_ = 0;
  surf::DescriptorShape shape_{};
  surf::Octaves octaves_{};
  DeviceBuffer<surf::Layer> layers_;
  DeviceBuffer<surf::RingSample> ring_;
  DeviceBuffer<float> weights_;
  IntegralImages integral_;
  surf::Mipmap mipmap_;
  ScratchPart<std::uint32_t> counts_;
  ScratchPart<surf::Found> found_;
  ScratchPart<float> responses_;
  ScratchPart<surf::Chosen> chosen_;
  ScratchPart<surf::Window> windows_;
  ScratchPart<surf::WindowPart> parts_;
  ScratchPart<std::uint8_t> patches_;
};

}  // namespace cuface::cuda
