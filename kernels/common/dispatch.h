// CUFACE_DISPATCH: Highway's dynamic dispatch with a choice of ours. Highway keeps its own choice
// once a process, in a library that other plugins use too: what we ask for must not be theirs.
//
// For files with vector code (simd.h), behind <hwy/highway.h>.
#pragma once

#include <hwy/highway.h>
#include <hwy/targets.h>

namespace cuface::simd {

/// The target that simd::force() and the environment have chosen. From any thread.
const hwy::ChosenTarget& target();

}  // namespace cuface::simd

/// The version of a function after HWY_EXPORT(function) that is to run. Needs simd::vectors().
#if HWY_IDE || ((HWY_TARGETS & (HWY_TARGETS - 1)) == 0)
#define CUFACE_DISPATCH(function) HWY_STATIC_DISPATCH(function)
#else
#define CUFACE_DISPATCH(function) \
  (*(HWY_DISPATCH_TABLE(function)[cuface::simd::target().GetIndex()]))
#endif
