// The mask of the method edges by strips: a lane has a word of a few rows, one below the other, and
// a warp those beside.
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/motion/cuda/counts.cuh"
#include "kernels/motion/cuda/memory.h"
#include "kernels/motion/cuda/words.cuh"
#include "kernels/motion/edges.h"

namespace cuface::cuda::motion {

/// Words of a strip, next to each other. The first and the last lane only know what is beside.
inline constexpr int kStripWords = kWarp - 2;
/// By more pixels a word needs others than those beside it.
inline constexpr int kMostStripReach = 16;

/// The strips of a picture, of kRows rows each: a warp has one, and a block so many.
template <int kRows>
struct Strips {
  int across, all, each;
  Divisor by_across;

  Strips(int words, int height, int share)
      : across((words + kStripWords - 1) / kStripWords),
        all(across * ((height + kRows - 1) / kRows)),
        each(share),
        by_across(across) {}
  __device__ int first(int block) const { return min(block * each, all); }
  /// The cells of a block's share.
  __device__ CellPart part(const CellPlaces& places, int words, int block) const {
    return CellPart(places, 0, words, by_across(first(block)) * kRows,
                    by_across(first(block + 1) - 1) * kRows + kRows);
  }
};

/// Rows of a column of words, from row y on, and the rows around them. word_in(v) is row v's, or
/// outside of the picture that of the nearest row.
template <int kRows>
struct StripRows {
  static constexpr int kOthers = kRows - 1;
  static_assert(kOthers <= 3);  // a reach of 1 is from above[0] to above[2]

  std::uint64_t own[kRows];
  std::uint64_t above[kOthers];  ///< that the last row does not reach, nor others in turn
  std::uint64_t below[kOthers];  ///< that the first one does not reach
  std::uint64_t beside[2];       ///< just above and just below, where all reach them

  template <typename WordIn>
  __device__ void load(const WordIn& word_in, int y, int reach) {
#pragma unroll
    for (int k = 0; k < kRows; ++k) own[k] = word_in(y + k);
#pragma unroll
    for (int k = 0; k < kOthers; ++k) {
      above[k] = word_in(y - reach + k);
      below[k] = word_in(y + reach + 1 + k);
    }
    if (reach <= kOthers) return;
    beside[0] = word_in(y - 1);
    beside[1] = word_in(y + kRows);
  }
  /// Each row with those within `reach` rows. with(a, b) joins two words; `none` changes nothing.
  template <typename WordIn, typename With>
  __device__ void join(const WordIn& word_in, int y, int reach, const With& with,
                       std::uint64_t none, std::uint64_t (&out)[kRows]) const {
    std::uint64_t all = none;  // of the rows that all reach
    if (reach > kOthers) all = with(beside[0], beside[1]);
#pragma unroll 1
    for (int k = 2; k <= reach - kOthers; ++k)
      all = with(all, with(word_in(y - k), word_in(y + kOthers + k)));
#pragma unroll
    for (int k = 0; k < kRows; ++k) {
      if (max(k, kOthers - k) <= reach) all = with(all, own[k]);
      out[k] = none;
    }
    std::uint64_t first = none, last = none;
#pragma unroll
    for (int k = 0; k < kOthers; ++k) {
      first = with(first, above[kOthers - 1 - k]);
      last = with(last, below[k]);
      out[kOthers - 1 - k] = with(out[kOthers - 1 - k], first);
      out[k + 1] = with(out[k + 1], last);
    }
#pragma unroll
    for (int k = 0; k < kRows; ++k) out[k] = with(out[k], all);
  }
};

/// Widens words by `reach` pixels, where the lanes beside have the words beside. All lanes call it.
template <int kRows>
__device__ void join_columns(int reach, std::uint64_t (&words)[kRows]) {
  constexpr int kHalf = 32;
  // A ring: what is beside begins with what is to the right, and ends with what is to the left.
  std::uint32_t low[kRows], high[kRows], beside[kRows];
#pragma unroll
  for (int k = 0; k < kRows; ++k) {
    low[k] = static_cast<std::uint32_t>(words[k]);
    high[k] = static_cast<std::uint32_t>(words[k] >> kHalf);
    beside[k] = (__shfl_up_sync(kAllLanes, high[k], 1) & 0xffff0000u) |
                (__shfl_down_sync(kAllLanes, low[k], 1) & 0x0000ffffu);
  }
  for (int reached = 0; reached < reach;) {
    const int by = min(2 * reached + 1, reach - reached);
    const auto step = [&](std::uint32_t before, std::uint32_t own, std::uint32_t behind) {
      return own | __funnelshift_r(before, own, static_cast<unsigned>(kHalf - by)) |
             __funnelshift_r(own, behind, static_cast<unsigned>(by));
    };
#pragma unroll
    for (int k = 0; k < kRows; ++k) {
      const std::uint32_t l = low[k], h = high[k], b = beside[k];
      low[k] = step(b, l, h);
      high[k] = step(l, h, b);
      beside[k] = step(h, b, l);
    }
    reached += by;
  }
#pragma unroll
  for (int k = 0; k < kRows; ++k) words[k] = low[k] | std::uint64_t{high[k]} << kHalf;
}

/// A word of a map, or where it has no edges.
__device__ inline std::uint64_t edges_or_hollows(std::uint64_t word, bool hollows, int i,
                                                 int width) {
  return hollows ? ~word & bits_between(i, 0, width) : word;
}

/// Both steps where the reach is long, which is rare.
__device__ __attribute__((noinline)) inline std::uint64_t joined_afar(Bits edges, bool hollows,
                                                                      int width, int reach, int i,
                                                                      int y) {
  const auto word_at = [&](int v, int j) {
    return edges_or_hollows(edges.row(v)[j], hollows, j, width);
  };
  return widened(
      [&](int j) { return column([&](int v) { return word_at(v, j); }, edges.height, y, reach); },
      edges.width, i, reach);
}

/// A warp's strip: load(), then finish().
template <int kRows>
class Strip {
 public:
  /// All that is given outlives it.
  __device__ Strip(const MotionPlan& plan, const MaskViews& views, const Strips<kRows>& strips,
                   const Bits& edges, const MotionFrame& frame)
      : plan_(plan), views_(views), strips_(strips), edges_(edges), frame_(frame) {}

