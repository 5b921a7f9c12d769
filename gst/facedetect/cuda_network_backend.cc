// cufacedetect with a network, on CUDA.
#include <array>
#include <memory>
#include <optional>
#include <utility>

#include "gst/facedetect/cuda_backend.h"
#include "kernels/activity/activity_cuda.h"
#include "kernels/colour/colour.h"
#include "kernels/colour/colour_cuda.h"
#include "kernels/common/try.h"
#include "kernels/network/cuda/network.h"

namespace cuface::gst {
namespace {

/// Pictures of frames in system memory on their way to the GPU.
class Uploads {
 public:
  ~Uploads() {
    for (Upload& upload : ring_)
      if (upload.over) cudaEventDestroy(upload.over);
  }

  /// `make` writes the picture in page-locked memory; it is copied to `to` in the stream.
  template <typename Make>
  Status operator()(const Make& make, ImageView<Bgr> to, cudaStream_t stream) {
    Upload& upload = ring_[next_++ % ring_.size()];
    const auto row = static_cast<std::size_t>(to.width) * sizeof(Bgr);
    const auto rows = static_cast<std::size_t>(to.height);
    if (upload.over) {
      CUFACE_TRY(cuda::check(cudaEventSynchronize(upload.over), "waiting for a copy to the GPU"));
    } else {
      CUFACE_TRY(cuda::check(cudaEventCreateWithFlags(&upload.over, cudaEventDisableTiming),
                             "making a CUDA event"));
    }
    if (upload.bytes.size() != row * rows)
      CUFACE_TRY(take(cuda::PinnedBuffer<std::uint8_t>::create(row * rows), upload.bytes));
    CUFACE_TRY(make(ImageView<Bgr>{reinterpret_cast<Bgr*>(upload.bytes.data()), to.width, to.height,
                                   static_cast<std::ptrdiff_t>(row)}));
    CUFACE_TRY(cuda::check(
        cudaMemcpy2DAsync(to.data, static_cast<std::size_t>(to.stride), upload.bytes.data(), row,
                          row, rows, cudaMemcpyHostToDevice, stream),
        "copying the picture to the GPU"));
    return cuda::check(cudaEventRecord(upload.over, stream), "recording a CUDA event");
  }

 private:
  struct Upload {
    cuda::PinnedBuffer<std::uint8_t> bytes;
    cudaEvent_t over = nullptr;
  };
  std::array<Upload, DeviceChain::kInFlight> ring_;
  std::size_t next_ = 0;
};

class CudaNetworkBackend final : public CudaBackend {
 public:
  CudaNetworkBackend(std::shared_ptr<const NetworkModel> model, BackendOwner owner)
      : CudaBackend(kNetworkDetector, std::move(owner)), model_(std::move(model)) {}

  using CudaBackend::allocate;

  Status plan(const DetectSettings& settings, int width, int height) override {
    const NetworkSettings network = settings.network();
    CUFACE_TRY(check_precision(network.config.precision, Backend::kCuda));
    network_.reset();  // or the scratch would be there twice
    host_scaler_.reset();
    CUFACE_TRY(take(cuda::BgrScaler::create(width, height, network.input_size), scaler_));
    const auto [w, h] = scaler_.size();
    CUFACE_TRY(take(cuda::DeviceImage<Bgr>::create(w, h), picture_));
    CUFACE_TRY(
        take(cuda::FaceNetwork::create(model_, network.config, w, h, device_scratch), network_));
    search_ = {};
    planned_ = network;
    return {};
  }

 private:
  bool is_planned_for(const DetectSettings& settings) const override {
    return network_ && settings.network() == planned_;
  }

