// cufacedetect with a network, on the CPU.
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "gst/facedetect/cpu_backend.h"
#include "kernels/activity/activity.h"
#include "kernels/colour/colour.h"
#include "kernels/common/try.h"
#include "kernels/network/faces.h"

namespace cuface::gst {
namespace {

class NetworkBackend final : public CpuBackend {
 public:
  NetworkBackend(std::shared_ptr<const NetworkModel> model, BackendOwner owner)
      : CpuBackend(std::move(owner)), model_(std::move(model)) {}

  Status plan(const NetworkSettings& settings, int width, int height) {
    network_.reset();  // or there would be two in memory
    CUFACE_TAKE(scaler,
                BgrScaler::create(width, height, settings.input_size, settings.scaler_threads()));
    scaler_ = std::move(scaler);
    const auto [w, h] = scaler_->size();
    NetworkConfig config = settings.config;
    config.threads = settings.threads;
    config.max_faces = kMaxNetworkCandidates;  // sizes are chosen first
    CUFACE_TAKE(network, FaceNetwork::create(Backend::kCpu, model_, config, w, h, &owner().stop));
    network_ = std::move(network);
    picture_ = Image<Bgr>(w, h);
    planned_ = settings;
    return {};
  }

 private:
  Result<Searched> search(Frame& frame, const DetectSettings& settings, const SearchInputs& inputs,
                          const SearchRegion& what) override {
    if (settings.search == Search::kMotion) {
      CUFACE_TAKE(changed, has_changed(frame, inputs, what));
      if (!changed) return Searched{};
    } else {
      activity_.reset();
    }
    if (!network_ || settings.network() != planned_)
      CUFACE_TRY(plan(settings.network(), frame.width(), frame.height()));
    CUFACE_TRY(frame.read([&](const FrameView& view) {
      return scaler_->run(view, color_matrix(frame.info()), picture_.view(), &owner().stop);
    }));
    CUFACE_TRY(network_->enqueue(std::as_const(picture_).view(), found_));
    const FaceLimits limits{settings.config.min_size, settings.config.max_size,
                            settings.config.max_faces};
    Searched out{kWholePicture,
                 faces_from_network(found_, scaler_->size().width, scaler_->size().height, limits,
                                    frame.width(), frame.height())};
    if (activity_) {
      out.rest = kNetworkRest;
      if (what.only_if_changed())
        out.pause = network_pause(what, activity_->changed_cells(), activity_->cells());
    }
    return out;
  }

  /// Whether to search the frame, as a whole: of kChangedParts and kNewParts where something has
  /// changed.
  Result<bool> has_changed(Frame& frame, const SearchInputs& inputs, const SearchRegion& what) {
    CUFACE_TAKE(picture, frame.luma());
    const int width = frame.width(), height = frame.height();
    if (!activity_) activity_.emplace(width, height, width, height, true);
    if (what.only_if_changed()) {
      activity_->look(picture->view(), followed_by(frame, inputs), what);
      if (activity_->changed_cells() == 0) return false;
    }
    activity_->take(picture->view());
    return true;
  }

  const std::shared_ptr<const NetworkModel> model_;
  std::optional<BgrScaler> scaler_;
  std::unique_ptr<FaceNetwork> network_;
  std::optional<Activity> activity_;  ///< while only what has moved is searched
  NetworkSettings planned_;           ///< what they were made for
  Image<Bgr> picture_;
  std::vector<NetworkFace> found_;
};

}  // namespace

DetectBackendResult make_network_backend(Backend backend, std::shared_ptr<const NetworkModel> model,
                                         const DetectSettings& settings, int width, int height,
                                         BackendOwner owner) {
#ifdef CUFACE_CUDA_ELEMENTS
  if (backend == Backend::kCuda)
    return make_cuda_network_backend(std::move(model), settings, width, height, std::move(owner));
#endif
  if (backend != Backend::kCpu)
    return Status(StatusCode::kUnsupported, "this build searches on the CPU only");
  auto made = std::make_unique<NetworkBackend>(std::move(model), std::move(owner));
  CUFACE_TRY(made->plan(settings.network(), width, height));
  return DetectBackendResult(std::move(made));
}

}  // namespace cuface::gst
