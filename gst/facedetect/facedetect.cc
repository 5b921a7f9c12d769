// cufacedetect: finds faces with a Haar cascade or a network.
#include <atomic>
#include <cmath>
#include <string>
#include <utility>

#include "gst/base/errors.h"
#include "gst/base/segmenttimes.h"
#include "gst/facedetect/backend.h"
#include "gst/facedetect/detectprops.h"
#include "gst/facedetect/lateness.h"
#include "gst/facedetect/searchcost.h"
#include "gst/faces/counters.h"
#include "gst/faces/elements.h"
#include "gst/faces/trackerquery.h"
#include "gst/faces/wishes.h"
#include "kernels/common/try.h"
#include "kernels/detect/schedule.h"
#include "kernels/faces/faces_cuda.h"
#include "models/models.h"

GST_DEBUG_CATEGORY_STATIC(cuface_detect_debug);
#define GST_CAT_DEFAULT cuface_detect_debug

namespace cuface::gst {
namespace {

constexpr const char* kRedetectEvent = "GstCuFaceRedetect";
constexpr guint kIntervalWithTracker = 10;

class FaceDetect final : public FaceElementWith<DetectSettings> {
 public:
  using FaceElementWith::FaceElementWith;

  Status load() override {
    const DetectSettings settings = copy_settings();
    if (!settings.model.empty()) return load_model(settings);
    std::string path = settings.cascade;
    if (path.empty()) CUFACE_TRY(take(find_default_cascade(), path));
    CUFACE_TRY(take(load_cascade(path), model_));
    GST_INFO_OBJECT(element(), "cascade %s", path.c_str());
    return {};
  }

  void unload() override {
    model_.reset();
    network_.reset();
  }

  Status plan(const GstVideoInfo& info) override {
    const BackendOwner owner{stop_flag(), [this](long long windows, double seconds) {
                               warn_long_search(windows, seconds);
                             }};
    const DetectSettings settings = copy_settings();
    CUFACE_TAKE(made, network_ ? make_network_backend(backend(), network_, settings, info.width,
                                                      info.height, owner)
                               : make_detect_backend(backend(), model_, settings, info.width,
                                                     info.height, owner));
    backend_ = std::move(made);
    return {};
  }

  void unplan() override { backend_.reset(); }

  bool src_event(GstEvent* event) override {
    bool ours = false;
    if (GST_EVENT_TYPE(event) == GST_EVENT_CUSTOM_UPSTREAM &&
        gst_event_has_name(event, kRedetectEvent)) {
      GST_DEBUG_OBJECT(element(), "a search is asked for");
      search_asked_ = true;
      ours = true;  // and on to a detector before this one, which need not be there
    } else if (GST_EVENT_TYPE(event) == GST_EVENT_RECONFIGURE) {
      ask_for_tracker_ = true;
    }
    lateness_.told(event);
    return ours;
  }

 protected:
  bool changes_faces() const override { return true; }

  Status process_faces(Frame& frame) override {
    const DetectSettings settings = copy_settings();
    warn_max_faces(settings.config.max_faces);
    warn_sizes(settings.config.min_size, settings.config.max_size);
    warn_ignored(settings);
    const gint64 begin = g_get_monotonic_time();
    CUFACE_TAKE(faces, backend_->run(frame, settings, search_inputs(settings, frame)));
    const auto took = static_cast<GstClockTime>(g_get_monotonic_time() - begin) * GST_USECOND;
    longest_search_.add(took);
    warn_slow(settings, frame);
    tell_of_searches_put_off(frame);
    if (frame.counts()[kOverflows] > 0 || device_counts()[kOverflows] > 0) warn_overflow();
    GST_LOG_OBJECT(element(), "%s",
                   faces.pending               ? "on the GPU"
                   : frame.counts()[kSearches] ? "searched"
                                               : "not searched");
    return deliver_faces(frame, std::move(faces));
  }

  void reset_faces(Reset why) override {
    if (why == Reset::kStart) warned_long_search_ = false;
    period_.restart();
    if (backend_) backend_->restart();
    ask_for_tracker_ = true;
    lateness_.restart();
    told_at_ = GST_CLOCK_TIME_NONE;
    if (why == Reset::kStart) {
      put_off_told_ = 0;
      warned_slow_ = warned_ignored_ = false;
    }
    longest_search_ = {};
    warned_overflow_ = warned_max_faces_ = warned_sizes_ = false;
  }

 private:
  Status load_model(const DetectSettings& settings) {
    if (!settings.cascade.empty())
      return {StatusCode::kInvalidArgument,
              "cascade and model are both set: unset cascade to search with the network " +
                  settings.model + ", or model to search with the cascade " + settings.cascade};
    CUFACE_TAKE(network, load_network(settings.model));
    network_ = std::move(network);
    GST_INFO_OBJECT(element(), "network %s", settings.model.c_str());
    return {};
  }

