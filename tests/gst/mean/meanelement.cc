#include "tests/gst/mean/meanelement.h"

#ifdef CUFACE_CUDA_ELEMENTS
#include "gst/base/cuda/deviceframe.h"
#endif

namespace cuface::gst {
struct MeanElement final : Element {
  using Element::Element;
  Status process(Frame& frame) override {
#ifdef CUFACE_CUDA_ELEMENTS
    if (DeviceFrame* device = frame.device()) {
      CUFACE_TAKE(launch, device->launcher());
      CUFACE_TAKE(luma, device->luma());
      CUFACE_TAKE(out, device->new_result<Mean>());
      CUFACE_TRY(cuda::mean(luma, out->written(), launch));
      return device->submit_result(std::move(out));
    }
#endif
    CUFACE_TAKE(luma, frame.luma());
    Mean mean{0, std::int64_t{frame.width()} * frame.height()};
    for (int y = 0; y < frame.height(); ++y)
      for (int x = 0; x < frame.width(); ++x) mean.sum += luma->view().row(y)[x];
    frame.add_result<Mean>({std::make_shared<const Mean>(mean), frame.width(), frame.height()});
    return {};
  }
};
}  // namespace cuface::gst

constexpr cuface::gst::ElementInfo kMeanElement{
    .name = "cumean",
    .type = "CufaceMeanElement",
    .title = "Mean",
    .category = "Filter/Analyzer/Video",
    .description = "Publishes the mean of each frame's luma",
    .cuda_use = cuface::gst::CudaUse::kComputes,
    .make = cuface::gst::make_element<cuface::gst::MeanElement>,
};
