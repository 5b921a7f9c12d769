// Which version of a stage runs on the CPU: vector code (Google Highway) for the best instruction
// set of the machine, or another one, or the plain reference, as CUFACE_SIMD in the environment
// says. All of them give the same bits.
//
// A stage with vector code, in one file that Highway includes once for every instruction set:
//
//   #undef HWY_TARGET_INCLUDE
//   #define HWY_TARGET_INCLUDE "kernels/STAGE/FILE.cc"
//   #include <hwy/foreach_target.h>   // before all other headers but those of the standard
//   #include <hwy/highway.h>
//   HWY_BEFORE_NAMESPACE();
//   namespace cuface::HWY_NAMESPACE { void stage_vector(...) {...} }   // never hwy::MulAdd
//   HWY_AFTER_NAMESPACE();
//   #if HWY_ONCE
//   namespace cuface {
//   HWY_EXPORT(stage_vector);
//   void stage(...) {
//     if (simd::vectors()) return CUFACE_DISPATCH(stage_vector)(...);   // dispatch.h
//     stage_plain(...);
//   }
//   }
//   #endif
//
// Its create() returns simd::status() where that is not ok; its test runs every version
// (tests/kernels/versions.h).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kernels/common/status.h"

namespace cuface::simd {

/// False: the plain references are to run (CUFACE_SIMD=scalar).
bool vectors();

/// Whether AVX-512 may look bytes up in registers (VBMI): Highway compiles for it as for any
/// AVX-512, and a function that does says so to the compiler (kernels/landmarks/cpu/walk-inl.h).
bool byte_permutes();

/// kUnsupported where CUFACE_SIMD names something that is not in available().
Status status();

/// What this build and this machine can run, the slowest first: "scalar" (the plain references),
/// then those of sse4, avx2, avx512, avx512vbmi, neon that are there.
std::vector<std::string> available();

/// One of available() from now on; "" = the last of them. For tests and benchmarks: not while
/// another thread runs a stage.
Status force(std::string_view name);

/// What runs now.
std::string chosen();

}  // namespace cuface::simd
