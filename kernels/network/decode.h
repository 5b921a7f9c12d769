// From cells to faces: scores, the best candidates, suppression.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/common/geometry.h"
#include "kernels/common/stop_flag.h"
#include "kernels/network/network.h"

namespace cuface::network {

/// Working memory for one plan, which must outlive it. One thread at a time.
class Decoder {
 public:
  Decoder(const NetworkPlan& plan, const NetworkConfig& config);

  /// The faces of plan.cells cells, as FaceNetwork::enqueue() returns them. False, with an empty
  /// `out`, once `stop` is raised.
  bool decode(std::span<const NetworkCell> cells, std::vector<NetworkFace>& out,
              const StopFlag* stop = nullptr);

 private:
  NetworkFace face_at(std::span<const NetworkCell> cells, std::uint64_t key) const;

  const NetworkPlan& plan_;
  const NetworkConfig config_;
  std::vector<std::uint64_t> keys_;  // of candidates, order_key()
  std::vector<Rect> kept_;           // truncated boxes of the faces so far
};

}  // namespace cuface::network
