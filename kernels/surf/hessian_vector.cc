#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/surf/hessian_vector.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>

#include "kernels/common/dispatch.h"
#include "kernels/surf/vector.h"

#ifndef CUFACE_SURF_HESSIAN_VECTOR
#define CUFACE_SURF_HESSIAN_VECTOR
namespace cuface::surf {

/// The corners of the wavelets in the sums at a row's first place, and what a pixel weighs.
struct Corners {
  const std::uint32_t* xx[2][4];  ///< row by row
  const std::uint32_t* yy[4][2];
  const std::uint32_t* xy[4][4];
  float of_xx, of_yy, of_xy;
};

/// Determinants around a row: of the layer below, its own and the one above.
struct RowsAround {
  const float* at[3][3];
};

}  // namespace cuface::surf
#endif

HWY_BEFORE_NAMESPACE();
namespace cuface::surf::HWY_NAMESPACE {
#if HWY_TARGET == HWY_SCALAR
// Never chosen: without vectors the plain version runs.
void determinants(const Corners&, int, float*) {}
int maxima(const RowsAround&, int, int, float, int*) { return 0; }
void split_columns(const std::uint32_t*, int, std::uint32_t*, std::uint32_t*) {}
#else

namespace hn = hwy::HWY_NAMESPACE;

/// `count` determinants, and some more.
void determinants(const Corners& c, int count, float* out) {
  const hn::ScalableTag<float> d;
  const hn::RebindToUnsigned<decltype(d)> sums;
  const hn::RebindToSigned<decltype(d)> words;
  const auto of_xx = hn::Set(d, c.of_xx), of_yy = hn::Set(d, c.of_yy), of_xy = hn::Set(d, c.of_xy);
  const auto part = hn::Set(d, 0.81f);
  for (int x = 0; x < count; x += static_cast<int>(hn::Lanes(d))) {
    const auto at = [&](const std::uint32_t* corner) { return hn::LoadU(sums, corner + x); };
    // A third of a wavelet counts twice, with the other sign: all less three times it.
    const auto whole_less_middle = [&](auto v0, auto v1, auto v2, auto v3) {
      const auto middle = hn::Sub(v2, v1);
      return hn::Sub(hn::Sub(v3, v0), hn::Add(middle, hn::Add(middle, middle)));
    };
    const auto derivative = [&](auto v, auto weight) {
      return hn::Mul(hn::ConvertTo(d, hn::BitCast(words, v)), weight);
    };
    const auto column = [&](int i) { return hn::Sub(at(c.xx[1][i]), at(c.xx[0][i])); };
    const auto row = [&](int i) { return hn::Sub(at(c.yy[i][1]), at(c.yy[i][0])); };
    const auto halves = [&](int i) {
      return hn::Sub(hn::Sub(at(c.xy[i][1]), at(c.xy[i][0])),
                     hn::Sub(at(c.xy[i][3]), at(c.xy[i][2])));
    };
    const auto dx =
        derivative(whole_less_middle(column(0), column(1), column(2), column(3)), of_xx);
    const auto dy = derivative(whole_less_middle(row(0), row(1), row(2), row(3)), of_yy);
    const auto dxy =
        derivative(hn::Sub(hn::Sub(halves(1), halves(0)), hn::Sub(halves(3), halves(2))), of_xy);
    hn::StoreU(hn::Sub(hn::Mul(dx, dy), hn::Mul(hn::Mul(part, dxy), dxy)), d, out + x);
  }
}

/// The places from `first` to `end`, `end` without, that may be maxima; `out` has room for a vector
/// more.
int maxima(const RowsAround& rows, int first, int end, float threshold, int* out) {
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> words;
  const auto least = hn::Set(d, threshold - kTolerance), apart = hn::Set(d, 2 * kTolerance);
  int found = 0;
  for (int x = first; x < end; x += static_cast<int>(hn::Lanes(d))) {
    const auto at = [&](int layer, int row, int u) {
      return hn::LoadU(d, rows.at[layer][row] + x + u);
    };
    const auto centre = at(1, 1, 0);
    auto may = hn::And(hn::Gt(centre, least), hn::FirstN(d, static_cast<std::size_t>(end - x)));
    if (hn::AllFalse(d, may)) continue;
    const auto above = hn::Add(centre, apart);
    const auto three = [&](int layer, int row) {
      return hn::Max(at(layer, row, 0), hn::Max(at(layer, row, -1), at(layer, row, 1)));
    };
    const auto beside = hn::Max(at(1, 1, -1), at(1, 1, 1));
    may = hn::And(may, hn::Gt(above, hn::Max(beside, hn::Max(three(1, 0), three(1, 2)))));
    for (const int layer : {0, 2}) {
      if (hn::AllFalse(d, may)) break;
      may = hn::And(
          may, hn::Gt(above, hn::Max(three(layer, 1), hn::Max(three(layer, 0), three(layer, 2)))));
    }
    if (hn::AllFalse(d, may)) continue;
    const auto places = hn::Iota(words, x);
    found +=
        static_cast<int>(hn::CompressStore(places, hn::RebindMask(words, may), words, out + found));
  }
  return found;
}

/// Of `count` pairs of columns the first ones and the second ones, and some more.
void split_columns(const std::uint32_t* in, int count, std::uint32_t* first,
                   std::uint32_t* second) {
  const hn::ScalableTag<std::uint32_t> d;
  for (int i = 0; i < count; i += static_cast<int>(hn::Lanes(d))) {
    hn::Vec<decltype(d)> a, b;
    hn::LoadInterleaved2(d, in + 2 * i, a, b);
    hn::StoreU(a, d, first + i);
    hn::StoreU(b, d, second + i);
  }
}

#endif
}  // namespace cuface::surf::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cuface::surf {

