#include <algorithm>
#include <utility>

#include "gst/faces/counters.h"
#include "gst/lktrack/backend.h"
#include "kernels/common/try.h"

namespace cuface::gst {
namespace {

class CpuTrackBackend final : public TrackBackend {
 public:
  CpuTrackBackend(std::unique_ptr<Tracker> tracker, std::uint64_t first_id)
      : tracker_(std::move(tracker)), last_id_(first_id - 1) {}

  Result<FaceResult> run(Frame& frame, const TrackFrame& input) override {
    CUFACE_TAKE(pyramid, frame.pyramid());
    CUFACE_TAKE(faces, input.faces.read());
    CUFACE_TAKE(feedback, input.feedback.read());
    const TrackInput told{.pyramid = std::move(pyramid),
                          .faces = faces.get(),
                          .feedback = feedback.get(),
                          .frame = input.number,
                          .elapsed = input.elapsed};
    CUFACE_TRY(tracker_->enqueue(told, output_));
    frame.count(kLostTracks, static_cast<std::uint64_t>(output_.lost));
    for (const Face& face : output_.faces.faces) last_id_ = std::max(last_id_, face.id);
    if (const FaceList* told_of = feedback ? feedback.get() : faces.get();
        told_of && told_of->scheme)
      scheme_ = told_of->scheme;
    return delivered();
  }

  Result<FaceResult> pass_gap(Frame&, std::uint64_t) override {
    tracker_->pass_gap(output_);
    return delivered();
  }

  SearchRegion search_wanted() const override { return output_.search_wanted; }
  void end_tracks() override { tracker_->end_tracks(); }
  Status configure(const TrackConfig& config) override { return tracker_->configure(config); }
  std::uint64_t last_id() const override { return last_id_; }

 private:
  FaceResult delivered() {
    output_.faces.scheme = scheme_;
    return FaceResult(std::make_shared<FaceList>(std::move(output_.faces)));
  }

  const std::unique_ptr<Tracker> tracker_;
  TrackOutput output_;
  LandmarkSchemeRef scheme_;  ///< of the points that it has been told of
  std::uint64_t last_id_;
};

}  // namespace

TrackBackendResult make_track_backend(Backend backend, const TrackConfig& config, int width,
                                      int height, std::uint64_t first_id, const StopFlag& stop) {
#ifdef CUFACE_CUDA_ELEMENTS
  if (backend == Backend::kCuda) return make_cuda_track_backend(config, width, height, first_id);
#endif
  CUFACE_TAKE(tracker, Tracker::create(backend, config, width, height, first_id, &stop));
  return TrackBackendResult(std::make_unique<CpuTrackBackend>(std::move(tracker), first_id));
}

}  // namespace cuface::gst
