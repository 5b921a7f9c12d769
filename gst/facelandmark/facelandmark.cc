#include "gst/facelandmark/facelandmark.h"

#include <string>

#include "gst/base/facefilter.h"
#include "gst/base/standardmetas.h"
#include "gst/facelandmark/stage.h"
#include "models/models.h"

GST_DEBUG_CATEGORY_STATIC(cuface_landmark_debug);
#define GST_CAT_DEFAULT cuface_landmark_debug

namespace {

using cuface::FaceList;
using cuface::Result;
using cuface::Status;
using cuface::gst::FaceResult;
using cuface::gst::Frame;
using cuface::gst::LandmarkSettings;
using cuface::gst::Reset;
using cuface::gst::SettingsLock;

enum class BoxMapChoice { kAuto, kNone };

struct Settings {
  std::string model;
  LandmarkSettings stage;
};

struct LandmarkState {
  Settings settings;  // under SettingsLock

  // The streaming thread's.
  std::shared_ptr<const cuface::ForestModel> model;
  std::unique_ptr<cuface::gst::LandmarkStage> stage;
  double held = 0;  ///< seconds from the last frame that was looked at to the last one
  bool told_no_feedback = false;
};

}  // namespace

struct GstCufaceLandmark {
  GstCufaceFilter parent;
  LandmarkState* state;
};

struct GstCufaceLandmarkClass {
  GstCufaceFilterClass parent_class;
};

G_DEFINE_TYPE_WITH_CODE(GstCufaceLandmark, gst_cuface_landmark, GST_TYPE_CUFACE_FILTER,
                        GST_DEBUG_CATEGORY_INIT(cuface_landmark_debug, "cufacelandmark", 0,
                                                "face landmarks"))

namespace {

enum Property {
  kPropModel = 1,
  kPropIterations,
  kPropBoxMap,
  kPropSamples,
  kPropSmooth,
  kPropFollowRoll,
  kPropInertia,
  kPropRefine
};

LandmarkState* state_of(gpointer self) { return reinterpret_cast<GstCufaceLandmark*>(self)->state; }

GType box_map_type() {
  static const GEnumValue values[] = {
      {static_cast<int>(BoxMapChoice::kAuto),
       "As calibrated for the cascade that found the face; boxes of other elements stay", "auto"},
      {static_cast<int>(BoxMapChoice::kNone), "Boxes as they come", "none"},
      {0, nullptr, nullptr},
  };
  static const GType type = g_enum_register_static("GstCufaceBoxMap", values);
  return type;
}

void set_property(GObject* object, guint id, const GValue* value, GParamSpec* spec) {
  SettingsLock lock(object);
  Settings& settings = state_of(object)->settings;
  switch (id) {
    case kPropModel: {
      const char* path = g_value_get_string(value);
      settings.model = path ? path : "";
      break;
    }
    case kPropIterations:
      settings.stage.iterations = g_value_get_int(value);
      break;
    case kPropBoxMap:
      settings.stage.map_boxes =
          static_cast<BoxMapChoice>(g_value_get_enum(value)) == BoxMapChoice::kAuto;
      break;
    case kPropSamples:
      settings.stage.samples = g_value_get_int(value);
      break;
    case kPropSmooth:
      settings.stage.smooth = g_value_get_float(value);
      break;
    case kPropFollowRoll:
      settings.stage.follow_roll = g_value_get_boolean(value);
      break;
    case kPropInertia:
      settings.stage.inertia = g_value_get_float(value);
      break;
    case kPropRefine:
      settings.stage.refine = g_value_get_boolean(value);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, spec);
  }
}

void get_property(GObject* object, guint id, GValue* value, GParamSpec* spec) {
  SettingsLock lock(object);
  const Settings& settings = state_of(object)->settings;
  switch (id) {
    case kPropModel:
      g_value_set_string(value, settings.model.empty() ? nullptr : settings.model.c_str());
      break;
    case kPropIterations:
      g_value_set_int(value, settings.stage.iterations);
      break;
    case kPropBoxMap:
      g_value_set_enum(value, static_cast<int>(settings.stage.map_boxes ? BoxMapChoice::kAuto
                                                                        : BoxMapChoice::kNone));
      break;
    case kPropSamples:
      g_value_set_int(value, settings.stage.samples);
      break;
    case kPropSmooth:
      g_value_set_float(value, settings.stage.smooth);
      break;
    case kPropFollowRoll:
      g_value_set_boolean(value, settings.stage.follow_roll);
      break;
    case kPropInertia:
      g_value_set_float(value, settings.stage.inertia);
      break;
    case kPropRefine:
      g_value_set_boolean(value, settings.stage.refine);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, spec);
  }
}

