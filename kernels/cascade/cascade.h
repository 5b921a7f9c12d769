// cascade: is there a face in this window? Viola-Jones boosted cascade of Haar features on one
// level of the scale pyramid (S0.12, S0.14, S0.16, S0.19; thesis 4.3), with the arithmetic of
// OpenCV 4.6 (docs/design/numeric-contract.md).
#pragma once

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

/// A split: value < threshold goes left. A child > 0 is the index of a node in the same tree, a
/// child
/// <= 0 is minus the index of a leaf in the same tree.
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

// Evaluation of one level is declared by the stage's owner below this line.

}  // namespace cuface
