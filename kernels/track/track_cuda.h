// The tracker on the device, bit-equal to the CPU's: tracks, ids and decisions live there, and the
// host never waits for them.
#pragma once

#include <cstdint>
#include <memory>

#include "kernels/common/cuda/launch.h"
#include "kernels/common/cuda/runtime.h"
#include "kernels/common/image.h"
#include "kernels/common/status.h"
#include "kernels/faces/faces_cuda.h"
#include "kernels/pyramid/cuda/octaves.h"
#include "kernels/track/track.h"

namespace cuface::cuda {

/// TrackInput in device memory. Faces are read by the launches of this enqueue only.
struct TrackerInputs {
  /// Begun with this frame's picture. The tracker builds the levels that are missing, and holds the
  /// pyramid until the next enqueue(): what begins it anew comes after that one's launches.
  std::shared_ptr<GaussianPyramid> pyramid;
  const DeviceFaces* faces = nullptr;     ///< null = none, not searched
  const DeviceFaces* feedback = nullptr;  ///< as TrackInput::feedback; whether there is one is the
                                          ///< host's decision
  std::uint64_t frame = 0;
  double elapsed = 0;
  /// Points per face that the output has room for. Detections with more landmarks (or with more
  /// than kMaxTrackPoints) count as having none, and more landmarks fed back are not passed on.
  int room = 0;
};

/// One a chain. Allocates at create() only. One thread at a time, one stream (or streams ordered by
/// the caller), with the same context current throughout, the destructor included. The launches
/// differ with the pyramid: frames that take turns in two of them are two variants
/// (LaunchList::set_variant).
class Tracker {
 public:
  static Result<std::unique_ptr<Tracker>> create(const TrackConfig& config, int width, int height,
                                                 std::uint64_t first_id = 1);
  ~Tracker();

  /// Launches the tracking of one frame. `out` (device memory, none of the inputs) gets the faces
  /// with their ids, `lost` and `search_wanted`; `searched` and `overflow` are those of
  /// inputs.faces, `frame` that of the inputs. kInvalidArgument for a picture of another size,
  /// after which everything is as it was.
  Status enqueue(const TrackerInputs& inputs, DeviceFaces* out, Launcher launch);
  /// What the next enqueue() reads beside its inputs: the pyramid of the last one, or null.
  const std::shared_ptr<GaussianPyramid>& before() const { return before_; }

  /// As the CPU's pass_gap(): one launch, which reads no picture. `frame` and `room` as in
  /// TrackerInputs.
  Status pass_gap(std::uint64_t frame, int room, DeviceFaces* out, Launcher launch);

  /// From the next enqueue() or pass_gap() on every track has ended for good. Ids go on counting.
  void end_tracks();

  /// New values from the next enqueue() on; tracks go on. Allocates nothing and waits for nothing.
  Status configure(const TrackConfig& config);

 private:
  struct Buffers;
  Tracker();
  std::unique_ptr<Buffers> buffers_;
  TrackConfig config_;
  int width_ = 0, height_ = 0;
  std::shared_ptr<GaussianPyramid> before_;
  bool ended_ = false;  // since the last enqueue() or pass_gap()
};

}  // namespace cuface::cuda
