#include "gst/facedetect/detectprops.h"

#include <gst/gst.h>

#include "kernels/detect/turns.h"

namespace cuface::gst {
namespace {

enum Property {
  kPropCascade = 1,
  kPropRedetectInterval,
  kPropQos,
  kPropMaxSearchDelay,
  kPropSpread,
  kPropScaleFactor,
  kPropMinNeighbors,
  kPropMinSize,
  kPropMaxSize,
  kPropMaxFaces,
  kPropGrouping,
  kPropDetectScale,
  kPropScaleMode,
  kPropStep,
  kPropThreads,
  kPropRoll,
  kPropVerify,
  kPropSearch,
};

GType grouping_type() {
  static const GEnumValue values[] = {
      {static_cast<int>(Grouping::kOpenCv),
       "Windows with similar edges, more than min-neighbors of them (OpenCV's groupRectangles)",
       "opencv"},
      {static_cast<int>(Grouping::kOverlap),
       "Windows that overlap, in groups of three or more (the published system)", "overlap"},
      {0, nullptr, nullptr},
  };
  static const GType type = g_enum_register_static("GstCufaceGrouping", values);
  return type;
}

GType scale_mode_type() {
  static const GEnumValue values[] = {
      {static_cast<int>(ScaleMode::kPyramid), "The picture is scaled, exactly as OpenCV does",
       "pyramid"},
      {static_cast<int>(ScaleMode::kWindow),
       "The window and its features are scaled (the published system)", "window"},
      {0, nullptr, nullptr},
  };
  static const GType type = g_enum_register_static("GstCufaceScaleMode", values);
  return type;
}

enum Search { kSearchFull, kSearchSmart };
GType search_type() {
  static const GEnumValue values[] = {
      {kSearchFull, "The whole picture, every redetect-interval frames", "full"},
      {kSearchSmart, "In between, where something has changed and around faces that are followed",
       "smart"},
      {0, nullptr, nullptr},
  };
  static const GType type = g_enum_register_static("GstCufaceSearch", values);
  return type;
}

GType spread_type() {
  static const GEnumValue values[] = {
      {static_cast<int>(Spread::kFalse), "The whole picture, every redetect-interval frames",
       "false"},
      {static_cast<int>(Spread::kTrue), "A band of the picture on every frame", "true"},
      {static_cast<int>(Spread::kAuto),
       "As true on the CPU behind a live source, unless search=smart; else as false", "auto"},
      {0, nullptr, nullptr},
  };
  static const GType type = g_enum_register_static("GstCufaceSpread", values);
  return type;
}

constexpr auto kReady =
    static_cast<GParamFlags>(G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | GST_PARAM_MUTABLE_READY);
constexpr auto kPlaying = static_cast<GParamFlags>(G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS |
                                                   GST_PARAM_MUTABLE_PLAYING);

}  // namespace

void install_detect_properties(GObjectClass* klass) {
  const DetectConfig defaults;
  const DetectSettings defaults_of_element;
  g_object_class_install_property(
      klass, kPropCascade,
      g_param_spec_string("cascade", "Cascade",
                          "Haar cascade to search with: OpenCV's XML, or a file converted by "
                          "cuface-model. Unset searches for frontal faces.",
                          nullptr, kReady));
  g_object_class_install_property(
      klass, kPropRedetectInterval,
      g_param_spec_uint("redetect-interval", "Redetect interval",
                        "Searches every N-th frame; 0 means 10 with a culktrack downstream, else "
                        "1. Raise it to save time.",
                        0, G_MAXUINT, 0, kPlaying));
  // In place of GstBaseTransform's, which drops late frames.
  g_object_class_install_property(
      klass, kPropQos,
      g_param_spec_boolean("qos", "Quality of service",
                           "Delays searches while frames of a live source come too late. Turn it "
                           "off to search on time, whatever the load.",
                           TRUE, kPlaying));
  g_object_class_install_property(
      klass, kPropMaxSearchDelay,
      g_param_spec_uint64("max-search-delay", "Maximum search delay",
                          "Longest time, in nanoseconds, that qos delays a search; 0 never delays. "
                          "Lower it to find new faces sooner.",
                          0, G_MAXUINT64, defaults_of_element.max_search_delay, kPlaying));
  g_object_class_install_property(
      klass, kPropSpread,
      g_param_spec_enum("spread", "Spread searches",
                        "Searches a band of the picture on each frame, not all of it at once. Use "
                        "it where frames must take equally long.",
                        spread_type(), static_cast<int>(defaults_of_element.spread), kPlaying));
  g_object_class_install_property(
      klass, kPropScaleFactor,
      g_param_spec_double("scale-factor", "Scale factor",
                          "Ratio between one searched face size and the next. Raise it to search "
                          "faster and miss more faces.",
                          1.001, 10, defaults.scale_factor, kPlaying));
  g_object_class_install_property(
      klass, kPropMinNeighbors,
      g_param_spec_int("min-neighbors", "Minimum neighbours",
                       "A face needs more than this many agreeing windows. Raise it against false "
                       "faces; 0 delivers every window.",
                       0, 1000, defaults.min_neighbors, kPlaying));
  g_object_class_install_property(
      klass, kPropMinSize,
      g_param_spec_int(
          "min-size", "Minimum size",
          "Smallest face in pixels; 0 is the cascade's window. Raise it to search much faster.", 0,
          32767, defaults.min_size, kPlaying));
  g_object_class_install_property(klass, kPropMaxSize,
                                  g_param_spec_int("max-size", "Maximum size",
                                                   "Largest face in pixels; 0 is the size of the "
                                                   "frame. Lower it where no face can be larger.",
                                                   0, 32767, defaults.max_size, kPlaying));
  g_object_class_install_property(
      klass, kPropMaxFaces,
      g_param_spec_int("max-faces", "Maximum faces",
                       "Most faces of a frame; those with the most agreeing windows stay. Lower it "
                       "where fewer faces can be there.",
                       1, 65536, defaults.max_faces, kPlaying));
  g_object_class_install_property(
      klass, kPropGrouping,
      g_param_spec_enum("grouping", "Grouping",
                        "How the windows on one face become one face. Change it to reproduce the "
                        "published system.",
                        grouping_type(), static_cast<int>(defaults.grouping), kPlaying));
  g_object_class_install_property(
      klass, kPropDetectScale,
      g_param_spec_int("detect-scale", "Detect scale",
                       "Searches a picture this many times smaller. Raise it to search faster "
                       "where no face is small.",
                       1, 16, defaults.detect_scale, kPlaying));
  g_object_class_install_property(
      klass, kPropScaleMode,
      g_param_spec_enum("scale-mode", "Scale mode",
                        "Whether the picture or the window is scaled to find faces of all sizes. "
                        "Change it to reproduce the published system.",
                        scale_mode_type(), static_cast<int>(defaults.scale_mode), kPlaying));
  g_object_class_install_property(
      klass, kPropStep,
      g_param_spec_int("step", "Step",
                       "Pixels from one window to the next; 0 is OpenCV's choice, 2 at small "
                       "scales, else 1. Set 1 to miss fewer faces.",
                       0, 2, defaults.step, kPlaying));
  g_object_class_install_property(
      klass, kPropThreads,
      g_param_spec_int("threads", "Threads",
                       "Threads that share a search on the CPU; 0 chooses by processors and work. "
                       "Set 1 to leave processors to others.",
                       0, 1024, 0, kPlaying));
  g_object_class_install_property(
      klass, kPropRoll,
      g_param_spec_uint("roll", "Roll",
                        "Also finds faces turned in the picture by up to this many degrees. Raise "
                        "it for tilted heads, at several times the cost.",
                        0, kMaxRoll, static_cast<guint>(defaults.roll), kPlaying));
  g_object_class_install_property(
      klass, kPropVerify,
      g_param_spec_boolean("verify", "Verify",
                           "Looks again, near its last place, for a followed face that a search "
                           "missed. Turn it off to save that time.",
                           defaults_of_element.config.verify, kPlaying));
  g_object_class_install_property(
      klass, kPropSearch,
      g_param_spec_enum("search", "Search",
                        "smart also searches between full searches, where the picture changes and "
                        "around followed faces. Use it with a large redetect-interval.",
                        search_type(), kSearchFull, kPlaying));
  gst_type_mark_as_plugin_api(spread_type(), static_cast<GstPluginAPIFlags>(0));
  gst_type_mark_as_plugin_api(search_type(), static_cast<GstPluginAPIFlags>(0));
  gst_type_mark_as_plugin_api(grouping_type(), static_cast<GstPluginAPIFlags>(0));
  gst_type_mark_as_plugin_api(scale_mode_type(), static_cast<GstPluginAPIFlags>(0));
}

bool set_detect_property(DetectSettings& settings, guint id, const GValue* value) {
  DetectConfig& config = settings.config;
  if (id > kPropSpread) ++settings.config_changes;
  switch (id) {
    case kPropCascade: {
      const char* path = g_value_get_string(value);
      settings.cascade = path ? path : "";
      break;
    }
    case kPropRedetectInterval:
      settings.redetect_interval = g_value_get_uint(value);
      break;
    case kPropQos:
      settings.qos = g_value_get_boolean(value);
      break;
    case kPropMaxSearchDelay:
      settings.max_search_delay = g_value_get_uint64(value);
      break;
    case kPropSpread:
      settings.spread = static_cast<Spread>(g_value_get_enum(value));
      break;
    case kPropScaleFactor:
      config.scale_factor = g_value_get_double(value);
      break;
    case kPropMinNeighbors:
      config.min_neighbors = g_value_get_int(value);
      break;
    case kPropMinSize:
      config.min_size = g_value_get_int(value);
      break;
    case kPropMaxSize:
      config.max_size = g_value_get_int(value);
      break;
    case kPropMaxFaces:
      config.max_faces = g_value_get_int(value);
      break;
    case kPropGrouping:
      config.grouping = static_cast<Grouping>(g_value_get_enum(value));
      break;
    case kPropDetectScale:
      config.detect_scale = g_value_get_int(value);
      break;
    case kPropScaleMode:
      config.scale_mode = static_cast<ScaleMode>(g_value_get_enum(value));
      break;
    case kPropStep:
      config.step = g_value_get_int(value);
      break;
    case kPropThreads:
      config.threads = g_value_get_int(value);
      break;
    case kPropRoll:
      config.roll = static_cast<int>(g_value_get_uint(value));
      break;
    case kPropVerify:
      config.verify = g_value_get_boolean(value);
      break;
    case kPropSearch:
      config.active_parts = g_value_get_enum(value) == kSearchSmart;
      break;
    default:
      return false;
  }
  return true;
}

bool get_detect_property(const DetectSettings& settings, guint id, GValue* value) {
  const DetectConfig& config = settings.config;
  switch (id) {
    case kPropCascade:
      g_value_set_string(value, settings.cascade.empty() ? nullptr : settings.cascade.c_str());
      break;
    case kPropRedetectInterval:
      g_value_set_uint(value, settings.redetect_interval);
      break;
    case kPropQos:
      g_value_set_boolean(value, settings.qos);
      break;
    case kPropMaxSearchDelay:
      g_value_set_uint64(value, settings.max_search_delay);
      break;
    case kPropSpread:
      g_value_set_enum(value, static_cast<int>(settings.spread));
      break;
    case kPropScaleFactor:
      g_value_set_double(value, config.scale_factor);
      break;
    case kPropMinNeighbors:
      g_value_set_int(value, config.min_neighbors);
      break;
    case kPropMinSize:
      g_value_set_int(value, config.min_size);
      break;
    case kPropMaxSize:
      g_value_set_int(value, config.max_size);
      break;
    case kPropMaxFaces:
      g_value_set_int(value, config.max_faces);
      break;
    case kPropGrouping:
      g_value_set_enum(value, static_cast<int>(config.grouping));
      break;
    case kPropDetectScale:
      g_value_set_int(value, config.detect_scale);
      break;
    case kPropScaleMode:
      g_value_set_enum(value, static_cast<int>(config.scale_mode));
      break;
    case kPropStep:
      g_value_set_int(value, config.step);
      break;
    case kPropThreads:
      g_value_set_int(value, config.threads);
      break;
    case kPropRoll:
      g_value_set_uint(value, static_cast<guint>(config.roll));
      break;
    case kPropVerify:
      g_value_set_boolean(value, config.verify);
      break;
    case kPropSearch:
      g_value_set_enum(value, config.active_parts ? kSearchSmart : kSearchFull);
      break;
    default:
      return false;
  }
  return true;
}

}  // namespace cuface::gst
