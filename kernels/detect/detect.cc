#include "kernels/detect/detect.h"

#include <algorithm>
#include <cmath>
#include <new>
#include <utility>

#include "kernels/detect/levels.h"
#include "kernels/detect/searcher.h"
#include "kernels/pyramid/pyramid.h"

namespace cuface {
namespace {

constexpr long long kMaxWindowModePixels = 1LL << 24;

Status invalid(const std::string& what) { return {StatusCode::kInvalidArgument, what}; }

Status validate(const DetectConfig& c, int width, int height) {
  if (!(c.scale_factor >= 1.001 && std::isfinite(c.scale_factor))) {
    return invalid("scale_factor must be 1.001 or more");
  }
  if (c.min_neighbors < 0) return invalid("min_neighbors must be 0 or more");
  if (c.min_size < 0 || c.max_size < 0) return invalid("min_size and max_size must be 0 or more");
  if (c.max_faces < 1) return invalid("max_faces must be 1 or more");
  if (c.step < 0 || c.step > 2) return invalid("step must be 0, 1 or 2");
  if (c.detect_scale < 1) return invalid("detect_scale must be 1 or more");
  if (width < 1 || height < 1) return invalid("a picture has at least one pixel");
  if (width > kMaxPictureSide || height > kMaxPictureSide) {
    return {StatusCode::kUnsupported, "pictures of more than " + std::to_string(kMaxPictureSide) +
                                          " pixels a side are not searched"};
  }
  const long long pixels =
      static_cast<long long>(width / c.detect_scale) * (height / c.detect_scale);
  if (c.scale_mode == ScaleMode::kWindow && pixels > kMaxWindowModePixels) {
    return {
        StatusCode::kUnsupported,
        "kWindow searches pictures of at most 2^24 pixels: the norm of a window must fit 64 bits"};
  }
  return {};
}

// A length in the searched picture, as one in the full picture, rounded.
int enlarge(int v, int full, int searched) {
  return static_cast<int>((2LL * v * full + searched) / (2LL * searched));
}

bool clip(Rect& r, int width, int height) {
  const int right = std::min(r.x + r.w, width), bottom = std::min(r.y + r.h, height);
  r.x = std::max(r.x, 0);
  r.y = std::max(r.y, 0);
  r.w = right - r.x;
  r.h = bottom - r.y;
  return r.w > 0 && r.h > 0;
}

class CpuDetector final : public Detector {
 public:
  CpuDetector(std::shared_ptr<const CascadeModel> model, const DetectConfig& config, int width,
              int height)
      : model_(std::move(model)),
        config_(config),
        width_(width),
        height_(height),
        searched_width_(std::max(width / config.detect_scale, 1)),
        searched_height_(std::max(height / config.detect_scale, 1)),
        shrink_(width, height, searched_width_, searched_height_) {
    if (config.detect_scale > 1) {
      small_ = Image<std::uint8_t>(searched_width_, searched_height_);
      two_rows_.resize(2 * static_cast<std::size_t>(searched_width_));
    }
    SearchPlan plan;
    plan.width = searched_width_;
    plan.height = searched_height_;
    plan.step = config.step;
    plan.scale_factor = config.scale_factor;
    // The limits hold for the full picture: a window of min_size or more there is kept.
    plan.min_size =
        config.min_size / config.detect_scale + (config.min_size % config.detect_scale != 0);
    plan.max_size = config.max_size > 0 ? std::max(config.max_size / config.detect_scale, 1) : 0;
    searcher_ = make_searcher(config.scale_mode, *model_, plan);
    windows_.reserve(kMaxRawWindows);
    scratch_.reserve(kMaxRawWindows);
  }

  Status enqueue(ImageView<const std::uint8_t> luma, DetectResult& out) override {
    out.faces.clear();
    out.overflow = false;
    if (luma.width != width_ || luma.height != height_ || luma.data == nullptr) {
      return invalid("the picture does not have the planned size");
    }
    windows_.clear();
    out.overflow = !searcher_->search(shrunk(luma), windows_);
    if (out.overflow) return {};
    group(windows_, config_.grouping, config_.min_neighbors, scratch_, out.faces);
    to_full_picture(out.faces);
    if (out.faces.size() > static_cast<std::size_t>(config_.max_faces)) {
      out.faces.resize(static_cast<std::size_t>(config_.max_faces));
    }
    return {};
  }

 private:
  ImageView<const std::uint8_t> shrunk(ImageView<const std::uint8_t> luma) {
    if (config_.detect_scale == 1) return luma;
    shrink_.run(luma, small_.view(), two_rows_.data());
    return std::as_const(small_).view();
  }

  // Clips, as OpenCV does last, in the searched picture.
  void to_full_picture(std::vector<Detection>& faces) const {
    std::erase_if(faces,
                  [&](Detection& d) { return !clip(d.box, searched_width_, searched_height_); });
    if (config_.detect_scale == 1) return;
    for (Detection& d : faces) {
      d.box = {
          enlarge(d.box.x, width_, searched_width_), enlarge(d.box.y, height_, searched_height_),
          enlarge(d.box.w, width_, searched_width_), enlarge(d.box.h, height_, searched_height_)};
    }
  }

  std::shared_ptr<const CascadeModel> model_;
  const DetectConfig config_;
  const int width_, height_;
  const int searched_width_, searched_height_;
  LinearResize shrink_;
  Image<std::uint8_t> small_;
  std::vector<std::uint16_t> two_rows_;
  std::unique_ptr<Searcher> searcher_;
  std::vector<Rect> windows_;
  GroupScratch scratch_;
};

}  // namespace

Result<std::unique_ptr<Detector>> Detector::create(Backend backend,
                                                   std::shared_ptr<const CascadeModel> model,
                                                   const DetectConfig& config, int width,
                                                   int height) {
  if (backend == Backend::kCuda) return Status(StatusCode::kUnsupported, "built without CUDA");
  if (!model) return invalid("there is no cascade");
  if (Status s = validate(*model); !s.ok()) return s;
  if (Status s = validate(config, width, height); !s.ok()) return s;
  try {
    return std::unique_ptr<Detector>(
        std::make_unique<CpuDetector>(std::move(model), config, width, height));
  } catch (const std::bad_alloc&) {
    return Status(StatusCode::kOutOfMemory, "no memory to search a picture of this size");
  }
}

}  // namespace cuface
