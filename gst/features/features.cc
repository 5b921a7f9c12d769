// cufeatures: keypoints and their descriptors, in a meta.
#include <memory>
#include <optional>
#include <utility>

#include "gst/features/cuda_features.h"
#include "gst/features/element.h"
#include "gst/features/featureprops.h"
#include "gst/meta/keypoints.h"
#include "kernels/common/try.h"

GST_DEBUG_CATEGORY_STATIC(cuface_features_debug);
#define GST_CAT_DEFAULT cuface_features_debug

namespace cuface::gst {
namespace {

enum Counter { kKeypoints };
static_assert(kKeypoints == 0, "the device's counter too");

class FeatureDetect final : public Element {
 public:
  using Element::Element;

  void* settings_address() override { return &settings_; }

  Status plan(const GstVideoInfo&) override {
    detector_.reset();
    if (backend() == Backend::kCuda) device_ = make_device_feature_finder();
    return {};
  }
  void unplan() override {
    device_.reset();
    detector_.reset();
  }

  /// A gap has no picture to look at.
  Status process(Frame& frame) override {
    if (frame.is_gap()) return {};
    const OrbConfig config = config_of(copy_settings());
    if (frame.device()) return device_->find(frame, config);
    CUFACE_TRY(prepare(frame, config));
    CUFACE_TAKE(luma, frame.luma());
    auto features = std::make_shared<FrameFeatures>();
    features->width = frame.width();
    features->height = frame.height();
    features->config = config_;
    CUFACE_TRY(detector_->run(luma->view(), features->found, &stop_flag()));
    frame.count(kKeypoints, features->found.keypoints.size());
    frame.add_result<FrameFeatures>(std::move(features));
    return {};
  }

 private:
  FeatureSettings copy_settings() const {
    SettingsLock lock(filter());
    return settings_;
  }

  Status prepare(const Frame& frame, const OrbConfig& config) {
    const int width = frame.width(), height = frame.height();
    if (detector_ && config == config_ && width == width_ && height == height_) return {};
    detector_.reset();
    CUFACE_TAKE(made, OrbDetector::create(config, width, height));
    detector_.emplace(std::move(made));
    config_ = config;
    width_ = width;
    height_ = height;
    GST_DEBUG_OBJECT(element(), "keypoints of %d x %d pixels, %d at most", width, height,
                     config.max_keypoints);
    return {};
  }

  FeatureSettings settings_;  // under SettingsLock

  // The streaming thread's.
  std::unique_ptr<DeviceFeatureFinder> device_;  ///< while planned for the GPU
  OrbConfig config_;                             ///< of the detector, and its frames' size
  int width_ = 0, height_ = 0;
  std::optional<OrbDetector> detector_;
};

constexpr StatsField kStats[] = {{"keypoints", kKeypoints}};

}  // namespace

constexpr ElementInfo kFeatureDetect{
    .name = "cufeatures",
    .debug = &cuface_features_debug,
    .type = "GstCufaceFeatureDetect",
    .title = "Keypoint detector",
    .category = "Filter/Analyzer/Video",
    .description = "Finds and describes keypoints as ORB does, and puts them in a meta",
    .cuda_use = CudaUse::kComputes,
    .make = make_element<FeatureDetect>,
    .settings = feature_settings,
    .stats = kStats,
};

}  // namespace cuface::gst
