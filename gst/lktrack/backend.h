// How culktrack processes a frame on the processor that it was planned for.
#pragma once

#include <cstdint>
#include <memory>

#include "gst/base/device.h"
#include "gst/base/frame.h"
#include "gst/meta/facemeta.h"
#include "kernels/common/backend.h"
#include "kernels/track/track.h"

namespace cuface::gst {

/// The data of a frame besides its picture.
struct TrackFrame {
  FaceResult faces;     ///< of the elements before; empty = none, and nobody searched
  FaceResult feedback;  ///< landmarks in the boxes of the previous frame, or empty
  std::uint64_t number = 0;
  double elapsed = 0;  ///< seconds since the previous frame, 0 = unknown
};

class TrackBackend {
 public:
  virtual ~TrackBackend() = default;
  virtual Result<FaceResult> run(Frame& frame, const TrackFrame& input) = 0;
  /// In place of run(), a frame whose pixels are not to be looked at: Tracker::pass_gap().
  virtual Result<FaceResult> pass_gap(Frame& frame, std::uint64_t number) = 0;
  /// Whether run() lost the last face on this frame. Where only the GPU knows, false, and its
  /// result says so.
  virtual SearchRegion search_wanted() const = 0;
  virtual void end_tracks() = 0;
  virtual Status configure(const TrackConfig& config) = 0;
  /// The greatest id given so far; on the GPU those of the back ends before (kLastId has the
  /// rest).
  virtual std::uint64_t last_id() const = 0;
};

using TrackBackendResult = Result<std::unique_ptr<TrackBackend>>;

/// For pictures of width x height. On the CPU run() ends with kCancelled once `stop`, which
/// outlives the back end, is raised.
TrackBackendResult make_track_backend(Backend backend, const TrackConfig& config, int width,
                                      int height, std::uint64_t first_id, const StopFlag& stop);

#ifdef CUFACE_CUDA_ELEMENTS
TrackBackendResult make_cuda_track_backend(const TrackConfig& config, int width, int height,
                                           std::uint64_t first_id);
#endif

}  // namespace cuface::gst
