// cascade: is there a face in this window? Viola-Jones boosted cascade of Haar features on one
// level of the scale pyramid [S0.12, S0.14, S0.16, S0.19], with the arithmetic of
// OpenCV 4.6 (docs/design/numeric-contract.md).
//
// The room: model.cc validates, binding.cc lays features out for a picture's sums, reference.cc
// is CascadeSearch in plain C++. evaluate.h has the arithmetic of one window, row_rule.h the
// windows that OpenCV skips, scaled.h scaled windows, vector_tables.h what vector code reads. cpu/
// and cuda/ search faster.
// Another kind of feature: docs/design/features.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels/common/host_device.h"
#include "kernels/common/image.h"
#include "kernels/common/status.h"
#include "kernels/common/stop_flag.h"
#include "kernels/levels/levels.h"

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

/// A split: value < threshold goes left. A child > 0 is the index of a later node in the same tree.
/// A child <= 0 is minus the index of a leaf there.
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

/// The largest cascade: validate() refuses more. A search keeps a list of windows for each stage
/// and tables for each node, so these numbers bound what a hostile file can cost. The largest of
/// OpenCV's cascades has 47 stages, 8,468 trees and as many nodes.
inline constexpr std::size_t kMaxCascadeStages = 256;
inline constexpr std::size_t kMaxCascadeTrees = 65536;
inline constexpr std::size_t kMaxCascadeNodes = 65536;
inline constexpr std::size_t kMaxCascadeFeatures = 65536;
inline constexpr int kMinWindowSide = 3;    ///< the norm leaves out a border of one pixel
inline constexpr int kMaxWindowSide = 255;  ///< so that a window's sum of squares fits 32 bits
inline constexpr int kMaxTreeNodes = 255;   ///< the search keeps a list of values for each
inline constexpr float kMaxRectWeight = 1000.0f;

/// kCorrupt and a sentence that says which stage, tree or feature is wrong.
///
/// Who validates models, and who trusts them. A loader validates its input, so that its error names
/// the file. Every public create() that takes a model validates it again, so that a model made by
/// hand cannot harm. After create() has accepted a model, all code trusts it. The same rule holds
/// for landmark models (kernels/landmarks/landmarks.h).
Status validate(const CascadeModel& model);

/// A window that passed all stages: its top-left corner in the level's pixels.
struct RawWindow {
  int level = 0;
  int x = 0, y = 0;
  friend bool operator==(const RawWindow&, const RawWindow&) = default;
};

/// How the sums of a level lie in memory: planes of 32-bit words with one stride, in one block.
struct SumLayout {
  int stride = 0;             ///< words between rows; a multiple of step
  std::ptrdiff_t tilted = 0;  ///< words from the sum plane to the tilted plane
  /// Distance of the windows that are searched. With 2 the even columns of a row come first, then
  /// the odd ones: what neighbouring windows read lies side by side.
  int step = 1;

  /// Of the sums at (x,y); of a corner at (x,y) in a window, from the window's first word.
  CUFACE_HD std::ptrdiff_t offset(int x, int y) const {
    return static_cast<std::ptrdiff_t>(y) * stride + x % step * (stride / step) + x / step;
  }
  friend bool operator==(const SumLayout&, const SumLayout&) = default;
};

/// A feature bound to a layout: corner offsets from the window's first word, rectangle after
/// rectangle. If there are two rectangles, the third has weight 0.
struct BoundFeature {
  std::int32_t corner[3][4];
  float weight[3];

  /// The weighted sums, added in fp32 in the order of the rectangles. `window` points at the
  /// window's corner in the sum plane.
  CUFACE_HD float value(const std::uint32_t* window) const {
    const float v = weight[0] * sum(0, window) + weight[1] * sum(1, window);
    return weight[2] != 0.0f ? v + weight[2] * sum(2, window) : v;
  }
  /// Unsigned: a rectangle of 2^24 white pixels, the largest of ScaleMode::kWindow, has a sum of
  /// almost 2^32.
  CUFACE_HD float sum(int i, const std::uint32_t* window) const {
    const std::int32_t* c = corner[i];
    return static_cast<float>(window[c[0]] - window[c[1]] - window[c[2]] + window[c[3]]);
  }
};

/// A cascade bound to a layout, so that windows can be evaluated. The model must outlive it.
/// Evaluating is thread-safe, binding is not.
class BoundCascade {
 public:
  struct Node {
    BoundFeature feature;
    float threshold;
    int left, right;  ///< as HaarNode
  };
  struct Tree {
    const Node* nodes;
    const float* leaves;
    int node_count;
  };
  struct Stage {
    const Tree* trees;
    int tree_count;
    double threshold;  ///< a sum below it rejects
  };