void finalize(GObject* object) {
  delete state_of(object);
  G_OBJECT_CLASS(gst_cuface_landmark_parent_class)->finalize(object);
}

Settings copy_settings(GstCufaceFilter* self) {
  SettingsLock lock(self);
  return state_of(self)->settings;
}

Status load(GstCufaceFilter* self) {
  LandmarkState* state = state_of(self);
  const Settings settings = copy_settings(self);
  std::string path = settings.model;
  if (path.empty()) {
    Result<std::string> found = cuface::find_default_forest();
    if (!found.ok()) return found.status();
    path = found.value();
  }
  auto model = cuface::load_forest(path);
  if (!model.ok()) return model.status();
  state->model = std::move(model.value());
  GST_INFO_OBJECT(self, "%d landmarks from %s", state->model->landmarks, path.c_str());
  return {};
}

void unload(GstCufaceFilter* self) { state_of(self)->model.reset(); }

Status plan(GstCufaceFilter* self, const GstVideoInfo&) {
  LandmarkState* state = state_of(self);
  auto stage =
      cuface::gst::make_landmark_stage(cuface::gst::backend_of(self), state->model,
                                       copy_settings(self).stage, cuface::gst::stop_flag_of(self));
  if (!stage.ok()) return stage.status();
  state->stage = std::move(stage.value());
  return {};
}

void unplan(GstCufaceFilter* self) { state_of(self)->stage.reset(); }

void forget(LandmarkState* state) {
  if (state->stage) state->stage->forget();
  state->held = 0;
}

void reset(GstCufaceFilter* self, Reset why) {
  forget(state_of(self));
  if (why == Reset::kStart) state_of(self)->told_no_feedback = false;
}

/// Seconds since the previous frame. After a jump nothing is known of the faces before.
double follow_time(LandmarkState* state, const Frame& frame) {
  constexpr double kUnknown = 1.0 / 30;
  if (frame.step().jump) forget(state);
  const double elapsed = frame.step().jump ? 0 : frame.step().seconds;
  return elapsed > 0 ? elapsed : kUnknown;
}

/// The boxes to put landmarks into. An empty list where none are known: the result is a list in any
/// case.
FaceResult input_faces(const Frame& frame) {
  if (FaceResult known = cuface::gst::known_faces(frame)) return known;
  auto none = std::make_shared<FaceList>();
  none->width = frame.width();
  none->height = frame.height();
  return {std::move(none)};
}

/// The way back to a tracker before this element.
void give_feedback(GstCufaceFilter* self, Frame& frame, const FaceResult& faces) {
  const auto& cell = frame.record().feedback;
  if (!cell || cell->post(faces)) return;
  if (!std::exchange(state_of(self)->told_no_feedback, true))
    GST_INFO_OBJECT(self,
                    "culktrack runs in another streaming thread (a queue lies between): it tracks "
                    "points of its own instead of these landmarks");
}

Status process(GstCufaceFilter* self, Frame& frame) {
  LandmarkState* state = state_of(self);
  double seconds = follow_time(state, frame);
  if (frame.is_gap())
    state->held += seconds;
  else
    seconds += std::exchange(state->held, 0);
  auto result = state->stage->run(frame, input_faces(frame), copy_settings(self).stage, seconds);
  if (!result.ok()) return result.status();
  auto& [faces, unsmoothed] = result.value();
  give_feedback(self, frame, unsmoothed ? unsmoothed : faces);
  frame.deliver(std::move(faces));
  return {};
}

