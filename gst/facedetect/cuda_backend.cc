#include "gst/facedetect/cuda_backend.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <utility>

#include "gst/base/cuda/sharedincontext.h"
#include "gst/facedetect/searchcost.h"
#include "kernels/common/try.h"
#include "kernels/detect/cuda/detector.h"

namespace cuface::gst {
namespace {

class CudaCascadeBackend final : public CudaBackend {
 public:
  CudaCascadeBackend(std::shared_ptr<const CascadeModel> model, BackendOwner owner)
      : CudaBackend(model->name, std::move(owner)), model_(std::move(model)) {}

  using CudaBackend::allocate;

  Status plan(const DetectSettings& settings, int width, int height) override {
    DetectConfig config = settings.cascade_config();
    config.max_faces = std::min(config.max_faces, cuda::kMaxFaces);
    detector_.reset();  // or the scratch would be there twice
    CUFACE_TRY(
        take(cuda::Detector::create(model_, config, width, height, device_scratch, &owner().stop),
             detector_));
    detector_->stop_by({stop(), &state()->run});
    const long long windows = detector_->windows();
    owner().planned(windows, cuda_search_seconds(windows, config));
    search_ = {};
    GST_DEBUG("searching %dx%d takes %" G_GSIZE_FORMAT " of the %" G_GSIZE_FORMAT
              " bytes of the GPU's search scratch",
              width, height, detector_->scratch_bytes(), detector_->scratch().size());
    planned_ = settings.cascade_config();
    return {};
  }

 private:
  bool is_planned_for(const DetectSettings& settings) const override {
    return detector_ && settings.cascade_config() == planned_;
  }

  Status search(const Turn& turn, cuda::Launcher launch) override {
    CUFACE_TAKE(luma, turn.device.luma());
    return launch.repeat(search_, enqueue_search, detector_.get(), luma.data, luma.width,
                         luma.height, luma.stride, state(), turn.followed, turn.found,
                         turn.every_frame && !detector_->is_long());
  }

  cuda::Scratch& scratch() override { return detector_->scratch(); }
  const cuda::Activity::State* moved() const override { return detector_->activity().state(); }

  static constexpr auto enqueue_search =
      [](cuda::Detector* detector, const std::uint8_t* pixels, int width, int height,
         std::ptrdiff_t stride, cuda::SearchState* state, const cuda::FollowedFaces* followed,
         cuda::DeviceFaces* found, bool every_frame, cuda::Launcher launch) {
        return detector->enqueue({pixels, width, height, stride}, &state->run, found,
                                 every_frame ? launch.without_ifs() : launch, &state->what,
                                 followed);
      };

  const std::shared_ptr<const CascadeModel> model_;
  std::unique_ptr<cuda::Detector> detector_;
  /// What it launches, for a picture, the state and where it puts what it finds.
  cuda::Repeated<cuda::Detector*, const std::uint8_t*, int, int, std::ptrdiff_t, cuda::SearchState*,
                 const cuda::FollowedFaces*, cuda::DeviceFaces*, bool>
      search_;
  DetectConfig planned_;  ///< what the detector was made for
};

}  // namespace

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

Status CudaBackend::allocate() {
  CUFACE_TRY(take(cuda::PinnedBuffer<std::uint32_t>::create(1), stop_));
  owner_.stop.mirror_to(stop_.data());
  CUFACE_TRY(take(cuda::DeviceBuffer<cuda::SearchState>::create(1), state_));
  CUFACE_TRY(take(cuda::PinnedBuffer<cuda::ScheduleSeen>::create(1), seen_));
  *seen_.data() = {};
  return take(cuda::DeviceBuffer<std::byte>::create(cuda::device_faces_bytes(0)), found_);
}

/// What the GPU decides, where it is through with the frame before; else true.
bool CudaBackend::may_be_due(const cuda::SearchBegin& begin, const FaceResult& followed) {
  if (begin.ask.step.band.is_part()) return true;  // the faces followed may spread the search
  SearchSchedule wish;
  if (!begin.restart) {
    std::uint64_t& frame = seen_.data()->frame;
    if (std::atomic_ref(frame).load(std::memory_order_acquire) != last_frame_) return true;
    wish = seen_.data()->wish;
  }
  SearchRequest ask = begin.ask;
  if (begin.asker) {
    const DeviceFaceRef faces = faces_on_device(followed);
    if (!faces->is_ready()) return true;
    ask.asked = ask.asked || *faces->producer()->note() != 0;
  }
  return static_cast<bool>(wish.next(ask));
}

Result<FaceResult> CudaBackend::run(Frame& frame, const DetectSettings& settings,
                                    const SearchInputs& inputs) {
  DeviceFaceFrame device(*frame.device());
  if (owner_.stop.raised()) return cancelled();
  if (!is_planned_for(settings)) {
    CUFACE_TRY(device.settle());
    CUFACE_TRY(plan(settings, frame.width(), frame.height()));
  }
  const FaceResult upstream = frame.find<FaceList>().result;
  const int landmarks = landmarks_capacity(upstream);
  CUFACE_TAKE(launch, device.launcher());
  CUFACE_TAKE(before, device.faces(upstream));
  CUFACE_TAKE(asker, device.faces_of_any_size(inputs.followed));
  CUFACE_TAKE(out, device.new_faces(landmarks));
  if (upstream) out->set_scheme(scheme_of(upstream));
  auto* found = reinterpret_cast<cuda::DeviceFaces*>(found_.data());

  cuda::SearchBegin begin{std::exchange(restart_, false), inputs.ask, frame.record().generation,
                          asker};
  // Of faces on another GPU, or in host memory, nothing is known here.
  if (const DeviceFaceRef followed = faces_on_device(inputs.followed); followed && begin.asker) {
    begin.verify = inputs.verify;
    if (const auto scheme = scheme_of(inputs.followed)) {
      begin.scheme_points = scheme->points;
      begin.eyes = scheme->eyes;
    }
    begin.scale_x = static_cast<float>(frame.width()) / static_cast<float>(followed->width());
    begin.scale_y = static_cast<float>(frame.height()) / static_cast<float>(followed->height());
  } else {
    begin.ask.active_parts = begin.ask.motion = false;
  }
  CUFACE_TRY(cuda::begin_search(state_.data(), begin, launch));
  CUFACE_TRY(search(
      {frame, *frame.device(), settings, inputs.every_frame, may_be_due(begin, inputs.followed),
       begin.asker ? &state_.data()->followed : nullptr, found},
      launch));
  CUFACE_TRY(cuda::end_search(state_.data(), before, found, out->written(), landmarks, launch,
                              seen_.data(), moved()));
  last_frame_ = begin.frame;
  // Which of two detectors has found a face is known on the GPU only: the first one's name goes.
  DetectorName name = upstream ? detector_of(upstream) : name_;
  return device.submit_faces(std::move(out), std::move(name),
                             {&state_.data()->run, false, &state_.data()->skipped}, &scratch());
}

DetectBackendResult make_cuda_detect_backend(std::shared_ptr<const CascadeModel> model,
                                             const DetectSettings& settings, int width, int height,
                                             BackendOwner owner) {
  auto made = std::make_unique<CudaCascadeBackend>(std::move(model), std::move(owner));
  CUFACE_TRY(made->allocate());
  CUFACE_TRY(made->plan(settings, width, height));
  return DetectBackendResult(std::move(made));
}

}  // namespace cuface::gst
