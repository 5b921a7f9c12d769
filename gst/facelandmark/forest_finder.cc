#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "gst/facelandmark/boxmaps.h"
#include "gst/facelandmark/finder.h"
#include "kernels/common/lanes.h"
#include "kernels/common/try.h"
#include "kernels/landmarks/roll.h"

namespace cuface::gst {
namespace {

class ForestFinder final : public LandmarkFinder {
 public:
  ForestFinder(std::shared_ptr<const ForestModel> model, const StopFlag& stop)
      : model_(std::move(model)), stop_(stop), maps_(model_, stop) {}

  Status make_landmarker(int iterations) {
    CUFACE_TRY(
        take(SampledLandmarker::create(Backend::kCpu, model_, iterations, &stop_), landmarker_));
    planned_iterations_ = iterations;
    return {};
  }

  Status look_at(Frame& frame, const FaceResult& faces, const FaceList& list,
                 const LandmarkSettings& settings) override {
    if (!settings.follow_roll) known_rolls_.count = 0;
    return take(maps_.map_for(frame, faces, list.detector, settings), map_);
  }
  Status find(Frame& frame, const LandmarkSettings& settings, FaceList& list) override {
    CUFACE_TAKE(picture, frame.luma());
    if (settings.iterations != planned_iterations_)
      CUFACE_TRY(make_landmarker(settings.iterations));
    // A landmarker keeps something of every face that it is asked for at once.
    constexpr std::size_t kTogether = 64;
    const auto points = static_cast<std::size_t>(model_->landmarks);
    const std::span<Point> landmarks(list.landmarks);
    if (landmarker_->has_confidences(settings.samples))
      list.landmark_confidences.resize(list.landmarks.size());
    const std::span<float> confidences(list.landmark_confidences);
    for (std::size_t first = 0; first < list.faces.size(); first += kTogether) {
      const std::size_t count = std::min(kTogether, list.faces.size() - first);
      boxes_.clear();
      rolls_.clear();
      twice_.clear();
      for (const Face& face : std::span<const Face>(list.faces).subspan(first, count)) {
        boxes_.push_back(face.box);
        if (!settings.follow_roll) continue;
        rolls_.push_back(forest::recall_roll(known_rolls_, face));
        if (settings.refine) twice_.push_back(!forest::is_known(known_rolls_, face));
      }
      CUFACE_TRY(landmarker_->enqueue(
          picture->view(), boxes_, map_, settings.samples,
          landmarks.subspan(first * points, count * points), rolls_, twice_,
          confidences.empty() ? confidences : confidences.subspan(first * points, count * points)));
    }
    return {};
  }
  void remember(const FaceList& list, const LandmarkSettings& settings) override {
    if (settings.follow_roll)
      forest::remember_rolls(SerialLanes{}, known_rolls_, list.faces.data(), list.landmarks.data(),
                             static_cast<int>(list.faces.size()), mean_);
  }
  void forget() override {
    known_rolls_.count = 0;
    maps_.forget();
  }

 private:
  const std::shared_ptr<const ForestModel> model_;
  const StopFlag& stop_;
  BoxMaps maps_;
  BoxMap map_;
  std::unique_ptr<SampledLandmarker> landmarker_;
  int planned_iterations_ = 0;
  std::vector<Box> boxes_;
  std::vector<Roll> rolls_;
  std::vector<std::uint8_t> twice_;
  const std::vector<Point> mean_ = mean_points(*model_);
  RollState known_rolls_;  // of the frame before; nobody's without follow_roll
};

}  // namespace

LandmarkFinderResult make_forest_finder(std::shared_ptr<const ForestModel> model, int iterations,
                                        const StopFlag& stop) {
  auto made = std::make_unique<ForestFinder>(std::move(model), stop);
  CUFACE_TRY(made->make_landmarker(iterations));
  return LandmarkFinderResult(std::move(made));
}

}  // namespace cuface::gst
