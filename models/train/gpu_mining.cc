#include "models/train/gpu_mining.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <utility>

#ifdef CUFACE_HAVE_CUDA
#include "kernels/cascade/cuda/fetch.h"
#include "kernels/common/cuda/runtime.h"
#include "kernels/common/guarded.h"
#include "kernels/common/try.h"
#include "kernels/generated/generated.h"
#include "kernels/generated/generated_cuda.h"
#include "models/train/gpu_pictures.h"
#include "models/train/gpu_plans.h"
#endif

namespace cuface::train {

#ifdef CUFACE_HAVE_CUDA
namespace {

using cuda::check;
using cuda::grow_to;

/// Pictures of one kind, side by side in the scratch.
struct Group {
  KindPlan* plan;
  std::vector<std::size_t> tasks;
  // Of the first picture, on the GPU.
  std::byte* scratch = nullptr;
  const std::uint8_t* picture = nullptr;
  const Rect* raw = nullptr;
};

/// A search that has begun.
struct BegunSearch {
  std::vector<SearchedPicture> found;
};

/// Pictures of one search on their way, and their memory. There are several, so that the GPU has
/// work while the host sees to what it found.
struct Load {
  static constexpr std::size_t kStreams = 4;

  BegunSearch* search = nullptr;   ///< null: not in use
  std::size_t begin = 0, end = 0;  ///< tasks
  std::vector<Group> groups;
  cuda::DeviceBuffer<std::byte> scratch;
  cuda::DeviceBuffer<GeneratedScene> scenes;
  cuda::PinnedBuffer<GeneratedScene> host_scenes;
  cuda::PinnedBuffer<std::uint8_t> host_pictures;
  cuda::PinnedBuffer<cuda::SearchCounts> counts;
  cuda::PinnedBuffer<Rect> boxes;
  cuda::PinnedBuffer<std::uint8_t> windows;       ///< pixels
  std::array<cuda::OwnStream, kStreams> streams;  ///< end before what they work on

  std::size_t scratch_needed() const {
    std::size_t bytes = 0;
    for (const Group& group : groups) bytes += group.plan->scratch_bytes * group.tasks.size();
    return bytes;
  }
  cudaStream_t stream_of(std::size_t group) const { return streams[group % kStreams].get(); }
  Status wait() const {
    for (std::size_t i = 0; i < std::min(groups.size(), kStreams); ++i)
      CUFACE_TRY(check(cudaStreamSynchronize(streams[i].get()), "mining"));
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
    drop();
    plans_.use(std::move(model));
  }

  Status begin(std::span<const SearchTask> tasks, const StopFlag* stop) override {
    CUFACE_TRY(check(cudaSetDevice(device_), "choosing the GPU"));
    BegunSearch& search = begun_.emplace_back();
    search.found.resize(tasks.size());
    Status status = begin(tasks, search, stop);
    if (status.ok()) return status;
    while (!in_flight_.empty() && in_flight_.back()->search == &search) {
      const Status waited = in_flight_.back()->wait();
      if (!waited.ok()) status = waited;
      in_flight_.back()->search = nullptr;
      in_flight_.pop_back();
    }
    begun_.pop_back();
    return status;
  }

  Status end(std::vector<SearchedPicture>& found) override {
    CUFACE_TRY(check(cudaSetDevice(device_), "choosing the GPU"));
    BegunSearch& search = begun_.front();
    Status status;
    while (!in_flight_.empty() && in_flight_.front()->search == &search) {
      const Status ended = end_oldest();
      if (!ended.ok()) status = ended;
    }
    found = std::move(search.found);
    begun_.pop_front();
    return status;
  }

 private:
  static constexpr std::size_t kAtOnce = 128, kLoads = 5;
  static constexpr std::size_t kMostBytes = std::size_t{3} << 26;     ///< of a scratch of several
  static constexpr std::size_t kMostInFlight = std::size_t{1} << 30;  ///< of all, or one picture
  static constexpr std::uint32_t kBoxes = 1024;  ///< of a picture, fetched with the counts
  // The same of windows' pixels, on average; large windows are fewer.
  static constexpr std::size_t kWindows = 64, kWindowBytes = std::size_t{36} << 10;

  /// What has begun and not ended is not asked for.
  void drop() {
    for (Load* load : in_flight_) {
      (void)load->wait();  // what went wrong concerned nobody
      load->search = nullptr;
    }
    in_flight_.clear();
    begun_.clear();
  }

