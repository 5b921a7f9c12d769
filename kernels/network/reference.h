// The plain version of the network, layer by layer: what every other version is held against.
#pragma once

#include <span>
#include <vector>

#include "kernels/common/image.h"
#include "kernels/common/stop_flag.h"
#include "kernels/network/network.h"

namespace cuface::network {

/// Runs the layers of a model that validate() accepts. Both arguments must outlive it.
class PlainForward {
 public:
  PlainForward(const NetworkModel& model, const NetworkPlan& plan)
      : model_(model), plan_(plan), values_(plan.scratch) {}

  /// Writes plan.cells cells. False, with some of them, once `stop` is raised. `largest`, by tensor
  /// and channel, is raised to the magnitudes that layers have made.
  bool run(ImageView<const Bgr> picture, std::span<NetworkCell> cells, const StopFlag* stop,
           std::vector<std::vector<float>>* largest = nullptr);

 private:
  /// One channel of a tensor: rows of floats without gaps.
  float* plane(int tensor, int channel);

  void convolve_picture(const NetworkLayer& layer, int tensor, int channel,
                        ImageView<const Bgr> picture);
  void convolve_points(const NetworkLayer& layer, int tensor, int channel);
  void convolve_depth(const NetworkLayer& layer, int tensor, int channel);
  void pool(const NetworkLayer& layer, int tensor, int channel);
  void add_upsampled(const NetworkLayer& layer, int tensor, int channel);

  const NetworkModel& model_;
  const NetworkPlan& plan_;
  const StopFlag* stop_ = nullptr;  // of the run
  std::vector<float> values_;
};

}  // namespace cuface::network
