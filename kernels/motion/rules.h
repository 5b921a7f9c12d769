// The settings of motion and their rules: cells, densities, and what counts as a change of the
// whole picture.
#pragma once

#include <cstdint>

#include "kernels/cells/cells.h"
#include "kernels/common/host_device.h"
#include "kernels/common/status.h"

namespace cuface {

/// Cells along a side, at most: a row of the map is a word.
inline constexpr int kMostMotionCells = kMostCells;
inline constexpr int kMostMotionSide = 32768;
inline constexpr int kMostMotionTolerance = 255;
inline constexpr std::int32_t kMillion = 1'000'000;

enum class MotionMethod : std::int32_t { kEdges, kDifference, kBackground };

struct MotionConfig {
  MotionMethod method = MotionMethod::kBackground;
  /// Edges and differences: how much older the frame that is compared with is, at least, in
  /// nanoseconds. 0 = the frame before. Not negative.
  std::int64_t interval = 200'000'000;
  /// Edges: the published beta, 0 to kMostMotionTolerance pixels; 0 = motion_tolerance().
  int tolerance = 0;
  /// Edges: edges that have gone count as those that have come. false = the published rule, by
  /// which they nearly never do.
  bool symmetric = true;
  /// Pixels along each side of the picture in which nothing changes, 0 or more.
  int border = 0;
  int columns = 10, rows = 6;  ///< 1 to kMostMotionCells, and no more than pixels
  /// A cell is active if a larger share of its pixels changed: the published Gamma, in millionths,
  /// 0 to kMillion.
  std::int32_t threshold = 10'000;
  bool published_density = false;  ///< is_active_as_published() instead of is_active()
  /// A change of the whole picture is recognised, and no motion. The published system has no such
  /// rule.
  bool find_global_changes = true;
  int min_frames = 2;  ///< 1 to 255: a cell moves that is active on so many frames in a row
  std::int64_t gap = 1'000'000'000;  ///< ns without motion after which an event ends, not negative
};

/// As the published program ran: successive frames, new edges only, 7 pixels ignored along each
/// side, its density, each frame for itself.
inline MotionConfig published_motion() {
  MotionConfig out;
  out.method = MotionMethod::kEdges;
  out.interval = 0;
  out.symmetric = false;
  out.border = 7;
  out.published_density = true;
  out.find_global_changes = false;
  out.min_frames = 1;
  return out;
}

/// The published tolerance of 12 pixels is one of pictures 5312 pixels wide.
CUFACE_HD inline int motion_tolerance(int width) {
  const int scaled = static_cast<int>(std::int64_t{width} * 12 / 5312);
  return scaled < 1 ? 1 : scaled;
}

/// A valid configuration, for pictures of a size.
struct MotionPlan {
  MotionConfig config;  ///< with the tolerance that is meant
  int width = 0, height = 0;
};
Result<MotionPlan> plan_motion(const MotionConfig& config, int width, int height);

/// The first pixel along a side that belongs to a cell (cells.h: cell_of()) or to one behind it.
CUFACE_HD inline int first_pixel(int cell, int cells, int size) {
  static_assert(kMostMotionCells * kMostMotionSide < 1 << 30);
  return (cell * size + cells - 1) / cells;
}

/// Whether a pixel is none of the border.
CUFACE_HD inline bool is_inside(const MotionPlan& plan, int x, int y) {
  const int border = plan.config.border;
  return x >= border && y >= border && x < plan.width - border && y < plan.height - border;
}

/// [S1.10] as its algorithm 3 has it: the share of changed pixels exceeds the threshold.
/// `pixels` are those of the cell that are not ignored.
CUFACE_HD inline bool is_active(std::uint32_t changed, std::uint32_t pixels,
                                std::int32_t threshold) {
  return std::uint64_t{changed} * kMillion >
         std::uint64_t{pixels} * static_cast<unsigned>(threshold);
}

/// As its listing 7 and 8 have it, which differ: the density is a thousand times as large, a cell
/// counts as (width / columns) x (height / rows) pixels, both rounded down, and a density that
/// equals the threshold is motion.
CUFACE_HD inline bool is_active_as_published(std::uint32_t changed, const MotionPlan& plan) {
  const auto block = static_cast<std::uint64_t>(plan.width / plan.config.columns) *
                     static_cast<std::uint64_t>(plan.height / plan.config.rows);
  return std::uint64_t{changed} * 1000 * kMillion >=
         block * static_cast<unsigned>(plan.config.threshold);
}

}  // namespace cuface
