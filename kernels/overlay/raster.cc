#include "kernels/overlay/raster.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace cuface::raster {
namespace {

constexpr int kTile = 32;

/// Where tiles may begin and end: the largest chroma block, so that every sample lies in one tile.
constexpr int kAlign = 4;
static_assert(kTile % kAlign == 0);

int align_down(int v) { return v & -kAlign; }
int align_up(int v) { return (v + kAlign - 1) & -kAlign; }

/// Pixels [x0, x1) x [y0, y1).
struct Span2 {
  int x0, y0, x1, y1;
  bool empty() const { return x0 >= x1 || y0 >= y1; }
};

Span2 intersect(const Span2& a, const Span2& b) {
  return {std::max(a.x0, b.x0), std::max(a.y0, b.y0), std::min(a.x1, b.x1), std::min(a.y1, b.y1)};
}

Span2 join(const Span2& a, const Span2& b) {
  return {std::min(a.x0, b.x0), std::min(a.y0, b.y0), std::max(a.x1, b.x1), std::max(a.y1, b.y1)};
}

struct Tile {
  Span2 area;
  std::uint16_t coverage[kTile][kTile];  // of pixel (area.x0 + x, area.y0 + y)
  int first[kTile], last[kTile];         // of each row: coverage [first, last) may not be 0

  void clear() {
    std::memset(coverage, 0, sizeof coverage);
    std::fill_n(first, kTile, kTile);
    std::fill_n(last, kTile, 0);
  }
  /// The coverage of pixels [x0, x1) of row y, to be written.
  std::uint16_t* touch(int y, int x0, int x1) {
    const int row = y - area.y0;
    first[row] = std::min(first[row], x0 - area.x0);
    last[row] = std::max(last[row], x1 - area.x0);
    return coverage[row] + (x0 - area.x0);
  }
};

std::int64_t floor_sqrt(std::int64_t n) {
  std::uint64_t rest = static_cast<std::uint64_t>(n), root = 0;
  if (n <= 0) return 0;
  for (std::uint64_t bit = std::uint64_t{1} << ((std::bit_width(rest) - 1) & ~1); bit; bit >>= 2) {
    if (rest >= root + bit) {
      rest -= root + bit;
      root = (root >> 1) + bit;
    } else {
      root >>= 1;
    }
  }
  return static_cast<std::int64_t>(root);
}

// ---- coverage ----------------------------------------------------------------------------------

/// Pixels whose centre is nearer than half a pixel to the stroke.
Span2 bounds(const Stroke& s) {
  const int reach = s.radius + kOne / 2;
  return {(std::min(s.a.x, s.b.x) - reach) >> 8, (std::min(s.a.y, s.b.y) - reach) >> 8,
          ((std::max(s.a.x, s.b.x) + reach) >> 8) + 1, ((std::max(s.a.y, s.b.y) + reach) >> 8) + 1};
}

/// The segment of a stroke, ready for distances. 64 bits: products of two positions.
struct Segment {
  explicit Segment(const Stroke& s)
      : x(s.a.x),
        y(s.a.y),
        dx(s.b.x - s.a.x),
        dy(s.b.y - s.a.y),
        square(dx * dx + dy * dy),
        length(std::max<std::int64_t>(floor_sqrt(square), 1)),
        reach(s.radius + kOne / 2) {}

  /// How near pixel (px, py) is, 0..reach; 0 beyond the reach.
  std::int64_t nearness(int px, int py) const {
    std::int64_t rx = std::int64_t{px} * kOne - x, ry = std::int64_t{py} * kOne - y;
    const std::int64_t along = rx * dx + ry * dy;
    if (along > 0 && along < square) {
      const std::int64_t across = std::abs(rx * dy - ry * dx);
      return across < reach * length ? reach - across / length : 0;
    }
    if (along > 0) rx -= dx, ry -= dy;
    const std::int64_t from_end = rx * rx + ry * ry;
    return from_end < reach * reach ? reach - floor_sqrt(from_end) : 0;
  }

  /// Narrows [x0, x1) to the pixels of row py that can be near: those in the strip along the whole
  /// line, and one more on both sides for the rounding.
  void narrow(int py, int& x0, int& x1) const {
    if (dy == 0) return;
    const std::int64_t middle = (std::int64_t{py} * kOne - y) * dx, half = reach * length;
    const std::int64_t low = (middle - half) / dy, high = (middle + half) / dy;
    x0 = static_cast<int>(std::max<std::int64_t>(x0, ((x + std::min(low, high)) >> 8) - 1));
    x1 = static_cast<int>(std::min<std::int64_t>(x1, ((x + std::max(low, high)) >> 8) + 3));
  }

