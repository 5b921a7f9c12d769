// How pictures of one kind are searched on a GPU: planned once for a cascade.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/cascade/cuda/search.h"
#include "kernels/common/cuda/scratch.h"
#include "kernels/common/image.h"
#include "kernels/common/status.h"
#include "kernels/common/try.h"
#include "kernels/detect/searcher.h"
#include "kernels/generated/generated.h"
#include "kernels/levels/levels.h"
#include "kernels/pyramid/cuda/resize.h"
#include "models/train/gpu_mining.h"

namespace cuface::train {

/// What pictures of one launch have in common.
struct PictureKind {
  int width = 0, height = 0, dx = 0, dy = 0;
  double factor = 0;
  bool generated = false, stays = false;  ///< stays: on the GPU
  friend bool operator==(const PictureKind&, const PictureKind&) = default;

  PictureKind(const SearchTask& task, bool is_on_gpu)
      : width(task.generated ? kGeneratedWidth : task.picture.width),
        height(task.generated ? kGeneratedHeight : task.picture.height),
        dx(task.dx),
        dy(task.dy),
        factor(task.factor),
        generated(task.generated.has_value()),
        stays(is_on_gpu) {}
};

/// How they are searched. Each has its own scratch.
struct KindPlan {
  explicit KindPlan(const PictureKind& k) : kind(k) {}

  const PictureKind kind;
  bool is_made = false;  ///< for the model in use
  bool can = false;      ///< false: the CPU has these
  std::int64_t windows = 0;
  ImageView<std::uint8_t> picture, pixels;  ///< whole, and the atlas of its levels
  cuda::ScratchPart<std::uint8_t> picture_part, pixels_part;
  std::size_t scratch_bytes = 0;
  std::optional<cuda::LevelResize> resize;  ///< the same for all models
  cuda::CascadeSearch search;

  std::size_t picture_bytes() const { return picture_part.size(); }
};

class GpuPlans {
 public:
  static constexpr std::uint32_t kFewestBoxes = 64;  ///< that a search has room for

  /// Plans from now on are for this cascade. No search of an earlier one may be on its way.
  void use(std::shared_ptr<const CascadeModel> model) {
    for (KindPlan& plan : plans_) {
      plan.is_made = false;
      plan.search = {};  // here, since freeing waits for what the GPU does
    }
    cascade_.reset();
    model_ = std::move(model);
    cascade_.emplace(*model_);
  }
  const CascadeModel& model() const { return *model_; }

  bool are_many() const { return plans_.size() > kMost; }
  /// Those used longest ago go. No search may be on its way.
  void keep_few() {
    while (are_many()) plans_.pop_back();
  }

  /// Lasts until keep_few().
  Result<KindPlan*> find(const SearchTask& task, bool is_on_gpu) {
    const PictureKind kind(task, is_on_gpu);
    const auto known = std::ranges::find(plans_, kind, &KindPlan::kind);
    if (known != plans_.end())
      plans_.splice(plans_.begin(), plans_, known);
    else
      plans_.emplace_front(kind);
    KindPlan& plan = plans_.front();
    if (plan.is_made) return &plan;
    const std::vector<Level> levels = plan_levels(
        *model_, {kind.width - kind.dx, kind.height - kind.dy, kind.factor, 0, 0, 0, 1, nullptr});
    const Status status = fill(levels, plan);
    plan.can = status.ok();
    if (!status.ok() && status.code() != StatusCode::kUnsupported) return status;
    plan.is_made = true;
    return &plan;
  }

  /// Bytes between a picture's rows, here and on the GPU.
  static std::size_t row_bytes(int width) {
    constexpr std::size_t kRow = Image<std::uint8_t>::kAlignment;
    return (static_cast<std::size_t>(width) + kRow - 1) / kRow * kRow;
  }

 private:
  static constexpr std::size_t kMost = 64;
  static constexpr std::size_t kMostApart = INT32_MAX;  ///< of rows that a copy takes

  /// kUnsupported where the search is the CPU's.
  Status fill(const std::vector<Level>& levels, KindPlan& plan) {
    // Windows are told apart by their boxes, and those of two levels must differ.
    for (std::size_t i = 0; i + 1 < levels.size(); ++i)
      if (side_of(levels[i]) >= side_of(levels[i + 1])) return {StatusCode::kUnsupported, ""};
    CUFACE_TAKE(atlas, level_atlas(levels));
    std::vector<AtlasSlot> slots;
    for (std::size_t i = 0; i < levels.size(); ++i)
      slots.push_back({atlas.slots[i].x, atlas.slots[i].y, levels[i].width, levels[i].height});
    plan.windows = count_windows(levels);
    cuda::ScratchLayout parts;
    const auto add = [&](int width, int height, std::size_t stride, ImageView<std::uint8_t>& view) {
      view = {nullptr, width, height, static_cast<std::ptrdiff_t>(stride)};
      return parts.add<std::uint8_t>(stride * static_cast<std::size_t>(height));
    };
    plan.picture_part =
        add(plan.kind.width, plan.kind.height, row_bytes(plan.kind.width), plan.picture);
    plan.pixels_part =
        add(atlas.width, atlas.height, cuda::ScratchLayout::stride_of(atlas.width), plan.pixels);
    const auto most = static_cast<std::uint32_t>(
        std::clamp<std::int64_t>(plan.windows, kFewestBoxes, kMaxRawWindows));
    CUFACE_TRY(
        take(cuda::CascadeSearch::create(*cascade_, levels, slots, most, parts), plan.search));
    if (!plan.resize) {
      CUFACE_TAKE(resize, cuda::LevelResize::create(plan.kind.width - plan.kind.dx,
                                                    plan.kind.height - plan.kind.dy, slots));
      plan.resize = std::move(resize);
    }
    plan.scratch_bytes = parts.bytes();
    if (plan.scratch_bytes > kMostApart) return {StatusCode::kUnsupported, ""};
    return {};
  }
  int side_of(const Level& level) const { return scaled_side(model_->window_width, level.scale); }

  std::shared_ptr<const CascadeModel> model_;
  std::optional<cuda::DeviceCascade> cascade_;  ///< of it
  std::list<KindPlan> plans_;                   ///< the last one used first
};

}  // namespace cuface::train
