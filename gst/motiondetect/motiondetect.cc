// cumotiondetect: says where something moves.
#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "gst/base/readyqueue.h"
#include "gst/base/segmenttimes.h"
#include "gst/meta/edges.h"
#include "gst/motiondetect/cuda_motion.h"
#include "gst/motiondetect/element.h"
#include "gst/motiondetect/events.h"
#include "gst/motiondetect/ignored.h"
#include "gst/motiondetect/motionmap.h"
#include "gst/motiondetect/motionprops.h"
#include "kernels/common/try.h"
#include "kernels/edges/edges.h"
#include "kernels/luma/write.h"
#include "kernels/motion/motion.h"

GST_DEBUG_CATEGORY_STATIC(cuface_motion_debug);
#define GST_CAT_DEFAULT cuface_motion_debug

namespace cuface::gst {
namespace {

/// Where neither timestamps nor caps say how far frames are apart.
constexpr std::int64_t kUsualStep = 40 * GST_MSECOND;

Status too_many(const char* property, int cells, int pixels) {
  return {StatusCode::kInvalidArgument, std::string(property) + "=" + std::to_string(cells) +
                                            ": the picture is only " + std::to_string(pixels) +
                                            " pixels that way; set " + property + " to at most " +
                                            std::to_string(pixels)};
}

Result<std::vector<Region>> regions_of(const AnyResult& result) {
  CUFACE_TAKE(motion, MotionFound(result).read());
  std::vector<Region> regions;
  for (const MotionRegion& region : motion->regions) regions.push_back({region.box, region.id, 1});
  return regions;
}

class MotionDetect final : public Element {
 public:
  explicit MotionDetect(GstCufaceFilter* filter) : Element(filter), events_(element()) {}

  void* settings_address() override { return &settings_; }

  Status load() override {
    CUFACE_TRY(take(Ignored::read(copy_settings().ignore), ignored_));
    return {};
  }

  Status plan(const GstVideoInfo& info) override {
    info_ = info;
    const MotionRules rules = copy_settings().rules;
    CUFACE_TRY(drop_detector(rules));
    if (backend() != Backend::kCuda) return make_detector();
    device_ = make_device_motion_finder();  // it begins with the first frame
    return {};
  }

  void unplan() override {
    forget_detector();
    device_.reset();
    edges_.reset();
    picture_ = {};
  }

  void reset(Reset why) override {
    begin_anew();
    first_seen_.clear();
    if (why == Reset::kStart) ids_ = 0;
  }

  void close() override {
    follow_pending(true);
    events_.end();
  }

  void sink_event(GstEvent* event) override {
    if (GST_EVENT_TYPE(event) == GST_EVENT_EOS) begin_anew();
  }

  Status process(Frame& frame) override {
    const MotionSettings settings = copy_settings();
    if (frame.step().jump) begin_anew();
    if (settings.rules != rules_) {
      CUFACE_TRY(drop_detector(settings.rules));
      if (!frame.device()) CUFACE_TRY(make_detector());
    }
    time_ += step_of(frame);
    if (frame.device()) return process_on_device(frame, settings);
    const MotionResult* result = &nothing_;
    if (frame.is_gap())
      rest(nothing_);
    else
      CUFACE_TRY(look(frame, result));
    deliver(frame, *result);
    CUFACE_TRY(publish(frame, settings));
    return settings.output == MotionOutput::kMeta ? Status()
                                                  : show(frame, settings.output, *result);
  }

 private:
  MotionSettings copy_settings() const {
    SettingsLock lock(filter());
    return settings_;
  }

  /// Refuses rules that do not fit the picture.
  Status drop_detector(const MotionRules& rules) {
    forget_detector();
    rules_ = rules;
    if (rules.columns > info_.width) return too_many("columns", rules.columns, info_.width);
    if (rules.rows > info_.height) return too_many("rows", rules.rows, info_.height);
    return take(plan_motion(config_of(rules), info_.width, info_.height), plan_);
  }

