#include "gst/edgedetect/cuda_edges.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "gst/base/cuda/deviceframe.h"
#include "gst/meta/edges.h"
#include "kernels/common/try.h"
#include "kernels/edges/cuda/detector.h"
#include "kernels/luma/write.h"
#include "kernels/luma/write_cuda.h"

namespace cuface::gst {
namespace {

std::shared_ptr<const void> read_edges(const std::byte* bytes, int width, int height) {
  auto edges = std::make_shared<Edges>(width, height);
  const ImageView<std::uint64_t> bits = edges->bits.view();
  const auto* words = reinterpret_cast<const std::uint64_t*>(bytes);
  for (int y = 0; y < height; ++y) std::copy_n(words + y * bits.width, bits.width, bits.row(y));
  return edges;
}

class CudaEdgeFinder final : public DeviceEdgeFinder {
 public:
  Status find(Frame& frame, const EdgeSettings& settings) override {
    DeviceFrame& device = *frame.device();
    const int width = frame.width(), height = frame.height();
    CUFACE_TRY(prepare(device, config_of(settings), width, height));
    CUFACE_TAKE(launch, device.launcher());
    CUFACE_TAKE(luma, device.luma());
    const int words = words_of(width);
    const auto stride = words * static_cast<std::ptrdiff_t>(sizeof(std::uint64_t));
    CUFACE_TAKE(edges, device.new_raw_result(static_cast<std::size_t>(stride * height),
                                             [width, height](const std::byte* bytes) {
                                               return read_edges(bytes, width, height);
                                             }));
    EdgeViews views;
    views.bits = {reinterpret_cast<std::uint64_t*>(edges->written()), words, height, stride};
    if (settings.output == EdgeOutput::kPicture) views.map = picture_.view();
    if (settings.output == EdgeOutput::kGradient) views.magnitude = picture_.view();
    if (settings.output == EdgeOutput::kAngle) views.angle = picture_.view();
    CUFACE_TRY(detector_->enqueue(luma, views, launch));
    if (settings.output == EdgeOutput::kMeta) return device.submit_result<Edges>(std::move(edges));
    const bool masks = settings.mask && settings.output == EdgeOutput::kPicture;
    if (!device.in_cuda_memory()) {
      CUFACE_TRY(device.submit_result<Edges>(std::move(edges)));
      return show_on_host(frame, masks);
    }
    frame.change_pixels();
    CUFACE_TRY(device.draw([&](const FrameView& view, cuda::Launcher to) {
      return masks ? cuda::write_black(std::as_const(picture_).view(), view, to)
                   : cuda::write_grey(std::as_const(picture_).view(), view, to);
    }));
    device.add_drawn_result<Edges>(std::move(edges));
    return {};
  }

 private:
  Status prepare(DeviceFrame& device, const EdgeConfig& config, int width, int height) {
    const bool fits = picture_.width() == width && picture_.height() == height;
    if (detector_ && fits && config == config_) return {};
    CUFACE_TRY(device.settle());
    detector_.reset();
    cuda::ScratchLayout layout;
    CUFACE_TAKE(made, cuda::EdgeDetector::create(config, width, height, layout));
    CUFACE_TRY(take(cuda::DeviceBuffer<std::byte>::create(layout.bytes()), scratch_));
    if (!fits) CUFACE_TRY(take(cuda::DeviceImage<std::uint8_t>::create(width, height), picture_));
    made.bind(scratch_.data());
    detector_.emplace(std::move(made));
    config_ = config;
    return {};
  }

  Status show_on_host(Frame& frame, bool masks) {
    if (on_host_.width() != frame.width() || on_host_.height() != frame.height())
      on_host_ = {frame.width(), frame.height()};
    CUFACE_TRY(frame.device()->download(std::as_const(picture_).view(), on_host_.view()));
    return frame.write([&](const FrameView& view) -> Status {
      const auto shown = std::as_const(on_host_).view();
      masks ? write_black(shown, view) : write_grey(shown, view);
      return {};
    });
  }

  EdgeConfig config_;  ///< of the detector
  std::optional<cuda::EdgeDetector> detector_;
  cuda::DeviceBuffer<std::byte> scratch_;
  cuda::DeviceImage<std::uint8_t> picture_;  ///< what is shown
  Image<std::uint8_t> on_host_;              ///< of frames in system memory
};

}  // namespace

std::unique_ptr<DeviceEdgeFinder> make_device_edge_finder() {
  return std::make_unique<CudaEdgeFinder>();
}

}  // namespace cuface::gst
