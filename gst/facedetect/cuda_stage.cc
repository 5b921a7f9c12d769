// cufacedetect on CUDA: decides, searches and joins on the device; the host waits for nothing.
#include <algorithm>
#include <array>
#include <atomic>
#include <utility>

#include "gst/base/cuda/sharedincontext.h"
#include "gst/facedetect/searchcost.h"
#include "gst/facedetect/stage.h"
#include "gst/faces/cuda/devicefaceframe.h"
#include "kernels/detect/cuda/detector.h"
#include "kernels/detect/cuda/schedule.h"

namespace cuface::gst {
namespace {

/// A few a context, each as large as the largest of its plans asks for: detectors use one in turn,
/// and as long as those of small pictures wait for each other the GPU idles. Where they are large
/// there is one. A plan keeps the one it was made for.
Result<std::shared_ptr<cuda::Scratch>> device_scratch(std::size_t bytes) {
  constexpr std::size_t kSmall = 8 << 20;
  constexpr unsigned kMost = 4;
  static SharedInContext<cuda::Scratch> shared;
  static const std::array<char, kMost> keys{};
  static std::atomic<unsigned> made = 0;
  return shared.get(
      &keys[bytes <= kSmall ? made++ % kMost : 0],
      [&](const cuda::Scratch& scratch) { return scratch.size() >= bytes; },
      [&] { return cuda::Scratch::create(bytes); });
}

class CudaDetectStage final : public DetectStage {
 public:
  CudaDetectStage(std::shared_ptr<const CascadeModel> model, StageOwner owner)
      : model_(std::move(model)),
        owner_(std::move(owner)),
        name_(std::make_shared<const std::string>(model_->name)) {}

  ~CudaDetectStage() override { owner_.stop.mirror_to(nullptr); }

  Status allocate() {
    auto stop = cuda::PinnedBuffer<std::uint32_t>::create(1);
    if (!stop.ok()) return stop.status();
    stop_ = std::move(stop.value());
    owner_.stop.mirror_to(stop_.data());
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
    if (config.scale_mode != ScaleMode::kPyramid)
      return {
          StatusCode::kUnsupported,
          "scale-mode=window works on the CPU only: set scale-mode=pyramid, or backend=cpu with "
          "frames in system memory"};
    config.max_faces = std::min(config.max_faces, cuda::kMaxFaces);
    detector_.reset();  // or the scratch would be there twice
    auto detector =
        cuda::Detector::create(model_, config, width, height, device_scratch, &owner_.stop);
    if (!detector.ok()) return detector.status();
    detector_ = std::move(detector.value());
    detector_->stop_by({stop_.data(), &state_.data()->run});
    const long long windows = detector_->windows();
    owner_.planned(windows, 1e-9 * kCudaWindowNs * static_cast<double>(windows));
    search_ = {};
    GST_DEBUG("searching %dx%d takes %" G_GSIZE_FORMAT " of the %" G_GSIZE_FORMAT
              " bytes of the GPU's search scratch",
              width, height, detector_->scratch_bytes(), detector_->scratch().size());
    planned_ = settings.config;
    return {};
  }

  void restart() override { restart_ = true; }

  Result<FaceResult> run(Frame& frame, const DetectSettings& settings,
                         const SearchTurn& turn) override {
    DeviceFaceFrame device(*frame.device());
    if (owner_.stop.raised()) return cancelled();
    if (!detector_ || settings.config != planned_) {
      if (Status s = device.settle(); !s.ok()) return s;
      if (Status s = make_detector(settings, frame.width(), frame.height()); !s.ok()) return s;
    }
    const FaceResult upstream = frame.find<FaceList>().result;
    const int landmarks = landmarks_capacity(upstream);
    const auto launch = device.launcher();
    if (!launch.ok()) return launch.status();
    const auto picture = device.luma();
    if (!picture.ok()) return picture.status();
    const auto before = device.faces(upstream);
    if (!before.ok()) return before.status();
    const auto asker = device.flags(turn.followed);
    if (!asker.ok()) return asker.status();
    auto out = device.new_faces(landmarks);
    if (!out.ok()) return out.status();
    auto* found = reinterpret_cast<cuda::DeviceFaces*>(found_.data());

    cuda::SearchBegin begin{std::exchange(restart_, false), turn.ask, frame.record().generation,
                            asker.value()};
    // Of faces on another GPU, or in host memory, nothing is known here.
    if (const DeviceFaceRef followed = faces_on_device(turn.followed); followed && begin.asker) {
      begin.verify = turn.verify;
      begin.scale_x = static_cast<float>(frame.width()) / static_cast<float>(followed->width());
      begin.scale_y = static_cast<float>(frame.height()) / static_cast<float>(followed->height());
    } else {
      begin.ask.active_parts = false;
    }
    if (Status s = cuda::begin_search(state_.data(), begin, launch.value()); !s.ok()) return s;
    const std::int32_t* run = &state_.data()->run;
    const auto& luma = picture.value();
    const cuda::FollowedFaces* followed_faces = begin.asker ? &state_.data()->followed : nullptr;
    if (Status s =
            launch.value().repeat(search_, enqueue_search, detector_.get(), luma.data, luma.width,
                                  luma.height, luma.stride, state_.data(), followed_faces, found,
                                  turn.every_frame && !detector_->is_long());
        !s.ok())
      return s;
    if (Status s = cuda::end_search(state_.data(), before.value(), found, out.value()->written(),
                                    landmarks, launch.value());
        !s.ok())
      return s;
    // Which of two detectors has found a face is known on the GPU only: the first one's name goes.
    DetectorName name = upstream ? detector_of(upstream) : name_;
    return device.finish(std::move(out.value()), std::move(name),
                         {run, false, &state_.data()->skipped}, &detector_->scratch());
  }

 private:
  static constexpr auto enqueue_search =
      [](cuda::Detector* detector, const std::uint8_t* pixels, int width, int height,
         std::ptrdiff_t stride, cuda::SearchState* state, const cuda::FollowedFaces* followed,
         cuda::DeviceFaces* found, bool every_frame, cuda::Launcher launch) {
        return detector->enqueue({pixels, width, height, stride}, &state->run, found,
                                 every_frame ? launch.without_ifs() : launch, &state->what,
                                 followed);
      };

  const std::shared_ptr<const CascadeModel> model_;
  const StageOwner owner_;
  const DetectorName name_;
  cuda::PinnedBuffer<std::uint32_t> stop_;  ///< what the owner's flag says, for the GPU
  std::unique_ptr<cuda::Detector> detector_;
  /// What it launches, for a picture, the state and where it puts what it finds.
  cuda::Repeated<cuda::Detector*, const std::uint8_t*, int, int, std::ptrdiff_t, cuda::SearchState*,
                 const cuda::FollowedFaces*, cuda::DeviceFaces*, bool>
      search_;
  DetectConfig planned_;  ///< what the detector was made for
  cuda::DeviceBuffer<cuda::SearchState> state_;
  cuda::DeviceBuffer<std::byte> found_;  // by the last search
  bool restart_ = true;
};

}  // namespace

DetectStageResult make_cuda_detect_stage(std::shared_ptr<const CascadeModel> model,
                                         const DetectSettings& settings, int width, int height,
                                         StageOwner owner) {
  auto stage = std::make_unique<CudaDetectStage>(std::move(model), std::move(owner));
  if (Status s = stage->allocate(); !s.ok()) return s;
  if (Status s = stage->make_detector(settings, width, height); !s.ok()) return s;
  return DetectStageResult(std::move(stage));
}

}  // namespace cuface::gst
