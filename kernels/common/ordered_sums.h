// Sums of doubles by any lanes (lanes.h), with the bits of one lane that adds in order.
#pragma once

#include "kernels/common/host_device.h"

namespace cuface {

/// What lanes share that add up at most `kMostSums` sums at once.
template <int kMostSums>
struct OrderedSums {
  static constexpr int kAtOnce = 128, kMost = kMostSums;
  double term[kAtOnce][static_cast<unsigned>(kMost)];
  double sum[static_cast<unsigned>(kMost)];
};

/// scratch.sum[s] is the sum over all i below n, n > 0, of what terms(i, term) puts into term[s];
/// in their order, so that any lanes get the same bits. A lane a sum.
CUFACE_HD_GENERIC
template <int kSums, int kMostSums, typename Lanes, typename Terms>
CUFACE_HD void add_up(const Lanes& lanes, int n, Terms terms, OrderedSums<kMostSums>& scratch) {
  static_assert(kSums <= kMostSums);
  constexpr int kAtOnce = OrderedSums<kMostSums>::kAtOnce;
  for (int first = 0; first < n; first += kAtOnce) {
    const int left = n - first, some = left < kAtOnce ? left : kAtOnce;
    lanes.each(some, [&](int k) { terms(first + k, scratch.term[k]); });
    lanes.each(kSums, [&](int s) {
      double sum = first > 0 ? scratch.sum[s] : 0;
      for (int k = 0; k < some; ++k) sum += scratch.term[k][s];
      scratch.sum[s] = sum;
    });
  }
}

}  // namespace cuface
