#include "models/train/gpu_mining.h"

#include <algorithm>
#include <list>
#include <tuple>
#include <utility>

#ifdef CUFACE_HAVE_CUDA
#include "kernels/cascade/cuda/search.h"
#include "kernels/common/cuda/runtime.h"
#include "kernels/common/cuda/scratch.h"
#include "kernels/common/guarded.h"
#include "kernels/common/try.h"
#include "kernels/detect/searcher.h"
#include "kernels/generated/generated.h"
#include "kernels/generated/generated_cuda.h"
#include "kernels/levels/levels.h"
#include "kernels/pyramid/cuda/resize.h"
#endif

namespace cuface::train {

#ifdef CUFACE_HAVE_CUDA
namespace {

using cuda::check;

/// How pictures of one size are searched. Its scratch is a slot's.
struct SizePlan {
  int width = 0, height = 0;
  double factor = 0;
  bool can = false;  ///< false: the CPU has these
  std::int64_t windows = 0;
  ImageView<std::uint8_t> pixels;  ///< atlas of the levels
  cuda::ScratchPart<std::uint8_t> pixels_part;
  std::size_t scratch_bytes = 0;
  cuda::LevelResize resize;
  cuda::CascadeSearch search;

  bool is_for(int w, int h, double f) const { return w == width && h == height && f == factor; }
};

/// Device memory of one picture on its way.
struct Slot {
  cuda::DeviceImage<std::uint8_t> picture;
  cuda::DeviceBuffer<std::byte> scratch;
  const SizePlan* plan = nullptr;
  const Rect* raw = nullptr;  ///< in the scratch
};

class CudaMining final : public GpuMining {
 public:
  CudaMining(const CascadeModel& model, std::uint64_t seed)
      : model_(model), seed_(seed), cascade_(model) {}

  Status prepare() {
    CUFACE_TRY(take(cuda::OwnStream::create(), stream_));
    return take(cuda::PinnedBuffer<cuda::SearchCounts>::create(kAtOnce), counts_);
  }

  Status search(std::span<const SearchTask> tasks, std::vector<SearchedPicture>& found,
                const StopFlag* stop) override {
    found.clear();
    found.resize(tasks.size());
    for (std::size_t first = 0; first < tasks.size(); first += kAtOnce) {
      if (is_raised(stop)) return cancelled();
      const std::size_t count = std::min(kAtOnce, tasks.size() - first);
      CUFACE_TRY(search_some(tasks.subspan(first, count), std::span(found).subspan(first, count)));
    }
    return {};
  }

 private:
  static constexpr std::size_t kAtOnce = 32, kMostPlans = 32;

  Status search_some(std::span<const SearchTask> tasks, std::span<SearchedPicture> found) {
    for (std::size_t i = 0; i < tasks.size(); ++i) CUFACE_TRY(enqueue(tasks[i], i));
    CUFACE_TRY(wait());
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      const Slot& slot = slots_[i];
      if (!slot.plan) continue;
      found[i].is_searched = true;
      found[i].windows = slot.plan->windows;
      const std::uint32_t raw = counts_.data()[i].raw;
      found[i].too_many = raw > static_cast<std::uint32_t>(kMaxRawWindows);
      if (raw > 0 && !found[i].too_many) CUFACE_TRY(fetch(slot, tasks[i], raw, found[i]));
    }
    CUFACE_TRY(wait());
    for (SearchedPicture& picture : found) {
      std::ranges::sort(picture.boxes, {},
                        [](const Rect& box) { return std::tuple(box.w, box.y, box.x); });
    }
    return {};
  }

  Status enqueue(const SearchTask& task, std::size_t at) {
    const int whole_width = task.generated ? kGeneratedWidth : task.picture.width;
    const int whole_height = task.generated ? kGeneratedHeight : task.picture.height;
    CUFACE_TAKE(plan, plan_for(whole_width - task.dx, whole_height - task.dy, task.factor));
    if (slots_.size() <= at) slots_.emplace_back();
    Slot& slot = slots_[at];
    slot.plan = nullptr;
    if (!plan->can) return {};
    if (slot.scratch.size() < plan->scratch_bytes)
      CUFACE_TRY(take(cuda::DeviceBuffer<std::byte>::create(plan->scratch_bytes), slot.scratch));
    if (slot.picture.width() != whole_width || slot.picture.height() != whole_height)
      CUFACE_TRY(
          take(cuda::DeviceImage<std::uint8_t>::create(whole_width, whole_height), slot.picture));
    const cuda::Launcher launch(stream_.get());
    const ImageView<std::uint8_t> whole = slot.picture.view();
    if (task.generated) {
      CUFACE_TRY(cuda::generate_background(seed_, *task.generated, whole, launch));
    } else {
      CUFACE_TRY(check(
          cudaMemcpy2DAsync(
              whole.data, static_cast<std::size_t>(whole.stride), task.picture.data,
              static_cast<std::size_t>(task.picture.stride), static_cast<std::size_t>(whole.width),
              static_cast<std::size_t>(whole.height), cudaMemcpyHostToDevice, stream_.get()),
          "copying a background to the GPU"));
    }
    plan->pixels_part.bind(slot.scratch.data());
    plan->pixels.data = plan->pixels_part.data();
    plan->search.bind(slot.scratch.data());
    const ImageView<const std::uint8_t> part{whole.row(task.dy) + task.dx, plan->width,
                                             plan->height, whole.stride};
    CUFACE_TRY(plan->resize.enqueue(part, plan->pixels, nullptr, launch, plan->search.zeros()));
    CUFACE_TRY(plan->search.enqueue(plan->pixels, nullptr, nullptr, {}, launch));
    slot.raw = plan->search.raw_windows();
    slot.plan = plan;
    return check(cudaMemcpyAsync(counts_.data() + at, plan->search.counts(),
                                 sizeof(cuda::SearchCounts), cudaMemcpyDeviceToHost, stream_.get()),
                 "copying counts from the GPU");
  }

