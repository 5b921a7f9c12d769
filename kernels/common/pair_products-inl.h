// Sums of products of neighbours, for vector code; to be included for each target.
#if defined(CUFACE_PAIR_PRODUCTS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CUFACE_PAIR_PRODUCTS_INL_H
#undef CUFACE_PAIR_PRODUCTS_INL_H
#else
#define CUFACE_PAIR_PRODUCTS_INL_H
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace cuface::HWY_NAMESPACE {
#if HWY_TARGET != HWY_SCALAR

/// Lane i: a[2i] * b[2i] + a[2i + 1] * b[2i + 1], of 16-bit lanes; `d` has the 32-bit ones.
template <class D, class V>
HWY_INLINE hwy::HWY_NAMESPACE::Vec<D> pair_products(D d, V a, V b) {
  namespace hn = hwy::HWY_NAMESPACE;
  auto second = hn::Zero(d);
  const auto first = hn::ReorderWidenMulAccumulate(d, a, b, hn::Zero(d), second);
  return hn::RearrangeToOddPlusEven(first, second);
}

#endif
}  // namespace cuface::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
