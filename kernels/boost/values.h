// The value of a feature in every sample, as a detector computes it [S4.04, S4.12].
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/boost/boost.h"
#include "kernels/boost/window_sums.h"

namespace cuface::boost {

/// Rows of samples are a multiple of this: as many as any vector has.
inline constexpr std::size_t kValueLanes = 16;

/// The samples' sums, corner after corner: what a feature reads of neighbouring samples lies side
/// by side. Any number of threads may read it.
class SampleValues {
 public:
  /// Of so many samples; fill() is still to come.
  SampleValues(const FeatureBank& bank, std::size_t count);
  SampleValues(const FeatureBank& bank, const TrainingSamples& samples)
      : SampleValues(bank, samples.count()) {
    fill(samples, 1);
  }

  /// With samples that fit the bank, by up to `threads` threads.
  void fill(const TrainingSamples& samples, int threads);
  bool is_filled() const { return !sums_.empty(); }

  std::size_t count() const { return count_; }
  std::size_t bytes() const {
    return sums_.size() * sizeof sums_[0] + norms_.size() * sizeof(float);
  }

  /// Writes count() values, and may write up to padded() of them.
  void of(const HaarFeature& feature, float* values) const;
  std::size_t padded() const { return stride_; }

  /// For a search elsewhere: a row of padded() sums for each place of layout(), and inverse norms.
  const SumLayout& layout() const { return window_.layout(); }
  const std::vector<std::uint32_t>& sums() const { return sums_; }
  const std::vector<float>& norms() const { return norms_; }

 private:
  std::size_t count_, stride_;
  WindowSums window_;
  std::vector<std::uint32_t> sums_;  ///< a row of stride_ samples for each corner
  std::vector<float> norms_;         ///< inverse ones; 0 where flat
};

}  // namespace cuface::boost