  Status begin(std::span<const SearchTask> tasks, BegunSearch& search, const StopFlag* stop) {
    if (plans_.are_many()) {
      while (!in_flight_.empty()) CUFACE_TRY(end_oldest());
      plans_.keep_few();
    }
    for (std::size_t next = 0; next < tasks.size();) {
      if (is_raised(stop)) return cancelled();
      if (in_flight_.size() == kLoads) CUFACE_TRY(end_oldest());
      // The one with most memory, so that not each one needs as much as the largest picture.
      Load* load = nullptr;
      for (Load& other : loads_)
        if (!other.search && (!load || load->scratch.size() < other.scratch.size())) load = &other;
      load->begin = next;
      CUFACE_TRY(gather(tasks, next, load->groups));
      load->end = next;
      while (!in_flight_.empty() && bytes_in_flight() + load->scratch_needed() > kMostInFlight)
        CUFACE_TRY(end_oldest());
      load->search = &search;
      in_flight_.push_back(load);
      CUFACE_TRY(begin(tasks, *load));
    }
    return {};
  }
  std::size_t bytes_in_flight() const {
    std::size_t bytes = 0;
    for (const Load* load : in_flight_) bytes += load->scratch_needed();
    return bytes;
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
  Result<KindPlan*> plan_for(const SearchTask& task) {
    bool is_on_gpu = false;
    if (task.stays) {
      CUFACE_TAKE(at, pictures_.find(task.picture, GpuPlans::row_bytes(task.picture.width)));
      is_on_gpu = at != nullptr;
    }
    return plans_.find(task, is_on_gpu);
  }

  Status begin(std::span<const SearchTask> tasks, Load& load) {
    std::size_t pictures = 0;
    for (const Group& group : load.groups)
      if (!group.plan->kind.generated && !group.plan->kind.stays)
        pictures += group.plan->picture_bytes() * group.tasks.size();
    const std::size_t count = kAtOnce, scratch = load.scratch_needed();
    // To get more would wait for all that the GPU does: at once for what later kinds need, where
    // there is so much.
    if (scratch > kMostBytes / 4) (void)grow_to(std::max(scratch, kMostBytes), load.scratch);
    CUFACE_TRY(grow_to(scratch, load.scratch));
    CUFACE_TRY(grow_to(pictures, load.host_pictures));
    CUFACE_TRY(grow_to(count, load.scenes));
    CUFACE_TRY(grow_to(count, load.host_scenes));
    CUFACE_TRY(grow_to(count, load.counts));
    CUFACE_TRY(grow_to(count * kBoxes, load.boxes));
    CUFACE_TRY(grow_to(count * bytes_of_windows(), load.windows));
    std::byte* at = load.scratch.data();
    std::uint8_t* picture = load.host_pictures.data();
    std::size_t place = 0;  // of the group's first picture, among all
    for (std::size_t i = 0; i < load.groups.size(); ++i) {
      Group& group = load.groups[i];
      group.scratch = at;
      CUFACE_TRY(enqueue(tasks, load, group, place, picture, load.stream_of(i)));
      at += group.plan->scratch_bytes * group.tasks.size();
      place += group.tasks.size();
    }
    return {};
  }

  /// Waits for the load that began first, and sees what it found.
  Status end_oldest() {
    Load& load = *in_flight_.front();
    const Status status = end(load, load.search->found);
    load.search = nullptr;
    in_flight_.pop_front();
    return status;
  }
  Status end(const Load& load, std::vector<SearchedPicture>& found) {
    CUFACE_TRY(load.wait());
    std::size_t place = 0;
    for (const Group& group : load.groups) {
      const std::uint8_t* const pixels = load.windows.data() + place * bytes_of_windows();
      std::uint32_t begin = 0;
      for (std::size_t i = 0; i < group.tasks.size(); ++i) {
        SearchedPicture& picture = found[group.tasks[i]];
        const std::uint32_t count = load.counts.data()[place].raw;
        const std::uint32_t most = most_windows(group);
        begin = cuda::FetchedWindows::begin_of_next(begin, count, most);
        const std::uint8_t* const behind = pixels + begin * window_pixels();
        if (begin <= most) picture.pixels.assign(behind - count * window_pixels(), behind);
        CUFACE_TRY(fetch(load, group, i, place++, picture));
      }
    }
    return load.wait();
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
    const CascadeModel& model = plans_.model();
    const std::size_t bytes = bytes_of_windows();
    return cuda::fetch_windows(
        {plan.search.raw_windows(), plan.search.counts(), plan.search.levels(),
         plan.search.level_count(), model.window_width, model.window_height},
        plan.pixels, count, apart,
        {load.counts.data() + place, load.boxes.data() + place * kBoxes,
         load.windows.data() + place * bytes, kBoxes, most_windows(group)},
        launch);
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
    if (!plan.kind.generated || !found.pixels.empty()) return {};
    // Of a whole picture the copy would take longer than the search.
    int first = kGeneratedHeight, last = 0;
    for (const Rect& box : found.boxes) {
      const int around =
          2 * (box.h / plans_.model().window_height + 2);  // what a level's pixel is made of
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

  std::size_t window_pixels() const {
    return static_cast<std::size_t>(plans_.model().window_width) *
           static_cast<std::size_t>(plans_.model().window_height);
  }
  /// Of so many pixels are fetched, of a picture on average.
  std::size_t usual_windows() const { return std::min(kWindowBytes / window_pixels(), kWindows); }
  std::size_t bytes_of_windows() const { return usual_windows() * window_pixels(); }
  /// Of all pictures of a group.
  std::uint32_t most_windows(const Group& group) const {
    return static_cast<std::uint32_t>(usual_windows() * group.tasks.size());
  }

  const std::uint64_t seed_;
  int device_ = 0;
  GpuPictures pictures_;
  GpuPlans plans_;
  std::deque<BegunSearch> begun_;  ///< those that have not ended, the first one first
  std::array<Load, kLoads> loads_;
  std::deque<Load*> in_flight_;  ///< the first one first
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
