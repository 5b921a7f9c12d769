// The turned picture against OpenCV's warpAffine and against plain geometry; boxes on the way back.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "kernels/turn/turn.h"
#include "tests/kernels/pictures.h"

namespace cuface {
namespace {

using test::view_of;

cv::Mat turned(const cv::Mat& picture, const Turn& turn) {
  cv::Mat canvas(turn.canvas_height, turn.canvas_width, CV_8U, cv::Scalar(77));
  const ImageView<std::uint8_t> out{canvas.data, canvas.cols, canvas.rows,
                                    static_cast<std::ptrdiff_t>(canvas.step)};
  EXPECT_TRUE(turn_picture(view_of(picture), turn, out).ok());
  return canvas;
}

/// A place of the canvas in the picture, both counted from their upper left corner.
cv::Point2d place(const Turn& t, double degrees, double x, double y) {
  const double angle = degrees * std::numbers::pi / 180;
  const double u = x - t.canvas_width / 2.0, v = y - t.canvas_height / 2.0;
  return {u * std::cos(angle) - v * std::sin(angle) + t.width / 2.0,
          u * std::sin(angle) + v * std::cos(angle) + t.height / 2.0};
}

TEST(Turn, UprightIsThePictureItself) {
  const cv::Mat picture = test::noise(61, 34, 1);
  const Turn turn = make_turn(0, 61, 34);
  EXPECT_EQ(turn.roll(), Roll{});
  EXPECT_EQ(cv::norm(turned(picture, turn), picture, cv::NORM_INF), 0);
}

TEST(Turn, ARightAngleMovesPixelsOnly) {
  for (const auto& [width, height] : {std::pair{61, 34}, {34, 61}, {1, 7}, {40, 40}}) {
    const cv::Mat picture = test::noise(width, height, 2);
    cv::Mat expected;
    // What lies on its side clockwise is upright when it is turned back.
    cv::rotate(picture, expected, cv::ROTATE_90_COUNTERCLOCKWISE);
    const cv::Mat left = turned(picture, make_turn(90, width, height));
    ASSERT_EQ(left.size(), expected.size());
    EXPECT_EQ(cv::norm(left, expected, cv::NORM_INF), 0);
    cv::rotate(picture, expected, cv::ROTATE_90_CLOCKWISE);
    EXPECT_EQ(cv::norm(turned(picture, make_turn(-90, width, height)), expected, cv::NORM_INF), 0);
  }
}

TEST(Turn, IsTheBilinearPicture) {
  int compared = 0, inside = 0;
  for (int degrees = -90; degrees <= 90; degrees += 6) {
    const int width = 97 + degrees / 3, height = 70;
    // Smooth, so that OpenCV's weights of 5 bits make little of a difference.
    const cv::Mat picture = test::smooth_noise(width, height, 12, 3);
    const Turn turn = make_turn(degrees, width, height);
    const double angle = degrees * std::numbers::pi / 180;
    const cv::Point2d first = place(turn, degrees, 0.5, 0.5);
    const cv::Mat way = (cv::Mat_<double>(2, 3) << std::cos(angle), -std::sin(angle), first.x - 0.5,
                         std::sin(angle), std::cos(angle), first.y - 0.5);
    cv::Mat expected;
    cv::warpAffine(picture, expected, way, {turn.canvas_width, turn.canvas_height},
                   cv::INTER_LINEAR | cv::WARP_INVERSE_MAP, cv::BORDER_REPLICATE);
    const cv::Mat canvas = turned(picture, turn);
    for (int v = 0; v < canvas.rows; ++v) {
      for (int u = 0; u < canvas.cols; ++u) {
        const cv::Point2d p = place(turn, degrees, u + 0.5, v + 0.5) - cv::Point2d(0.5, 0.5);
        const double depth =
            std::min({p.x, p.y, width - 1 - p.x, height - 1 - p.y});  // into the picture
        ++compared;
        if (depth < -0.01) {
          ASSERT_EQ(canvas.at<std::uint8_t>(v, u), kOutside) << degrees << " " << u << " " << v;
        } else if (depth > 0.01) {
          ++inside;
          ASSERT_NEAR(canvas.at<std::uint8_t>(v, u), expected.at<std::uint8_t>(v, u), 2)
              << degrees << " " << u << " " << v;
        }
      }
    }
  }
  EXPECT_GT(compared, 250000);
  EXPECT_GT(inside, 180000);
}

TEST(Turn, TheCanvasHoldsThePicture) {
  for (int degrees = -90; degrees <= 90; degrees += 5) {
    const Turn turn = make_turn(degrees, 640, 360);
    const double a = std::abs(degrees) * std::numbers::pi / 180;
    EXPECT_NEAR(turn.canvas_width, 640 * std::cos(a) + 360 * std::sin(a), 1.1) << degrees;
    EXPECT_NEAR(turn.canvas_height, 640 * std::sin(a) + 360 * std::cos(a), 1.1) << degrees;
    EXPECT_NEAR(turn.roll().sin, std::sin(degrees * std::numbers::pi / 180), 1e-5);
    EXPECT_NEAR(turn.roll().cos, std::cos(degrees * std::numbers::pi / 180), 1e-5);
  }
}

TEST(Turn, BoxesGoBackWithTheirCentres) {
  int kept = 0, dropped = 0;
  for (int degrees = -90; degrees <= 90; degrees += 15) {
    const Turn turn = make_turn(degrees, 640, 360);
    for (int y = -20; y < turn.canvas_height; y += 37) {
      for (int x = -20; x < turn.canvas_width; x += 29) {
        const Rect before{x, y, 20 + (x & 31), 20 + (y & 31)};
        const cv::Point2d centre =
            place(turn, degrees, before.x + before.w / 2.0, before.y + before.h / 2.0);
        const double depth = std::min({centre.x, centre.y, 640 - centre.x, 360 - centre.y});
        Rect box = before;
        if (!turning::to_picture(turn, box)) {
          ASSERT_LT(depth, 0.01);
          ++dropped;
          continue;
        }
        ASSERT_GT(depth, -0.01);
        ASSERT_EQ(box.w, before.w);
        ASSERT_EQ(box.h, before.h);
        ASSERT_NEAR(box.x + box.w / 2.0, centre.x, 0.51);
        ASSERT_NEAR(box.y + box.h / 2.0, centre.y, 0.51);
        ++kept;
      }
    }
  }
  EXPECT_GT(kept, 2000);
  EXPECT_GT(dropped, 1000);
}

TEST(Turn, OtherSizesAreRefused) {
  const cv::Mat picture = test::noise(40, 30, 4);
  const Turn turn = make_turn(30, 40, 30);
  cv::Mat canvas(turn.canvas_height, turn.canvas_width, CV_8U);
  const ImageView<std::uint8_t> right{canvas.data, canvas.cols, canvas.rows,
                                      static_cast<std::ptrdiff_t>(canvas.step)};
  const auto code = [&](ImageView<const std::uint8_t> from, ImageView<std::uint8_t> to) {
    return turn_picture(from, turn, to).code();
  };
  const auto with = [](auto view, int width, int height) {
    view.width += width;
    view.height += height;
    return view;
  };
  EXPECT_EQ(code(view_of(picture), right), StatusCode::kOk);
  for (const auto& [w, h] : {std::pair{-1, 0}, {0, -1}}) {
    EXPECT_EQ(code(with(view_of(picture), w, h), right), StatusCode::kInvalidArgument);
    EXPECT_EQ(code(view_of(picture), with(right, w, h)), StatusCode::kInvalidArgument);
  }
  EXPECT_EQ(code({nullptr, 40, 30, 40}, right), StatusCode::kInvalidArgument);
  EXPECT_EQ(code(view_of(picture), {nullptr, right.width, right.height, right.stride}),
            StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace cuface