  /// What others do not change.
  __device__ void load(int strip) {
    const int words = views_.mask.width, last_row = plan_.height - 1;
    const int down = strips_.by_across(strip), lane = static_cast<int>(threadIdx.x) % kWarp;
    y_ = down * kRows;
    i_ = (strip - down * strips_.across) * kStripWords + lane - 1;
    has_ = i_ >= 0 && i_ < words;
    own_ = has_ && lane > 0 && lane <= kStripWords;
    column_ = min(max(i_, 0), words - 1);
#pragma unroll
    for (int k = 0; k < kRows; ++k)
      at_[k] = static_cast<unsigned>(min(y_ + k, last_row) * words + column_);
    now_.load([&](int v) { return edges_in(v); }, y_, plan_.config.tolerance);
    if (frame_.then < 0) return;
    load_slot(views_.maps, then_);
    load_slot(views_.widened, near_then_);
    if (!plan_.config.symmetric) load_slot(views_.hollow, hollow_then_);
    if (views_.kept.data)
#pragma unroll
      for (int k = 0; k < kRows; ++k) kept_[k] = views_.kept.data[at_[k]];
  }

  /// Makes its part of the mask, and counts the cells of a block's part.
  template <typename Counts>
  __device__ void finish(const CellPlaces& places, const CellPart& part, Counts& counts) const {
    const bool symmetric = plan_.config.symmetric;
    std::uint64_t near[kRows], hollow[kRows], mask[kRows] = {};
    join(std::false_type{}, near);
    store_slot(views_.maps, now_.own);
    store_slot(views_.widened, near);
    if (!symmetric) {
      join(std::true_type{}, hollow);
      store_slot(views_.hollow, hollow);
    }
#pragma unroll
    for (int k = 0; k < kRows; ++k)
      if (frame_.then >= 0 && inside(k))
        mask[k] = changed_edges({then_[k], now_.own[k], near_then_[k], near[k], ~hollow_then_[k]},
                                symmetric);
    if (views_.kept.data)
#pragma unroll
      for (int k = 0; k < kRows; ++k) mask[k] &= kept_[k];
    store(views_.mask.data, 0, mask);
    if (own_) counts.add(places, part, i_, y_, mask);
  }

