// A window whose side the compiler knows, in the registers of a few warps: each thread has four
// pixels of a row, and the same four of further rows.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/flow/cuda/window.cuh"

namespace cuface::cuda {

/// Bilinear weights, two a register.
struct WeightPairs {
  int upper, lower;

  __device__ explicit WeightPairs(const Sample& s)
      : upper(pair(s.w00, s.w01)), lower(pair(s.w10, s.w11)) {}

 private:
  __device__ static int pair(std::int16_t left, std::int16_t right) {
    return static_cast<int>(static_cast<std::uint16_t>(left) |
                            static_cast<unsigned>(static_cast<std::uint16_t>(right)) << 16);
  }
};

/// pixels: upper left, upper right, lower left, lower right, from the lowest byte on.
__device__ inline int weigh(const WeightPairs& weights, unsigned pixels) {
#ifdef __NVCC__
  int sum = 0;
  asm("dp2a.lo.s32.u32 %0, %1, %2, %3;" : "=r"(sum) : "r"(weights.upper), "r"(pixels), "r"(0));
  asm("dp2a.hi.s32.u32 %0, %1, %2, %3;" : "=r"(sum) : "r"(weights.lower), "r"(pixels), "r"(sum));
  return sum;
#else  // no intrinsic has these signs; tests/gpu/emulator
  const auto product = [&](int pair, int from) {
    const auto pixel = [&](int i) { return static_cast<int>(pixels >> 8 * i & 255); };
    return static_cast<std::int16_t>(pair) * pixel(from) + (pair >> 16) * pixel(from + 1);
  };
  return product(weights.upper, 0) + product(weights.lower, 2);
#endif
}

/// Where quads of a window are read: its corner's word, and how far in it the corner is.
struct QuadReader {
  const std::uint8_t* word;
  std::ptrdiff_t stride;
  int shift;

  /// `corner` in a picture whose rows begin at whole words.
  __device__ QuadReader(const Picture& picture, int x, int y)
      : word(picture.row(y) + (x & ~3)), stride(picture.stride), shift((x & 3) * 8) {}

  /// Whether that reads nothing but pixels, where it reads `quads` x `rows` of them.
  __device__ static bool fits(const Picture& picture, int x, int y, int quads, int rows) {
    return x >= 0 && y >= 0 && (x & ~3) + 4 * quads + 4 <= picture.width &&
           y + rows + 1 <= picture.height;
  }

  /// The weighted sums of the four pixels from (x, y) on, with their neighbours to the right and
  /// below; x is a multiple of 4.
  __device__ void read(int x, int y, const WeightPairs& weights, int (&out)[4]) const {
    const std::uint8_t* at = word + y * stride + x;
    const auto* upper = reinterpret_cast<const unsigned*>(at);
    const auto* lower = reinterpret_cast<const unsigned*>(at + stride);
    const unsigned u0 = upper[0], u1 = upper[1], l0 = lower[0], l1 = lower[1];
    // Bytes 0 to 3 and 1 to 4.
    const unsigned u = __funnelshift_r(u0, u1, shift), u_next = __funnelshift_rc(u0, u1, shift + 8);
    const unsigned l = __funnelshift_r(l0, l1, shift), l_next = __funnelshift_rc(l0, l1, shift + 8);
    out[0] = weigh(weights, __byte_perm(u, l, 0x5410));
    out[1] = weigh(weights, __byte_perm(u_next, l_next, 0x5410));
    out[2] = weigh(weights, __byte_perm(u, l, 0x7632));
    out[3] = weigh(weights, __byte_perm(u_next, l_next, 0x7632));
  }
};

/// What follow() asks of the pixels, by kWarps warps together. The pictures' rows begin at whole
/// words, as those of a GaussianPyramid do.
template <int kSide, int kWarps>
class QuadPatch {
 public:
  static constexpr int kThreads = kWarps * kWarp;

 private:
  static constexpr int kQuads = (kSide + 3) / 4;  // of a row
  static constexpr int kRounds = (kQuads * kSide + kThreads - 1) / kThreads;
  static_assert(4 * kRounds <= kMostPixels);
  // Weighted sums of the window and one pixel around it, where all of that is inside.
  static constexpr int kSums = kSide + 2, kSumQuads = (kSums + 3) / 4;
  static constexpr int kSumRow = 4 * (kQuads > kSumQuads ? kQuads : kSumQuads) + 4;

 public:
  struct alignas(16) Memory {
    union {
      int sums[kSums * kSumRow];
      std::uint8_t surroundings[Surroundings::bytes(kSide)];
    };
    typename BlockSum<kWarps>::Parts parts;
  };

  __device__ explicit QuadPatch(Memory& memory) : memory_(memory), sum_(memory.parts) {}

  __device__ GradientSums take(const Picture& picture, const Sample& s) {
    sync();  // behind the last one's reading
    if (QuadReader::fits(picture, s.x - 1, s.y - 1, kSumQuads, kSums)) {
      take_inside(picture, s);
    } else {
      take_anywhere(picture, s);
    }
    int of_thread[3] = {0, 0, 0};
#pragma unroll
    for (int i = 0; i < 4 * kRounds; ++i) {
      of_thread[0] += dx_[i] * dx_[i];
      of_thread[1] += dx_[i] * dy_[i];
      of_thread[2] += dy_[i] * dy_[i];
    }
    std::int64_t sum[3];
    sum_.add_up(of_thread, sum);
    return {sum[0], sum[1], sum[2]};
  }

