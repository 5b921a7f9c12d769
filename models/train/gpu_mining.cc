#include "models/train/gpu_mining.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <list>
#include <optional>
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
#include "models/train/gpu_pictures.h"
#endif

namespace cuface::train {

#ifdef CUFACE_HAVE_CUDA
namespace {

using cuda::check;
using cuda::grow_to;

/// What pictures of one launch have in common.
struct PictureKind {
  int width = 0, height = 0, dx = 0, dy = 0;
  double factor = 0;
  bool generated = false, stays = false;  ///< stays: on the GPU
  friend bool operator==(const PictureKind&, const PictureKind&) = default;
};

/// How they are searched. Each has its own scratch.
struct KindPlan {
  PictureKind kind;
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

/// Pictures of one kind, side by side in the scratch.
struct Group {
  KindPlan* plan;
  std::vector<std::size_t> tasks;
  // Of the first picture, on the GPU.
  std::byte* scratch = nullptr;
  const std::uint8_t* picture = nullptr;
  const Rect* raw = nullptr;
};

/// Pictures on their way, and their memory. There are two, so that the GPU has work while the host
/// sees to what it found.
struct Load {
  static constexpr std::size_t kStreams = 4;

  std::size_t begin = 0, end = 0;  ///< tasks
  std::vector<Group> groups;
  cuda::DeviceBuffer<std::byte> scratch;
  cuda::DeviceBuffer<GeneratedScene> scenes;
  cuda::PinnedBuffer<GeneratedScene> host_scenes;
  cuda::PinnedBuffer<std::uint8_t> host_pictures;
  cuda::PinnedBuffer<cuda::SearchCounts> counts;
  cuda::PinnedBuffer<Rect> boxes;
  std::array<cuda::OwnStream, kStreams> streams;  ///< end before what they work on

  Status wait() const {
    for (const cuda::OwnStream& stream : streams)
      CUFACE_TRY(check(cudaStreamSynchronize(stream.get()), "mining"));
    return {};
  }
};

void copy(ImageView<const std::uint8_t> from, ImageView<std::uint8_t> to) {
  const auto width = static_cast<std::size_t>(from.width);
  if (from.stride == to.stride) {
    std::memcpy(to.data, from.data, static_cast<std::size_t>(to.stride * (to.height - 1)) + width);
    return;
  }
  for (int y = 0; y < from.height; ++y) std::memcpy(to.row(y), from.row(y), width);
}

class CudaMining final : public GpuMining {
 public:
  explicit CudaMining(std::uint64_t seed) : seed_(seed) {}

  Status prepare() {
    CUFACE_TRY(check(cudaGetDevice(&device_), "asking for the GPU"));
    for (Load& load : loads_)
      for (cuda::OwnStream& stream : load.streams)
        CUFACE_TRY(take(cuda::OwnStream::create(), stream));
    return {};
  }

  void use(std::shared_ptr<const CascadeModel> model) override {
    for (KindPlan& plan : plans_) plan.is_made = false;
    cascade_.reset();
    model_ = std::move(model);
    cascade_.emplace(*model_);
  }

  Status search(std::span<const SearchTask> tasks, std::vector<SearchedPicture>& found,
                const StopFlag* stop) override {
    CUFACE_TRY(check(cudaSetDevice(device_), "choosing the GPU"));
    found.clear();
    found.resize(tasks.size());
    while (plans_.size() > kMostPlans) plans_.pop_back();
    const Status status = search_all(tasks, found, stop);
    if (status.ok()) return status;
    for (const Load& load : loads_) CUFACE_TRY(load.wait());
    return status;
  }

 private:
  static constexpr std::size_t kAtOnce = 64, kMostPlans = 64;
  static constexpr std::size_t kMostBytes = std::size_t{1} << 29;  ///< of a scratch, or a picture
  static constexpr std::size_t kMostApart = INT32_MAX;             ///< of rows that a copy takes
  static constexpr std::uint32_t kBoxes = 64;  ///< fetched with the counts; more are seldom

  Status search_all(std::span<const SearchTask> tasks, std::vector<SearchedPicture>& found,
                    const StopFlag* stop) {
    Load* before = nullptr;
    for (std::size_t next = 0, turn = 0; next < tasks.size() || before; turn = 1 - turn) {
      if (is_raised(stop)) return cancelled();
      Load* load = nullptr;
      if (next < tasks.size()) {
        load = &loads_[turn];
        load->begin = next;
        CUFACE_TRY(gather(tasks, next, load->groups));
        load->end = next;
        CUFACE_TRY(begin(tasks, *load));
      }
      if (before) CUFACE_TRY(end(*before, found));
      before = load;
    }
    return {};
  }

