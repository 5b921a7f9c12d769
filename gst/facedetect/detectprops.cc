#include "gst/facedetect/detectprops.h"

#include "kernels/detect/search_angles.h"

namespace cuface::gst {
namespace {

GType grouping_type() {
  return enum_type(
      "GstCufaceGrouping",
      {{static_cast<int>(Grouping::kOpenCv),
        "Windows with similar edges, more than min-neighbors of them (OpenCV's groupRectangles)",
        "opencv"},
       {static_cast<int>(Grouping::kOverlap),
        "Windows that overlap, in groups of three or more (the published system)", "overlap"}});
}

GType scale_mode_type() {
  return enum_type("GstCufaceScaleMode",
                   {{static_cast<int>(ScaleMode::kPyramid),
                     "The picture is scaled, exactly as OpenCV does", "pyramid"},
                    {static_cast<int>(ScaleMode::kWindow),
                     "The window and its features are scaled (the published system)", "window"}});
}

GType precision_type() {
  return enum_type("GstCufacePrecision", {{static_cast<int>(NetworkPrecision::kFloat),
                                           "Floats, on both processors", "float"},
                                          {static_cast<int>(NetworkPrecision::kInt16),
                                           "Integers of 16 bits, on the CPU only", "int16"}});
}

GType search_type() {
  return enum_type(
      "GstCufaceSearch",
      {{static_cast<int>(Search::kFull), "The whole picture, every redetect-interval frames",
        "full"},
       {static_cast<int>(Search::kSmart),
        "As full, and in between where something has changed and around followed faces", "smart"},
       {static_cast<int>(Search::kMotion), "Only where something has moved since the last search",
        "motion"}});
}

GType spread_type() {
  return enum_type(
      "GstCufaceSpread",
      {{static_cast<int>(Spread::kFalse), "The whole picture, every redetect-interval frames",
        "false"},
       {static_cast<int>(Spread::kTrue), "A band of the picture on every frame", "true"},
       {static_cast<int>(Spread::kAuto),
        "As true on the CPU behind a live source with search=full; else as false", "auto"}});
}

}  // namespace

#define FIELD(member) CUFACE_FIELD(DetectSettings, member)

std::vector<Setting> detect_settings() {
  return {
      standard_metas_setting<DetectSettings>(),
      text("cascade", "Cascade",
           "Haar cascade to search with: OpenCV's XML, or a file converted by cuface-model. Unset "
           "searches for frontal faces.",
           FIELD(cascade), kReady),
      text("model", "Network model",
           "Small network to search with instead of a cascade: a YuNet converted by cuface-model. "
           "Use it where heads turn, roll or are small.",
           FIELD(model), kReady),
      number("score-threshold", "Score threshold",
             "Lowest score of a face that a network finds. Raise it against false faces.",
             FIELD(score_threshold), 0, 1),
      number("nms-threshold", "Overlap threshold",
             "Non-maximum suppression: intersection over union above which only the better of two "
             "faces stays. Raise it where faces hide each other.",
             FIELD(nms_threshold), 0, 1),
      number("input-size", "Input size",
             "Longer side, in pixels, of the picture that a network reads; 0 is the frame's own. "
             "Raise it to find smaller faces.",
             FIELD(input_size), 0, kMaxNetworkSide),
      choice("precision", "Precision",
             "Number format of a network; CUDA has only float. Set int16 to halve a search's time "
             "on the CPU, with scores that differ by thousandths.",
             FIELD(precision), precision_type()),
      number("redetect-interval", "Redetect interval",
             "Searches every N-th frame; 0 means 10 with a culktrack downstream, else 1. Raise it "
             "to save time.",
             FIELD(redetect_interval), 0, G_MAXUINT),
      // In place of GstBaseTransform's, which drops late frames.
      boolean("qos", "Quality of service",
              "Delays searches while frames of a live source come too late. Turn it off to search "
              "on time, whatever the load.",
              FIELD(qos)),
      number("max-search-delay", "Maximum search delay",
             "Longest time, in nanoseconds, that qos delays a search; 0 never delays. Lower it to "
             "find new faces sooner.",
             FIELD(max_search_delay), 0, G_MAXUINT64),
      choice("spread", "Spread searches",
             "Searches a band of the picture on each frame, not all of it at once. Use it where "
             "frames must take equally long.",
             FIELD(spread), spread_type()),
      number("scale-factor", "Scale factor",
             "Ratio between one searched face size and the next. Raise it to search faster and "
             "miss more faces.",
             FIELD(config.scale_factor), 1.001, 10),
      number("min-neighbors", "Minimum neighbours",
             "A face needs more than this many agreeing windows. Raise it against false faces; 0 "
             "delivers every window.",
             FIELD(config.min_neighbors), 0, 1000),
      number("min-size", "Minimum size",
             "Smallest face in pixels; 0 is the cascade's window. Raise it to search much faster.",
             FIELD(config.min_size), 0, 32767),
      number("max-size", "Maximum size",
             "Largest face in pixels; 0 is the size of the frame. Lower it where no face can be "
             "larger.",
             FIELD(config.max_size), 0, 32767),
      number("max-faces", "Maximum faces",
             "Most faces of a frame; those with the most agreeing windows stay. Lower it where "
             "fewer faces can be there.",
             FIELD(config.max_faces), 1, 65536),
      choice("grouping", "Grouping",
             "How the windows that found a face become one box. Change it to reproduce the "
             "published system.",
             FIELD(config.grouping), grouping_type()),
      number("detect-scale", "Detect scale",
             "Searches a picture this many times smaller. Raise it to search faster where no face "
             "is small.",
             FIELD(config.detect_scale), 1, 16),
      choice("scale-mode", "Scale mode",
             "Whether the picture or the window is scaled to find faces of all sizes. Change it to "
             "reproduce the published system.",
             FIELD(config.scale_mode), scale_mode_type()),
      number("step", "Step",
             "Pixels from one window to the next; 0 is OpenCV's choice, 2 at small scales, else 1. "
             "Set 1 to miss fewer faces.",
             FIELD(config.step), 0, 2),
      number("threads", "Threads",
             "Threads that share a search on the CPU; 0 chooses by processors and work. Set 1 to "
             "leave processors to others.",
             FIELD(config.threads), 0, 1024),
      number_as<guint>("roll", "Roll",
                       "Also finds faces turned in the picture by up to this many degrees. Raise "
                       "it for tilted heads, at several times the cost.",
                       FIELD(config.roll), 0, kMaxRoll),
      boolean("verify", "Verify",
              "Searches again, near its last place, for a followed face that a search missed. Turn "
              "it off to save time.",
              FIELD(config.verify)),
      choice("search", "Search",
             "What searches cover: the whole picture, also changed parts in between (smart), or "
             "only moving parts (motion). Use motion for a fixed camera.",
             FIELD(search), search_type()),
  };
}

Status check_precision(NetworkPrecision precision, Backend backend) {
  if (precision == NetworkPrecision::kFloat || backend == Backend::kCpu) return {};
  return {StatusCode::kUnsupported,
          "precision=int16 works on the CPU only: set precision=float, or backend=cpu with frames "
          "in system memory"};
}

std::string ignored_by_networks(const DetectSettings& settings) {
  const DetectConfig& set = settings.config;
  const DetectConfig unset = DetectSettings{}.config;
  const struct {
    const char* name;
    bool is_set;
  } properties[] = {{"scale-factor", set.scale_factor != unset.scale_factor},
                    {"min-neighbors", set.min_neighbors != unset.min_neighbors},
                    {"grouping", set.grouping != unset.grouping},
                    {"scale-mode", set.scale_mode != unset.scale_mode},
                    {"step", set.step != unset.step},
                    {"detect-scale", set.detect_scale != unset.detect_scale},
                    {"roll", set.roll != unset.roll},
                    {"spread", settings.spread != DetectSettings{}.spread},
                    {"verify", set.verify != unset.verify}};
  std::string names;
  for (const auto& property : properties) {
    if (property.is_set) names += (names.empty() ? "" : ", ") + std::string(property.name);
  }
  return names;
}

}  // namespace cuface::gst
