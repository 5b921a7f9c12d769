// The network on CUDA: the cells and faces that the CPU's FaceNetwork finds, left in device memory.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/common/cuda/launch.h"
#include "kernels/common/cuda/runtime.h"
#include "kernels/common/cuda/scratch.h"
#include "kernels/faces/faces_cuda.h"
#include "kernels/network/cuda/decode.h"
#include "kernels/network/cuda/forward.h"
#include "kernels/network/network.h"

namespace cuface::cuda {

/// Plan: create() validates and allocates everything for one picture size, on the current context.
/// enqueue() only launches. One object serves one stream at a time. Objects may share a scratch:
/// they enqueue in turns of it (Scratch::take_turn).
class FaceNetwork {
 public:
  /// As cuface::FaceNetwork::create. Besides, kUnsupported for more than kMaxFaces faces, and for
  /// integers. `scratch` is asked once, for all memory but the weights.
  static Result<std::unique_ptr<FaceNetwork>> create(
      std::shared_ptr<const NetworkModel> model, const NetworkConfig& config, int width, int height,
      const ScratchSource& scratch = Scratch::create);

  /// `picture` has the planned size (else kInvalidArgument) and lies in device memory, as do `run`
  /// and `out`. Writes the count and faces[0..count), in the order of the CPU's. `run` null =
  /// always search; where *run is 0 nothing is searched and nothing written. In a graph with `run`
  /// all pointers stay the same from one submission to the next.
  Status enqueue(ImageView<const Bgr> picture, const std::int32_t* run, DeviceNetworkFaces* out,
                 Launcher launch);

  /// The same as faces of a frame of width x height: those that faces_from_network() makes of them,
  /// in that form of cuda::Detector::enqueue().
  Status enqueue(ImageView<const Bgr> picture, const std::int32_t* run, const FaceLimits& limits,
                 int width, int height, DeviceFaces* out, Launcher launch);

  const NetworkPlan& plan() const { return plan_; }
  /// What the last search decoded: plan().cells of them, in device memory; for tests.
  const NetworkCell* cells() const { return cells_.data(); }
  /// Launches of one search.
  std::size_t launches() const { return forward_.launches() + 1; }
  Scratch& scratch() { return *scratch_; }

 private:
  FaceNetwork() = default;
  template <typename Decode>
  Status enqueue_search(ImageView<const Bgr> picture, const std::int32_t* run, const Decode& decode,
                        Launcher launch);
  Status make(const NetworkModel& model, const NetworkConfig& config, const ScratchSource& scratch);

  NetworkPlan plan_;
  NetworkForward forward_;
  NetworkDecode decode_;
  ScratchPart<NetworkCell> cells_;
  std::shared_ptr<Scratch> scratch_;
};

}  // namespace cuface::cuda
