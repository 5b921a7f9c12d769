// culktrack on CUDA: association, ids and the wish for a search stay on the device.
#include <algorithm>
#include <optional>
#include <utility>

#include "gst/faces/cuda/devicefaceframe.h"
#include "gst/lktrack/stage.h"
#include "kernels/track/track_cuda.h"

namespace cuface::gst {
namespace {

class CudaTrackStage final : public TrackStage {
 public:
  CudaTrackStage(const TrackConfig& config, std::uint64_t first_id)
      : config_(config), first_id_(first_id) {}

  Status make_tracker(int width, int height) {
    auto tracker = cuda::Tracker::create(config_, width, height, first_id_);
    if (!tracker.ok()) return tracker.status();
    tracker_ = std::move(tracker.value());
    return {};
  }

  Result<FaceResult> run(Frame& frame, const TrackFrame& input) override {
    DeviceFaceFrame device(*frame.device());
    const auto launch = device.launcher();
    if (!launch.ok()) return launch.status();
    const auto picture = device.luma();
    if (!picture.ok()) return picture.status();
    room_ = std::max({room_, landmarks_capacity(input.faces), landmarks_capacity(input.feedback)});
    auto out = device.new_faces(room_);
    if (!out.ok()) return out.status();
    const auto faces = device.faces(input.faces);
    if (!faces.ok()) return faces.status();
    const auto feedback = device.faces(input.feedback);
    if (!feedback.ok()) return feedback.status();
    const cuda::TrackerInputs told{picture.value(), faces.value(), feedback.value(),
                                   input.number,    input.elapsed, room_};
    if (Status s = tracker_->enqueue(told, out.value()->written(), launch.value()); !s.ok())
      return s;
    if (input.faces) detector_ = detector_of(input.faces);
    return device.finish(std::move(out.value()), detector_, {nullptr, true});
  }

  Result<FaceResult> hold(Frame& frame, std::uint64_t number) override {
    DeviceFaceFrame device(*frame.device());
    const auto launch = device.launcher();
    if (!launch.ok()) return launch.status();
    auto out = device.new_faces(room_);
    if (!out.ok()) return out.status();
    if (Status s = tracker_->hold(number, room_, out.value()->written(), launch.value()); !s.ok())
      return s;
    return device.finish(std::move(out.value()), detector_, {nullptr, true});
  }

  Band search_wanted() const override { return {}; }
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
  int room_ = 0;  ///< points per face of what it delivers
  DetectorName detector_ = std::make_shared<const std::string>();
};

}  // namespace

TrackStageResult make_cuda_track_stage(const TrackConfig& config, int width, int height,
                                       std::uint64_t first_id) {
  auto stage = std::make_unique<CudaTrackStage>(config, first_id);
  if (Status s = stage->make_tracker(width, height); !s.ok()) return s;
  return TrackStageResult(std::move(stage));
}

}  // namespace cuface::gst
