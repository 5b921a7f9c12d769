#include <limits>
#include <utility>
#include <vector>

#include "gst/facelandmark/eyestart.h"
#include "gst/facelandmark/finder.h"
#include "kernels/common/try.h"
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

  int landmarks_per_face() const override { return model_->points; }
  LandmarkSchemeRef scheme() const override { return scheme_of_model(model_); }
  Status look_at(Frame&, const FaceResult&, const FaceList&, const LandmarkSettings&) override {
    return {};
  }
  Status find(Frame& frame, const LandmarkSettings&, FaceList& list) override {
    CUFACE_TAKE(picture, frame.luma());
    boxes_.clear();
    for (const Face& face : list.faces) boxes_.push_back(face.box);
    list.landmark_confidences.resize(searcher_->has_confidences() ? list.landmarks.size() : 0);
    const std::span<float> confidences(list.landmark_confidences);
    if (start_ == LandmarkStart::kTracker && list.followed_per_face == model_->points)
      return searcher_->enqueue(picture->view(), boxes_, list.landmarks, list.followed,
                                confidences);
    if (start_ != LandmarkStart::kEyes)
      return searcher_->enqueue(picture->view(), boxes_, list.landmarks, {}, confidences);
    constexpr float kNone = std::numeric_limits<float>::quiet_NaN();
    const auto points = static_cast<std::size_t>(model_->points);
    starts_.assign(list.landmarks.size(), {kNone, kNone});
    for (std::size_t i = 0; i < boxes_.size(); ++i)
      CUFACE_TRY(
          eyes_->find(picture->view(), boxes_[i], std::span(starts_).subspan(i * points, points))
              .status());
    return searcher_->enqueue(picture->view(), boxes_, list.landmarks, starts_, confidences);
  }
  void remember(const FaceList&, const LandmarkSettings&) override {}
  void forget() override {}

 private:
  const std::shared_ptr<const ShapeModel> model_;
  const LandmarkStart start_;
  const std::unique_ptr<ShapeSearcher> searcher_;
  const std::unique_ptr<EyeStart> eyes_;  ///< for LandmarkStart::kEyes
  std::vector<Box> boxes_;
  std::vector<Point> starts_;
};

}  // namespace

LandmarkFinderResult make_shape_finder(const LandmarkModel& model, LandmarkStart start,
                                       const StopFlag& stop) {
  CUFACE_TAKE(searcher,
              ShapeSearcher::create(Backend::kCpu, model.shape, ShapeArithmetic::kFloat, &stop));
  std::unique_ptr<EyeStart> eyes;
  if (start == LandmarkStart::kEyes)
    CUFACE_TRY(take(EyeStart::create(model.eyes, *model.shape, stop), eyes));
  return LandmarkFinderResult(
      std::make_unique<ShapeFinder>(model.shape, start, std::move(searcher), std::move(eyes)));
}

}  // namespace cuface::gst
