// Rows of any width by whole vectors; to be included for each target.
#if defined(CUFACE_COVER_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CUFACE_COVER_INL_H
#undef CUFACE_COVER_INL_H
#else
#define CUFACE_COVER_INL_H
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace cuface::grey::HWY_NAMESPACE {

/// Fetches what is soon read or written: a frame's colours are more than the cache next to a core.
/// Nothing is read behind its end.
HWY_INLINE void fetch_ahead(const std::uint8_t* at) {
  constexpr int kBytesAhead = 2048;
  hwy::Prefetch(at + kBytesAhead);
}

/// use(x) for whole vectors of the first `width` pixels; the last one overlaps the one before.
/// Gives how many pixels are done: none where a vector is longer.
template <typename Use>
HWY_INLINE int cover(int width, int lanes, Use use) {
  if (width < lanes) return 0;
  int x = 0;
  for (; x + lanes <= width; x += lanes) use(x);
  if (x < width) use(width - lanes);
  return width;
}

}  // namespace cuface::grey::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
