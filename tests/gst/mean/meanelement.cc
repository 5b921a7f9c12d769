#include "tests/gst/mean/meanelement.h"

#include "gst/base/cuda/deviceframe.h"
#include "gst/base/element.h"

namespace cuface::gst {
struct MeanElement final : Element {
  using Element::Element;
  Status process(Frame& frame) override {
    if (DeviceFrame* device = frame.device()) {
      CUFACE_TAKE(launch, device->launcher());
      CUFACE_TAKE(luma, device->luma());
      CUFACE_TAKE(out, device->new_result<Mean>());
      CUFACE_TRY(cuda::mean(luma, out->written(), launch));
      return device->deliver(std::move(out));
    }
    CUFACE_TAKE(luma, frame.luma());
    Mean mean{0, std::int64_t{frame.width()} * frame.height()};
    for (int y = 0; y < frame.height(); ++y)
      for (int x = 0; x < frame.width(); ++x) mean.sum += luma->view().row(y)[x];
    frame.deliver<Mean>({std::make_shared<const Mean>(mean), frame.width(), frame.height()});
    return {};
  }
};
}  // namespace cuface::gst

GType cuface_mean_element_get_type() {
  using namespace cuface::gst;
  static constexpr ElementInfo kInfo{.type = "CufaceMeanElement",
                                     .title = "Mean",
                                     .category = "Filter/Analyzer/Video",
                                     .description = "Publishes the mean of each frame's luma",
                                     .cuda_use = CudaUse::kComputes,
                                     .make = make_element<MeanElement>};
  static const GType type = register_element(kInfo);
  return type;
}
