// The properties of cumotiondetect.
#pragma once

#include <string>
#include <vector>

#include "gst/base/settings.h"
#include "gst/regions/regions.h"
#include "kernels/motion/rules.h"

namespace cuface::gst {

enum class MotionOutput { kMeta, kMask, kCells };
enum class MotionDensity { kExact, kPublished };

/// The settings of a MotionConfig, in the units of the properties.
struct MotionRules {
  MotionMethod method = MotionConfig().method;
  double interval = 0.2, gap = 1;  ///< seconds
  int tolerance = MotionConfig().tolerance, border = MotionConfig().border;
  bool symmetric = MotionConfig().symmetric;
  int columns = MotionConfig().columns, rows = MotionConfig().rows;
  double threshold = 0.01;
  MotionDensity density = MotionDensity::kExact;
  bool global_changes = MotionConfig().find_global_changes;
  int min_frames = MotionConfig().min_frames;
  friend bool operator==(const MotionRules&, const MotionRules&) = default;
};

struct MotionSettings {
  StandardMetas standard_metas = StandardMetas::kAuto;
  MotionRules rules;
  MotionOutput output = MotionOutput::kMeta;
  std::string ignore;
};

std::vector<Setting> motion_settings();
MotionConfig config_of(const MotionRules& rules);

}  // namespace cuface::gst
