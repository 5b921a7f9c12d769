// The drawing primitives, as functions of one pixel or one sample. The CPU and CUDA versions share
// them, so that both write the same bytes. Integers; a square root only as an exact floor.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "kernels/common/geometry.h"
#include "kernels/common/host_device.h"
#include "kernels/luma/luma.h"

namespace cuface::raster {

/// Positions have 8 fraction bits.
inline constexpr int kOne = 256;

/// Where tiles may begin and end: the largest chroma block, so that every sample lies in one tile.
inline constexpr int kAlign = 4;
inline constexpr int kTile = 32;
static_assert(kTile % kAlign == 0);

/// As many strokes are united before they are blended; the next ones are blended over them.
inline constexpr int kBatch = 192;

/// A point's meaning: a multiple of kOne is the centre of a pixel.
struct FixedPoint {
  int x, y;
};

/// All that is at most `radius` (in 1/256 px) away from the segment a-b; a disc where a == b.
struct Stroke {
  FixedPoint a, b;
  int radius;
};

/// The frame of a box, `width` thick, inside its edges (1/256 px; a multiple of kOne is the edge
/// between two pixels). Filled when thinner than two widths.
struct Outline {
  int left, top, right, bottom, width;
};

/// A colour in the samples of one frame.
struct Ink {
  std::array<int, 3> value{};
  int alpha = 0;  ///< 0..256
};

/// Pixels [x0, x1) x [y0, y1).
struct Span2 {
  int x0, y0, x1, y1;
  CUFACE_HD bool empty() const { return x0 >= x1 || y0 >= y1; }
};

CUFACE_HD inline Span2 intersect(const Span2& a, const Span2& b) {
  return {std::max(a.x0, b.x0), std::max(a.y0, b.y0), std::min(a.x1, b.x1), std::min(a.y1, b.y1)};
}

CUFACE_HD inline Span2 join(const Span2& a, const Span2& b) {
  return {std::min(a.x0, b.x0), std::min(a.y0, b.y0), std::max(a.x1, b.x1), std::max(a.y1, b.y1)};
}

/// The largest r with r * r <= n, for n < 2^52. The root in double is at most one off.
CUFACE_HD inline std::int64_t floor_sqrt(std::int64_t n) {
  if (n <= 0) return 0;
  auto root = static_cast<std::int64_t>(std::sqrt(static_cast<double>(n)));
  while (root * root > n) --root;
  while ((root + 1) * (root + 1) <= n) ++root;
  return root;
}

// ---- coverage: 0..256 a pixel ------------------------------------------------------------------

/// Pixels whose centre is nearer than half a pixel to the stroke.
CUFACE_HD inline Span2 bounds(const Stroke& s) {
  const int reach = s.radius + kOne / 2;
  return {(std::min(s.a.x, s.b.x) - reach) >> 8, (std::min(s.a.y, s.b.y) - reach) >> 8,
          ((std::max(s.a.x, s.b.x) + reach) >> 8) + 1, ((std::max(s.a.y, s.b.y) + reach) >> 8) + 1};
}

/// The segment of a stroke, ready for distances. 64 bits: products of two positions.
struct Segment {
  std::int64_t x, y, dx, dy, square, length, reach;

  /// How near pixel (px, py) is, 0..reach; 0 beyond the reach.
  CUFACE_HD std::int64_t nearness(int px, int py) const {
    std::int64_t rx = std::int64_t{px} * kOne - x, ry = std::int64_t{py} * kOne - y;
    const std::int64_t along = rx * dx + ry * dy;
    if (along > 0 && along < square) {
      const std::int64_t cross = rx * dy - ry * dx, across = cross < 0 ? -cross : cross;
      return across < reach * length ? reach - across / length : 0;
    }
    if (along > 0) rx -= dx, ry -= dy;
    const std::int64_t from_end = rx * rx + ry * ry;
    return from_end < reach * reach ? reach - floor_sqrt(from_end) : 0;
  }

