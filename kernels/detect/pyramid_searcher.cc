// OpenCV's way: the picture is scaled, level after level into the same scratch, the window stays.
#include <algorithm>

#include "kernels/detect/levels.h"
#include "kernels/detect/searcher.h"
#include "kernels/integral/integral.h"
#include "kernels/pyramid/pyramid.h"

namespace cuface {
namespace {

class PyramidSearcher final : public Searcher {
 public:
  PyramidSearcher(const CascadeModel& model, const SearchPlan& plan)
      : model_(model), tilted_(model.has_tilted()) {
    levels_ = plan_levels(model, plan);
    if (levels_.empty()) return;
    for (const Level& l : levels_) {
      resizes_.emplace_back(plan.width, plan.height, l.width, l.height);
    }
    // Scales grow, so the first level is the largest.
    const int width = levels_.front().width, height = levels_.front().height;
    picture_ = Image<std::uint8_t>(width, height);
    two_rows_.resize(2 * static_cast<std::size_t>(width));
    sums_ = Image<std::uint32_t>(width + 1, (height + 1) * (tilted_ ? 3 : 2));
    const ImageView<std::uint32_t> all = sums_.view();
    layout_.stride =
        static_cast<int>(all.stride / static_cast<std::ptrdiff_t>(sizeof(std::uint32_t)));
    plane_words_ = static_cast<std::ptrdiff_t>(height + 1) * layout_.stride;
    layout_.tilted = 2 * plane_words_;
    cascade_ = std::make_unique<CascadeSearch>(model, layout_, width);
  }

  bool search(ImageView<const std::uint8_t> picture, std::vector<Rect>& out) override {
    for (std::size_t i = 0; i < levels_.size(); ++i) {
      const LevelSums sums = prepare(picture, i);
      windows_.clear();
      if (!cascade_->run(sums, levels_[i].grid, static_cast<int>(i), kMaxRawWindows - out.size(),
                         windows_)) {
        return false;
      }
      for (const RawWindow& w : windows_) out.push_back(box_of(w));
    }
    return true;
  }

 private:
  LevelSums prepare(ImageView<const std::uint8_t> picture, std::size_t i) {
    const Level& level = levels_[i];
    ImageView<std::uint8_t> scaled = picture_.view();
    scaled.width = level.width;
    scaled.height = level.height;
    resizes_[i].run(picture, scaled, two_rows_.data());
    const auto plane = [&](int index) {
      ImageView<std::uint32_t> v = sums_.view();
      return ImageView<std::uint32_t>{v.data + index * plane_words_, level.width + 1,
                                      level.height + 1, v.stride};
    };
    integral_squared(scaled, plane(0), plane(1));
    if (tilted_) integral_tilted(scaled, plane(2));
    return {plane(0).data, plane(1).data};
  }

  Rect box_of(const RawWindow& w) const {
    const float scale = levels_[static_cast<std::size_t>(w.level)].scale;
    return window_box(w.x, w.y, model_.window_width, model_.window_height, scale);
  }

  const CascadeModel& model_;
  const bool tilted_;
  std::vector<Level> levels_;
  std::vector<LinearResize> resizes_;
  Image<std::uint8_t> picture_;
  std::vector<std::uint16_t> two_rows_;
  Image<std::uint32_t> sums_;
  std::ptrdiff_t plane_words_ = 0;
  SumLayout layout_;
  std::unique_ptr<CascadeSearch> cascade_;
  std::vector<RawWindow> windows_;
};

}  // namespace

std::unique_ptr<Searcher> make_pyramid_searcher(const CascadeModel& model, const SearchPlan& plan) {
  return std::make_unique<PyramidSearcher>(model, plan);
}

std::unique_ptr<Searcher> make_searcher(ScaleMode mode, const CascadeModel& model,
                                        const SearchPlan& plan) {
  return mode == ScaleMode::kWindow ? make_window_searcher(model, plan)
                                    : make_pyramid_searcher(model, plan);
}

}  // namespace cuface
