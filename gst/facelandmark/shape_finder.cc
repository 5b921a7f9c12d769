#include <utility>
#include <vector>

#include "gst/facelandmark/finder.h"
#include "kernels/common/try.h"
#include "kernels/shape/search.h"

namespace cuface::gst {
namespace {

class ShapeFinder final : public LandmarkFinder {
 public:
  ShapeFinder(int landmarks, std::unique_ptr<ShapeSearcher> searcher)
      : landmarks_(landmarks), searcher_(std::move(searcher)) {}

  int landmarks_per_face() const override { return landmarks_; }
  Status look_at(Frame&, const FaceResult&, const FaceList&, const LandmarkSettings&) override {
    return {};
  }
  Status find(Frame& frame, const LandmarkSettings&, FaceList& list) override {
    CUFACE_TAKE(picture, frame.luma());
    boxes_.clear();
    for (const Face& face : list.faces) boxes_.push_back(face.box);
    return searcher_->enqueue(picture->view(), boxes_, list.landmarks);
  }
  void remember(const FaceList&, const LandmarkSettings&) override {}
  void forget() override {}

 private:
  const int landmarks_;
  const std::unique_ptr<ShapeSearcher> searcher_;
  std::vector<Box> boxes_;
};

}  // namespace

LandmarkFinderResult make_shape_finder(std::shared_ptr<const ShapeModel> model,
                                       const StopFlag& stop) {
  const int landmarks = model->points;
  CUFACE_TAKE(searcher, ShapeSearcher::create(Backend::kCpu, std::move(model),
                                              ShapeArithmetic::kFloat, &stop));
  return LandmarkFinderResult(std::make_unique<ShapeFinder>(landmarks, std::move(searcher)));
}

}  // namespace cuface::gst
