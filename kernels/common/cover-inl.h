// Rows of any width by whole vectors; to be included for each target.
#if defined(CUFACE_COVER_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CUFACE_COVER_INL_H
#undef CUFACE_COVER_INL_H
#else
#define CUFACE_COVER_INL_H
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace cuface::HWY_NAMESPACE {

/// use(x) for vectors of `lanes` that cover [0, width), all of them inside; the last one overlaps
/// the one before. Gives how many pixels are done: none where a vector is longer.
template <typename Use>
HWY_INLINE int cover(int width, int lanes, Use use) {
  if (width < lanes) return 0;
  int x = 0;
  for (; x + lanes <= width; x += lanes) use(x);
  if (x < width) use(width - lanes);
  return width;
}

}  // namespace cuface::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