  std::int64_t x, y, dx, dy, square, length, reach;
};

/// Coverage 256 where the whole pixel is inside, falling to 0 over one pixel across the edge.
void cover(const Stroke& s, Tile& tile) {
  const Span2 area = intersect(bounds(s), tile.area);
  if (area.empty()) return;
  const Segment segment(s);
  for (int y = area.y0; y < area.y1; ++y) {
    int x0 = area.x0, x1 = area.x1;
    segment.narrow(y, x0, x1);
    if (x0 >= x1) continue;
    std::uint16_t* row = tile.touch(y, x0, x1);
    for (int x = x0; x < x1; ++x) {
      const auto c =
          static_cast<std::uint16_t>(std::min<std::int64_t>(segment.nearness(x, y), kOne));
      row[x - x0] = std::max(row[x - x0], c);
    }
  }
}

/// How much of pixel i lies in [low, high), 0..256.
int overlap(int i, int low, int high) {
  return std::max(0, std::min(high, (i + 1) * kOne) - std::max(low, i * kOne));
}

Span2 bounds(const Outline& o) {
  return {o.left >> 8, o.top >> 8, (o.right + kOne - 1) >> 8, (o.bottom + kOne - 1) >> 8};
}

Outline inner(const Outline& o) {
  return {o.left + o.width, o.top + o.width, o.right - o.width, o.bottom - o.width, 0};
}

/// The area is a product of two overlaps, so the coverage is exact.
void cover(const Outline& o, Tile& tile) {
  const Span2 area = intersect(bounds(o), tile.area);
  const Outline in = inner(o);
  for (int y = area.y0; y < area.y1; ++y) {
    const int out_y = overlap(y, o.top, o.bottom), in_y = overlap(y, in.top, in.bottom);
    std::uint16_t* row = tile.touch(y, area.x0, area.x1);
    for (int x = area.x0; x < area.x1; ++x) {
      const int out = overlap(x, o.left, o.right) * out_y;
      const int hole = overlap(x, in.left, in.right) * in_y;
      row[x - area.x0] = static_cast<std::uint16_t>((out - hole + kOne / 2) / kOne);
    }
  }
}

// ---- samples -----------------------------------------------------------------------------------

int load(const Component& c, const std::uint8_t* at) {
  if (c.depth <= 8) return *at >> c.shift;
  std::uint16_t word;
  std::memcpy(&word, at, 2);
  return word >> c.shift;
}

void store(const Component& c, std::uint8_t* at, int value) {
  if (c.depth <= 8) {
    *at = static_cast<std::uint8_t>(value << c.shift);
    return;
  }
  const auto word = static_cast<std::uint16_t>(value << c.shift);
  std::memcpy(at, &word, 2);
}

std::uint8_t* sample(const Component& c, int x, int y) {
  return c.data + y * c.stride + std::ptrdiff_t{x} * c.pixel_stride;
}

/// The samples that hold these pixels; the last one of an odd size stands for fewer pixels.
Span2 samples_of(const Component& c, const Span2& pixels) {
  const int more_x = (1 << c.sub_x) - 1, more_y = (1 << c.sub_y) - 1;
  return {pixels.x0 >> c.sub_x, pixels.y0 >> c.sub_y, (pixels.x1 + more_x) >> c.sub_x,
          (pixels.y1 + more_y) >> c.sub_y};
}

/// Every sample takes the mean coverage of the pixels that it stands for.
void blend(const Component& c, const Tile& tile, int color, int alpha) {
  const int width = tile.area.x1 - tile.area.x0, height = tile.area.y1 - tile.area.y0;
  const int step_x = 1 << c.sub_x, step_y = 1 << c.sub_y;
  for (int y = 0; y < height; y += step_y) {
    const int bottom = std::min(y + step_y, height);
    const int first = *std::min_element(tile.first + y, tile.first + bottom) & -step_x;
    const int last = *std::max_element(tile.last + y, tile.last + bottom);
    if (first >= last) continue;
    const int end = std::min((last + step_x - 1) & -step_x, width);
    int column[kTile];  // coverage of the rows together
    std::copy(tile.coverage[y] + first, tile.coverage[y] + end, column + first);
    for (int row = y + 1; row < bottom; ++row)
      for (int x = first; x < end; ++x) column[x] += tile.coverage[row][x];

    std::uint8_t* at = sample(c, (tile.area.x0 + first) >> c.sub_x, (tile.area.y0 + y) >> c.sub_y);
    for (int x = first; x < end; x += step_x, at += c.pixel_stride) {
      const int right = std::min(x + step_x, end);
      int sum = column[x];
      for (int i = x + 1; i < right; ++i) sum += column[i];
      if (sum == 0) continue;
      const int n = (right - x) * (bottom - y);
      const int weight = (sum + n / 2) / n * alpha / 4;  // 0..2^14
      const int old = load(c, at);
      store(c, at, old + (((color - old) * weight + (1 << 13)) >> 14));
    }
  }
}

/// Cuts `wanted` into tiles and blends what paint(tile) puts into each.
template <typename Paint>
void for_each_tile(const FrameView& frame, const Span2& wanted, const Ink& ink, Paint paint) {
  const Span2 whole = {0, 0, frame.width, frame.height};
  if (ink.alpha == 0 || intersect(wanted, whole).empty()) return;
  const Span2 area = intersect(
      {align_down(wanted.x0), align_down(wanted.y0), align_up(wanted.x1), align_up(wanted.y1)},
      whole);
  Tile tile;
  for (int y = area.y0; y < area.y1; y += kTile) {
    for (int x = area.x0; x < area.x1; x += kTile) {
      tile.area = intersect({x, y, x + kTile, y + kTile}, area);
      tile.clear();
      paint(tile);
      for (std::size_t i = 0; i < ink.value.size(); ++i)
        if (frame.component[i].data) blend(frame.component[i], tile, ink.value[i], ink.alpha);
    }
  }
}

void pixelate_cell(const Component& c, const Span2& pixels) {
  const Span2 area = samples_of(c, pixels);
  std::int64_t sum = 0;
  for (int y = area.y0; y < area.y1; ++y)
    for (int x = area.x0; x < area.x1; ++x) sum += load(c, sample(c, x, y));
  const std::int64_t n = std::int64_t{area.x1 - area.x0} * (area.y1 - area.y0);
  const int mean = static_cast<int>((sum + n / 2) / n);
  for (int y = area.y0; y < area.y1; ++y)
    for (int x = area.x0; x < area.x1; ++x) store(c, sample(c, x, y), mean);
}

std::int64_t rounded_ratio(std::int64_t n, std::int64_t d) {
  return (n >= 0 ? n + d / 2 : n - d / 2) / d;
}

/// Weights of red and blue in luma, in 1/10000 (ITU-R BT.601, BT.709, BT.2020).
struct LumaWeights {
  int red, blue;
};

LumaWeights luma_weights(ColorMatrix matrix) {
  switch (matrix) {
    case ColorMatrix::kBt601:
      return {2990, 1140};
    case ColorMatrix::kBt709:
      return {2126, 722};
    case ColorMatrix::kBt2020:
      return {2627, 593};
  }
  return {2990, 1140};
}

}  // namespace