  /// Once from one start to the next.
  void warn_ignored(const DetectSettings& settings) {
    if (!network_ || warned_ignored_) return;
    const std::string ignored = ignored_by_networks(settings);
    if (ignored.empty()) return;
    warned_ignored_ = true;
    post_warning(element(), GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS,
                 "a network searches: " + ignored + " mean nothing to it; unset them, or model");
  }

  /// Once from one start to the next, before the search begins: it says why nothing comes.
  void warn_long_search(long long windows, double seconds) {
    GST_DEBUG_OBJECT(element(), "a search looks at %lld windows, about %.3f s", windows, seconds);
    if (seconds <= kLongSearch || std::exchange(warned_long_search_, true)) return;
    const DetectConfig config = copy_settings().config;
    std::string text = "each search looks at " + std::to_string(windows) +
                       " windows, which takes about " + std::to_string(std::lround(seconds)) +
                       " s: raise scale-factor, min-size or detect-scale";
    if (config.roll > 0) text += ", or set a smaller roll";
    if (config.step > 0) text += ", or set step=0";
    if (config.scale_mode == ScaleMode::kWindow) text += ", or set scale-mode=pyramid";
    post_warning(element(), GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS, text);
  }

  /// The period in frames, from 1.
  std::uint64_t interval_of(const DetectSettings& settings) {
    if (settings.redetect_interval > 0) return settings.redetect_interval;
    if (ask_for_tracker_.exchange(false)) {
      tracker_downstream_ = gst::tracker_downstream(src_pad());
      GST_INFO_OBJECT(element(), "%s culktrack downstream", tracker_downstream_ ? "a" : "no");
    }
    return tracker_downstream_ ? kIntervalWithTracker : 1;
  }

  GstClockTime running_time_of(const Frame& frame) {
    return gst::running_time_of(segment(), frame.pts());
  }

  /// Whether a search of this frame must wait because frames of a live source come late.
  bool puts_off_search(const DetectSettings& settings, const Frame& frame) {
    const GstClockTime time = running_time_of(frame);
    const bool late = settings.qos && lateness_.is_late(time) && is_live();
    return lateness_.puts_off_search(time, late, settings.max_search_delay);
  }

  /// Left to itself a search is spread where a whole one makes frames come too late: on the CPU, of
  /// a camera. A GPU takes less than a millisecond for a whole search, and more for its bands
  /// together.
  bool spreads(const DetectSettings& settings) {
    if (network_) return false;
    if (settings.spread != Spread::kAuto) return settings.spread == Spread::kTrue;
    return settings.search == Search::kFull && backend() == Backend::kCpu && is_live();
  }

  /// What the host knows of whether to search this frame.
  SearchInputs search_inputs(const DetectSettings& settings, Frame& frame) {
    Chain* chain = frame.chain_on_this_thread();
    const bool asked = search_asked_.exchange(false);
    SearchInputs inputs;
    const std::uint64_t interval = interval_of(settings);
    inputs.every_frame = interval == 1;
    inputs.ask.step = period_.next(interval);
    // What a detector before has found is of the whole picture, and so must be what joins it.
    const bool alone = before().positions == Positions::kNone;
    const bool parts = alone && !network_ && can_search_bands(settings.config);
    const bool spread = spreads(settings);
    if (!spread || !parts) inputs.ask.step.band = {};
    inputs.ask.bands = parts && !spread && settings.search != Search::kSmart;
    const bool jump = frame.step().jump;
    if (jump)
      GST_INFO_OBJECT(element(),
                      "the frame does not belong to the one before, %.3f s ago: a search",
                      frame.step().seconds);
    // Behind a jump nobody is where he was. DISCONT says little: leaky queues set it all the time.
    inputs.verify = settings.config.verify && !jump;
    inputs.ask.asked = asked || jump;
    inputs.ask.late = !frame.is_gap() && puts_off_search(settings, frame);
    inputs.ask.searchable = !frame.is_gap() && !inputs.ask.late;
    if (!chain) return inputs;
    const SearchWishes& wishes = SearchWishes::of(*chain);
    inputs.followed = wishes.followed();
    if (inputs.followed) inputs.followed = inputs.followed.scaled(frame.width(), frame.height());
    inputs.ask.follows = inputs.followed.host() && !inputs.followed.host()->faces.empty();
    if (inputs.followed && !spread) {
      inputs.ask.active_parts = parts && settings.search != Search::kFull;
      // A network has no parts: where something has moved it searches the whole picture.
      inputs.ask.motion = settings.search == Search::kMotion && (parts || (alone && network_));
    }
    inputs.ask.tracker_asks(wishes.requested());
    return inputs;
  }

  void warn_overflow() {
    if (std::exchange(warned_overflow_, true)) return;
    post_warning(
        element(), GST_STREAM_ERROR, GST_STREAM_ERROR_FAILED,
        "more than 65536 windows of a frame looked like a face: the search counts as none found; "
        "raise min-size or scale-factor");
  }

