#include "tests/gst/mean/octaveelement.h"

#ifdef CUFACE_CUDA_ELEMENTS
#include "gst/base/cuda/deviceframe.h"
#endif

namespace cuface::gst {
struct OctaveElement final : Element {
  using Element::Element;
  Status process(Frame& frame) override {
#ifdef CUFACE_CUDA_ELEMENTS
    if (DeviceFrame* device = frame.device()) {
      CUFACE_TAKE(launch, device->launcher());
      CUFACE_TAKE(pyramid, device->pyramid());
      const int made = pyramid->built();
      CUFACE_TRY(pyramid->enqueue(pyramid->levels(), launch));
      CUFACE_TAKE(out, device->new_result<Octaves>());
      CUFACE_TRY(cuda::sum_octaves(*pyramid, made, out->written(), launch));
      return device->submit_result(std::move(out));
    }
#endif
    CUFACE_TAKE(pyramid, frame.pyramid());
    Octaves octaves{pyramid->levels(), pyramid->tiles_made()};
    for (int i = 0; i < octaves.levels; ++i) {
      const auto level = pyramid->level(i).all();
      for (int y = 0; y < level.height; ++y)
        for (int x = 0; x < level.width; ++x) octaves.sum[i] += weigh(level.row(y)[x], x, y);
    }
    frame.add_result<Octaves>(
        {std::make_shared<const Octaves>(octaves), frame.width(), frame.height()});
    return {};
  }
};
}  // namespace cuface::gst

constexpr cuface::gst::ElementInfo kOctaveElement{
    .name = "cuoctaves",
    .type = "CufaceOctaveElement",
    .title = "Octaves",
    .category = "Filter/Analyzer/Video",
    .description = "Publishes sums of the levels of each frame's flow pyramid",
    .cuda_use = cuface::gst::CudaUse::kComputes,
    .make = cuface::gst::make_element<cuface::gst::OctaveElement>,
};
