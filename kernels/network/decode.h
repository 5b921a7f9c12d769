// From cells to faces: scores, the best candidates, suppression.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/common/geometry.h"
#include "kernels/common/stop_flag.h"
#include "kernels/network/network.h"

namespace cuface::network {

/// The faces that stay, as suppression sees them.
class Survivors {
 public:
  /// Room for so many.
  explicit Survivors(int most);
  void clear() { boxes_.clear(); }
  std::size_t size() const { return boxes_.size(); }
  void push(const Rect& box);
  /// Whether one of them suppresses `box`.
  bool suppress(const Rect& box, float threshold) const;

 private:
  /// As many are looked at without a branch.
  static constexpr std::size_t kBlock = 64;

  /// For boxes whose coordinates, after truncated(), are exact in floats.
  struct Block {
    float left[kBlock], top[kBlock], right[kBlock], bottom[kBlock], area[kBlock];
  };

  std::vector<Rect> boxes_;
  std::vector<Block> blocks_;
};

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
  Survivors survivors_;
};

}  // namespace cuface::network
