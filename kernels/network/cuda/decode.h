// From cells to faces on CUDA.
#pragma once

#include <cstdint>

#include "kernels/common/cuda/launch.h"
#include "kernels/common/cuda/scratch.h"
#include "kernels/faces/faces_cuda.h"
#include "kernels/network/faces.h"
#include "kernels/network/network.h"

namespace cuface::cuda {

/// The faces of a picture, best first.
struct DeviceNetworkFaces {
  std::int32_t count;  ///< 0..kMaxFaces
  NetworkFace faces[kMaxFaces];
};

/// The frame whose faces are wanted, so many times as large as the searched picture.
struct NetworkTarget {
  FaceLimits limits;
  float scale_x = 1, scale_y = 1;
  int width = 0, height = 0;
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

/// The score that a face has at least, and a logit below which no cell's classes reach it.
struct DeviceThreshold {
  float score, hopeless;
};

class NetworkDecode {
 public:
  void add_parts(const NetworkPlan& plan, const NetworkConfig& config, ScratchLayout& parts);
  void bind(std::byte* scratch);
  /// One launch. Where *run is 0 nothing is written.
  Status enqueue(const NetworkCell* cells, const std::int32_t* run, DeviceNetworkFaces* out,
                 Launcher launch) const;
  /// The same as faces of a frame: those of faces_from_network(), of which kMaxFaces are kept.
  Status enqueue(const NetworkCell* cells, const std::int32_t* run, const NetworkTarget& target,
                 DeviceFaces* out, Launcher launch) const;

 private:
  template <typename To>
  Status launch_kernel(const NetworkCell* cells, const std::int32_t* run, int max_faces,
                       const To& to, Launcher launch) const;

  NetworkConfig config_;
  DeviceThreshold threshold_{};
  DeviceGrids grids_{};
  ScratchPart<std::uint64_t> keys_;  ///< of cells above the threshold
  ScratchPart<Rect> boxes_;          ///< of candidates, truncated
};

}  // namespace cuface::cuda