void install_properties(GObjectClass* klass) {
  constexpr int kFlags = G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS;
  g_object_class_install_property(
      klass, kPropModel,
      g_param_spec_string("model", "Model",
                          "File with the landmark model, a dlib shape predictor (68 points, 5 "
                          "points, ...) or converted by cuface-model; unset = the first found in "
                          "$CUFACE_MODEL_PATH, $XDG_CACHE_HOME/gst-cuface and the installed data "
                          "folder",
                          nullptr, static_cast<GParamFlags>(kFlags | GST_PARAM_MUTABLE_READY)));
  g_object_class_install_property(
      klass, kPropIterations,
      g_param_spec_int("iterations", "Iterations",
                       "Steps of the model to run, of the 15 that dlib's models have: fewer are "
                       "faster and coarser. 0, or more than the model has, = all",
                       0, 1000, 0, static_cast<GParamFlags>(kFlags | GST_PARAM_MUTABLE_PLAYING)));
  g_object_class_install_property(
      klass, kPropBoxMap,
      g_param_spec_enum("box-map", "Box map",
                        "How a face box becomes the box that the model was trained on",
                        box_map_type(), static_cast<int>(BoxMapChoice::kAuto),
                        static_cast<GParamFlags>(kFlags | GST_PARAM_MUTABLE_PLAYING)));
  g_object_class_install_property(
      klass, kPropSamples,
      g_param_spec_int("samples", "Samples",
                       "Boxes tried for each face, shifted by up to 2 % and scaled by up to 3 %, "
                       "whose landmarks are averaged: steadier and nearer to the face, without "
                       "delay, for so many times the work; 1 = the face's box alone",
                       1, cuface::kMaxSamples, LandmarkSettings{}.samples,
                       static_cast<GParamFlags>(kFlags | GST_PARAM_MUTABLE_PLAYING)));
  g_object_class_install_property(
      klass, kPropSmooth,
      g_param_spec_float("smooth", "Smooth",
                         "How much the landmarks of a face with an id, so behind culktrack, are "
                         "smoothed in time: a point at rest over about this part of a second, a "
                         "moving one less (One-Euro filter); 0 = not at all",
                         0, 10, 0, static_cast<GParamFlags>(kFlags | GST_PARAM_MUTABLE_PLAYING)));
  g_object_class_install_property(
      klass, kPropFollowRoll,
      g_param_spec_boolean("follow-roll", "Follow roll",
                           "Look for the landmarks of a face with an id, so behind culktrack, in "
                           "the picture as it is turned with the head: upright as the model knows "
                           "faces, by the landmarks of the frame before; faces that cufacedetect "
                           "roll found turned begin in that turn",
                           LandmarkSettings{}.follow_roll,
                           static_cast<GParamFlags>(kFlags | GST_PARAM_MUTABLE_PLAYING)));
  g_object_class_install_property(
      klass, kPropInertia,
      g_param_spec_float("inertia", "Inertia",
                         "How far the landmarks of a face at rest that culktrack follows, in the "
                         "same streaming thread, are where the picture has carried those of the "
                         "frame before, and not where they are found anew; the further they were "
                         "carried the less: steadier, without delay; 0 = found anew only",
                         0, 0.95f, LandmarkSettings{}.inertia,
                         static_cast<GParamFlags>(kFlags | GST_PARAM_MUTABLE_PLAYING)));
  g_object_class_install_property(
      klass, kPropRefine,
      g_param_spec_boolean(
          "refine", "Refine",
          "Look twice for the landmarks of a face that is not known from the frame "
          "before (new, or without culktrack): first from several boxes, then in the "
          "box that fits what was found best, turned with it; nearer to the face, "
          "for 14 boxes more there; needs follow-roll",
          LandmarkSettings{}.refine, static_cast<GParamFlags>(kFlags | GST_PARAM_MUTABLE_PLAYING)));
  gst_type_mark_as_plugin_api(box_map_type(), static_cast<GstPluginAPIFlags>(0));
}

}  // namespace

static void gst_cuface_landmark_init(GstCufaceLandmark* self) { self->state = new LandmarkState; }

static void gst_cuface_landmark_class_init(GstCufaceLandmarkClass* klass) {
  auto* object_class = G_OBJECT_CLASS(klass);
  object_class->set_property = set_property;
  object_class->get_property = get_property;
  object_class->finalize = finalize;
  install_properties(object_class);

  auto* element_class = GST_ELEMENT_CLASS(klass);
  gst_element_class_set_static_metadata(
      element_class, "Face landmarks", "Filter/Analyzer/Video",
      "Puts landmarks on the faces of each frame with an ensemble of regression trees",
      "The gst-cuface project");
  cuface::gst::add_pad_templates(element_class, cuface::gst::kLandmarkCuda);

  auto* filter_class = GST_CUFACE_FILTER_CLASS(klass);
  filter_class->load = load;
  filter_class->unload = unload;
  filter_class->plan = plan;
  filter_class->unplan = unplan;
  filter_class->process = process;
  filter_class->counts = cuface::gst::kCountsFaces;
  filter_class->reset = reset;
}
