#include <algorithm>
#include <cstddef>

#include "kernels/common/cuda/raw.cuh"
#include "kernels/motion/cuda/memory.h"
#include "kernels/motion/cuda/words.cuh"

namespace cuface::cuda::motion {
namespace {

using namespace cuface::motion;  // NOLINT(google-build-using-namespace)

constexpr int kThreads = 256;
constexpr int kRelightBlocks = 264;

/// The samples of a picture.
struct Samples {
  int step, columns, rows;

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
      use(int{grey[std::ptrdiff_t{y} * stride + x]}, int{picture.at(x, y)});
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
    near.row(y)[i] =
        widened([&](int j) { return row[j]; }, moved.width, i, stay_reach(picture.width));
    return;
  }
  const MotionFrame frame = told.get();
  const Samples samples(picture.width, picture.height);
  const int frames = frame.forget ? 0 : memory->frames;
  const int from = memory->seen.from;  // the last block writes it, behind all the others
  const std::uint8_t* grey = planes.grey[1 - from];
  const int sample = static_cast<int>(blockIdx.x) * kThreads + thread;
  bool other = false;
  if (frames > 0 && sample < samples.all()) {
    const int x = samples.x(sample), y = samples.y(sample);
    other = distance(grey[std::ptrdiff_t{y} * planes.stride + x], picture.at(x, y)) > kSampleApart;
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
    for (int k = 0; k < kModes; ++k) planes.mean[k][at] = relit(table, planes.mean[k][at]);
    grey[at] = background_grey(planes.mean[0][at]);
    bool hidden = false;
    for (int v = max(y - kHiddenReach, 0); v <= min(y + kHiddenReach, height - 1); ++v)
      for (int u = max(x - kHiddenReach, 0); u <= min(x + kHiddenReach, width - 1); ++u)
        hidden = hidden || bit_at(moved, u, v);
    if (hidden) planes.flags[at] |= kUnsure;
  }
}

/// Whether the background around explains a pixel that its own modes do not. Few pixels ask.
__device__ bool is_explained(const ModeSlots& planes, int from, int width, int height, int x, int y,
                             int grey, int restless) {
  const auto at = [&](const std::uint8_t* plane, int u, int v) {
    return int{plane[std::ptrdiff_t{v} * planes.stride + u]};
  };
  bool stirs = restless >= kRestless;
  for (int v = max(y - kRestlessReach, 0); v <= min(y + kRestlessReach, height - 1) && !stirs; ++v)
    for (int u = max(x - kRestlessReach, 0); u <= min(x + kRestlessReach, width - 1); ++u)
      stirs = stirs || at(planes.restless[from], u, v) >= kRestless;
  if (!stirs) return false;
  int low = 255, high = 0;
  for (int v = max(y - kNeighbourReach, 0); v <= min(y + kNeighbourReach, height - 1); ++v) {
    for (int u = max(x - kNeighbourReach, 0); u <= min(x + kNeighbourReach, width - 1); ++u) {
      const int near = at(planes.grey[from], u, v);
      low = min(low, near);
      high = max(high, near);
    }
    if (explained_around(grey, low, high)) return true;
  }
  return false;
}

struct Bytes {
  std::uint32_t word = 0;
  __device__ int at(int k) const { return static_cast<int>(word >> (8 * k) & 255); }
  __device__ void set(int k, int value) {
    word = (word & ~(255u << (8 * k))) | static_cast<std::uint32_t>(value) << (8 * k);
  }
};
__device__ inline Bytes& bytes_at(std::uint8_t* plane, std::ptrdiff_t at) {
  return *reinterpret_cast<Bytes*>(plane + at);
}

/// A quad's part of a mode's planes.
struct QuadMode {
  std::uint64_t mean = 0;
  Bytes weight{}, spread{};

