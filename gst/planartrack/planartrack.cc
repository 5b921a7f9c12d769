// cuplanartrack: finds flat objects by reference pictures and follows them, in a meta.
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gst/base/errors.h"
#include "gst/meta/keypoints.h"
#include "gst/meta/planar.h"
#include "gst/planartrack/cuda_planar.h"
#include "gst/planartrack/element.h"
#include "gst/planartrack/pose.h"
#include "gst/references/references.h"
#include "gst/regions/regions.h"
#include "kernels/common/try.h"
#include "kernels/keypoints/reference.h"
#include "kernels/planar/objects.h"

GST_DEBUG_CATEGORY_STATIC(cuface_planar_debug);
#define GST_CAT_DEFAULT cuface_planar_debug

namespace cuface::gst {
namespace {

enum Counter { kSearches, kVisible, kLost };  // those of the device, too

struct Settings {
  StandardMetas standard_metas = StandardMetas::kAuto;
  std::string reference;
  PlanarSearchConfig search;
};

Result<std::vector<Region>> regions_of(const AnyResult& result) {
  CUFACE_TAKE(planar, PlanarFound(result).read());
  std::vector<Region> regions;
  for (const PlanarObject& object : planar->objects)
    regions.push_back({box_of(object), object.id, 1});
  return regions;
}

class PlanarTrack final : public Element {
 public:
  using Element::Element;

  void* settings_address() override { return &settings_; }

  Status load() override {
    CUFACE_TAKE(references, ReferencePictures::load(setting(&Settings::reference)));
    references_.emplace(std::move(references));
    return {};
  }
  void unload() override {
    objects_.reset();
    ids_.clear();
    references_.reset();
  }

  Status plan(const GstVideoInfo& info) override {
    if (backend() == Backend::kCuda) {
      if (objects_) ids_ = objects_->ids();
      objects_.reset();
      return make_finder(info.width, info.height);
    }
    if (!objects_) CUFACE_TRY(make_objects());
    return objects_->resize(info.width, info.height);
  }

  /// Ids go on in frames of another size, and on the other processor.
  void unplan() override {
    if (!device_) return;
    auto ids = device_->ids();
    if (ids.ok()) ids_ = std::move(ids.value());
    device_.reset();
  }

  void reset(Reset why) override {
    forget();
    first_seen_.clear();
    if (why == Reset::kStart) {
      objects_.reset();
      ids_.clear();
      frames_ = 0;
    }
  }

  /// Not away from keypoints on the CPU, which it could not match on the GPU.
  bool follows_to_gpu(const Frame& frame) override {
    const FeaturesFound known = frame.find<FrameFeatures>().result;
    return !known || can_match_on_gpu(frame, known);
  }

  /// A gap has no picture to look at: objects rest where they are.
  Status process(Frame& frame) override {
    if (frame.step().jump) forget();
    if (device_) return process_on_device(frame);
    if (!frame.is_gap()) CUFACE_TRY(look(frame));
    auto planar = std::make_shared<FramePlanar>();
    planar->width = frame.width();
    planar->height = frame.height();
    planar->pictures = references_->names();
    std::int32_t number = 0;
    for (const PlanarObjects::Object& object : objects_->objects()) {
      const PlanarPose& pose = object.tracker.pose();
      if (pose.visible) planar->objects.push_back(object_of(pose, number, object.id));
      ++number;
    }
    frame.count(kVisible, planar->objects.size());
    frame.add_result<FramePlanar>(planar);
    return publish(frame, PlanarFound(std::move(planar)));
  }

 private:
  /// A copy of one of them.
  template <typename T>
  T setting(T Settings::*member) const {
    SettingsLock lock(filter());
    return settings_.*member;
  }

  /// Frames to come do not go on from those before, nor does a gap.
  void forget() {
    before_.reset();
    if (objects_) objects_->lose();
    if (device_) device_->lose();
  }

  Status make_finder(int width, int height) {
    const PlanarSearchConfig config = setting(&Settings::search);
    CUFACE_TRY(describe(config.features));
    return take(make_device_planar_finder(*references_, config, width, height, ids_), device_);
  }

  Status process_on_device(Frame& frame) {
    PlanarFound planar;
    if (frame.is_gap()) {
      CUFACE_TRY(take(device_->rest(frame), planar));
    } else {
      const FeaturesFound before = frame.find<FrameFeatures>().result;
      CUFACE_TAKE(known, device_->find(frame, before));
      if (!known && before)
        return {StatusCode::kUnsupported,
                "the video brings keypoints that are not on this GPU, and cuplanartrack looks for "
                "objects there; set backend=cuda in the element that finds them, or backend=cpu "
                "in cuplanartrack"};
      CUFACE_TRY(describe(known ? known->config : setting(&Settings::search).features));
      CUFACE_TRY(take(device_->look(frame, *references_, frames_++), planar));
    }
    // Others would wait for the GPU.
    if (setting(&Settings::standard_metas) != StandardMetas::kAlways) return {};
    return publish(frame, planar);
  }

