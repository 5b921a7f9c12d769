#include "gst/lktrack/stage.h"

#include <algorithm>
#include <utility>

#include "gst/faces/counters.h"

namespace cuface::gst {
namespace {

class CpuTrackStage final : public TrackStage {
 public:
  CpuTrackStage(std::unique_ptr<Tracker> tracker, std::uint64_t first_id)
      : tracker_(std::move(tracker)), last_id_(first_id - 1) {}

  Result<FaceResult> run(Frame& frame, const TrackFrame& input) override {
    const auto picture = frame.luma();
    if (!picture.ok()) return picture.status();
    const auto faces = input.faces.read(), feedback = input.feedback.read();
    if (!faces.ok()) return faces.status();
    if (!feedback.ok()) return feedback.status();
    const TrackInput told{.luma = picture.value()->view(),
                          .luma_owner = picture.value(),
                          .faces = faces.value().get(),
                          .feedback = feedback.value().get(),
                          .frame = input.number,
                          .elapsed = input.elapsed};
    if (Status status = tracker_->enqueue(told, output_); !status.ok()) return status;
    frame.count(kLostTracks, static_cast<std::uint64_t>(output_.lost));
    for (const Face& face : output_.faces.faces) last_id_ = std::max(last_id_, face.id);
    return FaceResult(std::make_shared<FaceList>(output_.faces));
  }

  Result<FaceResult> hold(Frame&, std::uint64_t) override {
    tracker_->hold(output_);
    return FaceResult(std::make_shared<FaceList>(output_.faces));
  }

  Band search_wanted() const override { return output_.search_wanted; }
  void end_tracks() override { tracker_->end_tracks(); }
  Status configure(const TrackConfig& config) override { return tracker_->configure(config); }
  std::uint64_t last_id() const override { return last_id_; }

 private:
  const std::unique_ptr<Tracker> tracker_;
  TrackOutput output_;
  std::uint64_t last_id_;
};

}  // namespace

TrackStageResult make_track_stage(Backend backend, const TrackConfig& config, int width, int height,
                                  std::uint64_t first_id, const StopFlag& stop) {
#ifdef CUFACE_CUDA_ELEMENTS
  if (backend == Backend::kCuda) return make_cuda_track_stage(config, width, height, first_id);
#endif
  auto tracker = Tracker::create(backend, config, width, height, first_id, &stop);
  if (!tracker.ok()) return tracker.status();
  return TrackStageResult(std::make_unique<CpuTrackStage>(std::move(tracker.value()), first_id));
}

}  // namespace cuface::gst
