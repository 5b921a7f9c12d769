// Every Haar feature of a window, in the order of opencv_traincascade 3.4 [S4.01].
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/cascade/cascade.h"
#include "kernels/common/status.h"

namespace cuface {

/// opencv_traincascade's -mode. Of a window of 24 x 24: 162,336, 210,400 and 261,600 features.
enum class FeatureMode {
  kBasic,  ///< upright: two and three parts in a row, four in a square
  kCore,   ///< also four parts in a row, and a centre with what surrounds it
  kAll     ///< also tilted by 45 degrees
};

/// Of the rectangles of features with three parts.
enum class FeatureWeights {
  kZeroMean,  ///< a flat window gives 0
  kOpenCv     ///< -1 and +2 where upright, as opencv_traincascade 3.4 has them: a flat one does not
};

class FeatureBank {
 public:
  /// kInvalidArgument where a side is below kMinWindowSide or above kMostTrainingSide.
  static Result<FeatureBank> create(int width, int height, FeatureMode mode,
                                    FeatureWeights weights = FeatureWeights::kZeroMean);

  int width() const { return width_; }
  int height() const { return height_; }
  FeatureMode mode() const { return mode_; }
  FeatureWeights weights() const { return weights_; }
  std::size_t count() const { return features_.size(); }
  HaarFeature at(std::size_t index) const;

 private:
  enum class Shape : std::uint8_t;
  /// Its part of dx x dy pixels, repeated as the shape says.
  struct Feature {
    Shape shape;
    std::uint8_t x, y, dx, dy;
  };

  FeatureBank() = default;

  int width_ = 0, height_ = 0;
  FeatureMode mode_ = FeatureMode::kBasic;
  FeatureWeights weights_ = FeatureWeights::kZeroMean;
  std::vector<Feature> features_;
};

/// More would have billions of features.
inline constexpr int kMostTrainingSide = 64;

}  // namespace cuface
