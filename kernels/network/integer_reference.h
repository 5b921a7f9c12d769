// The plain version of the network in integers of 16 bits, layer by layer.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/common/image.h"
#include "kernels/common/stop_flag.h"
#include "kernels/network/integers.h"
#include "kernels/network/network.h"

namespace cuface::network {

/// As PlainForward. The arguments must outlive it.
class PlainIntegers {
 public:
  PlainIntegers(const NetworkModel& model, const IntegerModel& integers, const NetworkPlan& plan)
      : model_(model), integers_(integers), plan_(plan), values_(plan.scratch) {}

  bool run(ImageView<const Bgr> picture, std::span<NetworkCell> cells, const StopFlag* stop);

 private:
  /// One channel of a tensor: rows without gaps.
  std::int16_t* plane(int tensor, int channel);
  const std::int16_t* plane(int tensor, int channel) const;
  /// 0 outside.
  int value(int tensor, int channel, int y, int x) const;
  int byte(int colour, int y, int x) const;
  int make(const NetworkLayer& layer, std::size_t index, int channel, int y, int x) const;

  const NetworkModel& model_;
  const IntegerModel& integers_;
  const NetworkPlan& plan_;
  ImageView<const Bgr> picture_;
  std::vector<std::int16_t> values_;
};

}  // namespace cuface::network
