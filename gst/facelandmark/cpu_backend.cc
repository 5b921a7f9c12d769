#include <algorithm>
#include <utility>
#include <vector>

#include "gst/facelandmark/backend.h"
#include "gst/facelandmark/finder.h"
#include "kernels/common/try.h"
#include "kernels/landmark_filter/gap.h"
#include "kernels/landmark_filter/inertia.h"
#include "kernels/landmark_filter/smooth.h"

namespace cuface::gst {
namespace {

class CpuLandmarkBackend final : public LandmarkBackend {
 public:
  CpuLandmarkBackend(std::unique_ptr<LandmarkFinder> finder, const LandmarkModel& model)
      : finder_(std::move(finder)), points_(points_of(model)), scheme_(scheme_of(model)) {}

  Result<Landmarks> run(Frame& frame, const FaceResult& faces, const LandmarkSettings& settings,
                        double seconds) override {
    CUFACE_TAKE(read, faces.read());
    auto list = std::make_shared<FaceList>(*read);
    list->landmarks_per_face = points_;
    list->scheme = scheme_;
    list->landmarks.resize(list->faces.size() * static_cast<std::size_t>(points_));
    list->landmark_confidences.clear();
    CUFACE_TRY(finder_->look_at(frame, faces, *list, settings));
    if (frame.is_gap()) return pass_gap(frame, settings, std::move(list));
    if (!list->faces.empty()) CUFACE_TRY(finder_->find(frame, settings, *list));
    add_inertia(settings.inertia, *list);
    list->followed.clear();
    list->followed_per_face = 0;
    finder_->remember(*list, settings);
    if (settings.smooth > 0) return smoothed(std::move(list), settings.smooth, seconds);
    forget_places();
    before_ = list;
    return Landmarks{FaceResult(std::move(list)), {}};
  }
  void forget() override {
    before_ = nullptr;
    forget_places();
    forget_inertia();
    finder_->forget();
  }

 private:
  Result<Landmarks> pass_gap(Frame& frame, const LandmarkSettings& settings,
                             std::shared_ptr<FaceList> list) {
    const FaceListRef before = std::exchange(before_, list);
    const int count = before ? static_cast<int>(before->faces.size()) : 0;
    const bool all_known = std::ranges::all_of(list->faces, [&](const Face& face) {
      return forest::place_of(face.id, before ? before->faces.data() : nullptr, count) >= 0;
    });
    if (!all_known) CUFACE_TRY(finder_->find(frame, settings, *list));
    if (before) {
      const auto now = static_cast<int>(list->faces.size());
      forest::keep_landmarks(SerialLanes{}, before->faces.data(), count, before->landmarks.data(),
                             list->faces.data(), now, points_, list->landmarks.data());
      // As landmarks are; without them the list has none.
      const bool confident = !before->landmark_confidences.empty() &&
                             (all_known || !list->landmark_confidences.empty());
      list->landmark_confidences.resize(confident ? list->landmarks.size() : 0);
      if (confident)
        forest::keep_landmarks(SerialLanes{}, before->faces.data(), count,
                               before->landmark_confidences.data(), list->faces.data(), now,
                               points_, list->landmark_confidences.data());
    }
    list->followed.clear();
    list->followed_per_face = 0;
    return Landmarks{FaceResult(std::move(list)), {}};
  }
  Landmarks smoothed(std::shared_ptr<const FaceList> list, float amount, double seconds) {
    auto smooth = std::make_shared<FaceList>(*list);
    forest::smooth_landmarks(SerialLanes{}, *smooth_, smooth->faces.data(),
                             smooth->landmarks.data(), static_cast<int>(smooth->faces.size()),
                             points_, seconds, amount, smooth_scratch_);
    before_ = smooth;
    return {FaceResult(std::move(smooth)), FaceResult(std::move(list))};
  }
  void add_inertia(float inertia, FaceList& list) {
    if (inertia <= 0) return forget_inertia();
    const bool followed = list.followed_per_face == points_;
    forest::add_inertia(SerialLanes{}, *inertia_, list.faces.data(),
                        static_cast<int>(list.faces.size()), points_,
                        followed ? list.followed.data() : nullptr, list.landmarks.data(), inertia,
                        inertia_scratch_);
  }
  void forget_inertia() { std::ranges::fill(inertia_->id, 0); }
  void forget_places() { std::ranges::fill(smooth_->id, 0); }

  const std::unique_ptr<LandmarkFinder> finder_;
  const int points_;
  const LandmarkSchemeRef scheme_;
  FaceListRef before_;  // what was delivered for the frame before
  const std::unique_ptr<InertiaState> inertia_ = std::make_unique<InertiaState>();
  forest::InertiaScratch inertia_scratch_;
  const std::unique_ptr<SmoothState> smooth_ = std::make_unique<SmoothState>();
  forest::SmoothScratch smooth_scratch_;
};

}  // namespace

LandmarkBackendResult make_landmark_backend(Backend backend, const LandmarkModel& model,
                                            const LandmarkSettings& settings,
                                            const StopFlag& stop) {
#ifdef CUFACE_CUDA_ELEMENTS
  if (backend == Backend::kCuda) return make_cuda_landmark_backend(model, settings, stop);
#endif
  if (backend != Backend::kCpu)
    return Status(StatusCode::kUnsupported, "this build finds landmarks on the CPU only");
  CUFACE_TAKE(finder, model.shape ? make_shape_finder(model, settings.start, settings.threads, stop)
                                  : make_forest_finder(model.forest, settings.iterations, stop));
  return LandmarkBackendResult(std::make_unique<CpuLandmarkBackend>(std::move(finder), model));
}

}  // namespace cuface::gst