  /// max-faces may be more than lists on the GPU have room for.
  void warn_max_faces(int max_faces) {
    if (backend() != Backend::kCuda || max_faces <= cuda::kMaxFaces ||
        std::exchange(warned_max_faces_, true))
      return;
    const std::string text = "max-faces is " + std::to_string(max_faces) +
                             ", but on CUDA a frame has at most " +
                             std::to_string(cuda::kMaxFaces) +
                             " faces; for more set backend=cpu, with frames in system memory";
    post_warning(element(), GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS, text);
  }

  /// Legal, as each of the two is, but nobody's wish.
  void warn_sizes(int min_size, int max_size) {
    const bool crossed = max_size > 0 && min_size > max_size;
    if (std::exchange(warned_sizes_, crossed) || !crossed) return;
    const std::string least = std::to_string(min_size), greatest = std::to_string(max_size);
    post_warning(
        element(), GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS,
        "min-size is " + least + ", but max-size is " + greatest +
            ": no face is as large as the one and as small as the other, and only windows of "
            "about " +
            least +
            " pixels are searched (OpenCV's rule). Lower min-size, or raise max-size (0 = no "
            "limit)");
  }

  /// Once, where frames come late again and again, and searches that take longer than frames are
  /// apart are a reason.
  void warn_slow(const DetectSettings& settings, const Frame& frame) {
    constexpr int kSeconds = 3;
    const GstClockTime longest = longest_search_.get();
    if (warned_slow_ || lateness_.late_seconds() < kSeconds || longest <= frame.step().usual ||
        !is_live())
      return;
    warned_slow_ = true;
    const auto ms = [](guint64 ns) { return std::to_string((ns + GST_MSECOND - 1) / GST_MSECOND); };
    // What the sink grants now is not known here, but GStreamer's default is. Without a queue
    // behind the chain the sink holds up the chain's thread, which then begins each frame late.
    constexpr guint64 kDeadline = 20 * GST_MSECOND;
    const std::string text =
        "frames of the live source come up to " + ms(static_cast<guint64>(lateness_.worst())) +
        " ms too late at the sink, and searches take up to " + ms(longest) +
        " ms: make searches shorter (a larger min-size, detect-scale=2" +
        (spreads(settings) ? "" : ", spread=true") +
        "), or give them time: put a queue behind the face elements, set the sink's "
        "processing-deadline to " +
        ms(longest + kDeadline) +
        " ms or more, and let the queue before cufacedetect hold the frames of that time";
    post_warning(element(), GST_CORE_ERROR, GST_CORE_ERROR_CLOCK, text);
  }

  /// With a QOS message, at most one a second.
  void tell_of_searches_put_off(const Frame& frame) {
    Counts all = counts();
    add_counts(all, frame.counts());
    const guint64 put_off = all[kSkippedSearches];
    const GstClockTime time = running_time_of(frame);
    if (put_off == put_off_told_ || !GST_CLOCK_TIME_IS_VALID(time)) return;
    if (GST_CLOCK_TIME_IS_VALID(told_at_) && time < told_at_ + GST_SECOND) return;
    told_at_ = time;
    put_off_told_ = put_off;
    GstMessage* message = gst_message_new_qos(GST_OBJECT_CAST(element()), TRUE, time,
                                              stream_time_of(segment(), frame.pts()), frame.pts(),
                                              GST_BUFFER_DURATION(frame.buffer()));
    gst_message_set_qos_values(message, lateness_.lateness(), lateness_.proportion(), 1000000);
    gst_message_set_qos_stats(message, GST_FORMAT_BUFFERS, all[kSearches], put_off);
    gst_element_post_message(element(), message);
  }

  std::atomic<bool> search_asked_{false};
  std::atomic<bool> ask_for_tracker_{true};
  Lateness lateness_;

  // The streaming thread's.
  std::shared_ptr<const CascadeModel> model_;
  std::shared_ptr<const NetworkModel> network_;  // then there is no cascade
  std::unique_ptr<DetectBackend> backend_;
  SearchPeriod period_;
  guint64 put_off_told_ = 0;                    // skipped searches, in the last QOS message
  GstClockTime told_at_ = GST_CLOCK_TIME_NONE;  // its running time
  bool tracker_downstream_ = false;
  bool warned_overflow_ = false;
  bool warned_max_faces_ = false;
  bool warned_slow_ = false;
  bool warned_ignored_ = false;
  bool warned_long_search_ = false;
  LongestOfLately longest_search_;
  bool warned_sizes_ = false;  // and they are still so
};

constexpr StatsField kStats[] = {{"searches", kSearches},
                                 {"skipped-searches", kSkippedSearches},
                                 {"overflows", kOverflows},
                                 {"faces", kFaces}};

}  // namespace

constexpr ElementInfo kFaceDetect{
    .name = "cufacedetect",
    .debug = &cuface_detect_debug,
    .type = "GstCufaceDetect",
    .title = "Face detector",
    .category = "Filter/Analyzer/Video",
    .description =
        "Finds faces with a Haar cascade or a small network and attaches their boxes to the video",
    .cuda_use = CudaUse::kComputes,
    .make = make_element<FaceDetect>,
    .settings = detect_settings,
    .stats = kStats,
    .has_presets = true,
};

}  // namespace cuface::gst