  /// The tasks from `first` on that are searched together, by kind; `first` becomes the next one.
  Status gather(std::span<const SearchTask> tasks, std::size_t& first, std::vector<Group>& groups) {
    groups.clear();
    const std::size_t end = std::min(tasks.size(), first + kAtOnce);
    for (std::size_t bytes = 0; first < end; ++first) {
      CUFACE_TAKE(plan, plan_for(tasks[first]));
      if (!plan->can) continue;
      if (bytes > 0 && bytes + plan->scratch_bytes > kMostBytes) return {};
      auto group = std::ranges::find(groups, plan, &Group::plan);
      if (group == groups.end()) group = groups.insert(groups.end(), {plan, {}});
      group->tasks.push_back(first);
      bytes += plan->scratch_bytes;
    }
    return {};
  }

  Status begin(std::span<const SearchTask> tasks, Load& load) {
    std::size_t scratch = 0, pictures = 0;
    for (const Group& group : load.groups) {
      scratch += group.plan->scratch_bytes * group.tasks.size();
      if (!group.plan->kind.generated && !group.plan->kind.stays)
        pictures += group.plan->picture_bytes() * group.tasks.size();
    }
    const std::size_t count = load.end - load.begin;
    CUFACE_TRY(grow_to(scratch, load.scratch));
    CUFACE_TRY(grow_to(pictures, load.host_pictures));
    CUFACE_TRY(grow_to(count, load.scenes));
    CUFACE_TRY(grow_to(count, load.host_scenes));
    CUFACE_TRY(grow_to(count, load.counts));
    CUFACE_TRY(grow_to(count * kBoxes, load.boxes));
    std::byte* at = load.scratch.data();
    std::uint8_t* picture = load.host_pictures.data();
    std::size_t place = 0;  // of the group's first picture, among all
    for (std::size_t i = 0; i < load.groups.size(); ++i) {
      Group& group = load.groups[i];
      group.scratch = at;
      CUFACE_TRY(
          enqueue(tasks, load, group, place, picture, load.streams[i % Load::kStreams].get()));
      at += group.plan->scratch_bytes * group.tasks.size();
      place += group.tasks.size();
    }
    return {};
  }

  Status end(const Load& load, std::vector<SearchedPicture>& found) {
    CUFACE_TRY(load.wait());
    std::size_t place = 0;
    for (const Group& group : load.groups)
      for (std::size_t i = 0; i < group.tasks.size(); ++i)
        CUFACE_TRY(fetch(load, group, i, place++, found[group.tasks[i]]));
    CUFACE_TRY(load.wait());
    for (std::size_t i = load.begin; i < load.end; ++i) {
      std::ranges::sort(found[i].boxes, {},
                        [](const Rect& box) { return std::tuple(box.w, box.y, box.x); });
    }
    return {};
  }

  Status enqueue(std::span<const SearchTask> tasks, Load& load, Group& group, std::size_t place,
                 std::uint8_t*& host_picture, cudaStream_t stream) {
    KindPlan& plan = *group.plan;
    const auto count = static_cast<unsigned>(group.tasks.size());
    const std::size_t apart = plan.scratch_bytes;
    const cuda::Launcher launch(stream);
    plan.picture_part.bind(group.scratch);
    plan.pixels_part.bind(group.scratch);
    plan.search.bind(group.scratch);
    plan.picture.data = plan.picture_part.data();
    plan.pixels.data = plan.pixels_part.data();
    group.picture = plan.picture.data;
    group.raw = plan.search.raw_windows();
    if (plan.kind.generated) {
      for (unsigned i = 0; i < count; ++i)
        load.host_scenes.data()[place + i] =
            generated_scene(seed_, *tasks[group.tasks[i]].generated);
      CUFACE_TRY(
          check(cudaMemcpyAsync(load.scenes.data() + place, load.host_scenes.data() + place,
                                count * sizeof(GeneratedScene), cudaMemcpyHostToDevice, stream),
                "copying scenes to the GPU"));
      CUFACE_TRY(cuda::generate_backgrounds(load.scenes.data() + place, count, plan.picture, apart,
                                            launch));
    } else if (plan.kind.stays) {
      CUFACE_TRY(pictures_.copy(tasks, group.tasks, plan.picture, apart, stream));
    } else {
      std::uint8_t* const first = host_picture;
      for (const std::size_t task : group.tasks) {
        const ImageView<const std::uint8_t>& from = tasks[task].picture;
        copy(from, {host_picture, from.width, from.height, plan.picture.stride});
        host_picture += plan.picture_bytes();
      }
      CUFACE_TRY(
          check(cudaMemcpy2DAsync(plan.picture.data, apart, first, plan.picture_bytes(),
                                  plan.picture_bytes(), count, cudaMemcpyHostToDevice, stream),
                "copying backgrounds to the GPU"));
    }
    const ImageView<const std::uint8_t> part{plan.picture.row(plan.kind.dy) + plan.kind.dx,
                                             plan.kind.width - plan.kind.dx,
                                             plan.kind.height - plan.kind.dy, plan.picture.stride};
    CUFACE_TRY(
        plan.resize->enqueue_many(part, plan.pixels, count, apart, launch, plan.search.zeros()));
    CUFACE_TRY(plan.search.enqueue_many(plan.pixels, group.scratch, count, apart, launch));
    CUFACE_TRY(check(cudaMemcpy2DAsync(load.counts.data() + place, sizeof(cuda::SearchCounts),
                                       plan.search.counts(), apart, sizeof(cuda::SearchCounts),
                                       count, cudaMemcpyDeviceToHost, stream),
                     "copying counts from the GPU"));
    return check(cudaMemcpy2DAsync(load.boxes.data() + place * kBoxes, kBoxes * sizeof(Rect),
                                   plan.search.raw_windows(), apart, kBoxes * sizeof(Rect), count,
                                   cudaMemcpyDeviceToHost, stream),
                 "copying windows from the GPU");
  }