 private:
  using Words = std::uint64_t[kRows];

  __device__ std::uint64_t edges_in(int v) const {
    const auto stride = static_cast<int>(edges_.stride) / static_cast<int>(sizeof(std::uint64_t));
    return edges_.data[static_cast<unsigned>(min(max(v, 0), plan_.height - 1) * stride + column_)];
  }
  __device__ bool inside(int k) const { return own_ && y_ + k < plan_.height; }
  /// Where a slot begins, in words: less than 2^32 of them are no map of ours.
  __device__ unsigned slot(int number) const {
    return static_cast<unsigned>(number * views_.mask.width * plan_.height);
  }
  __device__ void load_slot(const Slots<std::uint64_t>& slots, Words& to) const {
#pragma unroll
    for (int k = 0; k < kRows; ++k) to[k] = slots.data[slot(frame_.then) + at_[k]];
  }
  __device__ void store(std::uint64_t* to, unsigned first, const Words& words) const {
#pragma unroll
    for (int k = 0; k < kRows; ++k)
      if (inside(k)) to[first + at_[k]] = words[k];
  }
  __device__ void store_slot(const Slots<std::uint64_t>& slots, const Words& words) const {
    store(slots.data, slot(frame_.now), words);
  }

  /// What is near edges, or near pixels without one.
  template <typename Hollows>
  __device__ void join(Hollows hollows, Words& out) const {
    const int reach = plan_.config.tolerance;
    if (reach > kMostStripReach) {
#pragma unroll 1
      for (int k = 0; k < kRows; ++k) {
        const std::uint64_t word = joined_afar(edges_, hollows, plan_.width, reach, column_,
                                               min(y_ + k, plan_.height - 1));
#pragma unroll
        for (int j = 0; j < kRows; ++j)
          if (j == k) out[j] = word;
      }
      return;
    }
    const auto word_in = [&](int v) { return edges_in(v); };
    if constexpr (hollows)
      now_.join(
          word_in, y_, reach, [](auto a, auto b) { return a & b; }, ~std::uint64_t{0}, out);
    else
      now_.join(
          word_in, y_, reach, [](auto a, auto b) { return a | b; }, 0, out);
#pragma unroll
    for (int k = 0; k < kRows; ++k)
      out[k] = has_ ? edges_or_hollows(out[k], hollows, i_, plan_.width) : 0;
    join_columns(reach, out);
  }

  const MotionPlan& plan_;
  const MaskViews& views_;
  const Strips<kRows>& strips_;
  const Bits& edges_;
  const MotionFrame& frame_;
  int i_, y_, column_;
  bool has_;            ///< the lane has a word of the picture
  bool own_;            ///< that is its own, not only beside
  unsigned at_[kRows];  ///< where it is in maps of our own
  StripRows<kRows> now_;
  Words then_ = {}, near_then_ = {}, hollow_then_ = {}, kept_ = {};
};

/// A block's share of the mask, and the counts of its cells, of which it returns the part. All
/// threads of the block call it, and behind it comes a barrier.
template <int kRows, typename Counts>
__device__ CellPart mask_strips(const MotionPlan& plan, const MaskViews& views,
                                const CellPlaces& places, const Strips<kRows>& strips,
                                const Bits& edges, const MotionFrame& frame, Counts& counts) {
  const int thread = static_cast<int>(threadIdx.x), block = static_cast<int>(blockIdx.x);
  const int end = strips.first(block + 1);
  Strip<kRows> strip(plan, views, strips, edges, frame);
  int s = strips.first(block) + thread / kWarp;
  if (s < end) strip.load(s);
  const CellPart part = strips.part(places, views.mask.width, block);
  counts.clear(part, thread);
  __syncthreads();
  if (s < end) strip.finish(places, part, counts);
  return part;
}

}  // namespace cuface::cuda::motion