  Status make_detector() {
    const int width = info_.width, height = info_.height;
    auto made = MotionDetector::create(plan_.config, width, height);
    CUFACE_TRY(made.status());
    detector_.emplace(std::move(made.value()));
    const Image<std::uint8_t> ignored = ignored_.pixels(width, height);
    CUFACE_TRY(detector_->ignore(ignored.view()));
    if (rules_.method != MotionMethod::kEdges || edges_) return {};
    auto edges = EdgeDetector::create({}, width, height);
    CUFACE_TRY(edges.status());
    edges_.emplace(std::move(edges.value()));
    edge_map_ = {words_of(width), height};
    return {};
  }

  /// Ids go on behind those that were.
  void forget_detector() {
    begin_anew();
    ids_before_ = ids_;
    detector_.reset();
    on_device_ = false;
  }

  /// The event ends, and frames to come are compared with none of those before.
  void begin_anew() {
    follow_pending(true);
    events_.end();
    if (detector_) {
      detector_->finish();
      detector_->forget();
    }
    if (device_) {
      device_->finish();
      device_->forget();
    }
  }

  /// In nanoseconds, and never backwards.
  std::int64_t step_of(const Frame& frame) const {
    if (frame.step().seconds != 0) {
      const double forwards = segment().rate < 0 ? -frame.step().seconds : frame.step().seconds;
      return std::max<std::int64_t>(0, std::llround(forwards * GST_SECOND));
    }
    if (GST_CLOCK_TIME_IS_VALID(frame.pts())) return 0;
    const GstVideoInfo& info = frame.info();
    if (info.fps_n <= 0) return kUsualStep;
    return static_cast<std::int64_t>(gst_util_uint64_scale_int(GST_SECOND, info.fps_d, info.fps_n));
  }

  Status look(Frame& frame, const MotionResult*& result) {
    if (rules_.method == MotionMethod::kEdges) {
      CUFACE_TRY(look_at_edges(frame, result));
    } else {
      CUFACE_TAKE(luma, frame.luma());
      CUFACE_TRY(take(detector_->look(luma->view(), time_), result));
    }
    return {};
  }

  /// Those of a cuedgedetect before this element; without one, by the defaults.
  Status look_at_edges(Frame& frame, const MotionResult*& result) {
    CUFACE_TAKE(known, frame.find<Edges>().result.read());
    if (known && known->width() == frame.width() && known->height() == frame.height())
      return take(detector_->look(known->bits.view(), time_), result);
    CUFACE_TAKE(luma, frame.luma());
    CUFACE_TRY(edges_->run(luma->view(), {.bits = edge_map_.view()}, &stop_flag()));
    frame.count(kEdgeMaps, 1);
    return take(detector_->look(std::as_const(edge_map_).view(), time_), result);
  }

  /// A gap shows nothing, but time goes on: an event may end.
  void rest(MotionResult& nothing) {
    nothing.in_event = events_.is_on();
    if (!events_.is_on() || time_ - moved_at_ < plan_.config.gap) return;
    if (detector_) detector_->finish();
    if (device_) device_->finish();
    nothing.in_event = 0;
  }

  void deliver(Frame& frame, const MotionResult& result) {
    const auto motion = motion_map(plan_, result, ids_before_);
    follow(*motion, time_of(frame), time_);
    frame.count(kMovingFrames, motion->moving_cells > 0);
    frame.count(kGlobalChanges, motion->global_change);
    frame.count(kEvents, result.began != 0);
    frame.add_result<MotionMap>(motion);
    found_ = MotionFound(motion);
  }

  FrameTime time_of(const Frame& frame) const {
    return {frame.pts(), running_time_of(segment(), frame.pts())};
  }

  void follow(const MotionMap& motion, const FrameTime& time, std::int64_t at) {
    for (const MotionRegion& region : motion.regions) ids_ = std::max(ids_, region.id);
    if (motion.moving_cells > 0) moved_at_ = at;
    events_.follow(motion, time);
  }