  explicit BoundCascade(const CascadeModel& model);
  BoundCascade(const BoundCascade&) = delete;
  BoundCascade& operator=(const BoundCascade&) = delete;

  /// Binds the features as they are. Allocates nothing; nor does bind_scaled.
  void bind(const SumLayout& layout);
  /// Binds them with the window scaled to width x height [S0.15], as bind_scaled_feature() does.
  void bind_scaled(float scale, int width, int height, const SumLayout& layout);

  const CascadeModel& model() const { return model_; }
  const SumLayout& layout() const { return layout_; }  ///< that it is bound to
  std::span<const Stage> stages() const { return stages_; }
  int most_nodes() const { return most_nodes_; }  ///< of one tree

  /// The first stage from `first` on that the window fails, the number of stages where it passes
  /// all. Feature values are multiplied by inverse_norm before they are compared.
  std::size_t failed_stage(const std::uint32_t* window, float inverse_norm,
                           std::size_t first = 0) const;

 private:
  const CascadeModel& model_;
  SumLayout layout_;
  std::vector<Node> nodes_;
  std::vector<Tree> trees_;
  std::vector<Stage> stages_;
  int most_nodes_ = 0;
};

/// One level's sums. Both planes have the layout's stride; vector code reads, and does not use, up
/// to kSumPadding words behind the last row of each plane. It reads the lower halves of the sums
/// too: in the same places, and with the columns in order in rows of stride * step. With step 1
/// these are one plane. The plain reference reads neither.
struct LevelSums {
  const std::uint32_t* sum = nullptr;
  const std::uint32_t* squared = nullptr;
  const std::uint16_t* shorts = nullptr;
  const std::uint16_t* shorts_in_order = nullptr;
};
inline constexpr int kSumPadding = 64;

/// Which windows of a grid to look at. The bits of the row y begin at (y / step) * stride, and the
/// window at x has the bit x / step. The others neither pass nor fail.
struct WindowMask {
  const std::uint64_t* bits = nullptr;  ///< null = all
  std::ptrdiff_t stride = 0;            ///< words between rows of windows

  const std::uint64_t* row(int index) const { return bits ? bits + index * stride : nullptr; }
};

/// One of several grids that are searched together: they lie one below the other in the same
/// planes.
struct SearchPart {
  SearchGrid grid;
  int level = 0;
  int left = 0, top = 0;  ///< of its first window in the level
  int row = 0;            ///< the same in the planes, where it lies at the left
  WindowMask mask = {};
};

class VectorSearch;
class SearchTables;
struct WaitingLists;

/// Tables of a bound cascade for vector code, for any number of searches in any threads. Null where
/// the plain reference runs. The cascade must outlive it and stay bound as it is.
std::shared_ptr<SearchTables> make_search_tables(const BoundCascade& cascade);
/// Where windows wait for stages, for any number of searches of a cascade with so many, one after
/// another.
std::shared_ptr<WaitingLists> make_waiting_lists(std::size_t stages);

/// Searches levels as OpenCV does, with its row rule (row_rule.h). Serves one thread at a time;
/// several may share the cascade, which must outlive them.
class CascadeSearch {
 public:
  /// No grid may have more than max_columns columns.
  CascadeSearch(const BoundCascade& cascade, int max_columns, const StopFlag* stop = nullptr);
  /// The same with what it shares with others.
  CascadeSearch(const BoundCascade& cascade, int max_columns, std::shared_ptr<SearchTables> tables,
                std::shared_ptr<WaitingLists> waiting, const StopFlag* stop = nullptr);
  ~CascadeSearch();

  /// Appends the windows that pass all stages, by part, then y, then x. Parts come in the order of
  /// their rows. Returns false, with `limit` windows in `out`, where there are more, and, with any
  /// windows in `out`, once `stop` is raised. Grids have the step of the cascade's layout.
  /// Allocates nothing but what `out` needs.
  bool run(const LevelSums& sums, std::span<const SearchPart> parts, std::size_t limit,
           std::vector<RawWindow>& out);
  /// The same of one whole grid.
  bool run(const LevelSums& sums, const SearchGrid& grid, int level, std::size_t limit,
           std::vector<RawWindow>& out) {
    const SearchPart part{.grid = grid, .level = level};
    return run(sums, {&part, 1}, limit, out);
  }

 private:
  const BoundCascade& cascade_;
  const StopFlag* const stop_;
  std::unique_ptr<VectorSearch> vector_;  ///< null: the plain reference
};

}  // namespace cuface
