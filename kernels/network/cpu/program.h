// The network as rows for vector code. All channels of a pixel lie together, padded to whole
// vectors. Rows are made in the order in which they are needed, so that most tensors keep a few of
// them and everything stays in the processor's cache.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/common/image.h"
#include "kernels/network/network.h"

namespace cuface::network {

/// Channels are padded to a multiple of this: the floats of the widest vector.
inline constexpr int kChannelGroup = 16;
static_assert(sizeof(NetworkCell) == kChannelGroup * sizeof(float),
              "a cell is one pixel of a head's tensor");

/// What makes the rows of one tensor. Node 0 makes floats of the picture, three a pixel.
struct RowNode {
  enum class Kind { kPicture, kPictureConvolution, kPointwise, kDepthwise, kMaxPool, kUpsampleAdd };

  Kind kind = Kind::kPicture;
  int input = 0, other = 0;  ///< nodes
  bool relu = false;
  int channels = 0;  ///< real ones
  int pixel = 0;     ///< floats of a pixel: padded channels
  int rows = 0, columns = 0;
  int taps = 0;                    ///< products of a sum; 0 where there is none
  std::vector<int> layers;         ///< of the model that make its channels, one after the other
  std::size_t first_weight = 0;    ///< in Program::weights(): [tap][pixel], then biases, [pixel]
  std::ptrdiff_t first_cell = -1;  ///< of the head whose cells this node makes

  // Where rows lie: `kept` of them in turn, each behind one pixel of zeros and before another.
  int kept = 0;
  std::ptrdiff_t row_stride = 0;  ///< values
  float* first = nullptr;         ///< the first pixel of row 0

  float* row(int y) const { return first + y % kept * row_stride; }
  /// Rows of `input` that row y reads. Of `other` it reads row y.
  struct Rows {
    int first, last;
  };
  Rows rows_read(int y) const;
};

/// Rows of one node. They may be made side by side.
struct Step {
  int node = 0, first = 0, rows = 0;
  std::size_t work = 0;  ///< multiply-adds of a row
};

class Program {
 public:
  /// Whether vector code can run this model: each head is four pairs of a pointwise and a depthwise
  /// convolution of one tensor, as YuNet's are.
  static bool takes(const NetworkModel& model);

  /// For a model that it takes. Takes the picture so many rows at a time: few, and all that is made
  /// of them stays in the cache; many, and steps have work for several threads.
  Program(const NetworkModel& model, const NetworkPlan& plan, int picture_rows);
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  /// Makes room for rows of floats; those of heads are written to `cells`, which must outlive it.
  /// False where that would take more than kMaxNetworkScratch, as it may where most channels are
  /// padding.
  bool allocate(NetworkCell* cells);

  const RowNode& node(int index) const { return nodes_[static_cast<std::size_t>(index)]; }
  std::size_t nodes() const { return nodes_.size(); }
  const std::vector<Step>& steps() const { return steps_; }
  /// Zeros, as wide as any row with its borders, from a row's first pixel on: rows above and below.
  const float* zeros() const { return zeros_; }
  const float* weights(const RowNode& node) const { return weights_.data() + node.first_weight; }

 private:
  void add_nodes(const NetworkModel& model, const NetworkPlan& plan);
  void add_head(const NetworkModel& model, const NetworkPlan& plan, std::size_t index, int input);
  void add_weights(RowNode& node);
  void schedule(int picture_rows);

  std::vector<RowNode> nodes_;
  std::vector<Step> steps_;
  std::vector<float> weights_;
  Image<float> values_;
  const float* zeros_ = nullptr;
};

/// Makes a row of a node; the rows that it reads are made. `picture` is what the program was
/// planned for.
void make_row(const Program& program, int node, int row, ImageView<const Bgr> picture);

}  // namespace cuface::network
