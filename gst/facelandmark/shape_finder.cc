#include <limits>
#include <utility>
#include <vector>

#include "gst/facelandmark/finder.h"
#include "kernels/common/try.h"
#include "kernels/eyes/eyes.h"
#include "kernels/shape/search.h"

namespace cuface::gst {
namespace {

class ShapeFinder final : public LandmarkFinder {
 public:
  ShapeFinder(std::shared_ptr<const ShapeModel> model, LandmarkStart start,
              std::unique_ptr<ShapeSearcher> searcher, std::unique_ptr<EyeStart> eyes)
      : model_(std::move(model)),
        start_(start),
        searcher_(std::move(searcher)),
        eyes_(std::move(eyes)) {}

  Status look_at(Frame&, const FaceResult&, const FaceList&, const LandmarkSettings&) override {
    return {};
  }
  Status find(Frame& frame, const LandmarkSettings&, FaceList& list) override {
    CUFACE_TAKE(picture, frame.luma());
    boxes_.clear();
    for (const Face& face : list.faces) boxes_.push_back(face.box);
    list.landmark_confidences.resize(searcher_->has_confidences() ? list.landmarks.size() : 0);
    std::span<const Point> starts;
    if (start_ == LandmarkStart::kTracker && list.followed_per_face == model_->points)
      starts = list.followed;
    else if (start_ == LandmarkStart::kEyes)
      CUFACE_TRY(take(start_at_eyes(picture->view()), starts));
    return searcher_->enqueue(picture->view(), boxes_, list.landmarks, starts,
                              list.landmark_confidences);
  }
  void remember(const FaceList&, const LandmarkSettings&) override {}
  void forget() override {}

 private:
  /// Of each box, or NaN where not both eyes are found.
  Result<std::span<const Point>> start_at_eyes(ImageView<const std::uint8_t> luma) {
    constexpr float kNone = std::numeric_limits<float>::quiet_NaN();
    const auto points = static_cast<std::size_t>(model_->points);
    starts_.assign(boxes_.size() * points, {kNone, kNone});
    for (std::size_t i = 0; i < boxes_.size(); ++i)
      CUFACE_TRY(
          eyes_->find(luma, boxes_[i], std::span(starts_).subspan(i * points, points)).status());
    return std::span<const Point>(starts_);
  }

  const std::shared_ptr<const ShapeModel> model_;
  const LandmarkStart start_;
  const std::unique_ptr<ShapeSearcher> searcher_;
  const std::unique_ptr<EyeStart> eyes_;  ///< for LandmarkStart::kEyes
  std::vector<Box> boxes_;
  std::vector<Point> starts_;
};

}  // namespace

LandmarkFinderResult make_shape_finder(const LandmarkModel& model, LandmarkStart start, int threads,
                                       const StopFlag& stop) {
  if (threads == 0) threads = Workers::processors();
  CUFACE_TAKE(searcher, ShapeSearcher::create(Backend::kCpu, model.shape, ShapeArithmetic::kFloat,
                                              &stop, threads));
  std::unique_ptr<EyeStart> eyes;
  if (start == LandmarkStart::kEyes)
    CUFACE_TRY(take(EyeStart::create(model.eyes, *model.shape, stop), eyes));
  return LandmarkFinderResult(
      std::make_unique<ShapeFinder>(model.shape, start, std::move(searcher), std::move(eyes)));
}

}  // namespace cuface::gst
