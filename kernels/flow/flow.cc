#include "kernels/flow/flow.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/common/border.h"

namespace cuface {
namespace {

constexpr int kWeightBits = 14;  // of a bilinear weight
constexpr int kPatchBits = 5;    // fraction bits of a patch value
constexpr int kLanes = 8;        // rows are padded to this, so that loops over them vectorise

using Picture = ImageView<const std::uint8_t>;

/// A position: whole pixel and the four bilinear weights, which sum to 2^14.
struct Sample {
  int x, y;
  std::int16_t w00, w01, w10, w11;
};

/// Round to nearest, ties to even, as OpenCV's cvRound.
int round_weight(float v) { return static_cast<int>(std::lrintf(v)); }

/// `p` is finite and its floor fits an int.
Sample sample_at(Point p) {
  const float fx = std::floor(p.x), fy = std::floor(p.y);
  const float a = p.x - fx, b = p.y - fy;
  constexpr float one = 1 << kWeightBits;
  const int w00 = round_weight((1.0f - a) * (1.0f - b) * one);
  const int w01 = round_weight(a * (1.0f - b) * one);
  const int w10 = round_weight((1.0f - a) * b * one);
  const int w11 = (1 << kWeightBits) - w00 - w01 - w10;
  return {static_cast<int>(fx),           static_cast<int>(fy),
          static_cast<std::int16_t>(w00), static_cast<std::int16_t>(w01),
          static_cast<std::int16_t>(w10), static_cast<std::int16_t>(w11)};
}

float half_window(const FlowConfig& config) { return static_cast<float>(config.window - 1) * 0.5f; }

/// May a window whose top-left corner is `p` be read? It may hang out by its whole width.
bool readable(Point p, int window, Picture picture) {
  const auto out = static_cast<float>(-window);
  return p.x >= out && p.x < static_cast<float>(picture.width) && p.y >= out &&
         p.y < static_cast<float>(picture.height);
}

/// Copies a side x side block whose corner is (x0, y0), with BORDER_REFLECT_101 outside.
void gather(Picture picture, int x0, int y0, int side, int row, std::uint8_t* out) {
  const bool inside = x0 >= 0 && x0 + side <= picture.width;
  for (int y = 0; y < side; ++y, out += row) {
    const std::uint8_t* from = picture.row(reflect_101(y0 + y, picture.height));
    if (inside) {
      std::memcpy(out, from + x0, static_cast<std::size_t>(side));
    } else {
      for (int x = 0; x < side; ++x) out[x] = from[reflect_101(x0 + x, picture.width)];
    }
  }
}

/// Scharr derivatives (3 10 3, not normalised) of `count` pixels; `p` points at the first.
void scharr_row(const std::uint8_t* __restrict p, int row, int count, std::int16_t* __restrict dx,
                std::int16_t* __restrict dy) {
  const std::uint8_t *up = p - row, *down = p + row;
  for (int x = 0; x < count; ++x) {
    dx[x] = static_cast<std::int16_t>(3 * (up[x + 1] - up[x - 1] + down[x + 1] - down[x - 1]) +
                                      10 * (p[x + 1] - p[x - 1]));
    dy[x] = static_cast<std::int16_t>(3 * (down[x - 1] - up[x - 1] + down[x + 1] - up[x + 1]) +
                                      10 * (down[x] - up[x]));
  }
}

/// Bilinear samples of one row, rounded down to `kWeightBits - shift` fraction bits.
template <int shift, typename T>
void interpolate_row(const T* __restrict p, const T* __restrict below, const Sample& s, int count,
                     std::int16_t* __restrict out) {
  for (int x = 0; x < count; ++x) {
    const auto p00 = static_cast<std::int16_t>(p[x]);
    const auto p01 = static_cast<std::int16_t>(p[x + 1]);
    const auto p10 = static_cast<std::int16_t>(below[x]);
    const auto p11 = static_cast<std::int16_t>(below[x + 1]);
    const int sum = p00 * s.w00 + p01 * s.w01 + p10 * s.w10 + p11 * s.w11;
    out[x] = static_cast<std::int16_t>((sum + (1 << (shift - 1))) >> shift);
  }
}

/// Exact: at most 63 products below 2^25.
int dot_row(const std::int16_t* __restrict a, const std::int16_t* __restrict b, int count) {
  int sum = 0;
  for (int x = 0; x < count; ++x) sum += a[x] * b[x];
  return sum;
}

/// The spatial gradient matrix of a patch, and whether it can be inverted.
struct Gradient {
  float xx, xy, yy;
  float inverse_det;
  bool usable;
};

constexpr float kScale = 1.0f / (1 << 20);

Gradient make_gradient(std::int64_t xx, std::int64_t xy, std::int64_t yy, int window,
                       float min_eigen) {
  Gradient g{static_cast<float>(xx) * kScale, static_cast<float>(xy) * kScale,
             static_cast<float>(yy) * kScale, 0, false};
  const float det = g.xx * g.yy - g.xy * g.xy;
  const float diff = g.xx - g.yy;
  const float smaller = (g.yy + g.xx - std::sqrt(diff * diff + 4.0f * g.xy * g.xy)) /
                        static_cast<float>(2 * window * window);
  g.usable = smaller >= min_eigen && det >= 1.1920929e-7f;
  g.inverse_det = 1.0f / det;
  return g;
}

/// Fills scratch.patch from the window at `s` and returns its gradient. Pixels outside the picture
/// are reflected, but their derivatives are 0.
Gradient take_patch(Picture picture, const Sample& s, const FlowConfig& config,
                    FlowScratch& scratch) {
  const int window = config.window, row = scratch.row;
  const int padded = row - kLanes;
  const std::ptrdiff_t block = static_cast<std::ptrdiff_t>(window + 3) * row;
  gather(picture, s.x - 1, s.y - 1, window + 3, row, scratch.pixels.data());

  std::int16_t* dx = scratch.slopes.data();
  std::int16_t* dy = dx + block;
  for (int y = 0; y <= window; ++y) {
    std::int16_t *dx_row = dx + y * row, *dy_row = dy + y * row;
    scharr_row(scratch.pixels.data() + (y + 1) * row + 1, row, window + 1, dx_row, dy_row);
    if (s.y + y < 0 || s.y + y >= picture.height) {
      std::fill_n(dx_row, window + 1, std::int16_t{0});
      std::fill_n(dy_row, window + 1, std::int16_t{0});
    }
  }
  for (int x = 0; x <= window; ++x) {
    if (s.x + x >= 0 && s.x + x < picture.width) continue;
    for (int y = 0; y <= window; ++y) dx[y * row + x] = dy[y * row + x] = 0;
  }

  std::int64_t xx = 0, xy = 0, yy = 0;
  std::int16_t* patch = scratch.patch.data();
  for (int y = 0; y < window; ++y) {
    const std::uint8_t* p = scratch.pixels.data() + (y + 1) * row + 1;
    std::int16_t *value = patch + y * row, *px = value + block, *py = px + block;
    interpolate_row<kWeightBits - kPatchBits>(p, p + row, s, padded, value);
    interpolate_row<kWeightBits>(dx + y * row, dx + (y + 1) * row, s, padded, px);
    interpolate_row<kWeightBits>(dy + y * row, dy + (y + 1) * row, s, padded, py);
    std::fill(px + window, px + padded, std::int16_t{0});  // the padding adds nothing to any sum
    std::fill(py + window, py + padded, std::int16_t{0});
    xx += dot_row(px, px, padded);
    xy += dot_row(px, py, padded);
    yy += dot_row(py, py, padded);
  }
  return make_gradient(xx, xy, yy, window, config.min_eigen);
}

/// The right-hand side: sums of (next - prev) times the derivatives, over the window at `s`.
struct Mismatch {
  float x, y;
};

Mismatch compare(Picture picture, const Sample& s, int window, FlowScratch& scratch) {
  const int row = scratch.row, padded = row - kLanes;
  const std::ptrdiff_t block = static_cast<std::ptrdiff_t>(window + 3) * row;
  const std::uint8_t* p = nullptr;
  std::ptrdiff_t stride = 0;
  if (s.x >= 0 && s.y >= 0 && s.x + padded + 1 <= picture.width &&
      s.y + window + 1 <= picture.height) {
    p = picture.row(s.y) + s.x;
    stride = picture.stride;
  } else {
    gather(picture, s.x, s.y, window + 1, row, scratch.pixels.data());
    p = scratch.pixels.data();
    stride = row;
  }
  std::int64_t bx = 0, by = 0;
  const std::int16_t* patch = scratch.patch.data();
  std::int16_t value[64];
  for (int y = 0; y < window; ++y, p += stride, patch += row) {
    interpolate_row<kWeightBits - kPatchBits>(p, p + stride, s, padded, value);
    for (int x = 0; x < padded; ++x) value[x] = static_cast<std::int16_t>(value[x] - patch[x]);
    bx += dot_row(value, patch + block, padded);
    by += dot_row(value, patch + 2 * block, padded);
  }
  return {static_cast<float>(bx) * kScale, static_cast<float>(by) * kScale};
}

/// Newton steps on one level from the estimate `to`, which they improve; false when the window left
/// the picture.
bool iterate(Picture next, const Gradient& g, const FlowConfig& config, FlowScratch& scratch,
             Point& to) {
  const float half = half_window(config);
  const double epsilon2 = static_cast<double>(config.epsilon) * config.epsilon;
  Point corner{to.x - half, to.y - half}, previous{};
  for (int j = 0; j < config.max_iterations; ++j) {
    if (!readable(corner, config.window, next)) return false;
    const Mismatch b = compare(next, sample_at(corner), config.window, scratch);
    const Point step{(g.xy * b.y - g.yy * b.x) * g.inverse_det,
                     (g.xy * b.x - g.xx * b.y) * g.inverse_det};
    corner = {corner.x + step.x, corner.y + step.y};
    to = {corner.x + half, corner.y + half};
    const double dx = step.x, dy = step.y;
    if (dx * dx + dy * dy <= epsilon2) break;
    // Two opposite steps: the estimate swings around the solution, which is half a step back.
    if (j > 0 && std::abs(step.x + previous.x) < 0.01 && std::abs(step.y + previous.y) < 0.01) {
      to = {to.x - step.x * 0.5f, to.y - step.y * 0.5f};
      break;
    }
    previous = step;
  }
  return readable({to.x - half, to.y - half}, config.window, next);
}

/// One point through all levels, coarsest first.
bool follow(const GaussianPyramid& prev, const GaussianPyramid& next, int levels, Point from,
            const FlowConfig& config, FlowScratch& scratch, Point& to) {
  const float half = half_window(config);
  bool good = false;
  for (int level = levels - 1; level >= 0; --level) {
    const float scale = 1.0f / static_cast<float>(1 << level);
    const Point start{from.x * scale, from.y * scale};
    to = level == levels - 1 ? start : Point{to.x * 2.0f, to.y * 2.0f};
    const Picture a = prev.level(level);
    const Point corner{start.x - half, start.y - half};
    good = readable(corner, config.window, a);
    if (!good) continue;
    const Gradient g = take_patch(a, sample_at(corner), config, scratch);
    good = g.usable;
    if (!good) continue;
    good = iterate(next.level(level), g, config, scratch, to);
  }
  return good;
}

int padded_row(int window) { return (window + kLanes - 1) / kLanes * kLanes + kLanes; }

}  // namespace

Status validate(const FlowConfig& config) {
  const auto invalid = [](const char* what) {
    return Status(StatusCode::kInvalidArgument, std::string("flow: ") + what);
  };
  if (config.window < 5 || config.window > 63 || config.window % 2 == 0) {
    return invalid("the window must be odd and between 5 and 63");
  }
  if (config.levels < 1 || config.levels > 10) return invalid("levels must be between 1 and 10");
  if (config.max_iterations < 1 || config.max_iterations > 100) {
    return invalid("max_iterations must be between 1 and 100");
  }
  if (!(config.epsilon >= 0 && config.epsilon <= 10)) {
    return invalid("epsilon must be between 0 and 10");
  }
  if (!(config.min_eigen >= 0 && config.min_eigen <= 1)) {
    return invalid("min_eigen must be between 0 and 1");
  }
  return {};
}

FlowScratch::FlowScratch(const FlowConfig& config) : row(padded_row(config.window)) {
  const auto block = static_cast<std::size_t>((config.window + 3) * row);
  pixels.resize(block + kLanes);
  slopes.resize(2 * block + kLanes);
  patch.resize(3 * block + kLanes);
}

void flow(const GaussianPyramid& prev, const GaussianPyramid& next, std::span<const Point> from,
          std::span<Point> to, std::span<std::uint8_t> status, const FlowConfig& config,
          FlowScratch& scratch) {
  int levels = std::min({config.levels, prev.levels(), next.levels()});
  while (levels > 1 &&
         std::min(prev.level(levels - 1).width, prev.level(levels - 1).height) <= config.window) {
    --levels;
  }
  for (std::size_t i = 0; i < from.size(); ++i) {
    status[i] = follow(prev, next, levels, from[i], config, scratch, to[i]) ? 1 : 0;
  }
}

}  // namespace cuface
