#include "kernels/surf/surf.h"

#include <string>
#include <vector>

#include "kernels/common/guarded.h"
#include "kernels/common/simd.h"
#include "kernels/common/try.h"
#include "kernels/integral/integral.h"
#include "kernels/surf/describe.h"
#include "kernels/surf/hessian.h"
#include "kernels/surf/layer.h"
#include "kernels/surf/mipmap.h"
#include "kernels/surf/vector.h"

namespace cuface {
namespace {

Status invalid(const std::string& what) { return {StatusCode::kInvalidArgument, what}; }

}  // namespace

bool has_surf() { return true; }

Status validate(const SurfConfig& config) {
  if (config.max_keypoints < 1 || config.max_keypoints > kMostKeypoints)
    return invalid("max-keypoints must be 1 to " + std::to_string(kMostKeypoints));
  if (!(config.threshold >= 0)) return invalid("threshold must be 0 or more");
  if (config.octaves < 1 || config.octaves > kMostSurfOctaves)
    return invalid("octaves must be 1 to " + std::to_string(kMostSurfOctaves));
  if (config.layers < 1 || config.layers > kMostSurfLayers)
    return invalid("layers must be 1 to " + std::to_string(kMostSurfLayers));
  if (config.descriptor_size != 64 && config.descriptor_size != 36)
    return invalid("descriptor-size must be 64 or 36");
  return {};
}

class SurfDetector::Impl {
 public:
  explicit Impl(const SurfConfig& config) : config_(config), describer_(config) {}

  Status run(ImageView<const std::uint8_t> grey, FloatFeatures& out, const StopFlag* stop) {
    CUFACE_TRY(begin(grey));
    const auto most = static_cast<std::size_t>(config_.max_keypoints);
    found_.clear();
    if (!simd::vectors() || !surf::VectorFinder::takes(config_)) {
      if (!surf::find(sums_, config_, found_, stop)) return cancelled();
      return add(grey, most, out, stop);
    }
    if (!finder_.begin(sums_, config_, stop)) return cancelled();
    while (out.keypoints.size() < most && finder_.next(found_)) {
      CUFACE_TRY(add(grey, most, out, stop));
      found_.clear();
    }
    return {};
  }

  Status describe(ImageView<const std::uint8_t> grey, std::span<const Keypoint> given,
                  FloatFeatures& out, const StopFlag* stop) {
    CUFACE_TRY(begin(grey));
    found_.clear();
    for (const Keypoint& k : given)
      if (surf::can_be_described(k, grey.width, grey.height)) found_.push_back({k, 0});
    return add(grey, found_.size(), out, stop);
  }

 private:
  /// sums_ := the picture's, and mipmap_ where it is used.
  Status begin(ImageView<const std::uint8_t> grey) {
    if (!grey.data) return invalid("there is no picture");
    CUFACE_TRY(surf::validate_size(grey.width, grey.height));
    if (sums_.width != grey.width + 1 || sums_.height != grey.height + 1) {
      memory_ = Image<std::uint32_t>(grey.width + 1 + surf::kSpareColumns, grey.height + 1);
      sums_ = memory_.view();
      sums_.width = grey.width + 1;
    }
    integral(grey, sums_);
    if (config_.sampling == SurfSampling::kMipmap) mipmap_.fill(grey);
    return {};
  }

  /// Adds those of found_ that can be described, up to `most` in all.
  Status add(ImageView<const std::uint8_t> grey, std::size_t most, FloatFeatures& out,
             const StopFlag* stop) {
    for (const surf::Found& one : found_) {
      if (out.keypoints.size() == most) break;
      if (is_raised(stop)) return cancelled();
      Keypoint k = one.keypoint;
      if (!describer_.orient(sums_, k)) continue;
      out.keypoints.push_back(k);
      out.signs.push_back(one.sign);
      const auto floats = static_cast<std::size_t>(config_.descriptor_size);
      out.descriptors.resize(out.keypoints.size() * floats);
      float* descriptor = out.descriptors.data() + out.descriptors.size() - floats;
      if (config_.sampling == SurfSampling::kPatch)
        describer_.describe(grey, k, descriptor);
      else if (config_.sampling == SurfSampling::kIntegral)
        describer_.describe_by_sums(sums_, k, descriptor);
      else
        describer_.describe_by_mipmap(mipmap_, k, descriptor);
    }
    return {};
  }

  SurfConfig config_;
  Image<std::uint32_t> memory_;
  ImageView<std::uint32_t> sums_{};  ///< in memory_, with spare columns behind it
  std::vector<surf::Found> found_;
  surf::VectorFinder finder_;
  surf::Mipmap mipmap_;
  surf::Describer describer_;
};

Result<SurfDetector> SurfDetector::create(const SurfConfig& config) {
  CUFACE_TRY(validate(config));
  CUFACE_TRY(simd::status());
  return guarded("preparing SURF", [&]() -> Result<SurfDetector> {
    return SurfDetector(std::make_shared<Impl>(config));
  });
}

Status SurfDetector::run(ImageView<const std::uint8_t> grey, FloatFeatures& out,
                         const StopFlag* stop) {
  out = {};
  const Status status = guarded("finding keypoints", [&] { return impl_->run(grey, out, stop); });
  if (!status.ok()) out = {};
  return status;
}

Status SurfDetector::describe(ImageView<const std::uint8_t> grey, std::span<const Keypoint> given,
                              FloatFeatures& out, const StopFlag* stop) {
  out = {};
  if (given.size() > kMostKeypoints)
    return invalid("more than " + std::to_string(kMostKeypoints) + " keypoints are given");
  const Status status =
      guarded("describing keypoints", [&] { return impl_->describe(grey, given, out, stop); });
  if (!status.ok()) out = {};
  return status;
}

}  // namespace cuface
