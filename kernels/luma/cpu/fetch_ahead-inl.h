// Fetching rows of a frame into the cache, for vector code; to be included for each target.
#if defined(CUFACE_FETCH_AHEAD_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CUFACE_FETCH_AHEAD_INL_H
#undef CUFACE_FETCH_AHEAD_INL_H
#else
#define CUFACE_FETCH_AHEAD_INL_H
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

}  // namespace cuface::grey::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
