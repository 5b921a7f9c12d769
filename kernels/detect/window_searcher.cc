// The published system's way [S0.15]: one set of integrals, the window and its features are scaled.
// Every window of the grid is looked at; nothing is skipped.
#include "kernels/cascade/scaled.h"
#include "kernels/detect/searcher.h"
#include "kernels/integral/integral.h"

namespace cuface {
namespace {

class WindowSearcher final : public Searcher {
 public:
  WindowSearcher(const CascadeModel& model, const SearchPlan& plan)
      : tilted_(model.has_tilted()),
        shared_(plan.shared ? plan.shared : std::make_shared<SharedSearch>(model)),
        stop_(shared_->stop()),
        cascade_(shared_->scaled()),
        scales_(plan_scaled_windows(model, plan)) {
    if (scales_.empty()) return;
    sums_ = Image<std::uint32_t>(plan.width + 1, (plan.height + 1) * (tilted_ ? 2 : 1));
    squared_ = Image<std::uint64_t>(plan.width + 1, plan.height + 1);
    layout_.stride =
        static_cast<int>(sums_.view().stride / static_cast<std::ptrdiff_t>(sizeof(std::uint32_t)));
    layout_.tilted = static_cast<std::ptrdiff_t>(plan.height + 1) * layout_.stride;
  }

  long long windows() const override { return count_windows(scales_); }

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
    for (const ScaledWindows& windows : scales_) {
      if (!search_scale(windows, out)) return false;
    }
    return true;
  }

 private:
  bool search_scale(const ScaledWindows& windows, std::vector<Rect>& out) {
    const auto [scale, w, h, step, across, down] = windows;
    cascade_.bind_scaled(scale, w, h, layout_);
    const ImageView<const std::uint32_t> sum = std::as_const(sums_).view();
    const ImageView<const std::uint64_t> squared = std::as_const(squared_).view();
    for (int row = 0; row < down; ++row) {
      for (int column = 0; column < across; ++column) {
        if (column % kWindowsPerLook == 0 && is_raised(stop_)) return false;
        const int x = column * step, y = row * step;
        const float v = scaled_inverse_norm(windows, x, y, sum, squared);
        if (v == 0.0f || cascade_.failed_stage(&sum.at(x, y), v) < cascade_.stages().size())
          continue;
        if (out.size() >= kMaxRawWindows) return false;
        out.push_back({x, y, w, h});
      }
    }
    return true;
  }

  const bool tilted_;
  Image<std::uint32_t> sums_;
  Image<std::uint64_t> squared_;
  SumLayout layout_;
  const std::shared_ptr<SharedSearch> shared_;
  const StopFlag* const stop_;
  BoundCascade& cascade_;
  const std::vector<ScaledWindows> scales_;
};

}  // namespace

std::unique_ptr<Searcher> make_window_searcher(const CascadeModel& model, const SearchPlan& plan) {
  return std::make_unique<WindowSearcher>(model, plan);
}

}  // namespace cuface
