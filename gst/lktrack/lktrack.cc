// culktrack: follows faces from frame to frame and gives them lasting ids.
#include <algorithm>
#include <utility>

#include "gst/base/errors.h"
#include "gst/base/segmenttimes.h"
#include "gst/faces/counters.h"
#include "gst/faces/elements.h"
#include "gst/faces/feedback.h"
#include "gst/faces/trackerquery.h"
#include "gst/faces/wishes.h"
#include "gst/lktrack/backend.h"
#include "gst/lktrack/presence.h"
#include "gst/lktrack/trackprops.h"
#include "kernels/common/try.h"

GST_DEBUG_CATEGORY_STATIC(cuface_track_debug);
#define GST_CAT_DEFAULT cuface_track_debug

namespace cuface::gst {
namespace {

class LkTrack final : public FaceElementWith<TrackSettings> {
 public:
  explicit LkTrack(GstCufaceFilter* filter) : FaceElementWith(filter), presence_(element()) {}

  Status plan(const GstVideoInfo& info) override {
    planned_ = copy_settings().config;
    return take(
        make_track_backend(backend(), planned_, info.width, info.height, last_id_ + 1, stop_flag()),
        backend_);
  }

  void unplan() override {
    if (backend_) last_id_ = std::max(backend_->last_id(), device_counts()[kLastId]);
    backend_.reset();
    feedback_.reset();
  }

  void close() override { end_presence(); }

  void sink_event(GstEvent* event) override {
    if (GST_EVENT_TYPE(event) == GST_EVENT_EOS) end_presence();
  }

  bool answer(GstPadDirection direction, GstQuery* query) override {
    return direction == GST_PAD_SINK && answer_tracker_query(query);
  }

 protected:
  bool changes_faces() const override { return true; }

  void reset_faces(Reset why) override {
    end_tracks();
    end_presence();
    if (why != Reset::kStart) return;
    frame_ = 0;
    last_id_ = 0;
    told_no_request_ = false;
  }

  Status process_faces(Frame& frame) override {
    const TrackSettings settings = copy_settings();
    posts_messages_ = settings.post_messages;
    if (settings.config != planned_) {
      CUFACE_TRY(backend_->configure(settings.config));
      planned_ = settings.config;
    }
    const double elapsed = follow_time(frame);
    if (frame.is_gap()) return pass_gap(frame, elapsed);
    const TrackFrame input{known_faces(frame), take_feedback(frame), frame_++,
                           elapsed + std::exchange(held_, 0)};
    CUFACE_TAKE(result, backend_->run(frame, input));
    request_search(frame, result);
    GST_LOG_OBJECT(element(), "%d lost%s", static_cast<int>(frame.counts()[kLostTracks]),
                   input.feedback ? ", landmarks fed back" : "");
    feedback_ = std::make_shared<const FeedbackCell>(g_thread_self());
    frame.add_result(FrameResult<FeedbackCell>(feedback_, frame.width(), frame.height()));
    return deliver(frame, std::move(result));
  }

 private:
  Status deliver(Frame& frame, FaceResult faces) {
    if (posts_messages_)
      CUFACE_TRY(presence_.follow(faces, {frame.pts(), running_time_of(segment(), frame.pts())}));
    else
      presence_.forget();
    return deliver_faces(frame, std::move(faces));
  }

  void end_presence() {
    const Status read = presence_.end();
    if (!read.ok()) post_error(element(), read);
  }

  void end_tracks() {
    if (backend_) backend_->end_tracks();
    feedback_.reset();
    held_ = 0;
  }

  /// Seconds since the previous frame, 0 when unknown. A jump ends the tracks.
  double follow_time(const Frame& frame) {
    const FrameStep& step = frame.step();
    if (!step.jump) return std::max(step.seconds, 0.0);
    GST_INFO_OBJECT(element(),
                    "the frame does not belong to the one before, %.3f s ago: all tracks end",
                    step.seconds);
    end_tracks();
    return 0;
  }

  /// What cufacelandmark posted for the previous frame, in pixels of this one.
  FaceResult take_feedback(const Frame& frame) {
    const auto cell = std::exchange(feedback_, nullptr);
    const FaceResult faces = cell ? cell->take() : FaceResult();
    return faces ? faces.scaled(frame.width(), frame.height()) : faces;
  }

  void request_search(Frame& frame, const FaceResult& faces) {
    Chain* chain = frame.chain_on_this_thread();
    if (chain) SearchWishes::of(*chain).tell_followed(faces);
    const SearchRegion wanted = backend_->search_wanted();
    if (!wanted) return;
    if (chain)
      SearchWishes::of(*chain).request(wanted);
    else if (!std::exchange(told_no_request_, true))
      GST_INFO_OBJECT(element(),
                      "cufacedetect runs in another streaming thread (a queue lies between): after "
                      "the last track is lost, faces are found at the next regular search");
  }

  /// A GAP buffer has no picture worth following: the faces stay where they are, and with them the
  /// landmarks that were fed back for the last picture.
  Status pass_gap(Frame& frame, double elapsed) {
    held_ += elapsed;
    CUFACE_TAKE(result, backend_->pass_gap(frame, frame_));
    request_search(frame, result);
    GST_LOG_OBJECT(element(), "a gap: faces are held");
    return deliver(frame, std::move(result));
  }

  // The streaming thread's.
  std::unique_ptr<TrackBackend> backend_;
  TrackConfig planned_;
  std::shared_ptr<const FeedbackCell> feedback_;  ///< of the previous frame
  std::uint64_t frame_ = 0;
  std::uint64_t last_id_ = 0;
  double held_ = 0;  ///< seconds from the last frame that was looked at to the last one
  bool told_no_request_ = false, posts_messages_ = false;
  Presence presence_;
};

constexpr StatsField kStats[] = {{"faces", kFaces}, {"lost-tracks", kLostTracks}};

}  // namespace

constexpr ElementInfo kLkTrack{
    .name = "culktrack",
    .debug = &cuface_track_debug,
    .type = "GstCufaceLkTrack",
    .title = "Face tracker",
    .category = "Filter/Analyzer/Video",
    .description =
        "Tracks faces from frame to frame with pyramidal Lucas-Kanade and gives them lasting ids",
    .cuda_use = CudaUse::kComputes,
    .make = make_element<LkTrack>,
    .settings = track_settings,
    .stats = kStats,
};

}  // namespace cuface::gst
