#include "kernels/overlay/raster.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "kernels/common/simd.h"
#include "kernels/overlay/blend_vector.h"

namespace cuface::raster {
namespace {

int align_down(int v) { return v & -kAlign; }
int align_up(int v) { return (v + kAlign - 1) & -kAlign; }

/// Coverage of the pixels from (area.x0, area.y0) on.
struct Tile : CoverageTile {
  Span2 area;
  bool inside;  ///< kTile x kTile pixels from there on lie in the frame

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

/// A stroke that is to be drawn into several tiles.
struct Pen {
  Span2 area;
  Segment segment;
  /// The strip along the whole line, in pixels: where its middle is in row 0, how far that moves a
  /// row, and half its width along the row. Without meaning where segment.dy == 0.
  double middle, slope, half;
};

Pen pen_of(const Stroke& stroke) {
  const Segment s = segment_of(stroke);
  const auto dy = static_cast<double>(s.dy == 0 ? 1 : s.dy);
  const double slope = static_cast<double>(s.dx) / dy;
  // length is rounded down: with one more, nothing near an end is outside of the strip.
  const double half = static_cast<double>(s.reach * (s.length + 1)) / std::abs(dy);
  const double middle = static_cast<double>(s.x) - static_cast<double>(s.y) * slope;
  return {bounds(stroke), s, middle / kOne, slope, half / kOne};
}

void cover(const Pen& pen, Tile& tile) {
  const Span2 area = intersect(pen.area, tile.area);
  for (int y = area.y0; y < area.y1; ++y) {
    int x0 = area.x0, x1 = area.x1;
    if (pen.segment.dy != 0) {
      // To the pixels that can be near, and one more on both sides for the rounding.
      const double middle = pen.middle + y * pen.slope;
      x0 = static_cast<int>(std::clamp<double>(middle - pen.half - 1, area.x0, area.x1));
      x1 = static_cast<int>(std::clamp<double>(middle + pen.half + 2, area.x0, area.x1));
    }
    if (x0 >= x1) continue;
    std::uint16_t* row = tile.touch(y, x0, x1);
    for (int x = x0; x < x1; ++x) row[x - x0] = std::max(row[x - x0], pen.segment.coverage(x, y));
  }
}

void cover(const Outline& o, Tile& tile) {
  const Span2 area = intersect(bounds(o), tile.area);
  const Outline in = inner(o);
  for (int y = area.y0; y < area.y1; ++y) {
    std::uint16_t* row = tile.touch(y, area.x0, area.x1);
    for (int x = area.x0; x < area.x1; ++x) row[x - area.x0] = coverage(o, in, x, y);
  }
}

// ---- samples -----------------------------------------------------------------------------------

/// Without a branch a pixel: which ones are covered is another pattern in every frame. The
/// component comes by value, as the samples are bytes and writing them could change it otherwise.
void blend_row(const Component c, std::uint8_t* at, const int* coverage, int samples, int color,
               int alpha) {
  if (c.depth <= 8 && c.shift == 0 && c.pixel_stride == 1) {
    for (int i = 0; i < samples; ++i)
      at[i] = static_cast<std::uint8_t>(blended(at[i], color, alpha, coverage[i]));
    return;
  }
  for (int i = 0; i < samples; ++i, at += c.pixel_stride)
    blend_sample(c, at, color, alpha, coverage[i]);
}

/// The coverage of pixels, summed over `rows` rows, becomes that of samples `step` pixels wide, in
/// place. Returns how many there are; the last one may be narrower.
template <int step>
int to_samples(int* coverage, int pixels, int rows) {
  if (step == 1 && rows == 1) return pixels;
  const int whole = pixels / step, rest = pixels % step;
  for (int i = 0; i < whole; ++i) {
    int sum = 0;
    for (int k = 0; k < step; ++k) sum += coverage[i * step + k];
    coverage[i] = mean_coverage(sum, step * rows);
  }
  if (rest == 0) return whole;
  coverage[whole] =
      mean_coverage(std::accumulate(coverage + whole * step, coverage + pixels, 0), rest * rows);
  return whole + 1;
}

/// Every sample takes the mean coverage of the pixels that it stands for.
void blend(const Component& c, const Tile& tile, int color, int alpha) {
  const int width = tile.area.x1 - tile.area.x0, height = tile.area.y1 - tile.area.y0;
  const int step_x = 1 << c.sub_x, step_y = 1 << c.sub_y;
  if (tile.inside && c.sub_x == c.sub_y && c.sub_x <= 1 && c.depth <= 8 && c.shift == 0 &&
      c.pixel_stride == 1 && simd::vectors()) {
    const auto blend_tile = c.sub_x == 0 ? blend_tile_1 : blend_tile_2;
    blend_tile(sample(c, tile.area.x0 >> c.sub_x, tile.area.y0 >> c.sub_y), c.stride, tile, color,
               alpha);
    return;
  }
  for (int y = 0; y < height; y += step_y) {
    const int bottom = std::min(y + step_y, height);
    const int first = *std::min_element(tile.first + y, tile.first + bottom) & -step_x;
    const int last = *std::max_element(tile.last + y, tile.last + bottom);
    if (first >= last) continue;
    const int pixels = std::min((last + step_x - 1) & -step_x, width) - first;
    int coverage[kTile];
    std::copy_n(tile.coverage[y] + first, pixels, coverage);
    for (int row = y + 1; row < bottom; ++row)
      for (int i = 0; i < pixels; ++i) coverage[i] += tile.coverage[row][first + i];
    const int rows = bottom - y;
    const int samples = step_x == 1   ? to_samples<1>(coverage, pixels, rows)
                        : step_x == 2 ? to_samples<2>(coverage, pixels, rows)
                                      : to_samples<4>(coverage, pixels, rows);
    std::uint8_t* at = sample(c, (tile.area.x0 + first) >> c.sub_x, (tile.area.y0 + y) >> c.sub_y);
    blend_row(c, at, coverage, samples, color, alpha);
  }
}

/// Cuts `area` into tiles and blends what paint(tile) puts into each.
template <typename Paint>
void for_each_tile(const FrameView& frame, const Span2& area, const Ink& ink, Paint paint) {
  Tile tile;
  for (int y = area.y0; y < area.y1; y += kTile) {
    for (int x = area.x0; x < area.x1; x += kTile) {
      const Span2 square = {x, y, x + kTile, y + kTile};
      tile.area = intersect(square, area);
      tile.inside = square.x1 <= frame.width && square.y1 <= frame.height;
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
  const int mean = mean_of(sum, n);
  for (int y = area.y0; y < area.y1; ++y)
    for (int x = area.x0; x < area.x1; ++x) store(c, sample(c, x, y), mean);
}

std::int64_t rounded_ratio(std::int64_t n, std::int64_t d) {
  return (n >= 0 ? n + d / 2 : n - d / 2) / d;
}

}  // namespace

Span2 visible(const FrameView& frame, const Span2& wanted) {
  const Span2 whole = {0, 0, frame.width, frame.height};
  if (intersect(wanted, whole).empty()) return {};
  return intersect(
      {align_down(wanted.x0), align_down(wanted.y0), align_up(wanted.x1), align_up(wanted.y1)},
      whole);
}

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

Inks make_inks(const FrameView& frame, ColorMatrix matrix, const OverlayStyle& style) {
  Inks inks{make_ink(frame, matrix, style.box_color),
            make_ink(frame, matrix, style.text_color),
            make_ink(frame, matrix, style.text_color & 0xff000000),
            {}};
  const Argb own = style.landmark_color, alpha = own >> 24;
  // Weak points are dim.
  const Argb dim = (alpha * 3 / 8) << 24 | (own & 0xffffff), opaque = alpha << 24;
  const Argb colours[kLandmarkInks] = {
      own, dim, opaque | 0x00d000, opaque | 0xffe000, opaque | 0xff8000, opaque | 0xff0000};
  for (int i = 0; i < kLandmarkInks; ++i) inks.landmark[i] = make_ink(frame, matrix, colours[i]);
  return inks;
}

void fill(const FrameView& frame, std::span<const Stroke> strokes, const Ink& ink) {
  if (strokes.empty() || ink.alpha == 0) return;
  std::array<Pen, kBatch> pens;
  std::transform(strokes.begin(), strokes.end(), pens.begin(), pen_of);
  Span2 wanted = pens[0].area;
  for (std::size_t i = 1; i < strokes.size(); ++i) wanted = join(wanted, pens[i].area);
  const Span2 area = visible(frame, wanted);
  // Most strokes cross few tiles: those of a row of tiles are looked up once.
  std::array<const Pen*, kBatch> near;
  for (int y = area.y0; y < area.y1; y += kTile) {
    const Span2 row = intersect(area, {area.x0, y, area.x1, y + kTile});
    std::size_t count = 0;
    for (std::size_t i = 0; i < strokes.size(); ++i)
      if (!intersect(pens[i].area, row).empty()) near[count++] = &pens[i];
    for_each_tile(frame, row, ink, [&](Tile& tile) {
      for (std::size_t i = 0; i < count; ++i) cover(*near[i], tile);
    });
  }
}

void fill(const FrameView& frame, const Outline& outline, const Ink& ink) {
  if (ink.alpha == 0) return;
  // Above, below, left and right of the empty middle, so that no tile lies in it.
  const Span2 out = bounds(outline);
  const Outline in = inner(outline);
  const int left = std::max(out.x0, align_up((in.left >> 8) + 1));
  const int top = std::max(out.y0, align_up((in.top >> 8) + 1));
  const int right = std::max(left, align_down(in.right >> 8));
  const int bottom = std::max(top, align_down(in.bottom >> 8));
  const auto draw = [&](const Span2& side) {
    for_each_tile(frame, visible(frame, side), ink, [&](Tile& tile) { cover(outline, tile); });
  };
  draw({out.x0, out.y0, out.x1, top});
  draw({out.x0, top, left, bottom});
  draw({right, top, out.x1, bottom});
  draw({out.x0, bottom, out.x1, out.y1});
}

void pixelate(const FrameView& frame, const Rect& wanted, int block) {
  const Span2 whole = {0, 0, frame.width, frame.height};
  const Span2 cells = cells_of(frame.width, frame.height, wanted, block);
  for (int y = cells.y0; y < cells.y1; y += block)
    for (int x = cells.x0; x < cells.x1; x += block)
      for (const Component& c : frame.component)
        if (c.data) pixelate_cell(c, intersect({x, y, x + block, y + block}, whole));
}

}  // namespace cuface::raster