  __device__ MismatchSums compare(const Picture& picture, const Sample& s) {
    int of_thread[2] = {0, 0};
    const auto add = [&](int i, int value) {
      const int difference = value - value_[i];
      of_thread[0] += difference * dx_[i];
      of_thread[1] += difference * dy_[i];
    };
    if (QuadReader::fits(picture, s.x, s.y, kQuads, kSide)) {
      const QuadReader reader(picture, s.x, s.y);
      const WeightPairs weights(s);
#pragma unroll
      for (int round = 0; round < kRounds; ++round) {
        const Place at(round);
        int sums[4];
        reader.read(at.x, at.y, weights, sums);
        for (int k = 0; k < 4; ++k) add(4 * round + k, value_of(sums[k]));
      }
    } else {
      const bool inside = s.x >= 0 && s.y >= 0 && s.x + kSide + 1 <= picture.width &&
                          s.y + kSide + 1 <= picture.height;
#pragma unroll
      for (int round = 0; round < kRounds; ++round) {
        const Place at(round);
        for (int k = 0; k < 4; ++k)
          if (at.x + k < kSide)
            add(4 * round + k, sample_pixel(picture, s, at.x + k, at.y, inside));
      }
    }
    std::int64_t sum[2];
    sum_.add_up(of_thread, sum);
    return {sum[0], sum[1]};
  }

 private:
  /// A thread's quad of a round. Threads that have none any more read the last one again, and their
  /// derivatives are 0.
  struct Place {
    int x, y;
    bool used;
    __device__ explicit Place(int round) {
      const int quad = round * kThreads + static_cast<int>(threadIdx.x);
      used = quad < kQuads * kSide;
      y = used ? quad / kQuads : kSide - 1;
      x = used ? 4 * (quad % kQuads) : 4 * (kQuads - 1);
    }
    __device__ bool has(int k) const { return used && x + k < kSide; }
  };

  __device__ static void sync() {
    if constexpr (kWarps > 1) {
      __syncthreads();
    } else {
      __syncwarp();
    }
  }
  /// As interpolate() rounds.
  __device__ static int value_of(int sum) {
    constexpr int shift = kWeightBits - kPatchBits;
    return (sum + (1 << (shift - 1))) >> shift;
  }
  __device__ static int slope_of(int sum) {
    return (sum + (1 << (kWeightBits - 1))) >> kWeightBits;
  }

  /// Derivatives are sums of pixels too: those of the weighted sums are the weighted sums of those.
  __device__ void take_inside(const Picture& picture, const Sample& s) {
    const QuadReader reader(picture, s.x - 1, s.y - 1);
    const WeightPairs weights(s);
    for (int quad = static_cast<int>(threadIdx.x); quad < kSums * kSumQuads; quad += kThreads) {
      const int x = 4 * (quad % kSumQuads), y = quad / kSumQuads;
      int sums[4];
      reader.read(x, y, weights, sums);
      *reinterpret_cast<int4*>(memory_.sums + y * kSumRow + x) =
          make_int4(sums[0], sums[1], sums[2], sums[3]);
    }
    sync();
#pragma unroll
    for (int round = 0; round < kRounds; ++round) {
      const Place at(round);
      int rows[3][6];  // (x - 1, y - 1) to (x + 4, y + 1)
      for (int j = 0; j < 3; ++j) {
        const int* row = memory_.sums + (at.y + j) * kSumRow + at.x;
        const int4 four = *reinterpret_cast<const int4*>(row);
        const int2 two = *reinterpret_cast<const int2*>(row + 4);
        rows[j][0] = four.x, rows[j][1] = four.y, rows[j][2] = four.z, rows[j][3] = four.w;
        rows[j][4] = two.x, rows[j][5] = two.y;
      }
      const auto &up = rows[0], &here = rows[1], &down = rows[2];
      for (int k = 0; k < 4; ++k) {
        const int dx =
            3 * (up[k + 2] - up[k] + down[k + 2] - down[k]) + 10 * (here[k + 2] - here[k]);
        const int dy =
            3 * (down[k] - up[k] + down[k + 2] - up[k + 2]) + 10 * (down[k + 1] - up[k + 1]);
        set(4 * round + k, at.has(k), value_of(here[k + 1]), slope_of(dx), slope_of(dy));
      }
    }
  }

  __device__ void take_anywhere(const Picture& picture, const Sample& s) {
    const Surroundings around(kSide, memory_.surroundings);
    around.take<kThreads>(picture, s, [] { sync(); });
    sync();
#pragma unroll
    for (int round = 0; round < kRounds; ++round) {
      const Place at(round);
      for (int k = 0; k < 4; ++k) {
        const auto texel =
            at.has(k) ? around.texel(at.x + k, at.y, s) : Surroundings::Texel{0, 0, 0};
        set(4 * round + k, at.has(k), texel.value, texel.dx, texel.dy);
      }
    }
  }

  __device__ void set(int i, bool used, int value, int dx, int dy) {
    value_[i] = used ? value : 0;
    dx_[i] = used ? dx : 0;
    dy_[i] = used ? dy : 0;
  }

  Memory& memory_;
  BlockSum<kWarps> sum_;
  int value_[4 * kRounds], dx_[4 * kRounds], dy_[4 * kRounds];
};

}  // namespace cuface::cuda
