#include "kernels/flow/flow.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "kernels/common/border.h"
#include "kernels/flow/follow.h"

namespace cuface {
namespace {

using namespace flow_steps;

constexpr int kLanes = 8;  // rows are padded to this, so that loops over them vectorise

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

void scharr_row(const std::uint8_t* __restrict p, int row, int count, std::int16_t* __restrict dx,
                std::int16_t* __restrict dy) {
  for (int x = 0; x < count; ++x) {
    dx[x] = scharr_x(p + x, row);
    dy[x] = scharr_y(p + x, row);
  }
}

template <int shift, typename T>
void interpolate_row(const T* __restrict p, const T* __restrict below, const Sample& s, int count,
                     std::int16_t* __restrict out) {
  for (int x = 0; x < count; ++x) {
    out[x] = interpolate<shift>(p[x], p[x + 1], below[x], below[x + 1], s);
  }
}

/// Exact: at most 63 products below 2^25.
int dot_row(const std::int16_t* __restrict a, const std::int16_t* __restrict b, int count) {
  int sum = 0;
  for (int x = 0; x < count; ++x) sum += a[x] * b[x];
  return sum;
}

/// Fills scratch.patch from the window at `s`. Pixels outside the picture are reflected, but their
/// derivatives are 0.
GradientSums take_patch(Picture picture, const Sample& s, int window, FlowScratch& scratch) {
  const int row = scratch.row;
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
  return {xx, xy, yy};
}

MismatchSums compare_patch(Picture picture, const Sample& s, int window, FlowScratch& scratch) {
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
  return {bx, by};
}

/// What follow() asks of the pixels.
struct ScratchPatch {
  FlowScratch& scratch;
  int window;

  GradientSums take(const Picture& picture, const Sample& s) {
    return take_patch(picture, s, window, scratch);
  }
  MismatchSums compare(const Picture& picture, const Sample& s) {
    return compare_patch(picture, s, window, scratch);
  }
};

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
  const int levels = used_levels(prev, std::min(prev.levels(), next.levels()), config);
  ScratchPatch patch{scratch, config.window};
  for (std::size_t i = 0; i < from.size(); ++i) {
    status[i] = follow(patch, prev, next, levels, from[i], config, to[i]) ? 1 : 0;
  }
}

}  // namespace cuface
