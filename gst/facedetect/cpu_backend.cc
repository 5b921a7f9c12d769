#include "gst/facedetect/cpu_backend.h"

#include <utility>
#include <vector>

#include "gst/facedetect/searchcost.h"
#include "gst/faces/counters.h"
#include "kernels/common/try.h"
#include "kernels/detect/schedule.h"
#include "kernels/detect/verify.h"

namespace cuface::gst {
namespace {

class CascadeBackend final : public CpuBackend {
 public:
  CascadeBackend(std::shared_ptr<const CascadeModel> model, BackendOwner owner)
      : CpuBackend(std::move(owner)), model_(std::move(model)) {}

  Status make_detector(const DetectSettings& settings, int width, int height) {
    detector_.reset();  // or there would be two in memory
    CUFACE_TRY(
        take(Detector::create(Backend::kCpu, model_, settings.config, width, height, &owner().stop),
             detector_));
    planned_ = settings.config;
    const long long windows = detector_->windows();
    owner().planned(windows, search_seconds(windows, settings.config));
    return {};
  }

 private:
  Result<FaceList> search(Frame& frame, const DetectSettings& settings, const SearchInputs& inputs,
                          const SearchRegion& what) override {
    CUFACE_TAKE(picture, frame.luma());
    if (!detector_ || settings.config != planned_)
      CUFACE_TRY(make_detector(settings, frame.width(), frame.height()));
    if (inputs.verify || what.active_only)
      take_followed(frame, inputs);
    else
      followed_.clear();
    CUFACE_TRY(detector_->enqueue(picture->view(), found_, what, followed_));
    if (found_.overflow) frame.count(kOverflows);
    return faces_from_detections(found_, what, model_->name, frame.width(), frame.height());
  }

  /// Those that the CPU has followed.
  void take_followed(const Frame& frame, const SearchInputs& inputs) {
    followed_.clear();
    const FaceList* list = inputs.followed.host();
    if (!list) return;
    const float sx = static_cast<float>(frame.width()) / static_cast<float>(list->width);
    const float sy = static_cast<float>(frame.height()) / static_cast<float>(list->height);
    const int n = points_per_face(*list);
    const Point* points = (list->landmarks_per_face > 0 ? list->landmarks : list->followed).data();
    for (const Face& face : list->faces) {
      followed_.push_back(followed_face(face, points, n, sx, sy));
      points += n;
    }
  }

  const std::shared_ptr<const CascadeModel> model_;
  std::unique_ptr<Detector> detector_;
  DetectConfig planned_;  ///< what the detector was made for
  std::vector<Followed> followed_;
  DetectResult found_;
};

}  // namespace

void CpuBackend::restart() { schedule_ = {}; }

Result<FaceResult> CpuBackend::run(Frame& frame, const DetectSettings& settings,
                                   const SearchInputs& inputs) {
  const SearchRegion what = schedule_.next(inputs.ask);
  frame.count(kSkippedSearches, schedule_.skipped(inputs.ask));
  FaceList own;
  if (what) {
    CUFACE_TAKE(found, search(frame, settings, inputs, what));
    own = std::move(found);
    if (begins_search(inputs.ask, what)) frame.count(kSearches);
  } else {
    own.width = frame.width();
    own.height = frame.height();
  }
  CUFACE_TAKE(before, frame.find<FaceList>().result.read());
  if (!what && before) return FaceResult(std::move(before));
  auto list = std::make_shared<FaceList>();
  if (before) {
    *list = *before;
    if (!merge_faces(own, *list, &owner_.stop)) return cancelled();
  } else {
    *list = std::move(own);
  }
  if (what) schedule_.searched(what, !list->faces.empty());
  return FaceResult(std::move(list));
}

DetectBackendResult make_detect_backend(Backend backend, std::shared_ptr<const CascadeModel> model,
                                        const DetectSettings& settings, int width, int height,
                                        BackendOwner owner) {
#ifdef CUFACE_CUDA_ELEMENTS
  if (backend == Backend::kCuda)
    return make_cuda_detect_backend(std::move(model), settings, width, height, std::move(owner));
#endif
  if (backend != Backend::kCpu)
    return Status(StatusCode::kUnsupported, "this build searches on the CPU only");
  auto made = std::make_unique<CascadeBackend>(std::move(model), std::move(owner));
  CUFACE_TRY(made->make_detector(settings, width, height));
  return DetectBackendResult(std::move(made));
}

}  // namespace cuface::gst