Ink make_ink(const FrameView& frame, ColorMatrix matrix, Argb color) {
  const int alpha = static_cast<int>(color >> 24);
  const std::int64_t r = color >> 16 & 255, g = color >> 8 & 255, b = color & 255;
  Ink ink;
  ink.alpha = alpha + (alpha >> 7);
  const LumaWeights w = luma_weights(matrix);
  const std::int64_t y = w.red * r + (10000 - w.red - w.blue) * g + w.blue * b;  // 0..2550000
  const std::int64_t from_luma[3] = {y, b * 10000 - y, r * 10000 - y};
  const std::int64_t reach[3] = {2550000, 2 * 255 * (10000 - w.blue), 2 * 255 * (10000 - w.red)};
  const std::int64_t rgb[3] = {r, g, b};
  for (std::size_t i = 0; i < 3; ++i) {
    const int depth = frame.component[i].depth, extra = depth - 8;
    const std::int64_t top = (std::int64_t{1} << depth) - 1;
    if (frame.rgb) {
      ink.value[i] = static_cast<int>(rounded_ratio(rgb[i] * top, 255));
      continue;
    }
    const std::int64_t zero = i > 0 ? 128 << extra : frame.full_range ? 0 : 16 << extra;
    const std::int64_t range = frame.full_range ? top : (i > 0 ? 224 : 219) << extra;
    const std::int64_t value = zero + rounded_ratio(from_luma[i] * range, reach[i]);
    ink.value[i] = static_cast<int>(std::clamp<std::int64_t>(value, 0, top));
  }
  return ink;
}

void fill(const FrameView& frame, std::span<const Stroke> strokes, const Ink& ink) {
  if (strokes.empty()) return;
  Span2 area = bounds(strokes[0]);
  for (const Stroke& s : strokes) area = join(area, bounds(s));
  for_each_tile(frame, area, ink, [&](Tile& tile) {
    for (const Stroke& s : strokes) cover(s, tile);
  });
}

void fill(const FrameView& frame, const Outline& outline, const Ink& ink) {
  // Above, below, left and right of the empty middle, so that no tile lies in it.
  const Span2 out = bounds(outline);
  const Outline in = inner(outline);
  const int left = std::max(out.x0, align_up((in.left >> 8) + 1));
  const int top = std::max(out.y0, align_up((in.top >> 8) + 1));
  const int right = std::max(left, align_down(in.right >> 8));
  const int bottom = std::max(top, align_down(in.bottom >> 8));
  const auto paint = [&](Tile& tile) { cover(outline, tile); };
  for_each_tile(frame, {out.x0, out.y0, out.x1, top}, ink, paint);
  for_each_tile(frame, {out.x0, top, left, bottom}, ink, paint);
  for_each_tile(frame, {right, top, out.x1, bottom}, ink, paint);
  for_each_tile(frame, {out.x0, bottom, out.x1, out.y1}, ink, paint);
}

void pixelate(const FrameView& frame, const Rect& wanted, int block) {
  const Span2 whole = {0, 0, frame.width, frame.height};
  const Span2 area =
      intersect({wanted.x, wanted.y, wanted.x + wanted.w, wanted.y + wanted.h}, whole);
  for (int y = area.y0 / block * block; y < area.y1; y += block)
    for (int x = area.x0 / block * block; x < area.x1; x += block)
      for (const Component& c : frame.component)
        if (c.data) pixelate_cell(c, intersect({x, y, x + block, y + block}, whole));
}

}  // namespace cuface::raster
