// The network's layers on CUDA, up to the cells: forward_plan.cc makes what forward.cu runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/common/cuda/launch.h"
#include "kernels/common/cuda/runtime.h"
#include "kernels/common/cuda/scratch.h"
#include "kernels/network/cuda/steps.h"
#include "kernels/network/network.h"

namespace cuface::cuda {

/// What a block makes: pixels and channels at most.
struct TileSize {
  int width, height, channels;
};
inline constexpr TileSize kTiles[] = {{18, 8, 16}, {8, 8, 32}, {4, 4, 32}};
inline constexpr int kWideTile = 0, kLargeTile = 1, kSmallTile = 2;
inline constexpr int kGroupChannels = 32;

/// A step as its kernel reads it, with pointers into device memory.
struct DeviceStep {
  network::StepSource source;
  bool picture_relu, pointwise_relu, depthwise_relu;
  bool to_cells;      ///< whose floats behind the channels belong to others
  int rows, columns;  ///< of the output, and of what the step begins with
  int source_channels, channels;
  int input_floats;           ///< of a pixel of `input` and `other`
  int output_floats;          ///< of a pixel of the output, or of a cell
  int padded_source, padded;  ///< channels of the tables of weights
  int group_channels;         ///< of one block: 4, 8, 16 or 32
  int tiles_x, groups;
  std::uint32_t first_block;
  const float *input, *other;
  /// Tables of [tap][padded channels] with the biases as their last row; null = no such layer.
  const float *picture_weights, *pointwise, *depthwise;
  float* output;
};

/// What one launch runs: an argument of its kernel, so that no block waits for it.
struct DeviceLevel {
  static constexpr int kMost = 16;
  int count;
  DeviceStep steps[kMost];
};

class NetworkForward {
 public:
  void add_parts(const NetworkModel& model, const NetworkPlan& plan, ScratchLayout& parts);
  /// Uploads weights and steps. `cells` are the plan's.
  Status bind(const NetworkModel& model, const NetworkPlan& plan, std::byte* scratch,
              NetworkCell* cells);
  Status enqueue(ImageView<const Bgr> picture, const std::int32_t* run, Launcher launch) const;
  std::size_t launches() const { return levels_.size(); }

 private:
  struct Level {
    int tile;  ///< of kTiles
    std::uint32_t blocks;
    DeviceLevel level;
  };
  Status upload_weights(const NetworkModel& model, std::vector<DeviceStep>& steps);
  void add_level(const std::vector<DeviceStep>& steps, std::size_t first, std::size_t last);

  network::NetworkSteps steps_;
  std::vector<Level> levels_;
  ScratchPart<float> values_;
  DeviceBuffer<float> weights_;
};

}  // namespace cuface::cuda
