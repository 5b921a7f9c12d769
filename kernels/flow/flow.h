// flow: where did these points go? Pyramidal Lucas-Kanade on sparse points (Bouguet)
// [S0.31 to S0.34, S0.37], equal to OpenCV's calcOpticalFlowPyrLK within 0.01 px (median).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/common/geometry.h"
#include "kernels/common/status.h"
#include "kernels/common/stop_flag.h"
#include "kernels/pyramid/pyramid.h"

namespace cuface {

struct FlowConfig {
  int window = 21;          ///< side of the square window, odd, 5..63
  int levels = 3;           ///< >= 1, counts level 0 (OpenCV's maxLevel + 1)
  int max_iterations = 30;  ///< 1..100
  float epsilon = 0.01f;    ///< px; stops when a step is no longer than this
  float min_eigen = 1e-4f;  ///< OpenCV's minEigThreshold; smaller means flat, and the point fails

  friend bool operator==(const FlowConfig&, const FlowConfig&) = default;
};

/// kInvalidArgument and a sentence for a value out of the range stated above.
Status validate(const FlowConfig& config);

/// Scratch of flow(), sized by the window of a valid config. One a thread.
class FlowScratch {
 public:
  /// Rows are whole vectors of at most so many elements, and one more for what vector code reads
  /// beyond the window.
  static constexpr int kLanes = 32;

  explicit FlowScratch(const FlowConfig& config);

  /// Elements of a block.
  std::ptrdiff_t block() const { return std::ptrdiff_t{row} * rows; }

  int row = 0;                       ///< elements of one row of every block: window + 3, padded
  int rows = 0;                      ///< of every block: window + 3
  std::vector<std::uint8_t> pixels;  ///< the window and its border, copied out of a picture
  std::vector<std::int16_t> slopes;  ///< 2 blocks: Scharr d/dx and d/dy of `pixels`
  std::vector<std::int16_t> patch;   ///< 3 blocks at the sub-pixel position: I, dI/dx, dI/dy
};

/// For every from[i], `to[i]` is its position in `next` and `status[i]` is 1, or 0 when it could
/// not be followed (flat, outside by more than a window, not finite; `to` then holds the last
/// estimate). Starts at the same place (no initial guess). Both pyramids have the same sizes; of
/// their levels those are used that `config` asks for and that are larger than the window.
/// Deterministic; points do not influence each other. Reads, and so makes, the parts of the
/// pyramids around the points: one thread at a time for each pyramid and scratch. False, with some
/// of the points, once `stop` is raised.
bool flow(GaussianPyramid& prev, GaussianPyramid& next, std::span<const Point> from,
          std::span<Point> to, std::span<std::uint8_t> status, const FlowConfig& config,
          FlowScratch& scratch, const StopFlag* stop = nullptr);

}  // namespace cuface
