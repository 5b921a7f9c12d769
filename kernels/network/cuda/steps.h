// What a GPU does of a network at once: layers joined to steps, which pass nothing through memory,
// and steps that run side by side.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/network/network.h"

namespace cuface::network {

/// What a step begins with.
enum class StepSource : std::uint8_t {
  kPicture,  ///< a convolution of the picture
  kTensor,   ///< `input`
  kPooled,   ///< `input`, pooled
  kSum,      ///< `input`, upsampled, plus `other`
};

/// source -> pointwise -> depthwise -> output; of the two convolutions those that there are.
struct NetworkStep {
  StepSource source = StepSource::kTensor;
  int input = 0, other = 0;                                            ///< tensors in memory
  int picture_layer = -1, pointwise_layer = -1, depthwise_layer = -1;  ///< -1 = none
  int output = 0;                                                      ///< tensor
  /// Steps that are done with this one, as they differ in their layers alone: their channels
  /// follow.
  std::vector<NetworkStep> beside = {};
  /// The output goes into the cells of this head, from this float of a cell on; -1 = into memory.
  int head = -1, cell_channel = 0;
};

struct NetworkSteps {
  std::vector<NetworkStep> steps;
  /// Steps of one level need none of each other's outputs; level i is steps[first_step[i]] up to
  /// steps[first_step[i + 1] - 1].
  std::vector<std::size_t> first_step;
  /// Where a tensor in memory begins, in floats: rows of pixels of pixel_floats(channels) floats.
  std::vector<std::size_t> first_float;
  std::size_t scratch = 0;  ///< floats

  std::size_t levels() const { return first_step.size() - 1; }
};

/// Channels lie side by side, rounded up to four.
constexpr int pixel_floats(int channels) { return (channels + 3) / 4 * 4; }

/// For a model that validate() accepts, and its plan.
NetworkSteps plan_steps(const NetworkModel& model, const NetworkPlan& plan);

}  // namespace cuface::network
