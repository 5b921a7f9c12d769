// edges: the edge pixels of a grey picture [S1.03 - S1.08]: a blur, gradients, thinning to ridges
// one pixel wide, and linking. With the defaults and no blur the map is cv::Canny's.
//
// rules.h: what one pixel computes, for the CPU and CUDA; reference.h: the steps, plainly, on whole
// pictures.
#pragma once

#include <cstdint>
#include <memory>

#include "kernels/common/image.h"
#include "kernels/common/status.h"
#include "kernels/common/stop_flag.h"
#include "kernels/edges/rules.h"

namespace cuface {

/// Pixels along a side, at most.
inline constexpr int kMostEdgeSide = 32768;
inline constexpr int kMostApron = 15;

struct EdgeConfig {
  int kernel_size = 5;  ///< of the Gaussian blur before all else: odd, 1 (none) to kMostBlur
  double sigma = 0;     ///< of the blur; 0 = OpenCV's, from the size
  GradientOperator op = GradientOperator::kSobel;
  int aperture = 3;  ///< of Sobel: 3, 5 or 7; of the others 3
  GradientNorm norm = GradientNorm::kL1;
  /// A ridge pixel above `high` is an edge; what a link takes in is above `low`. 0 or more; where
  /// `low` is the larger one they are swapped, as cv::Canny does. Both in gradients of the
  /// operator; those of aperture 7 are divided by 16, and so are its thresholds.
  double low = 50, high = 150;
  Linking linking = Linking::kHysteresis;
  int apron = 2;  ///< of Linking::kApron, 0 to kMostApron
  Thinning thinning = Thinning::kGradient;
  Convolution convolution = Convolution::kOpenCv;
  friend bool operator==(const EdgeConfig&, const EdgeConfig&) = default;
};

/// kInvalidArgument, with the value's name, where one is out of the range that EdgeConfig gives it.
Status validate(const EdgeConfig& config);

/// The pictures that are wanted; an empty view is not. All have the size of the picture.
struct EdgeViews {
  ImageView<std::uint8_t> map{};        ///< 255 = edge, 0 = none
  ImageView<std::uint8_t> magnitude{};  ///< the gradient as contrast(), at most 255
  ImageView<std::uint8_t> angle{};      ///< its direction in 256 steps (angle_step())
  /// The map as bits (kernels/common/bits.h).
  ImageView<std::uint64_t> bits{};
};

/// Finds the edges of pictures of one size. Allocates when it is made; serves one thread at a time.
class EdgeDetector {
 public:
  /// kInvalidArgument as validate(), or where a side is below 1 or above kMostEdgeSide.
  static Result<EdgeDetector> create(const EdgeConfig& config, int width, int height);

  EdgeDetector(EdgeDetector&&) noexcept;
  EdgeDetector& operator=(EdgeDetector&&) noexcept;
  ~EdgeDetector();

  /// kInvalidArgument where a size is another; kCancelled, with part of the result, once `stop` is
  /// raised.
  Status run(ImageView<const std::uint8_t> grey, const EdgeViews& out,
             const StopFlag* stop = nullptr);

 private:
  class Impl;
  explicit EdgeDetector(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace cuface