  Status make_objects() {
    const PlanarSearchConfig config = setting(&Settings::search);
    CUFACE_TRY(describe(config.features));
    std::vector<PlanarObjects::Reference> references;
    for (const ReferencePictures::Picture& picture : references_->pictures())
      references.push_back({picture.grey.view(), &picture.found});
    auto made = PlanarObjects::create(references, config, ids_);
    if (!made.ok()) return {made.status().code(), "reference: " + made.status().message()};
    objects_.emplace(std::move(made.value()));
    return {};
  }

  /// As the frames' keypoints are. Objects go on seeing the features, which stay where they are.
  Status describe(const FeatureConfig& config) {
    return describe_and_tell(*references_, config, find_in_reference, &stop_flag(), element(),
                             GST_CAT_DEFAULT, "so it is never found. Take a picture with corners");
  }

  Status look(Frame& frame) {
    CUFACE_TAKE(now, frame.pyramid());
    // Those of a cufeatures or cusurf before this element; without one, ORB's.
    CUFACE_TAKE(known, frame.find<FrameFeatures>().result.read());
    CUFACE_TRY(describe(known ? known->config : setting(&Settings::search).features));
    std::size_t visible = 0;
    for (const auto& object : objects_->objects()) visible += object.tracker.pose().visible;
    CUFACE_TRY(objects_->step(before_.get(), *now, known ? &known->found : nullptr, frames_++,
                              &stop_flag()));
    before_ = std::move(now);
    std::size_t followed = 0;
    for (const auto& object : objects_->objects()) {
      const PlanarPose& pose = object.tracker.pose();
      followed += pose.visible && !pose.found;
    }
    frame.count(kLost, visible - followed);
    frame.count(kSearches, objects_->searched());
    return {};
  }

  Status publish(Frame& frame, const PlanarFound& found) {
    if (setting(&Settings::standard_metas) == StandardMetas::kNever) return {};
    static const RegionKind kind{"planar", ResultKind<FramePlanar>::type(), regions_of};
    return publish_regions(frame.buffer(), frame.info(), kind, found, first_seen_);
  }

  Settings settings_;  // under SettingsLock

  // The streaming thread's.
  std::optional<ReferencePictures> references_;
  std::optional<PlanarObjects> objects_;        ///< of references_
  std::unique_ptr<DevicePlanarFinder> device_;  ///< while planned for the GPU
  std::vector<std::uint64_t> ids_;              ///< of the finder, or the objects, before
  FlowPyramid before_;                          ///< of the last frame; null where there is none
  std::uint64_t frames_ = 0;
  FirstSeen first_seen_;
};

constexpr StatsField kStats[] = {
    {"searches", kSearches}, {"visible-objects", kVisible}, {"lost-objects", kLost}};

constexpr float kLeastRatio = 0.01f;
constexpr int kMostInterval = 1000;

#define FIELD(member) CUFACE_FIELD(Settings, member)

std::vector<Setting> planar_settings() {
  return {
      standard_metas_setting<Settings>(),
      text("reference", "Reference",
           "PNG files of the reference pictures, each FILE or NAME=FILE, separated by commas. "
           "Always set it.",
           FIELD(reference), kReady),
      number("ratio", "Ratio",
             "Ratio test: the nearest descriptor matches if nearer than this times the second. "
             "Raise it for objects that are tilted or small.",
             FIELD(search.match.ratio), kLeastRatio, 1, kReady),
      number("max-keypoints", "Most keypoints",
             "Most keypoints of a frame, and of a reference, to compare. Raise it for small "
             "objects in large frames.",
             FIELD(search.features.orb.max_keypoints), 1, kMostKeypoints, kReady),
      number("search-interval", "Search interval",
             "Frames from one search to the next while an object is missing. Raise it to save "
             "time.",
             FIELD(search.interval), 1, kMostInterval, kReady),
  };
}

}  // namespace

constexpr ElementInfo kPlanarTrack{
    .name = "cuplanartrack",
    .debug = &cuface_planar_debug,
    .type = "GstCufacePlanarTrack",
    .title = "Planar object tracker",
    .category = "Filter/Analyzer/Video",
    .description = "Finds flat objects by reference pictures and tracks them",
    .cuda_use = CudaUse::kComputes,
    .make = make_element<PlanarTrack>,
    .settings = planar_settings,
    .stats = kStats,
};

}  // namespace cuface::gst
