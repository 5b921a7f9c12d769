#include <algorithm>
#include <cstddef>

#include "kernels/common/cuda/raw.cuh"
#include "kernels/motion/cuda/memory.h"
#include "kernels/motion/cuda/words.cuh"
#include "kernels/motion/half.h"

namespace cuface::cuda::motion {
namespace {

using namespace cuface::motion;  // NOLINT(google-build-using-namespace)

constexpr int kThreads = 256;
constexpr int kRelightBlocks = 264;

/// The samples of half a picture.
struct Samples {
  int step, columns, rows;

  CUFACE_HD explicit Samples(ImageView<const std::uint8_t> picture)
      : Samples(half_size(picture.width), half_size(picture.height)) {}
  CUFACE_HD Samples(int width, int height) : step(sample_step(width, height)) {
    columns = count(width);
    rows = count(height);
  }
  CUFACE_HD int count(int size) const {
    const int first = step / 2;
    return size > first ? (size - first + step - 1) / step : 0;
  }
  CUFACE_HD int all() const { return columns * rows; }
  __device__ int x(int i) const { return step / 2 + i % columns * step; }
  __device__ int y(int i) const { return step / 2 + i / columns * step; }
};

/// Background::change_of_all() where most samples are other, by all threads of a block: whether it
/// is other light, whose table is then in `table`.
__device__ bool is_other_light(ImageView<const std::uint8_t> picture, const std::uint8_t* grey,
                               int stride, const Samples& samples, LightTable* table) {
  __shared__ Raw<LightSums> shared_sums, shared_before;
  __shared__ std::int32_t bins[kLightBins];
  __shared__ int near;
  LightSums& sums = shared_sums.get();
  LightSums& before = shared_before.get();
  const int thread = static_cast<int>(threadIdx.x), all = samples.all();
  const auto each = [&](const auto& use) {
    for (int i = thread; i < all; i += kThreads) {
      const int x = samples.x(i), y = samples.y(i);
      use(int{grey[std::ptrdiff_t{y} * stride + x]}, int{half_at(picture, x, y)});
    }
  };
  if (thread < kLightBins) sums.sum[thread] = sums.count[thread] = 0;
  if (thread == 0) near = 0;
  for (int pass = 0; pass < kLightPasses; ++pass) {
    __syncthreads();
    if (thread < kLightBins) {
      before.sum[thread] = sums.sum[thread];
      before.count[thread] = sums.count[thread];
      sums.sum[thread] = sums.count[thread] = 0;
    }
    __syncthreads();
    each([&](int background, int now) {
      if (!is_of_pass(pass, before, background, now - background)) return;
      atomicAdd(sums.sum + (background >> kBinShift), now - background);
      atomicAdd(sums.count + (background >> kBinShift), 1);
    });
  }
  __syncthreads();
  if (thread < kLightBins) bins[thread] = light_of_bin(sums, thread);
  __syncthreads();
  static_assert(kThreads == sizeof table->add / sizeof table->add[0]);
  table->add[thread] = light_of_grey(bins, thread);
  __syncthreads();
  each([&](int background, int now) {
    if (is_near(*table, background, now)) atomicAdd(&near, 1);
  });
  __syncthreads();
  return most_of(near, all);
}

/// The last of the blocks that have samples says what is to be done with the frame. The others
/// widen what moved, for what can stay.
template <typename Told>
__global__ void __launch_bounds__(kThreads)
    look_kernel(ImageView<const std::uint8_t> picture, Told told, unsigned sample_blocks,
                const __grid_constant__ ModeSlots planes, Bits moved, ImageView<std::uint64_t> near,
                MotionMemory* memory) {
  __shared__ bool last;
  const int thread = static_cast<int>(threadIdx.x);
  if (blockIdx.x >= sample_blocks) {
    const int word = static_cast<int>(blockIdx.x - sample_blocks) * kThreads + thread;
    const int i = word % moved.width, y = word / moved.width;
    if (y >= moved.height) return;
    const std::uint64_t* row = moved.row(y);
    near.row(y)[i] = widened([&](int j) { return row[j]; }, moved.width, i,
                             stay_reach(half_size(picture.width)));
    return;
  }
  const MotionFrame frame = told.get();
  const Samples samples(picture);
  const int frames = frame.forget ? 0 : memory->frames;
  const int from = memory->seen.from;  // the last block writes it, behind all the others
  const std::uint8_t* grey = planes.grey[1 - from];
  const int sample = static_cast<int>(blockIdx.x) * kThreads + thread;
  bool other = false;
  if (frames > 0 && sample < samples.all()) {
    const int x = samples.x(sample), y = samples.y(sample);
    other = distance(grey[std::ptrdiff_t{y} * planes.stride + x], half_at(picture, x, y)) >
            kSampleApart;
  }
  const unsigned others = __ballot_sync(kAllLanes, other);
  if (thread % kWarp == 0 && others != 0)
    atomicAdd(&memory->other_samples, static_cast<std::uint32_t>(__popc(others)));
  __threadfence();
  __syncthreads();
  if (thread == 0) last = atomicAdd(&memory->sample_blocks_done, 1u) == sample_blocks - 1;
  __syncthreads();
  if (!last) return;
  __threadfence();
  const bool global =
      most_of(static_cast<int>(__ldcg(&memory->other_samples)), samples.all()) && frames > 0;
  const bool light =
      global && is_other_light(picture, grey, planes.stride, samples, &memory->light);
  if (thread != 0) return;
  memory->frame = frame;
  memory->other_samples = memory->sample_blocks_done = 0;
  Seen seen;
  seen.from = 1 - from;
  seen.compared = frames > 0;
  seen.global = global;
  seen.relight = light;
  seen.begin = frames == 0 || (global && !light);
  if (seen.begin) {
    seen.learning = global;
    memory->frames = 1;
    memory->unsure_frames = 0;
  } else {
    seen.rules = frame_rules(frames, global);
    seen.learning = seen.rules.learn;
    memory->frames = frames < 1 << 30 ? frames + 1 : frames;
    if (light) memory->unsure_frames = kUnsureFrames;
    if (memory->unsure_frames > 0) seen.clear_unsure = --memory->unsure_frames == 0;
  }
  memory->seen = seen;
}

/// Background::relight(), mostly nothing.
__global__ void __launch_bounds__(kThreads)
    relight_kernel(int width, int height, const __grid_constant__ ModeSlots planes, Bits moved,
                   const MotionMemory* memory) {
  if (memory->seen.relight == 0) return;
  const LightTable& table = memory->light;
  std::uint8_t* grey = planes.grey[memory->seen.from];
  const std::int64_t all = std::int64_t{width} * height;
  for (std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x; i < all;
       i += std::int64_t{gridDim.x} * kThreads) {
    const int x = static_cast<int>(i % width), y = static_cast<int>(i / width);
    const std::ptrdiff_t at = std::ptrdiff_t{y} * planes.stride + x;
    Modes modes;
    planes.load_first(at, modes);
    modes.mean[0] = relit(table, modes.mean[0]);
    planes.store_first(at, modes);
    for (int k = 1; k < kModes; ++k) planes.mean[k][at] = relit(table, planes.mean[k][at]);
    grey[at] = background_grey(modes.mean[0]);
    bool hidden = false;
    for (int v = max(y - kHiddenReach, 0); v <= min(y + kHiddenReach, height - 1); ++v)
      for (int u = max(x - kHiddenReach, 0); u <= min(x + kHiddenReach, width - 1); ++u)
        hidden = hidden || bit_at(moved, u, v);
    if (hidden) planes.flags[at] |= kUnsure;
  }
}

}  // namespace

Status look_at_background(ImageView<const std::uint8_t> picture, const MotionFrame& frame,
                          const ModeSlots& planes, const MaskViews& views, MotionMemory* memory,
                          Launcher launch) {
  const int width = half_size(picture.width), height = half_size(picture.height);
  const unsigned sample_blocks = std::max(1u, parts(Samples(width, height).all(), kThreads));
  const unsigned word_blocks = parts(views.moved.width * height, kThreads);
  CUFACE_TRY(launch.tell(frame, [&](const auto& told) {
    return launch("a look at the background", look_kernel<std::decay_t<decltype(told)>>,
                  {sample_blocks + word_blocks, kThreads}, picture, told, sample_blocks, planes,
                  views.moved, views.near, memory);
  }));
  CUFACE_TRY(launch("other light", relight_kernel, {kRelightBlocks, kThreads}, width, height,
                    planes, views.moved, memory));
  return mix(picture, planes, views.found, memory, launch);
}

}  // namespace cuface::cuda::motion
