#include <utility>

#include "gst/base/cuda/sharedincontext.h"
#include "gst/facelandmark/cuda_finder.h"
#include "kernels/common/try.h"
#include "kernels/eyes/eyes_cuda.h"
#include "kernels/shape/cuda/searcher.h"

namespace cuface::gst {
namespace {

class DeviceShapeFinder final : public DeviceLandmarkFinder {
 public:
  DeviceShapeFinder(std::unique_ptr<cuda::ShapeSearcher> searcher,
                    std::unique_ptr<cuda::EyeStart> eyes)
      : searcher_(std::move(searcher)), eyes_(std::move(eyes)) {}

  Status look_at(Frame&, DeviceFaceFrame&, const FaceResult&, const std::string&,
                 const LandmarkSettings&) override {
    return {};
  }
  Status find(ImageView<const std::uint8_t> luma, const cuda::DeviceFaces* in,
              cuda::DeviceFaces* out, const LandmarkSettings&, cuda::Launcher launch) override {
    if (eyes_) CUFACE_TRY(eyes_->enqueue(luma, in, launch));
    const cuda::ShapeFrame frame{luma, in, out, eyes_ ? eyes_->starts() : nullptr};
    return searcher_->enqueue({&frame, 1}, launch);
  }
  Status remember(const cuda::DeviceFaces*, const LandmarkSettings&, cuda::Launcher) override {
    return {};
  }
  void forget() override {}

 private:
  const std::unique_ptr<cuda::ShapeSearcher> searcher_;
  const std::unique_ptr<cuda::EyeStart> eyes_;  ///< for LandmarkStart::kEyes
};

}  // namespace

DeviceLandmarkFinderResult make_device_shape_finder(const LandmarkModel& model, LandmarkStart start,
                                                    const StopFlag& stop) {
  // The model in the current context, shared by all elements that use both.
  static SharedInContext<const cuda::DeviceShape> shared;
  CUFACE_TAKE(device, shared.get(
                          model.shape.get(), [](const cuda::DeviceShape&) { return true; },
                          [&] { return cuda::DeviceShape::create(*model.shape); }));
  CUFACE_TAKE(searcher, cuda::ShapeSearcher::create(std::move(device), cuda::kMaxFaces,
                                                    start != LandmarkStart::kBox));
  std::unique_ptr<cuda::EyeStart> eyes;
  if (start == LandmarkStart::kEyes)
    CUFACE_TRY(take(cuda::EyeStart::create(model.eyes, *model.shape, stop), eyes));
  return DeviceLandmarkFinderResult(
      std::make_unique<DeviceShapeFinder>(std::move(searcher), std::move(eyes)));
}

}  // namespace cuface::gst
