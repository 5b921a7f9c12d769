#include "kernels/flow/flow.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "kernels/common/border.h"
#include "kernels/common/simd.h"
#include "kernels/flow/follow.h"
#include "kernels/flow/patch.h"

namespace cuface {
namespace flow_steps {
namespace {

/// Exact: at most 63 products below 2^25.
int dot_row(const std::int16_t* __restrict a, const std::int16_t* __restrict b, int count) {
  int sum = 0;
  for (int x = 0; x < count; ++x) sum += a[x] * b[x];
  return sum;
}

template <int shift, typename T>
void interpolate_row(const T* __restrict p, const T* __restrict below, const Sample& s, int count,
                     std::int16_t* __restrict out) {
  for (int x = 0; x < count; ++x) {
    out[x] = interpolate<shift>(p[x], p[x + 1], below[x], below[x + 1], s);
  }
}

/// What follow() asks of the pixels.
struct PlainPatch {
  FlowScratch& scratch;
  int window;

  GradientSums take(PyramidLevel& level, const Sample& s) {
    return take_patch(around(level, s, window), s, window, scratch);
  }
  MismatchSums compare(PyramidLevel& level, const Sample& s) {
    return compare_patch(around(level, s, window), s, window, scratch);
  }
};

}  // namespace

void gather(const Picture& picture, int x0, int y0, int side, FlowScratch& scratch) {
  const bool inside = x0 >= 0 && x0 + side <= picture.width;
  std::uint8_t* out = scratch.pixels.data();
  for (int y = 0; y < side; ++y, out += scratch.row) {
    const std::uint8_t* from = picture.row(reflect_101(y0 + y, picture.height));
    if (inside) {
      std::memcpy(out, from + x0, static_cast<std::size_t>(side));
    } else {
      for (int x = 0; x < side; ++x) out[x] = from[reflect_101(x0 + x, picture.width)];
    }
  }
}

GradientSums take_patch(const Picture& picture, const Sample& s, int window, FlowScratch& scratch) {
  const int row = scratch.row;
  gather(picture, s.x - 1, s.y - 1, window + 3, scratch);
  const std::uint8_t* pixels = scratch.pixels.data() + row + 1;  // of the window

  std::int16_t* dx = scratch.slopes.data();
  std::int16_t* dy = dx + scratch.block();
  for (int y = 0; y <= window; ++y) {
    for (int x = 0; x <= window; ++x) {
      const int at = y * row + x;
      const bool inside =
          s.x + x >= 0 && s.x + x < picture.width && s.y + y >= 0 && s.y + y < picture.height;
      dx[at] = inside ? scharr_x(pixels + at, row) : std::int16_t{0};
      dy[at] = inside ? scharr_y(pixels + at, row) : std::int16_t{0};
    }
  }

  GradientSums sums{0, 0, 0};
  for (int y = 0; y < window; ++y) {
    const std::ptrdiff_t at = std::ptrdiff_t{y} * row;
    std::int16_t *value = scratch.patch.data() + at, *px = value + scratch.block(),
                 *py = px + scratch.block();
    interpolate_row<kWeightBits - kPatchBits>(pixels + at, pixels + at + row, s, window, value);
    interpolate_row<kWeightBits>(dx + at, dx + at + row, s, window, px);
    interpolate_row<kWeightBits>(dy + at, dy + at + row, s, window, py);
    sums.xx += dot_row(px, px, window);
    sums.xy += dot_row(px, py, window);
    sums.yy += dot_row(py, py, window);
  }
  return sums;
}

MismatchSums compare_patch(const Picture& picture, const Sample& s, int window,
                           FlowScratch& scratch) {
  gather(picture, s.x, s.y, window + 1, scratch);
  MismatchSums sums{0, 0};
  std::int16_t difference[64];
  for (int y = 0; y < window; ++y) {
    const std::uint8_t* p = scratch.pixels.data() + std::ptrdiff_t{y} * scratch.row;
    const std::int16_t* patch = scratch.patch.data() + std::ptrdiff_t{y} * scratch.row;
    interpolate_row<kWeightBits - kPatchBits>(p, p + scratch.row, s, window, difference);
    for (int x = 0; x < window; ++x) {
      difference[x] = static_cast<std::int16_t>(difference[x] - patch[x]);
    }
    sums.x += dot_row(difference, patch + scratch.block(), window);
    sums.y += dot_row(difference, patch + 2 * scratch.block(), window);
  }
  return sums;
}

}  // namespace flow_steps

Status validate(const FlowConfig& config) {
  const auto invalid = [](const char* what) {
    return Status(StatusCode::kInvalidArgument, std::string("flow: ") + what);
  };
  if (config.window < GaussianPyramid::kMinWindow || config.window > 63 || config.window % 2 == 0) {
    return invalid("the window must be odd and between 5 and 63");
  }
  if (config.levels < 1 || config.levels > GaussianPyramid::kMaxLevels)
    return invalid("levels must be between 1 and 10");
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

FlowScratch::FlowScratch(const FlowConfig& config)
    : row((config.window + kLanes - 1) / kLanes * kLanes + kLanes), rows(config.window + 3) {
  const auto size = static_cast<std::size_t>(block());
  pixels.resize(size);
  slopes.resize(2 * size);
  patch.resize(3 * size);
}

namespace {

/// The points between two looks at a flag: of the slowest settings one takes milliseconds.
std::size_t points_per_look(const FlowConfig& config) {
  constexpr int kPixels = 1 << 22;
  const int most = config.levels * config.max_iterations * config.window * config.window;
  return static_cast<std::size_t>(std::max(kPixels / most, 1));
}

}  // namespace

bool flow(GaussianPyramid& prev, GaussianPyramid& next, std::span<const Point> from,
          std::span<Point> to, std::span<std::uint8_t> status, const FlowConfig& config,
          FlowScratch& scratch, const StopFlag* stop) {
  using namespace flow_steps;
  const int levels = used_levels(prev, std::min(prev.levels(), next.levels()), config);
  const std::size_t most = points_per_look(config);
  for (std::size_t first = 0; first < from.size(); first += most) {
    if (is_raised(stop)) return false;
    const std::size_t count = std::min(most, from.size() - first);
    if (simd::vectors()) {
      flow_vector(prev, next, levels, from.subspan(first, count), to.subspan(first, count),
                  status.subspan(first, count), config, scratch);
      continue;
    }
    PlainPatch patch{scratch, config.window};
    for (std::size_t i = first; i < first + count; ++i) {
      status[i] = follow(patch, prev, next, levels, from[i], config, to[i]) ? 1 : 0;
    }
  }
  return true;
}

}  // namespace cuface
