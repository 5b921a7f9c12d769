#include "gst/motiondetect/motionprops.h"

#include <cmath>

namespace cuface::gst {
namespace {

GType method_type() {
  return enum_type("GstCufaceMotionMethod",
                   {{static_cast<int>(MotionMethod::kEdges),
                     "The edges of two frames differ by more than the tolerance", "edges"},
                    {static_cast<int>(MotionMethod::kDifference),
                     "The grey levels of two frames differ", "difference"},
                    {static_cast<int>(MotionMethod::kBackground),
                     "A pixel is unlike a learnt background", "background"}});
}

GType density_type() {
  return enum_type("GstCufaceMotionDensity",
                   {{static_cast<int>(MotionDensity::kExact),
                     "Changed pixels, divided by all pixels of the cell", "exact"},
                    {static_cast<int>(MotionDensity::kPublished),
                     "A thousand times that, as the published program has it", "published"}});
}

GType output_type() {
  return enum_type(
      "GstCufaceMotionOutput",
      {{static_cast<int>(MotionOutput::kMeta), "The picture stays as it is", "meta"},
       {static_cast<int>(MotionOutput::kMask), "Pixels that changed, white on black", "mask"},
       {static_cast<int>(MotionOutput::kCells), "Cells that move, white on black", "cells"}});
}

std::int64_t nanoseconds(double seconds) { return std::llround(seconds * 1e9); }

}  // namespace

#define FIELD(member) CUFACE_FIELD(MotionSettings, member)
#define RULE(member) CUFACE_FIELD(MotionSettings, rules.member)

std::vector<Setting> motion_settings() {
  return {
      standard_metas_setting<MotionSettings>(),
      choice("method", "Method",
             "How pixels that changed are found. Set edges for published results.", RULE(method),
             method_type()),
      number("interval", "Interval",
             "Seconds between the two frames that edges and differences compare; 0 compares "
             "successive ones. Raise it for slower motion.",
             RULE(interval), 0, 60),
      number("tolerance", "Tolerance",
             "Pixels by which an edge may move unnoticed; 0 is width * 12 / 5312, at least 1. "
             "Raise it for shaking cameras.",
             RULE(tolerance), 0, kMostMotionTolerance),
      boolean("symmetric", "Symmetric",
              "Edges that disappear count as much as new ones. Turn it off for the published rule, "
              "new edges only.",
              RULE(symmetric)),
      number("border", "Border",
             "Width in pixels of a margin in which no change counts. Raise it where the picture's "
             "sides flicker.",
             RULE(border), 0, kMostMotionSide),
      number("columns", "Columns", "Cells in a row. Raise it to tell smaller places apart.",
             RULE(columns), 1, kMostMotionCells),
      number("rows", "Rows", "Rows of cells. Raise it to tell smaller places apart.", RULE(rows), 1,
             kMostMotionCells),
      number("threshold", "Threshold",
             "A cell is active where more than this share of its pixels changed. Lower it for "
             "smaller objects.",
             RULE(threshold), 0, 1),
      choice("density", "Density",
             "What threshold is compared with. Set published to repeat the published results.",
             RULE(density), density_type()),
      boolean("global-changes", "Global changes",
              "Recognises a change of the whole picture, such as light, and reports no motion "
              "then. Turn it off for objects that fill the picture.",
              RULE(global_changes)),
      number("min-frames", "Minimum frames",
             "Frames in a row on which a cell must be active to count as moving. Raise it against "
             "rain and noise.",
             RULE(min_frames), 1, 255),
      number(
          "gap", "Gap",
          "Seconds without motion after which an event ends, and ids are forgotten. Raise it for "
          "fewer, longer events.",
          RULE(gap), 0, 3600),
      text("ignore", "Ignore",
           "Parts to ignore: a PNG file, white on black, or polygons x,y x,y x,y in fractions of "
           "the picture. Set it for trees and roads.",
           FIELD(ignore), kReady),
      choice(
          "output", "Output",
          "What the picture shows behind the element. Set mask or cells to see what the settings "
          "do.",
          FIELD(output), output_type()),
  };
}

MotionConfig config_of(const MotionRules& rules) {
  MotionConfig config;
  config.method = rules.method;
  config.interval = nanoseconds(rules.interval);
  config.tolerance = rules.tolerance;
  config.symmetric = rules.symmetric;
  config.border = rules.border;
  config.columns = rules.columns;
  config.rows = rules.rows;
  config.threshold = static_cast<std::int32_t>(std::lround(rules.threshold * kMillion));
  config.published_density = rules.density == MotionDensity::kPublished;
  config.find_global_changes = rules.global_changes;
  config.min_frames = rules.min_frames;
  config.gap = nanoseconds(rules.gap);
  return config;
}

}  // namespace cuface::gst