  /// What the host needs of a picture. `place`: in load.counts.
  Status fetch(const Load& load, const Group& group, std::size_t number, std::size_t place,
               SearchedPicture& found) {
    const KindPlan& plan = *group.plan;
    const cudaStream_t stream = load.streams[0].get();
    found.is_searched = true;
    found.windows = plan.windows;
    const std::uint32_t count = load.counts.data()[place].raw;
    found.too_many = count > static_cast<std::uint32_t>(kMaxRawWindows);
    if (count == 0 || found.too_many) return {};
    const std::size_t behind = number * plan.scratch_bytes;
    const Rect* boxes = load.boxes.data() + place * kBoxes;
    found.boxes.assign(boxes, boxes + std::min(count, kBoxes));
    if (count > kBoxes) {
      found.boxes.resize(count);
      CUFACE_TRY(check(cudaMemcpyAsync(found.boxes.data(),
                                       reinterpret_cast<const std::byte*>(group.raw) + behind,
                                       count * sizeof(Rect), cudaMemcpyDeviceToHost, stream),
                       "copying windows from the GPU"));
      CUFACE_TRY(load.wait());
    }
    if (!plan.kind.generated) return {};
    // Of a whole picture the copy would take longer than the search.
    int first = kGeneratedHeight, last = 0;
    for (const Rect& box : found.boxes) {
      const int around =
          2 * (box.h / model_->window_height + 2);  // what a level's pixel is made of
      first = std::min(first, plan.kind.dy + box.y - around);
      last = std::max(last, plan.kind.dy + box.y + box.h + around);
    }
    first = std::max(first, 0);
    last = std::min(last, kGeneratedHeight);
    found.generated = Image<std::uint8_t>(kGeneratedWidth, kGeneratedHeight);
    const ImageView<std::uint8_t> to = found.generated.view();
    // Rows lie as far apart as there.
    return check(cudaMemcpyAsync(to.row(first), group.picture + behind + first * to.stride,
                                 static_cast<std::size_t>(to.stride * (last - first)),
                                 cudaMemcpyDeviceToHost, stream),
                 "copying a background from the GPU");
  }

  Result<KindPlan*> plan_for(const SearchTask& task) {
    const bool generated = task.generated.has_value();
    PictureKind kind{generated ? kGeneratedWidth : task.picture.width,
                     generated ? kGeneratedHeight : task.picture.height,
                     task.dx,
                     task.dy,
                     task.factor,
                     generated};
    if (task.stays) {
      CUFACE_TAKE(at, pictures_.find(task.picture, row_bytes(kind.width)));
      kind.stays = at != nullptr;
    }
    const auto known = std::ranges::find(plans_, kind, &KindPlan::kind);
    if (known != plans_.end())
      plans_.splice(plans_.begin(), plans_, known);
    else
      plans_.emplace_front().kind = kind;
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
    const auto most =
        static_cast<std::uint32_t>(std::clamp<std::int64_t>(plan.windows, kBoxes, kMaxRawWindows));
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
  static std::size_t row_bytes(int width) {
    constexpr std::size_t kRow = Image<std::uint8_t>::kAlignment;
    return (static_cast<std::size_t>(width) + kRow - 1) / kRow * kRow;
  }
  int side_of(const Level& level) const { return scaled_side(model_->window_width, level.scale); }

  const std::uint64_t seed_;
  int device_ = 0;
  std::shared_ptr<const CascadeModel> model_;
  std::optional<cuda::DeviceCascade> cascade_;  ///< of it
  GpuPictures pictures_;
  std::list<KindPlan> plans_;  ///< the last one used first
  std::array<Load, 2> loads_;
};

}  // namespace

Result<std::unique_ptr<GpuMining>> make_gpu_mining(std::uint64_t seed) {
  return guarded("looking for negatives", [&]() -> Result<std::unique_ptr<GpuMining>> {
    auto made = std::make_unique<CudaMining>(seed);
    CUFACE_TRY(made->prepare());
    return Result<std::unique_ptr<GpuMining>>(std::move(made));
  });
}
#else
Result<std::unique_ptr<GpuMining>> make_gpu_mining(std::uint64_t /*seed*/) {
  return Status(StatusCode::kUnsupported, "this build has no CUDA");
}
#endif

}  // namespace cuface::train