  __device__ static QuadMode load(const ModeSlots& planes, int k, std::ptrdiff_t at) {
    return {*reinterpret_cast<const std::uint64_t*>(planes.mean[k] + at),
            bytes_at(planes.weight[k], at), bytes_at(planes.spread[k], at)};
  }
  /// All, or what differs from `before`, which is there.
  __device__ void store(const ModeSlots& planes, int k, std::ptrdiff_t at,
                        const QuadMode* before = nullptr) const {
    if (!before || mean != before->mean)
      *reinterpret_cast<std::uint64_t*>(planes.mean[k] + at) = mean;
    if (!before || weight.word != before->weight.word) bytes_at(planes.weight[k], at) = weight;
    if (!before || spread.word != before->spread.word) bytes_at(planes.spread[k], at) = spread;
  }
  __device__ std::uint16_t mean_of(int i) const {
    return static_cast<std::uint16_t>(mean >> (16 * i));
  }
  __device__ void get(int i, Modes& modes, int k) const {
    modes.mean[k] = mean_of(i);
    modes.weight[k] = static_cast<std::uint8_t>(weight.at(i));
    modes.spread[k] = static_cast<std::uint8_t>(spread.at(i));
  }
  __device__ void set(int i, const Modes& modes, int k) {
    mean = (mean & ~(std::uint64_t{0xffff} << (16 * i))) | std::uint64_t{modes.mean[k]} << (16 * i);
    weight.set(i, modes.weight[k]);
    spread.set(i, modes.spread[k]);
  }
};

/// The quad's pixels; those outside of the picture are 0.
__device__ inline Bytes quad_of(const ImageView<const std::uint8_t>& picture, int x, int y) {
  const std::uint8_t* in = picture.row(y) + x;
  if (x + kQuad <= picture.width && reinterpret_cast<std::uintptr_t>(in) % kQuad == 0)
    return {*reinterpret_cast<const std::uint32_t*>(in)};
  Bytes out{};
  for (int i = 0; i < kQuad && x + i < picture.width; ++i) out.set(i, in[i]);
  return out;
}

/// A thread a quad: Background::take_row_plain(), or begin(). Modes have the order of their
/// weights, so where the first one explains all pixels, and none decays, the others are not even
/// read.
__global__ void __launch_bounds__(kBlockX* kBlockY)
    mixture_kernel(ImageView<const std::uint8_t> picture, const __grid_constant__ ModeSlots planes,
                   ImageView<std::uint64_t> found, const MotionMemory* memory) {
  const Place quad = place();
  const Seen seen = memory->seen;
  const int x = quad.x * kQuad, y = quad.y;
  std::uint32_t foreground = 0;
  if (x < picture.width && y < picture.height) {
    const std::ptrdiff_t at = std::ptrdiff_t{y} * planes.stride + x;
    const int pixels = min(picture.width - x, kQuad);
    const Bytes now = quad_of(picture, x, y), flags_before = bytes_at(planes.flags, at);
    Bytes flags = flags_before, restless = bytes_at(planes.restless[seen.from], at), grey{};
    const QuadMode first_before = QuadMode::load(planes, 0, at);
    QuadMode first = first_before;
    // take(i, unsure) says whether the pixel is background, and first has its mode then.
    const auto each = [&](const auto& take) {
#pragma unroll
      for (int i = 0; i < kQuad; ++i) {
        if (i >= pixels) break;
        const int was = seen.clear_unsure ? flags.at(i) & ~kUnsure : flags.at(i);
        const bool is = !take(i, (was & kUnsure) != 0);
        restless.set(i, restlessness(restless.at(i), (was & kWasForeground) != 0, is));
        flags.set(i, (was & ~kWasForeground) | (is ? kWasForeground : 0));
        grey.set(i, background_grey(first.mean_of(i)));
        if (is && !is_explained(planes, seen.from, picture.width, picture.height, x + i, y,
                                now.at(i), restless.at(i)))
          foreground |= 1u << i;
      }
    };
    bool others = seen.rules.decay;
    for (int i = 0; i < pixels && !others; ++i) {
      Modes modes;
      first.get(i, modes, 0);
      others = !explains(modes, 0, now.at(i));
    }
    if (seen.begin) {
      QuadMode none;
      none.spread.word = 0x01010101u * kFirstSpread;
      first = none;
      for (int i = 0; i < kQuad; ++i) {
        first.mean |= std::uint64_t{static_cast<std::uint16_t>(now.at(i) * 256)} << (16 * i);
        first.weight.set(i, kEnoughWeight + 1);
      }
      for (int k = 1; k < kModes; ++k) none.store(planes, k, at);
      flags = restless = {};
      grey = now;
    } else if (others) {
      QuadMode before[kModes], after[kModes];
      for (int k = 1; k < kModes; ++k) before[k] = after[k] = QuadMode::load(planes, k, at);
      each([&](int i, bool unsure) {
        Modes modes;
        first.get(i, modes, 0);
        for (int k = 1; k < kModes; ++k) after[k].get(i, modes, k);
        const bool background = take_grey(modes, now.at(i), unsure, seen.rules);
        first.set(i, modes, 0);
        for (int k = 1; k < kModes; ++k) after[k].set(i, modes, k);
        return background;
      });
      for (int k = 1; k < kModes; ++k) after[k].store(planes, k, at, &before[k]);
    } else {
      each([&](int i, bool unsure) {
        Modes modes;
        first.get(i, modes, 0);
        const bool background = modes.weight[0] > kEnoughWeight;
        strengthen(modes.mean[0], modes.weight[0], modes.spread[0], now.at(i), unsure, seen.rules);
        first.set(i, modes, 0);
        return background;
      });
    }
    first.store(planes, 0, at, &first_before);
    if (flags.word != flags_before.word) bytes_at(planes.flags, at) = flags;
    bytes_at(planes.restless[1 - seen.from], at) = restless;
    bytes_at(planes.grey[1 - seen.from], at) = grey;
  }
  store_quad(foreground, quad, found);
}

}  // namespace

Status look_at_background(ImageView<const std::uint8_t> picture, const MotionFrame& frame,
                          const ModeSlots& planes, const MaskViews& views, MotionMemory* memory,
                          Launcher launch) {
  const int width = picture.width, height = picture.height;
  const unsigned sample_blocks = std::max(1u, parts(Samples(width, height).all(), kThreads));
  const unsigned word_blocks = parts(views.moved.width * height, kThreads);
  CUFACE_TRY(launch.tell(frame, [&](const auto& told) {
    return launch("a look at the background", look_kernel<std::decay_t<decltype(told)>>,
                  {sample_blocks + word_blocks, kThreads}, picture, told, sample_blocks, planes,
                  views.moved, views.near, memory);
  }));
  CUFACE_TRY(launch("other light", relight_kernel, {kRelightBlocks, kThreads}, width, height,
                    planes, views.moved, memory));
  const dim3 grid(parts(views.found.width * kWordBits, kQuad * kBlockX), parts(height, kBlockY));
  return launch("a mixture", mixture_kernel, {grid, dim3(kBlockX, kBlockY)}, picture, planes,
                views.found, memory);
}

}  // namespace cuface::cuda::motion
