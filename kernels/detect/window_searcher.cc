// The published system's way [S0.15]: one set of integrals, the window and its features are scaled.
// Every window of the grid is looked at; nothing is skipped.
#include <algorithm>
#include <cmath>

#include "kernels/detect/searcher.h"
#include "kernels/integral/integral.h"
#include "kernels/levels/levels.h"

namespace cuface {
namespace {

// 1 / sqrt(n * squares - sum^2) over the whole window, in double, rounded to float; 0 where it is
// flat. The integers are exact: 2^24 pixels at most.
float inverse_norm(std::uint64_t pixels, std::uint64_t sum, std::uint64_t squares) {
  const std::uint64_t n = pixels * squares, s = sum * sum;
  return n > s ? static_cast<float>(1.0 / std::sqrt(static_cast<double>(n - s))) : 0.0f;
}

class WindowSearcher final : public Searcher {
 public:
  WindowSearcher(const CascadeModel& model, const SearchPlan& plan)
      : model_(model),
        tilted_(model.has_tilted()),
        step_(plan.step),
        shared_(plan.shared ? plan.shared : std::make_shared<SharedSearch>(model)),
        stop_(shared_->stop()),
        cascade_(shared_->scaled()) {
    const LevelQuery query{model.window_width, model.window_height, plan.width,   plan.height,
                           plan.scale_factor,  plan.min_size,       plan.max_size};
    scales_ = search_scales(query);
    if (scales_.empty()) return;
    sums_ = Image<std::uint32_t>(plan.width + 1, (plan.height + 1) * (tilted_ ? 2 : 1));
    squared_ = Image<std::uint64_t>(plan.width + 1, plan.height + 1);
    layout_.stride =
        static_cast<int>(sums_.view().stride / static_cast<std::ptrdiff_t>(sizeof(std::uint32_t)));
    layout_.tilted = static_cast<std::ptrdiff_t>(plan.height + 1) * layout_.stride;
    for (const float scale : scales_) {
      const Window w = window(scale);
      windows_ += along(plan.width, w.width, w.step) * along(plan.height, w.height, w.step);
    }
  }

  long long windows() const override { return windows_; }

  bool search(ImageView<const std::uint8_t> picture, const SearchRegion&, const ActivityMap*,
              std::vector<Rect>& out) override {
    if (scales_.empty()) return true;
    ImageView<std::uint32_t> sum = sums_.view();
    sum.height = picture.height + 1;
    if (!integral_squared(picture, sum, squared_.view(), stop_)) return false;
    if (tilted_) {
      ImageView<std::uint32_t> tilted = sum;
      tilted.data += layout_.tilted;
      if (!integral_tilted(picture, tilted, stop_)) return false;
    }
    for (const float scale : scales_) {
      if (!search_scale(picture.width, picture.height, scale, out)) return false;
    }
    return true;
  }

 private:
  struct Window {
    int width, height, step;
  };
  Window window(float scale) const {
    return {scaled_side(model_.window_width, scale), scaled_side(model_.window_height, scale),
            step_ > 0 ? step_ : std::max(2, static_cast<int>(std::lrintf(scale)))};
  }
  static long long along(int picture, int window, int step) {
    return picture < window ? 0 : (picture - window) / step + 1;
  }

  bool search_scale(int width, int height, float scale, std::vector<Rect>& out) {
    const auto [w, h, step] = window(scale);
    cascade_.bind_scaled(scale, w, h, layout_);
    int next_look = 0;
    const ImageView<const std::uint32_t> sum = std::as_const(sums_).view();
    const ImageView<const std::uint64_t> squared = std::as_const(squared_).view();
    for (int y = 0; y + h <= height; y += step, next_look = 0) {
      for (int x = 0; x + w <= width; x += step) {
        if (x >= next_look) {
          if (is_raised(stop_)) return false;
          next_look = x + kWindowsPerLook * step;
        }
        const float v = inverse_norm(static_cast<std::uint64_t>(w) * static_cast<std::uint64_t>(h),
                                     sum_in(sum, x, y, w, h), sum_in(squared, x, y, w, h));
        if (v == 0.0f || cascade_.failed_stage(&sum.at(x, y), v) < cascade_.stages().size())
          continue;
        if (out.size() >= kMaxRawWindows) return false;
        out.push_back({x, y, w, h});
      }
    }
    return true;
  }

  template <typename T>
  static T sum_in(const ImageView<const T>& integral, int x, int y, int w, int h) {
    return integral.at(x, y) - integral.at(x + w, y) - integral.at(x, y + h) +
           integral.at(x + w, y + h);
  }

  const CascadeModel& model_;
  const bool tilted_;
  const int step_;
  std::vector<float> scales_;
  Image<std::uint32_t> sums_;
  Image<std::uint64_t> squared_;
  SumLayout layout_;
  long long windows_ = 0;
  const std::shared_ptr<SharedSearch> shared_;
  const StopFlag* const stop_;
  BoundCascade& cascade_;
};

}  // namespace

std::unique_ptr<Searcher> make_window_searcher(const CascadeModel& model, const SearchPlan& plan) {
  return std::make_unique<WindowSearcher>(model, plan);
}

}  // namespace cuface
