// cuedgedetect: the edges of the picture, in its place or in a meta.
#include <memory>
#include <optional>
#include <utility>

#include "gst/base/picturepool.h"
#include "gst/edgedetect/cuda_edges.h"
#include "gst/edgedetect/edgeprops.h"
#include "gst/edgedetect/element.h"
#include "gst/meta/edges.h"
#include "kernels/common/try.h"
#include "kernels/luma/write.h"

GST_DEBUG_CATEGORY_STATIC(cuface_edge_debug);
#define GST_CAT_DEFAULT cuface_edge_debug

namespace cuface::gst {
namespace {

class EdgeDetect final : public Element {
 public:
  using Element::Element;

  void* settings_address() override { return &settings_; }

  Status plan(const GstVideoInfo&) override {
    detector_.reset();
    if (backend() == Backend::kCuda) device_ = make_device_edge_finder();
    return {};
  }
  void unplan() override {
    device_.reset();
    detector_.reset();
    pool_ = {};
    picture_ = {};
  }

  /// A gap has no picture to look at.
  Status process(Frame& frame) override {
    if (frame.is_gap()) return {};
    const EdgeSettings settings = copy_settings();
    if (frame.device()) return device_->find(frame, settings);
    CUFACE_TRY(prepare(frame, config_of(settings)));
    CUFACE_TAKE(luma, frame.luma());
    const std::shared_ptr<Edges> edges = pool_.take(frame.width(), frame.height());
    EdgeViews views;
    views.bits = edges->bits.view();
    const bool picture = settings.output == EdgeOutput::kPicture;
    const bool masks = picture && settings.mask;
    if (masks) views.map = picture_.view();
    if (settings.output == EdgeOutput::kGradient) views.magnitude = picture_.view();
    if (settings.output == EdgeOutput::kAngle) views.angle = picture_.view();
    CUFACE_TRY(detector_->run(luma->view(), views, &stop_flag()));
    frame.add_result<Edges>({edges, frame.width(), frame.height()});
    if (settings.output == EdgeOutput::kMeta) return {};
    return frame.write([&](const FrameView& view) -> Status {
      if (masks)
        write_black(std::as_const(picture_).view(), view);
      else if (picture)
        write_bits(edges->bits.view(), view);
      else
        write_grey(std::as_const(picture_).view(), view);
      return {};
    });
  }

 private:
  EdgeSettings copy_settings() const {
    SettingsLock lock(filter());
    return settings_;
  }

  Status prepare(const Frame& frame, const EdgeConfig& config) {
    const int width = frame.width(), height = frame.height();
    const bool fits = picture_.width() == width && picture_.height() == height;
    if (detector_ && fits && config == config_) return {};
    if (!fits) picture_ = {width, height};
    config_ = config;
    auto made = EdgeDetector::create(config, width, height);
    CUFACE_TRY(made.status());
    detector_.emplace(std::move(made.value()));
    GST_DEBUG_OBJECT(element(), "edges of %d x %d pixels, kernel size %d", width, height,
                     config.kernel_size);
    return {};
  }

  EdgeSettings settings_;  // under SettingsLock

  // The streaming thread's.
  std::unique_ptr<DeviceEdgeFinder> device_;  ///< while planned for the GPU
  EdgeConfig config_;                         ///< of the detector
  std::optional<EdgeDetector> detector_;
  SizedPool<Edges> pool_;
  Image<std::uint8_t> picture_;
};

}  // namespace

constexpr ElementInfo kEdgeDetect{
    .name = "cuedgedetect",
    .debug = &cuface_edge_debug,
    .type = "GstCufaceEdgeDetect",
    .title = "Edge detector",
    .category = "Filter/Effect/Video",
    .description = "Finds edges with Canny's method, and shows them or attaches them as a meta",
    .cuda_use = CudaUse::kComputes,
    .make = make_element<EdgeDetect>,
    .settings = edge_settings,
    .has_presets = true,
};

}  // namespace cuface::gst
