#include "gst/facelandmark/facelandmark.h"

#include <string>

#include "gst/base/facefilter.h"
#include "gst/facelandmark/stage.h"
#include "gst/faces/standardmetas.h"
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
                          "Landmark model: a dlib shape predictor, or a file converted by "
                          "cuface-model. Unset takes the 68-point model where it is installed.",
                          nullptr, static_cast<GParamFlags>(kFlags | GST_PARAM_MUTABLE_READY)));
  g_object_class_install_property(
      klass, kPropIterations,
      g_param_spec_int("iterations", "Iterations",
                       "Regression stages to run; 0 runs all, 15 in dlib's models. Lower it for "
                       "faster, coarser landmarks.",
                       0, 1000, 0, static_cast<GParamFlags>(kFlags | GST_PARAM_MUTABLE_PLAYING)));
  g_object_class_install_property(
      klass, kPropBoxMap,
      g_param_spec_enum("box-map", "Box map",
                        "How a face box becomes the box that the model was trained on. Use none "
                        "for boxes that fit already.",
                        box_map_type(), static_cast<int>(BoxMapChoice::kAuto),
                        static_cast<GParamFlags>(kFlags | GST_PARAM_MUTABLE_PLAYING)));
  g_object_class_install_property(
      klass, kPropSamples,
      g_param_spec_int("samples", "Samples",
                       "Boxes tried for each face, whose landmarks are averaged. Raise it for "
                       "steadier landmarks, lower it to save time.",
                       1, cuface::kMaxSamples, LandmarkSettings{}.samples,
                       static_cast<GParamFlags>(kFlags | GST_PARAM_MUTABLE_PLAYING)));
  g_object_class_install_property(
      klass, kPropSmooth,
      g_param_spec_float("smooth", "Smooth",
                         "Smooths landmarks of followed faces over about this part of a second; 0 "
                         "is off. Raise it against trembling, at some delay.",
                         0, 10, 0, static_cast<GParamFlags>(kFlags | GST_PARAM_MUTABLE_PLAYING)));
  g_object_class_install_property(
      klass, kPropFollowRoll,
      g_param_spec_boolean("follow-roll", "Follow roll",
                           "Turns the picture with a followed head before its landmarks are found. "
                           "Turn it off for dlib's points.",
                           LandmarkSettings{}.follow_roll,
                           static_cast<GParamFlags>(kFlags | GST_PARAM_MUTABLE_PLAYING)));
  g_object_class_install_property(
      klass, kPropInertia,
      g_param_spec_float("inertia", "Inertia",
                         "How far the landmarks of a resting, followed face move with the picture. "
                         "Lower it where they follow expressions too slowly.",
                         0, 0.95f, LandmarkSettings{}.inertia,
                         static_cast<GParamFlags>(kFlags | GST_PARAM_MUTABLE_PLAYING)));
  g_object_class_install_property(
      klass, kPropRefine,
      g_param_spec_boolean("refine", "Refine",
                           "Looks twice for the landmarks of a new face, which places them better. "
                           "Turn it off to save time without a culktrack.",
                           LandmarkSettings{}.refine,
                           static_cast<GParamFlags>(kFlags | GST_PARAM_MUTABLE_PLAYING)));
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
