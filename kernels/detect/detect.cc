#include "kernels/detect/detect.h"

#include <optional>
#include <utility>

#include "kernels/activity/activity.h"
#include "kernels/common/guarded.h"
#include "kernels/common/simd.h"
#include "kernels/common/try.h"
#include "kernels/detect/boxes.h"
#include "kernels/detect/searcher.h"
#include "kernels/detect/turned_detector.h"
#include "kernels/detect/verifying_detector.h"
#include "kernels/pyramid/pyramid.h"

namespace cuface {
namespace {

Status invalid(const std::string& what) { return {StatusCode::kInvalidArgument, what}; }

class CpuDetector final : public Detector {
 public:
  CpuDetector(std::shared_ptr<const CascadeModel> model, const DetectConfig& config, int width,
              int height, const std::shared_ptr<SharedSearch>& shared)
      : model_(std::move(model)),
        config_(config),
        width_(width),
        height_(height),
        stop_(shared->stop()),
        plan_(plan_search(config, width, height)),
        shrink_(width, height, plan_.width, plan_.height) {
    if (config.detect_scale > 1) small_ = Image<std::uint8_t>(plan_.width, plan_.height);
    SearchPlan plan = plan_;
    plan.shared = shared;
    searcher_ = make_searcher(config.scale_mode, *model_, plan);
    if (config.active_parts) activity_.emplace(plan_.width, plan_.height, width, height);
    windows_.reserve(kMaxRawWindows);
    scratch_.reserve(kMaxRawWindows);
  }

  Status find(ImageView<const std::uint8_t> luma, DetectResult& out, const SearchRegion& band,
              std::span<const Followed> followed) override {
    out.clear();
    if (luma.width != width_ || luma.height != height_ || luma.data == nullptr) {
      return invalid("the picture does not have the planned size");
    }
    if (band.active_only && !activity_) return invalid("no active parts were planned");
    const Status status = search(luma, out, band, followed);
    if (status.code() == StatusCode::kCancelled) {
      out.clear();
      if (activity_) activity_->forget();
    }
    return status;
  }

  long long windows() const override { return searcher_->windows(); }

 private:
  Status search(ImageView<const std::uint8_t> luma, DetectResult& out, const SearchRegion& band,
                std::span<const Followed> followed) {
    windows_.clear();
    ImageView<const std::uint8_t> picture = luma;
    if (config_.detect_scale > 1) {
      if (!shrink_.run(luma, small_.view(), stop_)) return cancelled();
      picture = std::as_const(small_).view();
    }
    if (is_raised(stop_)) return cancelled();
    const ActivityMap* active = nullptr;
    if (band.active_only) {
      active = &activity_->look(picture, followed, band);
      out.cells = activity_->cells();
      out.changed_cells = activity_->changed_cells();
      if (is_unchanged(out, band)) return {};
    } else if (activity_ && !band.is_part()) {
      activity_->take(picture);
    }
    out.overflow = !searcher_->search(picture, band, active, windows_);
    if (is_raised(stop_)) return cancelled();
    if (out.overflow) return {};
    if (!group(windows_, config_.grouping, config_.min_neighbors, scratch_, out.faces, stop_))
      return cancelled();
    to_full_picture(out.faces, band);
    if (out.faces.size() > static_cast<std::size_t>(config_.max_faces)) {
      out.faces.resize(static_cast<std::size_t>(config_.max_faces));
    }
    return {};
  }

  void to_full_picture(std::vector<Detection>& faces, const SearchRegion& band) const {
    std::erase_if(faces, [&](Detection& d) {
      return !belongs(band, d.box, plan_.height) || !clip(d.box, plan_.width, plan_.height);
    });
    if (config_.detect_scale == 1) return;
    for (Detection& d : faces) d.box = enlarged(d.box, width_, height_, plan_.width, plan_.height);
  }

  std::shared_ptr<const CascadeModel> model_;
  const DetectConfig config_;
  const int width_, height_;
  const StopFlag* const stop_;
  const SearchPlan plan_;
  LinearResize shrink_;
  Image<std::uint8_t> small_;
  std::unique_ptr<Searcher> searcher_;
  std::optional<Activity> activity_;
  std::vector<Rect> windows_;
  GroupScratch scratch_;
};

}  // namespace

Result<std::unique_ptr<Detector>> Detector::create(Backend backend,
                                                   std::shared_ptr<const CascadeModel> model,
                                                   const DetectConfig& config, int width,
                                                   int height, const StopFlag* stop) {
  if (backend == Backend::kCuda) return Status(StatusCode::kUnsupported, "built without CUDA");
  if (!model) return invalid("there is no cascade");
  CUFACE_TRY(simd::status());
  return guarded("planning the search", [&]() -> Result<std::unique_ptr<Detector>> {
    CUFACE_TRY(validate(*model));
    return make_detector(model, config, width, height,
                         std::make_shared<SharedSearch>(*model, stop));
  });
}

Status Detector::enqueue(ImageView<const std::uint8_t> luma, DetectResult& out,
                         const SearchRegion& band, std::span<const Followed> followed) {
  return guarded("searching", [&] { return find(luma, out, band, followed); });
}

Result<std::unique_ptr<Detector>> make_detector(const std::shared_ptr<const CascadeModel>& model,
                                                const DetectConfig& config, int width, int height,
                                                const std::shared_ptr<SharedSearch>& shared) {
  CUFACE_TRY(validate_search(config, width, height));
  // Before anything is allocated: to clear the memory of a large picture takes long enough.
  if (is_raised(shared->stop())) return cancelled();
  if (config.verify) return make_verifying_detector(model, config, width, height, shared);
  if (config.roll > 0) return make_turned_detector(model, config, width, height, shared);
  auto detector = std::make_unique<CpuDetector>(model, config, width, height, shared);
  if (is_raised(shared->stop())) return cancelled();
  return std::unique_ptr<Detector>(std::move(detector));
}

}  // namespace cuface
