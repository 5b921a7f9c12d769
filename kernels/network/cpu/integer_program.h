// The network in integers of 16 bits as rows for vector code: the rows and steps of Program, with
// values and weights of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/common/image.h"
#include "kernels/network/cpu/program.h"
#include "kernels/network/integers.h"
#include "kernels/network/network.h"

namespace cuface::network {

/// Channels of depthwise weights are repeated up to this many: the 16-bit integers of the widest
/// vector, which holds two pixels of 16 channels.
inline constexpr int kIntegerGroup = 2 * kChannelGroup;

struct IntegerNode {
  /// Of sums: pairs of taps, those of each channel side by side. Of depthwise convolutions: [9]
  /// factors, then biases, each kIntegerGroup wide or more. Of kUpsampleAdd: [2][pixel].
  std::vector<std::int16_t> weights;
  std::vector<std::int32_t> biases;  ///< of sums, [pixel]
  std::vector<float> steps;          ///< of cells: what an integer of 1 stands for
  int pairs = 0, shift = 0;          ///< of sums
  std::int16_t* first = nullptr;     ///< the first pixel of row 0
};

class IntegerProgram {
 public:
  /// For a model that Program::takes(). The model and `integers` need not outlive it.
  IntegerProgram(const NetworkModel& model, const IntegerModel& integers, const NetworkPlan& plan,
                 int picture_rows);

  /// As Program::allocate().
  bool allocate(NetworkCell* cells);

  const std::vector<Step>& steps() const { return rows_.steps(); }
  const RowNode& layout(int node) const { return rows_.node(node); }
  const IntegerNode& node(int index) const { return nodes_[static_cast<std::size_t>(index)]; }
  std::int16_t* row(int node, int y) const {
    return this->node(node).first + y % layout(node).kept * layout(node).row_stride;
  }
  /// A row of a head's cells.
  float* cells(int node, int y) const;
  /// As Program::zeros().
  const std::int16_t* zeros() const { return zeros_; }

 private:
  void add_sums(const NetworkModel& model, const IntegerModel& integers, const RowNode& layout,
                IntegerNode& node);
  void add_factors(const NetworkModel& model, const IntegerModel& integers, const RowNode& layout,
                   IntegerNode& node);

  Program rows_;
  std::vector<IntegerNode> nodes_;
  Image<std::int16_t> values_;
  const std::int16_t* zeros_ = nullptr;
  NetworkCell* cells_ = nullptr;
};

/// As make_row().
void make_integer_row(const IntegerProgram& program, int node, int row,
                      ImageView<const Bgr> picture);

}  // namespace cuface::network
