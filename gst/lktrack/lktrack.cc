#include "gst/lktrack/lktrack.h"

#include <algorithm>
#include <utility>

#include "gst/base/facefilter.h"
#include "gst/faces/standardmetas.h"
#include "gst/faces/trackerquery.h"
#include "gst/lktrack/stage.h"
#include "gst/lktrack/trackprops.h"

GST_DEBUG_CATEGORY_STATIC(cuface_track_debug);
#define GST_CAT_DEFAULT cuface_track_debug

namespace {

using cuface::Status;
using cuface::TrackConfig;
using cuface::gst::FaceResult;
using cuface::gst::FeedbackCell;
using cuface::gst::Frame;
using cuface::gst::Reset;
using cuface::gst::SettingsLock;

constexpr guint kFirstProperty = 1;

struct Settings {
  TrackConfig config;
  guint changes = 0;  ///< counts writes of `config`
};

struct TrackState {
  Settings settings;  // under SettingsLock

  // The streaming thread's.
  std::unique_ptr<cuface::gst::TrackStage> stage;
  guint planned_changes = 0;
  std::shared_ptr<FeedbackCell> feedback;  ///< of the previous frame
  std::uint64_t frame = 0;
  std::uint64_t last_id = 0;
  double held = 0;  ///< seconds from the last frame that was looked at to the last one
  bool told_no_request = false;
};

}  // namespace

struct GstCufaceLkTrack {
  GstCufaceFilter parent;
  TrackState* state;
};

struct GstCufaceLkTrackClass {
  GstCufaceFilterClass parent_class;
};

G_DEFINE_TYPE_WITH_CODE(GstCufaceLkTrack, gst_cuface_lk_track, GST_TYPE_CUFACE_FILTER,
                        GST_DEBUG_CATEGORY_INIT(cuface_track_debug, "culktrack", 0, "face tracker"))

namespace {

TrackState* state_of(gpointer self) { return reinterpret_cast<GstCufaceLkTrack*>(self)->state; }

void set_property(GObject* object, guint id, const GValue* value, GParamSpec* spec) {
  SettingsLock lock(object);
  Settings& settings = state_of(object)->settings;
  ++settings.changes;
  if (!cuface::gst::set_track_property(settings.config, kFirstProperty, id, value))
    G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, spec);
}

void get_property(GObject* object, guint id, GValue* value, GParamSpec* spec) {
  SettingsLock lock(object);
  if (!cuface::gst::get_track_property(state_of(object)->settings.config, kFirstProperty, id,
                                       value))
    G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, spec);
}

void finalize(GObject* object) {
  delete state_of(object);
  G_OBJECT_CLASS(gst_cuface_lk_track_parent_class)->finalize(object);
}

Settings copy_settings(GstCufaceFilter* self) {
  SettingsLock lock(self);
  return state_of(self)->settings;
}

Status plan(GstCufaceFilter* self, const GstVideoInfo& info) {
  TrackState* state = state_of(self);
  const Settings settings = copy_settings(self);
  auto stage = cuface::gst::make_track_stage(cuface::gst::backend_of(self), settings.config,
                                             info.width, info.height, state->last_id + 1,
                                             cuface::gst::stop_flag_of(self));
  if (!stage.ok()) return stage.status();
  state->stage = std::move(stage.value());
  state->planned_changes = settings.changes;
  return {};
}

void unplan(GstCufaceFilter* self) {
  TrackState* state = state_of(self);
  if (state->stage)
    state->last_id = std::max(state->stage->last_id(), cuface::gst::device_counts(self).last_id);
  state->stage.reset();
  state->feedback.reset();
}

void end_tracks(TrackState* state) {
  if (state->stage) state->stage->end_tracks();
  state->feedback.reset();
  state->held = 0;
}

void reset(GstCufaceFilter* self, Reset why) {
  TrackState* state = state_of(self);
  end_tracks(state);
  if (why != Reset::kStart) return;
  state->frame = 0;
  state->last_id = 0;
  state->told_no_request = false;
}

/// Seconds since the previous frame, 0 when unknown. A jump ends the tracks.
double follow_time(GstCufaceFilter* self, const Frame& frame) {
  const cuface::gst::FrameStep& step = frame.step();
  if (!step.jump) return std::max(step.seconds, 0.0);
  GST_INFO_OBJECT(self, "the frame does not belong to the one before, %.3f s ago: all tracks end",
                  step.seconds);
  end_tracks(state_of(self));
  return 0;
}

