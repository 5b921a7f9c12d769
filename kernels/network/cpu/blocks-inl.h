// How rows are cut into blocks whose sums stay in registers, for vector code; to be included for
// each target.
#if defined(CUFACE_NETWORK_BLOCKS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CUFACE_NETWORK_BLOCKS_INL_H
#undef CUFACE_NETWORK_BLOCKS_INL_H
#else
#define CUFACE_NETWORK_BLOCKS_INL_H
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <type_traits>

HWY_BEFORE_NAMESPACE();
namespace cuface::network::HWY_NAMESPACE {
#if HWY_TARGET != HWY_SCALAR

constexpr bool kManyRegisters = HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON;

/// Calls block(x, pixels) until `columns` pixels are done; the last block may do some of them
/// again.
template <int pixels, class Block>
HWY_INLINE void each_block(int columns, Block block) {
  if (columns < pixels) {
    for (int x = 0; x < columns; ++x) block(x, std::integral_constant<int, 1>());
    return;
  }
  for (int x = 0; x < columns; x += pixels) {
    block(std::min(x, columns - pixels), std::integral_constant<int, pixels>());
  }
}

/// Calls group(first channel, vectors) for all channels of a pixel, `lanes` to a vector.
template <int lanes, class Group>
HWY_INLINE void each_group(int channels, Group group) {
  int c = 0;
  if constexpr (kManyRegisters) {
    for (; c + 4 * lanes <= channels; c += 4 * lanes) group(c, std::integral_constant<int, 4>());
  }
  for (; c + 2 * lanes <= channels; c += 2 * lanes) group(c, std::integral_constant<int, 2>());
  for (; c < channels; c += lanes) group(c, std::integral_constant<int, 1>());
}

#endif
}  // namespace cuface::network::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
