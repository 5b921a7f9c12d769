// cascade: is there a face in this window? Viola-Jones boosted cascade of Haar features on one
// level of the scale pyramid (S0.12, S0.14, S0.16, S0.19; thesis 4.3), with the arithmetic of
// OpenCV 4.6 (docs/design/numeric-contract.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/common/image.h"
#include "kernels/common/status.h"

namespace cuface {

struct HaarRect {
  int x = 0, y = 0, w = 0, h = 0;  ///< inside the window; tilted: the rectangle's top corner
  float weight = 0;
};

struct HaarFeature {
  bool tilted = false;
  int rect_count = 0;  ///< 2 or 3
  HaarRect rects[3];
};

/// A split: value < threshold goes left. A child > 0 is the index of a later node in the same tree,
/// a child <= 0 is minus the index of a leaf in the same tree.
struct HaarNode {
  int feature = 0;
  float threshold = 0;
  int left = 0, right = 0;
};

struct HaarTree {
  int first_node = 0, node_count = 0;
  int first_leaf = 0, leaf_count = 0;  ///< node_count + 1
};

struct HaarStage {
  int first_tree = 0, tree_count = 0;
  float threshold = 0;  ///< as in the file; a sum below threshold - 1e-5f rejects
};

/// A validated cascade: every index in range, every rectangle inside the window, every number
/// finite. Immutable once loaded, so any number of threads may share it.
struct CascadeModel {
  std::string name;  ///< file stem
  int window_width = 0, window_height = 0;
  std::vector<HaarStage> stages;
  std::vector<HaarTree> trees;
  std::vector<HaarNode> nodes;
  std::vector<float> leaves;
  std::vector<HaarFeature> features;

  bool has_tilted() const;
};

/// The one check every loader ends with; `kCorrupt` and a sentence that says which stage, tree or
/// feature is wrong.
Status validate(const CascadeModel& model);

/// A window that passed all stages: its top-left corner in the level's pixels.
struct RawWindow {
  int level = 0;
  int x = 0, y = 0;
  friend bool operator==(const RawWindow&, const RawWindow&) = default;
};

/// How the sums of a level lie in memory: planes of 32-bit words with one stride, in one block.
struct SumLayout {
  int stride = 0;             ///< words between rows
  std::ptrdiff_t tilted = 0;  ///< words from the sum plane to the tilted plane

  std::ptrdiff_t offset(int x, int y) const { return static_cast<std::ptrdiff_t>(y) * stride + x; }
};

/// One level's sums in a SumLayout. `squared` has the same stride.
struct LevelSums {
  const std::uint32_t* sum = nullptr;
  const std::uint32_t* squared = nullptr;
};

/// The windows of a level to look at: x = 0, step, 2 step, ... < columns; y likewise < rows.
struct SearchGrid {
  int columns = 0, rows = 0;
  int step = 1;
};

/// A feature bound to a memory layout: corner offsets from the window's first word. Of two
/// rectangles the third has weight 0.
struct BoundFeature {
  std::int32_t corner[3][4];
  float weight[3];

  /// weight * sum, rectangle after rectangle, in fp32. `window` points at the window's corner in
  /// the sum plane.
  float value(const std::uint32_t* window) const {
    float v = weight[0] * sum(0, window) + weight[1] * sum(1, window);
    if (weight[2] != 0.0f) v += weight[2] * sum(2, window);
    return v;
  }

 private:
  float sum(int i, const std::uint32_t* window) const {
    const std::int32_t* c = corner[i];
    return static_cast<float>(
        static_cast<std::int32_t>(window[c[0]] - window[c[1]] - window[c[2]] + window[c[3]]));
  }
};

/// The feature as it is, or with the window scaled (S0.15): edges are rounded to whole pixels,
/// which keeps rectangles that share an edge adjacent, and the first weight is derived again so
/// that a flat picture gives 0 (trap 4). `window` is the scaled window's size.
BoundFeature bind(const HaarFeature& feature, const SumLayout& layout);
BoundFeature bind_scaled(const HaarFeature& feature, float scale, int window_width,
                         int window_height, const SumLayout& layout);

/// A cascade ready to search. Immutable; the model must outlive it.
class CascadeSearch {
 public:
  CascadeSearch(const CascadeModel& model, const SumLayout& layout);

  /// Appends the windows of one level that pass all stages, by y, then x. Stops before the window
  /// that would make `out` larger than `limit` and returns false. Equal to OpenCV: a window that
  /// fails the first stage makes the search skip the next one in its row; a flat one does not.
  bool run(const LevelSums& sums, const SearchGrid& grid, int level, std::size_t limit,
           std::vector<RawWindow>& out) const;

 private:
  const CascadeModel& model_;
  SumLayout layout_;
  std::vector<BoundFeature> features_;
};

/// Index of the first stage from `stage` on that rejects the window, or the number of stages.
int first_rejecting_stage(const CascadeModel& model, const BoundFeature* features, int stage,
                          const std::uint32_t* window, float inverse_norm);

/// 1 / sqrt(n * squares - sum^2) over n pixels, in double, rounded to float; 0 where the picture is
/// flat (the root is 0) and no window is to be searched.
float inverse_norm(std::uint64_t pixels, std::uint64_t sum, std::uint64_t squares);

}  // namespace cuface