  /// What the host needs of a picture in which something passes.
  Status fetch(const Slot& slot, const SearchTask& task, std::uint32_t count,
               SearchedPicture& found) {
    found.boxes.resize(count);
    CUFACE_TRY(check(cudaMemcpyAsync(found.boxes.data(), slot.raw, count * sizeof(Rect),
                                     cudaMemcpyDeviceToHost, stream_.get()),
                     "copying windows from the GPU"));
    if (!task.generated) return {};
    found.generated = Image<std::uint8_t>(kGeneratedWidth, kGeneratedHeight);
    const ImageView<std::uint8_t> to = found.generated.view();
    const ImageView<const std::uint8_t> from = slot.picture.view();
    return check(cudaMemcpy2DAsync(
                     to.data, static_cast<std::size_t>(to.stride), from.data,
                     static_cast<std::size_t>(from.stride), static_cast<std::size_t>(to.width),
                     static_cast<std::size_t>(to.height), cudaMemcpyDeviceToHost, stream_.get()),
                 "copying a background from the GPU");
  }

  Status wait() const { return check(cudaStreamSynchronize(stream_.get()), "mining"); }

  Result<SizePlan*> plan_for(int width, int height, double factor) {
    const auto known = std::ranges::find_if(
        plans_, [&](const SizePlan& plan) { return plan.is_for(width, height, factor); });
    if (known != plans_.end()) {
      plans_.splice(plans_.begin(), plans_, known);
      return &plans_.front();
    }
    // The one to go is of no picture that is on its way: these have the first of the list.
    static_assert(kMostPlans >= kAtOnce);
    if (plans_.size() == kMostPlans) plans_.pop_back();
    return make_plan(width, height, factor);
  }

  Result<SizePlan*> make_plan(int width, int height, double factor) {
    SizePlan plan;
    plan.width = width;
    plan.height = height;
    plan.factor = factor;
    const std::vector<Level> levels =
        plan_levels(model_, {width, height, factor, 0, 0, 0, 1, nullptr});
    const Status status = fill(levels, plan);
    if (!status.ok() && status.code() != StatusCode::kUnsupported) return status;
    plans_.push_front(std::move(plan));
    return &plans_.front();
  }

  /// kUnsupported where the search is the CPU's.
  Status fill(const std::vector<Level>& levels, SizePlan& plan) {
    // Windows are told apart by their boxes, and those of two levels must differ.
    for (std::size_t i = 0; i + 1 < levels.size(); ++i)
      if (side_of(levels[i]) >= side_of(levels[i + 1])) return {StatusCode::kUnsupported, ""};
    CUFACE_TAKE(atlas, level_atlas(levels));
    std::vector<AtlasSlot> slots;
    for (std::size_t i = 0; i < levels.size(); ++i)
      slots.push_back({atlas.slots[i].x, atlas.slots[i].y, levels[i].width, levels[i].height});
    cuda::ScratchLayout parts;
    const std::size_t stride = cuda::ScratchLayout::stride_of(atlas.width);
    plan.pixels = {nullptr, atlas.width, atlas.height, static_cast<std::ptrdiff_t>(stride)};
    plan.pixels_part =
        parts.add<std::uint8_t>(stride * static_cast<std::size_t>(plan.pixels.height));
    CUFACE_TRY(take(cuda::CascadeSearch::create(cascade_, levels, slots, kMaxRawWindows, parts),
                    plan.search));
    CUFACE_TRY(take(cuda::LevelResize::create(plan.width, plan.height, slots), plan.resize));
    plan.scratch_bytes = parts.bytes();
    plan.windows = count_windows(levels);
    plan.can = true;
    return {};
  }
  int side_of(const Level& level) const { return scaled_side(model_.window_width, level.scale); }

  const CascadeModel& model_;
  const std::uint64_t seed_;
  cuda::DeviceCascade cascade_;
  cuda::PinnedBuffer<cuda::SearchCounts> counts_;
  std::list<SizePlan> plans_;  ///< the last one used first
  std::vector<Slot> slots_;
  cuda::OwnStream stream_;  ///< ends before what it works on
};

}  // namespace

Result<std::unique_ptr<GpuMining>> make_gpu_mining(const CascadeModel& model, std::uint64_t seed) {
  return guarded("looking for negatives", [&]() -> Result<std::unique_ptr<GpuMining>> {
    auto made = std::make_unique<CudaMining>(model, seed);
    CUFACE_TRY(made->prepare());
    return Result<std::unique_ptr<GpuMining>>(std::move(made));
  });
}
#else
Result<std::unique_ptr<GpuMining>> make_gpu_mining(const CascadeModel& /*model*/,
                                                   std::uint64_t /*seed*/) {
  return Status(StatusCode::kUnsupported, "this build has no CUDA");
}
#endif

}  // namespace cuface::train