HWY_EXPORT(determinants);
HWY_EXPORT(maxima);
HWY_EXPORT(split_columns);

namespace {

/// Below it too many places pass the tolerance.
constexpr float kLeastThreshold = 3;

}  // namespace

bool VectorFinder::takes(const SurfConfig& config) {
  return config.threshold >= kLeastThreshold &&
         LayerPlan(config.octaves - 1, config.layers + 1, 1, 1).size <= kMostWholeSize;
}

const std::uint32_t* VectorFinder::Columns::at(int x, int y) const {
  return values.data() +
         (static_cast<std::size_t>(y) * static_cast<std::size_t>(step) +
          static_cast<std::size_t>(x & (step - 1))) *
             static_cast<std::size_t>(pitch) +
         x / step;
}

/// columns_ := those of the next octave.
void VectorFinder::split() {
  std::swap(columns_, before_);
  const int step = 2 * before_.step, count = (sums_.width + step - 1) / step;
  columns_.step = step;
  columns_.pitch = count + kSpareColumns;
  columns_.height = sums_.height;
  columns_.values.resize(static_cast<std::size_t>(sums_.height) * static_cast<std::size_t>(step) *
                         static_cast<std::size_t>(columns_.pitch));
  const auto split = CUFACE_DISPATCH(split_columns);
  const auto to = [&](int x, int y) { return const_cast<std::uint32_t*>(columns_.at(x, y)); };
  for (int y = 0; y < sums_.height; ++y)
    for (int x = 0; x < before_.step; ++x)
      split(before_.step == 1 ? sums_.row(y) : before_.at(x, y), count, to(x, y),
            to(x + before_.step, y));
}

void VectorFinder::fill_row(const LayerPlan& plan, int y, float* out) const {
  const int top = (y - plan.margin) * plan.step;
  const auto at = [&](int x, int v) {
    return plan.step == 1 ? sums_.row(top + v) + x : columns_.at(x, top + v);
  };
  Corners corners;
  const WaveletBox *xx = plan.xx, *yy = plan.yy, *xy = plan.xy;
  const int across[4] = {xx[0].x0, xx[0].x1, xx[1].x1, xx[2].x1};
  const int rows[4] = {yy[0].y0, yy[0].y1, yy[1].y1, yy[2].y1};
  const int quarters[4] = {xy[0].x0, xy[0].x1, xy[1].x0, xy[1].x1};
  for (int i = 0; i < 4; ++i) {
    corners.xx[0][i] = at(across[i], xx[0].y0);
    corners.xx[1][i] = at(across[i], xx[0].y1);
    corners.yy[i][0] = at(yy[0].x0, rows[i]);
    corners.yy[i][1] = at(yy[0].x1, rows[i]);
    for (int k = 0; k < 4; ++k) corners.xy[i][k] = at(quarters[k], quarters[i]);
  }
  corners.of_xx = xx[0].weight;
  corners.of_yy = yy[0].weight;
  corners.of_xy = xy[0].weight;
  CUFACE_DISPATCH(determinants)(corners, plan.across, out + plan.margin);
}

