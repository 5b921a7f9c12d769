// Linking of edges where it has far to go, against cv::Canny, and without any.
#include <gtest/gtest.h>

#include <opencv2/imgproc.hpp>

#include "tests/kernels/edge_maps.h"
#include "tests/kernels/pictures.h"
#include "tests/kernels/versions.h"
#include "tests/winding_edges.h"

namespace cuface {
namespace {

using namespace test::edges;

class EdgeLinks : public test::EveryVersion {};
CUFACE_EVERY_VERSION(EdgeLinks);

cv::Mat mat_of(test::Grey& picture) {
  return {picture.height, picture.width, CV_8U, picture.pixels.data()};
}

// One faint edge all over the picture that only a piece of it makes one: up and down, to and fro,
// in a spiral and in a maze.
TEST_P(EdgeLinks, EqualCannyOnEdgesThatWind) {
  for (test::Grey faint :
       {test::up_and_down(331, 203), test::spiral(331, 203), test::maze(331, 203, 1)}) {
    test::Grey strong = test::with_strong_piece(faint);
    for (int quarter = 0; quarter < 4; ++quarter) {
      EdgeConfig c;
      c.kernel_size = 1;
      c.high = 300;
      EXPECT_EQ(cv::countNonZero(ours(mat_of(faint), c).map), 0);
      const cv::Mat theirs = opencv(mat_of(strong), c);
      EXPECT_GT(cv::countNonZero(theirs), 5'000) << quarter;
      EXPECT_EQ(cv::countNonZero(ours(mat_of(strong), c).map != theirs), 0) << quarter;
      faint = test::turned(faint);
      strong = test::turned(strong);
    }
  }
}

TEST_P(EdgeLinks, WithoutLinkingTheyAreTheRidgesAboveHigh) {
  const cv::Mat picture = test::drawn_faces(200, 150, 3);
  EdgeConfig c;
  c.linking = Linking::kNone;
  EdgeConfig only_high = c;
  only_high.linking = Linking::kHysteresis;
  only_high.low = only_high.high;
  EXPECT_EQ(cv::countNonZero(ours(picture, c).map != opencv(picture, only_high)), 0);
}

}  // namespace
}  // namespace cuface
