#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/boost/values.cc"
#include "kernels/boost/values.h"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>

#include "kernels/cascade/bind.h"
#include "kernels/common/dispatch.h"
#include "kernels/common/simd.h"
#include "kernels/common/workers.h"

HWY_BEFORE_NAMESPACE();
namespace cuface::boost::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// `rows`: the sums of the feature's corners in the first sample. `count` is a multiple of any
/// vector's lanes.
void feature_values(const std::uint32_t* const (&rows)[3][4], const float (&weights)[3],
                    const float* norms, std::size_t count, float* values) {
  const hn::CappedTag<float, kValueLanes> d;
  const hn::RebindToSigned<decltype(d)> words;
  const hn::RebindToUnsigned<decltype(d)> sums;
  for (std::size_t i = 0; i < count; i += hn::Lanes(d)) {
    const auto weighted = [&](int r) {
      const auto at = [&](int c) { return hn::LoadU(sums, rows[r][c] + i); };
      const auto sum = hn::Add(hn::Sub(hn::Sub(at(0), at(1)), at(2)), at(3));
      // Below 2^24, so that it is a positive number of the signed conversion too.
      return hn::Mul(hn::Set(d, weights[r]), hn::ConvertTo(d, hn::BitCast(words, sum)));
    };
    auto value = hn::Add(weighted(0), weighted(1));
    if (weights[2] != 0) value = hn::Add(value, weighted(2));
    hn::StoreU(hn::Mul(value, hn::LoadU(d, norms + i)), d, values + i);
  }
}

}  // namespace cuface::boost::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cuface::boost {
namespace {

HWY_EXPORT(feature_values);

}  // namespace

SampleValues::SampleValues(const FeatureBank& bank, std::size_t count)
    : count_(count),
      stride_((count_ + kValueLanes - 1) / kValueLanes * kValueLanes),
      window_(bank.width(), bank.height(), bank.mode() == FeatureMode::kAll) {}

void SampleValues::fill(const TrainingSamples& samples, int threads) {
  // Some samples at once, so that whole cache lines are written.
  struct Some {
    WindowSums window;
    std::vector<std::uint32_t> sums;
  };
  const std::size_t corners = window_.sums().size();
  norms_.resize(stride_);
  sums_.resize(corners * stride_);
  Workers workers(threads);
  std::vector<Some> of_workers(static_cast<std::size_t>(workers.count()),
                               {window_, std::vector<std::uint32_t>(corners * kValueLanes)});
  workers.run(static_cast<int>(stride_ / kValueLanes), [&](int task, int worker) {
    Some& some = of_workers[static_cast<std::size_t>(worker)];
    const std::size_t first = static_cast<std::size_t>(task) * kValueLanes;
    const std::size_t end = std::min(count_ - first, kValueLanes);
    for (std::size_t i = 0; i < end; ++i) {
      some.window.make(samples.window(first + i));
      norms_[first + i] = some.window.norm();
      for (std::size_t corner = 0; corner < corners; ++corner)
        some.sums[corner * kValueLanes + i] = some.window.sums()[corner];
    }
    for (std::size_t corner = 0; corner < corners; ++corner)
      std::copy_n(some.sums.data() + corner * kValueLanes, end,
                  sums_.data() + corner * stride_ + first);
  });
}

void SampleValues::of(const HaarFeature& feature, float* values) const {
  const BoundFeature bound = bind_feature(feature, layout());
  const std::uint32_t* rows[3][4];
  for (int r = 0; r < 3; ++r) {
    for (int c = 0; c < 4; ++c)
      rows[r][c] = sums_.data() + static_cast<std::size_t>(bound.corner[r][c]) * stride_;
  }
  if (simd::vectors()) {
    CUFACE_DISPATCH(feature_values)(rows, bound.weight, norms_.data(), stride_, values);
    return;
  }
  for (std::size_t i = 0; i < count_; ++i) {
    const auto weighted = [&](int r) {
      return bound.weight[r] *
             static_cast<float>(rows[r][0][i] - rows[r][1][i] - rows[r][2][i] + rows[r][3][i]);
    };
    const float value = weighted(0) + weighted(1);
    values[i] = (bound.weight[2] != 0 ? value + weighted(2) : value) * norms_[i];
  }
}

}  // namespace cuface::boost
#endif
