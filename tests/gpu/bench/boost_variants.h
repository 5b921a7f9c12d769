// The kernels of a published trainer of cascades as they are described [S4.03 - S4.06, S4.08,
// S4.12], to be measured beside ours.
#pragma once

#include <cstdint>

#include "kernels/cascade/cascade.h"
#include "kernels/common/cuda/launch.h"
#include "kernels/common/status.h"

namespace cuface::test {

/// A sample's side, and the words between two rows of its sums, which include the pixel itself.
inline constexpr int kSampleSide = 24, kSumPitch = 32;
/// Of sums with a row and a column of zeros before them, without gaps.
inline constexpr int kSampleSums = (kSampleSide + 1) * (kSampleSide + 1);

enum class IntegralWay {
  kPointers,      ///< rows found by pointers of pointers; a scan, a transposition, both again
  kPitched,       ///< the same, rows found by multiplication
  kShared,        ///< the scans in shared memory
  kDoubleBuffer,  ///< the same in two buffers, half as many barriers
  kOneLaunch      ///< both scans and no transposition: ours
};

/// Of `count` samples, all in device memory.
struct IntegralSamples {
  const std::uint8_t* pixels;         ///< [count][side][side]
  std::uint32_t* sums;                ///< [count][side][kSumPitch]
  std::uint32_t* const* const* rows;  ///< [count][side], into `sums`; for kPointers
  int count;
};
Status integrals(IntegralWay way, const IntegralSamples& samples, cuda::Launcher launch);

enum class ResponseWay {
  kFlat,      ///< a thread a feature and sample
  kShared,    ///< a block a feature, a launch for so many samples as it has threads
  kConstant,  ///< the same; weights are a kernel's argument, which lies in constant memory
  kByCorners  ///< a block a feature; sums of neighbouring samples side by side: ours
};

struct ResponseSamples {
  const std::uint32_t* sums;     ///< [count][kSampleSums]
  const std::uint32_t* corners;  ///< [kSampleSums][count]
  const float *weights, *host_weights;
  const std::uint8_t* labels;  ///< 1 or 0
  int count;
};
/// A face where parity * value < parity * threshold.
struct WeakRule {
  float threshold, parity;
};
struct WeakFeatures {
  const BoundFeature* bound;  ///< corners within a sample's sums
  const WeakRule* rules;
  int count;
};
struct Response {
  float value, weight;
};
struct Verdict {
  std::int32_t label;
  float error;  ///< the weight where the label is wrong
};

/// out[feature][sample].
Status responses(ResponseWay way, const ResponseSamples& samples, const WeakFeatures& features,
                 Response* out, cuda::Launcher launch);
Status verdicts(ResponseWay way, const ResponseSamples& samples, const WeakFeatures& features,
                Verdict* out, cuda::Launcher launch);

}  // namespace cuface::test
