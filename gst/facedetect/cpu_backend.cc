#include "gst/facedetect/cpu_backend.h"

#include <span>
#include <utility>

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
    const DetectConfig config = settings.cascade_config();
    CUFACE_TRY(take(Detector::create(Backend::kCpu, model_, config, width, height, &owner().stop),
                    detector_));
    planned_ = config;
    const long long windows = detector_->windows();
    owner().planned(windows, search_seconds(windows, settings.config));
    return {};
  }

 private:
  Result<Searched> search(Frame& frame, const DetectSettings& settings, const SearchInputs& inputs,
                          const SearchRegion& what) override {
    CUFACE_TAKE(picture, frame.luma());
    if (!detector_ || settings.cascade_config() != planned_)
      CUFACE_TRY(make_detector(settings, frame.width(), frame.height()));
    std::span<const Followed> followed;
    if (inputs.verify || what.active_only) followed = followed_by(frame, inputs);
    CUFACE_TRY(detector_->enqueue(picture->view(), found_, what, followed));
    if (found_.overflow) frame.count(kOverflows);
    if (is_unchanged(found_, what)) return Searched{};
    Searched out{what,
                 faces_from_detections(found_, what, model_->name, frame.width(), frame.height())};
    if (what.only_if_changed()) out.pause = motion_pause(what, found_.changed_cells, found_.cells);
    return out;
  }

  const std::shared_ptr<const CascadeModel> model_;
  std::unique_ptr<Detector> detector_;
  DetectConfig planned_;  ///< what the detector was made for
  DetectResult found_;
};

}  // namespace

void CpuBackend::restart() { schedule_ = {}; }

std::span<const Followed> CpuBackend::followed_by(const Frame& frame, const SearchInputs& inputs) {
  followed_.clear();
  const FaceList* list = inputs.followed.host();
  if (!list) return {};
  const float sx = static_cast<float>(frame.width()) / static_cast<float>(list->width);
  const float sy = static_cast<float>(frame.height()) / static_cast<float>(list->height);
  const int n = points_per_face(*list);
  const Eyes eyes = scheme_of(*list).eyes;
  const Point* points = (list->landmarks_per_face > 0 ? list->landmarks : list->followed).data();
  for (const Face& face : list->faces) {
    followed_.push_back(followed_face(face, points, eyes, sx, sy));
    points += n;
  }
  return followed_;
}

Result<FaceResult> CpuBackend::run(Frame& frame, const DetectSettings& settings,
                                   const SearchInputs& inputs) {
  const SearchRegion due = schedule_.next(inputs.ask);
  frame.count(kSkippedSearches, schedule_.skipped(inputs.ask));
  Searched found;
  if (due) CUFACE_TRY(take(search(frame, settings, inputs, due), found));
  const SearchRegion& what = found.what;
  FaceList& own = found.faces;
  if (what) {
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
  if (what) schedule_.searched(what, !list->faces.empty(), found.pause, found.rest);
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
