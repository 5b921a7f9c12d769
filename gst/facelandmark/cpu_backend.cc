#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "gst/facelandmark/backend.h"
#include "kernels/common/try.h"
#include "kernels/landmark_filter/gap.h"
#include "kernels/landmark_filter/inertia.h"
#include "kernels/landmark_filter/smooth.h"
#include "kernels/landmarks/roll.h"
#include "models/box_map.h"

namespace cuface::gst {
namespace {

class CpuLandmarkBackend final : public LandmarkBackend {
 public:
  CpuLandmarkBackend(std::shared_ptr<const ForestModel> model, const StopFlag& stop)
      : model_(std::move(model)), stop_(stop) {}

  Status make_landmarker(int iterations) {
    CUFACE_TRY(
        take(SampledLandmarker::create(Backend::kCpu, model_, iterations, &stop_), landmarker_));
    planned_iterations_ = iterations;
    return {};
  }

  Result<Landmarks> run(Frame& frame, const FaceResult& faces, const LandmarkSettings& settings,
                        double seconds) override {
    CUFACE_TAKE(read, faces.read());
    auto list = std::make_shared<FaceList>(*read);
    list->landmarks_per_face = model_->landmarks;
    list->landmarks.resize(list->faces.size() * static_cast<std::size_t>(model_->landmarks));
    if (!settings.follow_roll) known_rolls_.count = 0;
    if (frame.is_gap()) return pass_gap(frame, settings, std::move(list));
    if (!list->faces.empty()) CUFACE_TRY(regress(frame, settings, *list));
    add_inertia(settings.inertia, *list);
    list->followed.clear();
    list->followed_per_face = 0;
    if (settings.follow_roll)
      forest::remember_rolls(SerialLanes{}, known_rolls_, list->faces.data(),
                             list->landmarks.data(), static_cast<int>(list->faces.size()), mean_);
    if (settings.smooth > 0) return smoothed(std::move(list), settings.smooth, seconds);
    forget_places();
    before_ = list;
    return Landmarks{FaceResult(std::move(list)), {}};
  }
  void forget() override {
    before_ = nullptr;
    forget_places();
    forget_inertia();
    known_rolls_.count = 0;
  }

 private:
  Result<Landmarks> pass_gap(Frame& frame, const LandmarkSettings& settings,
                             std::shared_ptr<FaceList> list) {
    const FaceListRef before = std::exchange(before_, list);
    const int count = before ? static_cast<int>(before->faces.size()) : 0;
    const bool all_known = std::ranges::all_of(list->faces, [&](const Face& face) {
      return forest::place_of(face.id, before ? before->faces.data() : nullptr, count) >= 0;
    });
    if (!all_known) CUFACE_TRY(regress(frame, settings, *list));
    if (before)
      forest::keep_landmarks(SerialLanes{}, before->faces.data(), count, before->landmarks.data(),
                             list->faces.data(), static_cast<int>(list->faces.size()),
                             model_->landmarks, list->landmarks.data());
    list->followed.clear();
    list->followed_per_face = 0;
    return Landmarks{FaceResult(std::move(list)), {}};
  }
  Landmarks smoothed(std::shared_ptr<const FaceList> list, float amount, double seconds) {
    auto smooth = std::make_shared<FaceList>(*list);
    forest::smooth_landmarks(SerialLanes{}, *smooth_, smooth->faces.data(),
                             smooth->landmarks.data(), static_cast<int>(smooth->faces.size()),
                             model_->landmarks, seconds, amount, smooth_scratch_);
    before_ = smooth;
    return {FaceResult(std::move(smooth)), FaceResult(std::move(list))};
  }
  void add_inertia(float inertia, FaceList& list) {
    if (inertia <= 0) return forget_inertia();
    const bool followed = list.followed_per_face == model_->landmarks;
    forest::add_inertia(SerialLanes{}, *inertia_, list.faces.data(),
                        static_cast<int>(list.faces.size()), model_->landmarks,
                        followed ? list.followed.data() : nullptr, list.landmarks.data(), inertia,
                        inertia_scratch_);
  }
  void forget_inertia() { std::ranges::fill(inertia_->id, 0); }
  void forget_places() { std::ranges::fill(smooth_->id, 0); }
  Status regress(Frame& frame, const LandmarkSettings& settings, FaceList& list) {
    const BoxMap map = box_map_of(settings, *model_, list.detector);
    CUFACE_TAKE(picture, frame.luma());
    if (settings.iterations != planned_iterations_)
      CUFACE_TRY(make_landmarker(settings.iterations));
    // A landmarker keeps something of every face that it is asked for at once.
    constexpr std::size_t kTogether = 64;
    const auto points = static_cast<std::size_t>(model_->landmarks);
    const std::span<Point> landmarks(list.landmarks);
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
      CUFACE_TRY(landmarker_->enqueue(picture->view(), boxes_, map, settings.samples,
                                      landmarks.subspan(first * points, count * points), rolls_,
                                      twice_));
    }
    return {};
  }

  const std::shared_ptr<const ForestModel> model_;
  const StopFlag& stop_;
  std::unique_ptr<SampledLandmarker> landmarker_;
  int planned_iterations_ = 0;
  std::vector<Box> boxes_;
  std::vector<Roll> rolls_;
  std::vector<std::uint8_t> twice_;
  const std::vector<Point> mean_ = mean_points(*model_);
  FaceListRef before_;     // what was delivered for the frame before
  RollState known_rolls_;  // of the frame before; nobody's without follow_roll
  const std::unique_ptr<InertiaState> inertia_ = std::make_unique<InertiaState>();
  forest::InertiaScratch inertia_scratch_;
  const std::unique_ptr<SmoothState> smooth_ = std::make_unique<SmoothState>();
  forest::SmoothScratch smooth_scratch_;
};

}  // namespace

BoxMap box_map_of(const LandmarkSettings& settings, const ForestModel& model,
                  const std::string& cascade) {
  return settings.box_map == BoxMapChoice::kAuto ? box_map_for(model, cascade) : BoxMap{};
}

LandmarkBackendResult make_landmark_backend(Backend backend,
                                            std::shared_ptr<const ForestModel> model,
                                            const LandmarkSettings& settings,
                                            const StopFlag& stop) {
#ifdef CUFACE_CUDA_ELEMENTS
  if (backend == Backend::kCuda) return make_cuda_landmark_backend(std::move(model), settings);
#endif
  if (backend != Backend::kCpu)
    return Status(StatusCode::kUnsupported, "this build regresses landmarks on the CPU only");
  auto made = std::make_unique<CpuLandmarkBackend>(std::move(model), stop);
  CUFACE_TRY(made->make_landmarker(settings.iterations));
  return LandmarkBackendResult(std::move(made));
}

}  // namespace cuface::gst
