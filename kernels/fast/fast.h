// fast: the corners of a grey picture by FAST-9/16 (Rosten and Drummond 2006), with the score and
// the non-maximum suppression of cv::FAST [S2.17].
//
// A pixel is a corner where 9 neighbours in turn on the circle of 16 around it are all brighter
// than it by more than the threshold, or all darker. Its score is the greatest threshold with which
// it still is one. A corner stays where its score is above those of the 8 pixels around it.
//
// rules.h: the circle; reference.h: a pixel and a picture, plainly; rows.h: a row by vectors.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/common/geometry.h"
#include "kernels/common/image.h"
#include "kernels/common/status.h"
#include "kernels/common/stop_flag.h"

namespace cuface {

/// Pixels along a side, at most.
inline constexpr int kMostFastSide = 32768;
inline constexpr int kMostFastThreshold = 255;

struct Corner {
  std::int16_t x = 0, y = 0;  ///< pixel of the whole picture, also where a part is searched
  std::int32_t score = 0;     ///< the greatest threshold that keeps it, to kMostFastThreshold
  friend bool operator==(const Corner&, const Corner&) = default;
};

/// Finds the corners of pictures up to a size. Allocates when it is made; serves one thread at a
/// time.
class FastDetector {
 public:
  /// kInvalidArgument: a side below 1 or above kMostFastSide.
  static Result<FastDetector> create(int width, int height);

  /// `corners` := those of the whole picture that lie in `part`, row by row; `part` may reach
  /// beyond it. Pixels beside the part count as neighbours; the three at each side of the picture
  /// are no corners. kInvalidArgument: a picture that is larger than planned, a threshold out of 0
  /// to kMostFastThreshold. kCancelled, with some of them, once `stop` is raised.
  Status run(ImageView<const std::uint8_t> grey, int threshold, Rect part,
             std::vector<Corner>& corners, const StopFlag* stop = nullptr);

 private:
  FastDetector(int width, int height);

  int width_, height_;
  std::vector<std::uint8_t> rows_;  ///< scores of three rows
};

/// Corners of a part of w x h pixels, at most: none is beside another.
constexpr std::size_t most_corners(int w, int h) {
  return static_cast<std::size_t>((w + 1) / 2) * static_cast<std::size_t>((h + 1) / 2);
}

}  // namespace cuface