  /// 256 where the whole pixel is inside, falling to 0 over one pixel across the edge.
  CUFACE_HD std::uint16_t coverage(int px, int py) const {
    return static_cast<std::uint16_t>(std::min<std::int64_t>(nearness(px, py), kOne));
  }
};

CUFACE_HD inline Segment segment_of(const Stroke& s) {
  const std::int64_t dx = s.b.x - s.a.x, dy = s.b.y - s.a.y, square = dx * dx + dy * dy;
  return {s.a.x,
          s.a.y,
          dx,
          dy,
          square,
          std::max<std::int64_t>(floor_sqrt(square), 1),
          s.radius + kOne / 2};
}

/// How much of pixel i lies in [low, high), 0..256.
CUFACE_HD inline int covered_length(int i, int low, int high) {
  return std::max(0, std::min(high, (i + 1) * kOne) - std::max(low, i * kOne));
}

CUFACE_HD inline Span2 bounds(const Outline& o) {
  return {o.left >> 8, o.top >> 8, (o.right + kOne - 1) >> 8, (o.bottom + kOne - 1) >> 8};
}

CUFACE_HD inline Outline inner(const Outline& o) {
  return {o.left + o.width, o.top + o.width, o.right - o.width, o.bottom - o.width, 0};
}

/// The area is a product of two overlaps, so the coverage is exact. `in` is inner(o).
CUFACE_HD inline std::uint16_t coverage(const Outline& o, const Outline& in, int x, int y) {
  const int out = covered_length(x, o.left, o.right) * covered_length(y, o.top, o.bottom);
  const int hole = covered_length(x, in.left, in.right) * covered_length(y, in.top, in.bottom);
  return static_cast<std::uint16_t>((out - hole + kOne / 2) / kOne);
}

// ---- samples -----------------------------------------------------------------------------------

CUFACE_HD inline std::uint8_t* sample(const Component& c, int x, int y) {
  return c.data + y * c.stride + std::ptrdiff_t{x} * c.pixel_stride;
}

CUFACE_HD inline int load(const Component& c, const std::uint8_t* at) {
  if (c.depth <= 8) return *at >> c.shift;
  std::uint16_t word;
  std::memcpy(&word, at, 2);
  return word >> c.shift;
}

CUFACE_HD inline void store(const Component& c, std::uint8_t* at, int value) {
  if (c.depth <= 8) {
    *at = static_cast<std::uint8_t>(value << c.shift);
    return;
  }
  const auto word = static_cast<std::uint16_t>(value << c.shift);
  std::memcpy(at, &word, 2);
}

/// What is covered of the `n` pixels that a sample stands for, 0..256: `sum` is theirs.
CUFACE_HD inline int mean_coverage(int sum, int n) {
  // Only at the edge of a frame of odd size may n be other than these.
  if (n == 1) return sum;
  if (n == 4) return (sum + 2) >> 2;
  return (sum + n / 2) / n;
}

/// A sample of `old` under that much of a colour; unchanged where nothing is covered.
CUFACE_HD inline int blended(int old, int color, int alpha, int coverage) {
  const int weight = coverage * alpha >> 2;  // 0..2^14
  return old + (((color - old) * weight + (1 << 13)) >> 14);
}

CUFACE_HD inline void blend_sample(const Component& c, std::uint8_t* at, int color, int alpha,
                                   int coverage) {
  store(c, at, blended(load(c, at), color, alpha, coverage));
}

/// The samples that hold these pixels; the last one of an odd size stands for fewer pixels.
CUFACE_HD inline Span2 samples_of(const Component& c, const Span2& pixels) {
  const int more_x = (1 << c.sub_x) - 1, more_y = (1 << c.sub_y) - 1;
  return {pixels.x0 >> c.sub_x, pixels.y0 >> c.sub_y, (pixels.x1 + more_x) >> c.sub_x,
          (pixels.y1 + more_y) >> c.sub_y};
}

// ---- pixelate ----------------------------------------------------------------------------------

/// Where cells of `block` px that `area` touches begin: at x0, x0 + block, ... below x1; so in y.
CUFACE_HD inline Span2 cells_of(int frame_width, int frame_height, const Rect& area, int block) {
  const Span2 a = intersect({area.x, area.y, area.x + area.w, area.y + area.h},
                            {0, 0, frame_width, frame_height});
  return {a.x0 / block * block, a.y0 / block * block, a.x1, a.y1};
}

/// The mean of n > 0 samples, rounded to nearest.
CUFACE_HD inline int mean_of(std::int64_t sum, std::int64_t n) {
  return static_cast<int>((sum + n / 2) / n);
}

}  // namespace cuface::raster