/// What cufacelandmark posted for the previous frame, in pixels of this one.
FaceResult take_feedback(TrackState* state, const Frame& frame) {
  const auto cell = std::exchange(state->feedback, nullptr);
  const FaceResult faces = cell ? cell->take() : FaceResult();
  return faces ? faces.scaled(frame.width(), frame.height()) : faces;
}

void request_search(GstCufaceFilter* self, Frame& frame, const FaceResult& faces) {
  TrackState* state = state_of(self);
  cuface::gst::Chain* chain = frame.chain_on_this_thread();
  if (chain) chain->tell_followed(faces);
  const cuface::Band wanted = state->stage->search_wanted();
  if (!wanted) return;
  if (chain)
    chain->request_search(wanted);
  else if (!std::exchange(state->told_no_request, true))
    GST_INFO_OBJECT(self,
                    "cufacedetect runs in another streaming thread (a queue lies between): after "
                    "the last track is lost, faces are found at the next regular search");
}

/// A GAP buffer has no picture worth following: the faces stay where they are, and with them the
/// landmarks that were fed back for the last picture.
Status hold(GstCufaceFilter* self, Frame& frame, double elapsed) {
  TrackState* state = state_of(self);
  state->held += elapsed;
  auto result = state->stage->hold(frame, state->frame);
  if (!result.ok()) return result.status();
  request_search(self, frame, result.value());
  GST_LOG_OBJECT(self, "a gap: faces are held");
  frame.deliver(std::move(result.value()));
  return {};
}

Status process(GstCufaceFilter* self, Frame& frame) {
  TrackState* state = state_of(self);
  const Settings settings = copy_settings(self);
  if (settings.changes != state->planned_changes) {
    if (Status status = state->stage->configure(settings.config); !status.ok()) return status;
    state->planned_changes = settings.changes;
  }
  const double elapsed = follow_time(self, frame);
  if (frame.is_gap()) return hold(self, frame, elapsed);
  const cuface::gst::TrackFrame input{cuface::gst::known_faces(frame), take_feedback(state, frame),
                                      state->frame++, elapsed + std::exchange(state->held, 0)};
  auto result = state->stage->run(frame, input);
  if (!result.ok()) return result.status();
  request_search(self, frame, result.value());
  GST_LOG_OBJECT(self, "%d lost%s", frame.lost_tracks,
                 input.feedback ? ", landmarks fed back" : "");

  state->feedback = std::make_shared<FeedbackCell>(g_thread_self());
  frame.record().feedback = state->feedback;
  frame.deliver(std::move(result.value()));
  return {};
}

gboolean query(GstBaseTransform* trans, GstPadDirection direction, GstQuery* query) {
  if (direction == GST_PAD_SINK && cuface::gst::answer_tracker_query(query)) return TRUE;
  return GST_BASE_TRANSFORM_CLASS(gst_cuface_lk_track_parent_class)->query(trans, direction, query);
}

}  // namespace

static void gst_cuface_lk_track_init(GstCufaceLkTrack* self) { self->state = new TrackState; }

static void gst_cuface_lk_track_class_init(GstCufaceLkTrackClass* klass) {
  auto* object_class = G_OBJECT_CLASS(klass);
  object_class->set_property = set_property;
  object_class->get_property = get_property;
  object_class->finalize = finalize;
  cuface::gst::install_track_properties(object_class, kFirstProperty);

  auto* element_class = GST_ELEMENT_CLASS(klass);
  gst_element_class_set_static_metadata(
      element_class, "Face tracker", "Filter/Analyzer/Video",
      "Follows faces from frame to frame with pyramidal Lucas-Kanade and gives them lasting ids",
      "The gst-cuface project");
  cuface::gst::add_pad_templates(element_class, cuface::gst::kTrackCuda);

  auto* trans_class = GST_BASE_TRANSFORM_CLASS(klass);
  trans_class->query = query;

  auto* filter_class = GST_CUFACE_FILTER_CLASS(klass);
  filter_class->plan = plan;
  filter_class->unplan = unplan;
  filter_class->process = process;
  filter_class->counts = cuface::gst::kCountsFaces | cuface::gst::kCountsTracks;
  filter_class->reset = reset;
}