  Status search(const Turn& turn, cuda::Launcher launch) override {
    CUFACE_TRY(turn.settings.search == Search::kMotion ? gate(turn, launch) : drop_gate(turn));
    const cuda::Launcher to = turn.every_frame ? launch.without_ifs() : launch;
    const std::int32_t* run = &state()->run;
    if (!turn.device.in_cuda_memory()) {
      if (turn.due) CUFACE_TRY(upload(turn));
      to.begin_if(run);
      CUFACE_TRY(find(turn, to));
      to.end_if();
      return {};
    }
    const ColorMatrix matrix = color_matrix(turn.frame.info());
    const auto read = [&](const FrameView& view, cuda::Launcher) {
      return scaler_.enqueue(view, matrix, run, picture_.view(), to);
    };
    if (turn.every_frame) {  // the frame's memory is free before the layers run
      CUFACE_TRY(turn.device.read(read));
      return find(turn, to);
    }
    return turn.device.read([&](const FrameView& view, cuda::Launcher) -> Status {
      to.begin_if(run);
      CUFACE_TRY(read(view, to));
      CUFACE_TRY(find(turn, to));
      to.end_if();
      return {};
    });
  }

  /// Whether to search the frame, as a whole: of kChangedParts and kNewParts where something has
  /// changed.
  Status gate(const Turn& turn, cuda::Launcher launch) {
    const int width = turn.frame.width(), height = turn.frame.height();
    CUFACE_TAKE(luma, turn.device.luma());
    if (!activity_) {
      CUFACE_TAKE(made, cuda::Activity::create(width, height, width, height, true));
      activity_.emplace(std::move(made));
    }
    const std::int32_t* run = &state()->run;
    CUFACE_TRY(activity_->enqueue(luma, run, &state()->what, turn.followed, launch));
    CUFACE_TRY(cuda::search_whole(state(), activity_->state(), launch));
    return activity_->take_all(luma, run, launch);
  }
  Status drop_gate(const Turn& turn) {
    if (!activity_) return {};
    CUFACE_TRY(turn.device.settle());
    activity_.reset();
    return {};
  }

  /// The faces of picture_.
  Status find(const Turn& turn, cuda::Launcher launch) {
    constexpr auto enqueue_search = [](CudaNetworkBackend* backend, int min_size, int max_size,
                                       int max_faces, int width, int height, cuda::DeviceFaces* out,
                                       cuda::Launcher to) {
      return backend->network_->enqueue(std::as_const(backend->picture_).view(),
                                        &backend->state()->run, {min_size, max_size, max_faces},
                                        width, height, out, to.without_ifs());
    };
    const DetectConfig& config = turn.settings.config;
    return launch.repeat(search_, enqueue_search, this, config.min_size, config.max_size,
                         config.max_faces, turn.frame.width(), turn.frame.height(), turn.found);
  }

  /// Of a frame in system memory, to picture_.
  Status upload(const Turn& turn) {
    if (!host_scaler_) {
      CUFACE_TAKE(scaler, BgrScaler::create(turn.frame.width(), turn.frame.height(),
                                            planned_.input_size, planned_.scaler_threads()));
      host_scaler_ = std::move(scaler);
    }
    CUFACE_TAKE(chain, turn.device.chain());
    const auto make = [&](ImageView<Bgr> picture) {
      return turn.frame.read([&](const FrameView& view) {
        return host_scaler_->run(view, color_matrix(turn.frame.info()), picture, &owner().stop);
      });
    };
    return uploads_(make, picture_.view(), chain->stream());
  }

  cuda::Scratch& scratch() override { return network_->scratch(); }

  const std::shared_ptr<const NetworkModel> model_;
  cuda::BgrScaler scaler_;
  std::optional<BgrScaler> host_scaler_;  ///< for frames in system memory
  Uploads uploads_;
  std::optional<cuda::Activity> activity_;  ///< while only what has moved is searched
  cuda::DeviceImage<Bgr> picture_;
  std::unique_ptr<cuda::FaceNetwork> network_;
  cuda::Repeated<CudaNetworkBackend*, int, int, int, int, int, cuda::DeviceFaces*> search_;
  NetworkSettings planned_;
};

}  // namespace

DetectBackendResult make_cuda_network_backend(std::shared_ptr<const NetworkModel> model,
                                              const DetectSettings& settings, int width, int height,
                                              BackendOwner owner) {
  auto made = std::make_unique<CudaNetworkBackend>(std::move(model), std::move(owner));
  CUFACE_TRY(made->allocate());
  CUFACE_TRY(made->plan(settings, width, height));
  return DetectBackendResult(std::move(made));
}

}  // namespace cuface::gst
