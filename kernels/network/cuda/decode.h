// From cells to faces on CUDA.
#pragma once

#include <cstdint>

#include "kernels/common/cuda/launch.h"
#include "kernels/common/cuda/scratch.h"
#include "kernels/faces/faces_cuda.h"
#include "kernels/network/network.h"

namespace cuface::cuda {

/// The faces of a picture, best first.
struct DeviceNetworkFaces {
  std::int32_t count;  ///< 0..kMaxFaces
  NetworkFace faces[kMaxFaces];
};

/// The grids of a plan, for a kernel.
struct DeviceGrids {
  int count;
  std::uint32_t cells;
  struct {
    int stride, columns;
    std::uint32_t first;
  } grids[kMaxNetworkHeads];
};

class NetworkDecode {
 public:
  void add_parts(const NetworkPlan& plan, const NetworkConfig& config, ScratchLayout& parts);
  void bind(std::byte* scratch);
  /// One launch. Where *run is 0 nothing is written.
  Status enqueue(const NetworkCell* cells, const std::int32_t* run, DeviceNetworkFaces* out,
                 Launcher launch) const;

 private:
  NetworkConfig config_;
  DeviceGrids grids_{};
  ScratchPart<std::uint64_t> keys_;  ///< of candidates
  ScratchPart<Rect> boxes_;          ///< theirs, truncated
};

}  // namespace cuface::cuda
