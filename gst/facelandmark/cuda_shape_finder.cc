#include <utility>

#include "gst/base/cuda/sharedincontext.h"
#include "gst/facelandmark/cuda_finder.h"
#include "kernels/common/try.h"
#include "kernels/shape/cuda/searcher.h"

namespace cuface::gst {
namespace {

class DeviceShapeFinder final : public DeviceLandmarkFinder {
 public:
  DeviceShapeFinder(std::shared_ptr<const ShapeModel> model,
                    std::unique_ptr<cuda::ShapeSearcher> searcher)
      : model_(std::move(model)), searcher_(std::move(searcher)) {}

  int landmarks_per_face() const override { return searcher_->landmarks(); }
  LandmarkSchemeRef scheme() const override { return scheme_of_model(model_); }
  Status look_at(Frame&, DeviceFaceFrame&, const FaceResult&, const std::string&,
                 const LandmarkSettings&) override {
    return {};
  }
  Status find(ImageView<const std::uint8_t> luma, const cuda::DeviceFaces* in,
              cuda::DeviceFaces* out, const LandmarkSettings&, cuda::Launcher launch) override {
    const cuda::ShapeFrame frame{luma, in, out};
    return searcher_->enqueue({&frame, 1}, launch);
  }
  Status remember(const cuda::DeviceFaces*, const LandmarkSettings&, cuda::Launcher) override {
    return {};
  }
  void forget() override {}

 private:
  const std::shared_ptr<const ShapeModel> model_;
  const std::unique_ptr<cuda::ShapeSearcher> searcher_;
};

}  // namespace

DeviceLandmarkFinderResult make_device_shape_finder(std::shared_ptr<const ShapeModel> model,
                                                    LandmarkStart start) {
  if (start == LandmarkStart::kEyes)
    return Status(StatusCode::kUnsupported,
                  "start=eyes: eyes are searched for on the CPU only: set start=box or "
                  "start=tracker, or set backend=cpu and bring frames in system memory");
  // The model in the current context, shared by all elements that use both.
  static SharedInContext<const cuda::DeviceShape> shared;
  CUFACE_TAKE(device, shared.get(
                          model.get(), [](const cuda::DeviceShape&) { return true; },
                          [&] { return cuda::DeviceShape::create(*model); }));
  CUFACE_TAKE(searcher, cuda::ShapeSearcher::create(std::move(device), cuda::kMaxFaces,
                                                    start == LandmarkStart::kTracker));
  return DeviceLandmarkFinderResult(
      std::make_unique<DeviceShapeFinder>(std::move(model), std::move(searcher)));
}

}  // namespace cuface::gst