  /// Frames that were on the GPU, in their order: those that are over, or `all`, which waits. One
  /// that cannot be read is as one that was not compared.
  void follow_pending(bool all) {
    const auto use = [this](const Pending& one) -> Status {
      const auto motion = one.motion.read();
      if (motion.ok()) follow(*motion.value(), one.time, one.at);
      return {};
    };
    std::ignore = all ? pending_.drain(use) : pending_.release(use);  // it never fails
  }

  /// Events come with the frame that finds the GPU's work over: mostly one or two later.
  Status process_on_device(Frame& frame, const MotionSettings& settings) {
    follow_pending(frame.is_gap());
    if (!std::exchange(on_device_, true)) {
      const Image<std::uint8_t> ignored = ignored_.pixels(info_.width, info_.height);
      CUFACE_TRY(device_->make(frame, plan_.config, ignored.view()));
    }
    if (frame.is_gap()) {
      rest(nothing_);
      deliver(frame, nothing_);
      if (settings.output != MotionOutput::kMeta) CUFACE_TRY(device_->show_nothing(frame));
    } else {
      CUFACE_TRY(take(device_->look(frame, time_, settings.output, ids_before_), found_));
      pending_.add({found_, time_of(frame), time_});
    }
    return settings.standard_metas == StandardMetas::kAlways ? publish(frame, settings) : Status();
  }

  Status publish(Frame& frame, const MotionSettings& settings) {
    if (settings.standard_metas == StandardMetas::kNever) return {};
    static const RegionKind kind{"motion", ResultKind<MotionMap>::type(), regions_of};
    return publish_regions(frame.buffer(), frame.info(), kind, found_, first_seen_);
  }

  /// In place of the picture.
  Status show(Frame& frame, MotionOutput output, const MotionResult& result) {
    if (output == MotionOutput::kMask && !frame.is_gap())
      return frame.write([&](const FrameView& view) -> Status {
        write_bits(detector_->mask(), view);
        return {};
      });
    if (picture_.width() == 0) picture_ = {frame.width(), frame.height()};
    draw_cells(plan_, result, picture_.view());
    return frame.write([&](const FrameView& view) -> Status {
      write_grey(std::as_const(picture_).view(), view);
      return {};
    });
  }

  MotionSettings settings_;  // under SettingsLock

  // The streaming thread's.
  Ignored ignored_;
  GstVideoInfo info_{};
  MotionRules rules_;  ///< of the detector
  MotionPlan plan_;    ///< the same
  std::optional<MotionDetector> detector_;
  std::optional<EdgeDetector> edges_;
  Image<std::uint64_t> edge_map_;  ///< a bit map
  Image<std::uint8_t> picture_;
  MotionEvents events_;
  FirstSeen first_seen_;
  MotionFound found_;     ///< on the last frame
  MotionResult nothing_;  ///< of a gap
  /// A frame whose result the GPU may still be making.
  struct Pending {
    MotionFound motion;
    FrameTime time;
    std::int64_t at = 0;
    bool is_ready() const { return motion.is_ready(); }
  };
  ReadyQueue<Pending> pending_;
  std::unique_ptr<DeviceMotionFinder> device_;  ///< while planned for the GPU
  bool on_device_ = false;                      ///< and made
  std::int64_t time_ = 0, moved_at_ = 0;
  std::uint64_t ids_ = 0, ids_before_ = 0;  ///< the greatest; and that of the detector before
};

constexpr StatsField kStats[] = {{"moving-frames", kMovingFrames},
                                 {"global-changes", kGlobalChanges},
                                 {"events", kEvents},
                                 {"edge-maps", kEdgeMaps}};

}  // namespace

constexpr ElementInfo kMotionDetect{
    .name = "cumotiondetect",
    .debug = &cuface_motion_debug,
    .type = "GstCufaceMotionDetect",
    .title = "Motion detector",
    .category = "Filter/Analyzer/Video",
    .description = "Says where something moves, and when it begins and ends",
    .cuda_use = CudaUse::kComputes,
    .make = make_element<MotionDetect>,
    .settings = motion_settings,
    .stats = kStats,
    .has_presets = true,
};

}  // namespace cuface::gst