bool VectorFinder::begin(ImageView<const std::uint32_t> sums, const SurfConfig& config,
                         const StopFlag* stop) {
  sums_ = sums;
  config_ = config;
  heap_.clear();
  layers_.clear();
  columns_.step = 1;
  for (int octave = 0; octave < config.octaves; ++octave) {
    for (int i = 0; i < config.layers + 2; ++i)
      layers_.emplace_back(octave, i, sums.width - 1, sums.height - 1);
    if (octave > 0) split();
    if (!find_in(octave, stop)) return false;
  }
  std::make_heap(heap_.begin(), heap_.end());
  return true;
}

bool VectorFinder::find_in(int octave, const StopFlag* stop) {
  const int count = config_.layers + 2, base = octave * count;
  const LayerPlan* plans = &layers_[static_cast<std::size_t>(base)];
  const int columns = plans[0].columns, rows = plans[0].rows;
  const int pitch = columns + kSpareColumns;
  rows_.resize(static_cast<std::size_t>(3 * count) * static_cast<std::size_t>(pitch));
  places_.resize(static_cast<std::size_t>(pitch));
  const auto row = [&](int layer, int y) { return rows_.data() + (3 * layer + y % 3) * pitch; };
  const auto find_maxima = CUFACE_DISPATCH(maxima);
  for (int y = 0; y < rows; ++y) {
    if (y % 16 == 0 && is_raised(stop)) return false;
    for (int i = 0; i < count; ++i)
      if (y >= plans[i].margin && y < plans[i].margin + plans[i].down)
        fill_row(plans[i], y, row(i, y));
    // The row before has all its neighbours now.
    const int centre = y - 1;
    for (int i = 1; i + 1 < count; ++i) {
      const int margin = plans[i + 1].margin + 1;
      if (centre < margin || centre >= rows - margin) continue;
      RowsAround around;
      for (int l = 0; l < 3; ++l)
        for (int v = 0; v < 3; ++v) around.at[l][v] = row(i + l - 1, centre + v - 1);
      const int found =
          find_maxima(around, margin, columns - margin, config_.threshold, places_.data());
      for (int k = 0; k < found; ++k) {
        const int x = places_[static_cast<std::size_t>(k)];
        const float response = plans[i].answer_at(sums_, x, centre).determinant;
        if (response > config_.threshold) heap_.push_back({response, octave, base + i, x, centre});
      }
    }
  }
  return true;
}

bool VectorFinder::refine(const Candidate& c, Found& out) const {
  const LayerPlan* plans = &layers_[static_cast<std::size_t>(c.layer - 1)];
  ScaleNeighbours around;
  for (int i = 0; i < 3; ++i)
    for (int v = 0; v < 3; ++v)
      for (int u = 0; u < 3; ++u)
        around.at[i][v][u] = plans[i].answer_at(sums_, c.x + u - 1, c.y + v - 1).determinant;
  if (!around.is_maximum() ||
      !keypoint_at(plans[1], plans[0].size, around, c.octave, c.x, c.y, out.keypoint))
    return false;
  out.sign = static_cast<std::int8_t>(sign_of(plans[1].answer_at(sums_, c.x, c.y).trace));
  return true;
}

bool VectorFinder::next(std::vector<Found>& out) {
  if (heap_.empty()) return false;
  const std::size_t first = out.size();
  const float response = heap_.front().response;
  while (!heap_.empty() && heap_.front().response == response) {
    std::pop_heap(heap_.begin(), heap_.end());
    Found found;
    if (refine(heap_.back(), found)) out.push_back(found);
    heap_.pop_back();
  }
  sort(std::span(out).subspan(first));
  return true;
}

}  // namespace cuface::surf
#endif
