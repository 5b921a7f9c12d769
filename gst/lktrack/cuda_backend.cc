// culktrack on CUDA: association, ids and the wish for a search stay on the device.
#include <algorithm>
#include <optional>
#include <utility>

#include "gst/faces/cuda/devicefaceframe.h"
#include "gst/lktrack/backend.h"
#include "kernels/common/try.h"
#include "kernels/track/track_cuda.h"

namespace cuface::gst {
namespace {

class CudaTrackBackend final : public TrackBackend {
 public:
  CudaTrackBackend(const TrackConfig& config, std::uint64_t first_id)
      : config_(config), first_id_(first_id) {}

  Status make_tracker(int width, int height) {
    return take(cuda::Tracker::create(config_, width, height, first_id_), tracker_);
  }

  Result<FaceResult> run(Frame& frame, const TrackFrame& input) override {
    DeviceFaceFrame device(*frame.device());
    CUFACE_TAKE(launch, device.launcher());
    CUFACE_TAKE(pyramid, device.pyramid());
    CUFACE_TRY(device.keep(tracker_->before()));
    room_ = std::max({room_, landmarks_capacity(input.faces), landmarks_capacity(input.feedback)});
    CUFACE_TAKE(out, device.new_faces(room_));
    CUFACE_TAKE(faces, device.faces(input.faces));
    CUFACE_TAKE(feedback, device.faces(input.feedback));
    const cuda::TrackerInputs told{std::move(pyramid), faces,         feedback,
                                   input.number,       input.elapsed, room_};
    CUFACE_TRY(tracker_->enqueue(told, out->written(), launch));
    if (input.faces) detector_ = detector_of(input.faces);
    if (auto scheme = scheme_of(input.feedback ? input.feedback : input.faces))
      scheme_ = std::move(scheme);
    out->set_scheme(scheme_);
    return device.submit_faces(std::move(out), detector_, {nullptr, true});
  }

  Result<FaceResult> pass_gap(Frame& frame, std::uint64_t number) override {
    DeviceFaceFrame device(*frame.device());
    CUFACE_TAKE(launch, device.launcher());
    CUFACE_TAKE(out, device.new_faces(room_));
    out->set_scheme(scheme_);
    CUFACE_TRY(tracker_->pass_gap(number, room_, out->written(), launch));
    return device.submit_faces(std::move(out), detector_, {nullptr, true});
  }

  SearchRegion search_wanted() const override { return {}; }
  void end_tracks() override { tracker_->end_tracks(); }
  Status configure(const TrackConfig& config) override {
    config_ = config;
    return tracker_->configure(config);
  }
  std::uint64_t last_id() const override { return first_id_ - 1; }

 private:
  TrackConfig config_;
  const std::uint64_t first_id_;
  std::unique_ptr<cuda::Tracker> tracker_;
  int room_ = 0;              ///< points per face of what it delivers
  LandmarkSchemeRef scheme_;  ///< of the points that it has been told of
  DetectorName detector_ = std::make_shared<const std::string>();
};

}  // namespace

TrackBackendResult make_cuda_track_backend(const TrackConfig& config, int width, int height,
                                           std::uint64_t first_id) {
  auto made = std::make_unique<CudaTrackBackend>(config, first_id);
  CUFACE_TRY(made->make_tracker(width, height));
  return TrackBackendResult(std::move(made));
}

}  // namespace cuface::gst
