// The mixture of the method background. Most pixels are explained by their first mode: a thread
// takes a quad of these at once. The others are listed, and a warp goes on with its own, a lane
// each, so that no lane waits for a neighbour's.
#include <cstddef>

#include "kernels/motion/cuda/memory.h"
#include "kernels/motion/cuda/words.cuh"
#include "kernels/motion/half.h"

namespace cuface::cuda::motion {
namespace {

using namespace cuface::motion;  // NOLINT(google-build-using-namespace)

constexpr int kThreads = kBlockX * kBlockY, kWarps = kThreads / kWarp;
constexpr int kWarpPixels = kWarp * kQuad, kHalf = 32;
static_assert(kBlockX % kWarp == 0);  // a warp's quads are of one row
constexpr std::uint32_t kOnes = 0x01010101u;

/// Bytes of four pixels.
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

/// The means of two words of pixels below each other, as numbers of 16 bits.
__device__ inline std::uint32_t means_of(std::uint32_t above, std::uint32_t below) {
  constexpr std::uint32_t kEven = 0x00ff00ffu, kHalf = 0x00020002u;
  const std::uint32_t sums =
      (above & kEven) + (above >> 8 & kEven) + (below & kEven) + (below >> 8 & kEven) + kHalf;
  return sums >> 2 & kEven;
}

/// The quad's pixels of half the picture; those outside of it are 0.
__device__ inline Bytes quad_of(const ImageView<const std::uint8_t>& picture, int x, int y) {
  const std::uint8_t* in = picture.row(2 * y) + 2 * x;
  if (2 * (x + kQuad) <= picture.width && 2 * y + 1 < picture.height &&
      (reinterpret_cast<std::uintptr_t>(in) | static_cast<std::uintptr_t>(picture.stride)) % 8 ==
          0) {
    const auto above = *reinterpret_cast<const uint2*>(in);
    const auto below = *reinterpret_cast<const uint2*>(in + picture.stride);
    const std::uint32_t left = means_of(above.x, below.x), right = means_of(above.y, below.y);
    return {(left & 255) | (left >> 8 & 0xff00) | (right & 255) << 16 | (right << 8 & 0xff000000u)};
  }
  Bytes out{};
  for (int i = 0; i < kQuad && x + i < half_size(picture.width); ++i)
    out.set(i, half_at(picture, x + i, y));
  return out;
}

/// Whether a pixel close by was restless. Rows are read as two words, which hold all five pixels.
__device__ bool is_restless_around(const ModeSlots& planes, int from, int width, int height, int x,
                                   int y) {
  static_assert(2 * kRestlessReach + 1 + kQuad - 1 <= 8 && kRestless <= 128);
  const int left = max(x - kRestlessReach, 0), right = min(x + kRestlessReach, width - 1);
  const int begin = left / kQuad * kQuad;
  const bool two = right >= begin + kQuad;
  const std::uint64_t asked =
      ~std::uint64_t{0} >> (8 * (7 - (right - begin))) & ~std::uint64_t{0} << (8 * (left - begin));
  constexpr std::uint64_t kTops = 0x8080808080808080u, kEach = 0x0101010101010101u;
  std::uint64_t found = 0;
#pragma unroll
  for (int v = -kRestlessReach; v <= kRestlessReach; ++v) {
    if (y + v < 0 || y + v >= height) continue;
    std::uint8_t* row = planes.restless[from] + std::ptrdiff_t{y + v} * planes.stride;
    const std::uint64_t bytes = bytes_at(row, begin).word |
                                std::uint64_t{two ? bytes_at(row, begin + kQuad).word : 0} << 32;
    found |= ((bytes & ~kTops) + (128 - kRestless) * kEach) | bytes;
  }
  return (found & kTops & asked) != 0;
}

/// Whether the background around explains a pixel that its own modes do not.
__device__ bool is_explained(const ModeSlots& planes, int from, int width, int height, int x, int y,
                             int grey, int restless) {
  if (restless < kRestless && !is_restless_around(planes, from, width, height, x, y)) return false;
  int low = 255, high = 0;
  for (int v = max(y - kNeighbourReach, 0); v <= min(y + kNeighbourReach, height - 1); ++v) {
    for (int u = max(x - kNeighbourReach, 0); u <= min(x + kNeighbourReach, width - 1); ++u) {
      const int near = planes.grey[from][std::ptrdiff_t{v} * planes.stride + u];
      low = min(low, near);
      high = max(high, near);
    }
    if (explained_around(grey, low, high)) return true;
  }
  return false;
}

/// A pixel that waits for its turn.
struct Waiting {
  std::uint32_t word;

