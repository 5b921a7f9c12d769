// cufeatures: keypoints and their descriptors, in a meta; cusurf, with other defaults.
#include <memory>
#include <optional>
#include <utility>

#include "gst/features/cuda_features.h"
#include "gst/features/element.h"
#include "gst/features/featureprops.h"
#include "gst/meta/keypoints.h"
#include "kernels/common/try.h"

// Each element has its own.
#define GST_CAT_DEFAULT category<S>

namespace cuface::gst {
namespace {

template <typename S>
GstDebugCategory* category = nullptr;

enum Counter { kKeypoints };
static_assert(kKeypoints == 0, "the device's counter too");

template <typename S>
class FeatureDetect final : public Element {
 public:
  using Element::Element;

  void* settings_address() override { return &settings_; }

  Status plan(const GstVideoInfo&) override {
    finder_.reset();
    if (backend() == Backend::kCuda) device_ = make_device_feature_finder();
    return {};
  }
  void unplan() override {
    device_.reset();
    finder_.reset();
  }

  /// A gap has no picture to look at.
  Status process(Frame& frame) override {
    if (frame.is_gap()) return {};
    const FeatureConfig config = config_of(copy_settings());
    if (frame.device()) return device_->find(frame, config);
    CUFACE_TRY(prepare(frame, config));
    CUFACE_TAKE(luma, frame.luma());
    auto features = std::make_shared<FrameFeatures>();
    features->width = frame.width();
    features->height = frame.height();
    features->config = config_;
    CUFACE_TRY(finder_->run(luma->view(), features->found, &stop_flag()));
    frame.count(kKeypoints, features->found.keypoints.size());
    frame.add_result<FrameFeatures>(std::move(features));
    return {};
  }

 private:
  S copy_settings() const {
    SettingsLock lock(filter());
    return settings_;
  }

  Status prepare(const Frame& frame, const FeatureConfig& config) {
    const int width = frame.width(), height = frame.height();
    if (finder_ && config == config_ && width == width_ && height == height_) return {};
    finder_.reset();
    CUFACE_TAKE(made, FeatureFinder::create(config, width, height));
    finder_.emplace(std::move(made));
    config_ = config;
    width_ = width;
    height_ = height;
    GST_DEBUG_OBJECT(element(), "keypoints of %d x %d pixels, %d at most", width, height,
                     config.orb.max_keypoints);
    return {};
  }

  S settings_;  // under SettingsLock

  // The streaming thread's.
  std::unique_ptr<DeviceFeatureFinder> device_;  ///< while planned for the GPU
  FeatureConfig config_;                         ///< of the finder, and its frames' size
  int width_ = 0, height_ = 0;
  std::optional<FeatureFinder> finder_;
};

constexpr StatsField kStats[] = {{"keypoints", kKeypoints}};

}  // namespace

constexpr ElementInfo kFeatureDetect{
    .name = "cufeatures",
    .debug = &category<FeatureSettings>,
    .type = "GstCufaceFeatureDetect",
    .title = "Keypoint detector",
    .category = "Filter/Analyzer/Video",
    .description = "Finds and describes keypoints as ORB does, and attaches them as a meta",
    .cuda_use = CudaUse::kComputes,
    .make = make_element<FeatureDetect<FeatureSettings>>,
    .settings = feature_settings<FeatureSettings>,
    .stats = kStats,
};

constexpr ElementInfo kSurf{
    .name = "cusurf",
    .debug = &category<SurfSettings>,
    .type = "GstCufaceSurf",
    .title = "SURF keypoint detector",
    .category = "Filter/Analyzer/Video",
    .description = "Finds and describes keypoints as SURF does, and attaches them as a meta",
    .cuda_use = CudaUse::kComputes,
    .make = make_element<FeatureDetect<SurfSettings>>,
    .settings = feature_settings<SurfSettings>,
    .stats = kStats,
};

}  // namespace cuface::gst
