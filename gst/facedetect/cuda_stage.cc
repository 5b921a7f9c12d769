// cufacedetect on CUDA: decides, searches and joins on the device; the host waits for nothing.
#include <algorithm>
#include <utility>

#include "gst/base/cuda/deviceframe.h"
#include "gst/facedetect/search_cuda.h"
#include "gst/facedetect/stage.h"
#include "kernels/detect/detect_cuda.h"

namespace cuface::gst {
namespace {

class CudaDetectStage final : public DetectStage {
 public:
  explicit CudaDetectStage(std::shared_ptr<const CascadeModel> model) : model_(std::move(model)) {}

  Status allocate() {
    auto state = cuda::DeviceBuffer<cuda::SearchState>::create(1);
    if (!state.ok()) return state.status();
    state_ = std::move(state.value());
    auto found = cuda::DeviceBuffer<std::byte>::create(cuda::device_faces_bytes(0));
    if (!found.ok()) return found.status();
    found_ = std::move(found.value());
    return {};
  }

  Status make_detector(const DetectSettings& settings, int width, int height) {
    DetectConfig config = settings.config;
    config.max_faces = std::min(config.max_faces, cuda::kMaxFaces);
    auto detector = cuda::Detector::create(model_, config, width, height);
    if (!detector.ok()) return detector.status();
    detector_ = std::move(detector.value());
    planned_changes_ = settings.config_changes;
    return {};
  }

  void restart() override { restart_ = true; }

  Result<FaceResult> run(Frame& frame, const DetectSettings& settings,
                         const SearchTurn& turn) override {
    DeviceFrame& device = *frame.device();
    if (settings.config_changes != planned_changes_) {
      if (Status s = device.settle(); !s.ok()) return s;
      if (Status s = make_detector(settings, frame.width(), frame.height()); !s.ok()) return s;
    }
    const FaceResult& upstream = frame.upstream().faces;
    const int landmarks = landmarks_capacity(upstream);
    const auto stream = device.stream();
    if (!stream.ok()) return stream.status();
    const auto picture = device.luma();
    if (!picture.ok()) return picture.status();
    const auto before = device.faces(upstream);
    if (!before.ok()) return before.status();
    const auto asker = device.flags(turn.asker);
    if (!asker.ok()) return asker.status();
    auto out = device.new_faces(landmarks);
    if (!out.ok()) return out.status();
    cuda::DeviceFaces* faces = out.value()->faces();
    cuda::DeviceFaces* found =
        before.value() ? reinterpret_cast<cuda::DeviceFaces*>(found_.data()) : faces;

    const cuda::SearchBegin begin{std::exchange(restart_, false), turn.due, turn.searchable,
                                  frame.record().generation, asker.value()};
    if (Status s = cuda::begin_search(state_.data(), begin, stream.value()); !s.ok()) return s;
    const std::int32_t* run = &state_.data()->run;
    if (Status s = detector_->enqueue(picture.value(), run, found, stream.value()); !s.ok())
      return s;
    if (Status s = cuda::end_search(state_.data(), before.value(), found, faces, landmarks,
                                    stream.value());
        !s.ok())
      return s;
    // Which of two detectors has found a face is known on the GPU only: the first one's name goes.
    std::string name = upstream ? detector_of(upstream) : model_->name;
    return device.finish(std::move(out.value()), std::move(name), {run, false});
  }

 private:
  const std::shared_ptr<const CascadeModel> model_;
  std::unique_ptr<cuda::Detector> detector_;
  guint planned_changes_ = 0;
  cuda::DeviceBuffer<cuda::SearchState> state_;
  cuda::DeviceBuffer<std::byte> found_;  // where there are faces of a detector before
  bool restart_ = true;
};

}  // namespace

DetectStageResult make_cuda_detect_stage(std::shared_ptr<const CascadeModel> model,
                                         const DetectSettings& settings, int width, int height) {
  auto stage = std::make_unique<CudaDetectStage>(std::move(model));
  if (Status s = stage->allocate(); !s.ok()) return s;
  if (Status s = stage->make_detector(settings, width, height); !s.ok()) return s;
  return DetectStageResult(std::move(stage));
}

}  // namespace cuface::gst