  __device__ static Waiting of(int place, int grey, int restless, int flags) {
    return {static_cast<std::uint32_t>(place | grey << 8 | restless << 16 | flags << 24)};
  }
  __device__ int place() const { return static_cast<int>(word & 255); }
  __device__ int grey() const { return static_cast<int>(word >> 8 & 255); }
  __device__ int restless() const { return static_cast<int>(word >> 16 & 255); }
  __device__ int flags() const { return static_cast<int>(word >> 24); }
};

/// mixture_row_plain() of a pixel; whether it is foreground.
__device__ bool take_pixel(const ModeSlots& planes, const Seen& seen, int width, int height, int x,
                           int y, Waiting pixel) {
  const std::ptrdiff_t at = std::ptrdiff_t{y} * planes.stride + x;
  Modes modes;
  planes.load_first(at, modes);
#pragma unroll
  for (int k = 1; k < kModes; ++k) {
    modes.mean[k] = planes.mean[k][at];
    modes.weight[k] = planes.weight[k][at];
    modes.spread[k] = planes.spread[k][at];
  }
  const int flags = pixel.flags();
  const bool is = !take_grey(modes, pixel.grey(), (flags & kUnsure) != 0, seen.rules);
  planes.store_first(at, modes);
#pragma unroll
  for (int k = 1; k < kModes; ++k) {
    planes.mean[k][at] = modes.mean[k];
    planes.weight[k][at] = modes.weight[k];
    planes.spread[k][at] = modes.spread[k];
  }
  const std::uint8_t restless = restlessness(pixel.restless(), (flags & kWasForeground) != 0, is);
  planes.flags[at] =
      static_cast<std::uint8_t>((flags & ~kWasForeground) | (is ? kWasForeground : 0));
  planes.restless[1 - seen.from][at] = restless;
  planes.grey[1 - seen.from][at] = background_grey(modes.mean[0]);
  return is && !is_explained(planes, seen.from, width, height, x, y, pixel.grey(), restless);
}

/// What the others of a quad lose where all modes decay and the first has explained it.
__device__ void decay_others(const ModeSlots& planes, std::ptrdiff_t at, std::uint32_t pixels) {
#pragma unroll
  for (int k = 1; k < kModes; ++k) {
    Bytes& weights = bytes_at(planes.weight[k], at);
    const std::uint32_t before = weights.word;
    const std::uint32_t some = (((before & ~(kOnes << 7)) + 127 * kOnes) | before) >> 7 & kOnes;
    if ((some & pixels) != 0) weights.word = before - (some & pixels);
  }
}

/// Takes a grey level into a first mode that explains it as background, where nothing is unsure and
/// the light is the same: explains() and strengthen() of a mode in a word. False where it does not.
__device__ bool taken(std::uint32_t& first, std::uint32_t grey, int shift) {
  constexpr std::uint32_t kSpread = 1u << 16, kWeight = 1u << 24;
  const int off = static_cast<int>(grey * 256) - static_cast<int>(first & 0xffff);
  const int apart = abs(off), spread = static_cast<int>(first >> 16 & 255);
  if (apart > kLeastApart * 256 + kSpreads * 16 * spread || first < (kEnoughWeight + 1) * kWeight)
    return false;
  const int step = apart >> shift;
  std::uint32_t more = first < 255 * kWeight ? kWeight : 0;
  if (apart >> 4 > spread)
    more += spread < 255 ? kSpread : 0;
  else
    more -= spread > 0 ? kSpread : 0;
  first += more + static_cast<std::uint32_t>(off < 0 ? -step : step);
  return true;
}

/// A thread a quad: mixture_row_plain(), or begin(). Modes have the order of their
/// weights, so where the first one explains a pixel, the others do at most decay.
__global__ void __launch_bounds__(kThreads, 4)
    mixture_kernel(ImageView<const std::uint8_t> picture, const __grid_constant__ ModeSlots planes,
                   ImageView<std::uint64_t> found, const MotionMemory* memory) {
  __shared__ Waiting lists[kWarps][kWarpPixels];
  __shared__ std::uint32_t foreground[kWarps][kWarpPixels / kHalf];
  const int thread = static_cast<int>(threadIdx.y * kBlockX + threadIdx.x);
  const int lane = thread % kWarp, warp = thread / kWarp;
  const Place quad = place();
  const Seen seen = memory->seen;
  const int x = quad.x * kQuad, y = quad.y;
  const int width = half_size(picture.width), height = half_size(picture.height);
  if (lane < kWarpPixels / kHalf) foreground[warp][lane] = 0;
  Bytes now{}, flags{}, restless{};
  std::uint32_t waits = 0;  // a byte a pixel
  if (x < width && y < height) {
    const std::ptrdiff_t at = std::ptrdiff_t{y} * planes.stride + x;
    const int pixels = min(width - x, kQuad);
    auto& modes_at = *reinterpret_cast<uint4*>(planes.first + at);
    const uint4 before = modes_at;
    now = quad_of(picture, x, y);
    const Bytes flags_before = bytes_at(planes.flags, at);
    restless = bytes_at(planes.restless[seen.from], at);
    std::uint32_t first[kQuad] = {before.x, before.y, before.z, before.w};
    flags.word = flags_before.word & (seen.clear_unsure ? kWasForeground : 255u) * kOnes;
    Bytes restless_now{}, flags_now{}, grey{};
    if (seen.begin) {
#pragma unroll
      for (int i = 0; i < kQuad; ++i) {
        Modes modes;
        modes.mean[0] = static_cast<std::uint16_t>(now.at(i) * 256);
        modes.weight[0] = kEnoughWeight + 1;
        modes.spread[0] = kFirstSpread;
        first[i] = ModeSlots::packed(modes);
      }
      for (int k = 1; k < kModes; ++k) {
        *reinterpret_cast<std::uint64_t*>(planes.mean[k] + at) = 0;
        bytes_at(planes.weight[k], at).word = 0;
        bytes_at(planes.spread[k], at).word = kFirstSpread * kOnes;
      }
      grey = now;
    } else {
      std::uint32_t waiting = 0;  // a byte a pixel
      // The list is for what is rare, too.
      const bool none = seen.rules.relight || (flags.word & kUnsure * kOnes) != 0;
#pragma unroll
      for (int i = 0; i < kQuad; ++i) {
        if (none || !taken(first[i], now.word >> (8 * i) & 255, seen.rules.shift))
          waiting |= 1u << (8 * i);
        grey.word |= ((first[i] & 0xffff) + 128) >> 8 << (8 * i);
      }
      // Outside of the picture there is nothing.
      if (pixels < kQuad) waiting &= (1u << (8 * pixels)) - 1;
      waits = waiting;
      if (seen.rules.decay) decay_others(planes, at, kOnes ^ waiting);
      flags_now.word = flags.word & ~(kWasForeground * kOnes);
      if ((restless.word | (flags.word & kWasForeground * kOnes)) != 0)
        for (int i = 0; i < kQuad; ++i)
          restless_now.set(
              i, restlessness(restless.at(i), (flags.at(i) & kWasForeground) != 0, false));
    }
    if (((first[0] ^ before.x) | (first[1] ^ before.y) | (first[2] ^ before.z) |
         (first[3] ^ before.w)) != 0)
      modes_at = make_uint4(first[0], first[1], first[2], first[3]);
    if (flags_now.word != flags_before.word) bytes_at(planes.flags, at) = flags_now;
    bytes_at(planes.restless[1 - seen.from], at) = restless_now;
    bytes_at(planes.grey[1 - seen.from], at) = grey;
  }
  int waiting = 0;
#pragma unroll
  for (int i = 0; i < kQuad; ++i) {
    const bool is = (waits >> (8 * i) & 1) != 0;
    const unsigned all = __ballot_sync(kAllLanes, is);
    if (is)
      lists[warp][waiting + __popc(all & ((1u << lane) - 1))] =
          Waiting::of(lane * kQuad + i, now.at(i), restless.at(i), flags.at(i));
    waiting += __popc(all);
  }
  __syncwarp();
  for (int i = lane; i < waiting; i += kWarp) {
    const Waiting pixel = lists[warp][i];
    const int place = pixel.place();
    if (take_pixel(planes, seen, width, height, x - lane * kQuad + place, y, pixel))
      atomicOr(&foreground[warp][place / kHalf], 1u << place % kHalf);
  }
  __syncwarp();
  const int half = (x - lane * kQuad) / kHalf + lane;
  if (lane < kWarpPixels / kHalf && y < found.height && half < 2 * found.width)
    reinterpret_cast<std::uint32_t*>(found.row(y))[half] = foreground[warp][lane];
}

}  // namespace

Status mix(ImageView<const std::uint8_t> picture, const ModeSlots& planes,
           ImageView<std::uint64_t> found, const MotionMemory* memory, Launcher launch) {
  const dim3 grid(parts(found.width * kWordBits, kQuad * kBlockX), parts(found.height, kBlockY));
  return launch("a mixture", mixture_kernel, {grid, dim3(kBlockX, kBlockY)}, picture, planes, found,
                memory);
}

}  // namespace cuface::cuda::motion
