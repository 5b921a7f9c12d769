// Drawn heads: the same bytes everywhere, and points that lie on what is drawn.
#include <gtest/gtest.h>

#include <opencv2/imgproc.hpp>
#include <vector>

#include "kernels/faces/landmark_scheme.h"
#include "models/train/face_set.h"
#include "models/train/heads.h"
#include "models/train/picture.h"

namespace cuface::train {
namespace {

constexpr int kHeads = 24;

cv::Mat drawn(const Head& head) {
  const Image<std::uint8_t> picture = draw(head);
  cv::Mat out(picture.height(), picture.width(), CV_8UC1);
  for (int y = 0; y < out.rows; ++y)
    std::copy_n(picture.view().row(y), out.cols, out.ptr<std::uint8_t>(y));
  return out;
}

/// A head without what hides its features, sharp, and without noise.
Head clear_head(std::uint64_t number) {
  Head head = random_head({}, number);
  head.looks.glasses = head.looks.beard = 0;
  head.camera.blur = 0;
  head.camera.noise = 0;
  return head;
}

/// Where two pictures differ: what shows the thing that differs between both heads.
cv::Mat difference(const Head& a, const Head& b) {
  cv::Mat out;
  cv::absdiff(drawn(a), drawn(b), out);
  return out > 1;
}

/// How far points are from the nearest pixel of masks.
struct Distances {
  double sum = 0, most = 0;
  int count = 0;
  void add(const cv::Mat& mask, const std::array<Point, kHeadPoints>& points,
           std::initializer_list<std::pair<int, int>> ranges) {
    cv::Mat away;
    cv::distanceTransform(mask == 0, away, cv::DIST_L2, cv::DIST_MASK_PRECISE);
    for (const auto& [first, last] : ranges) {
      for (int n = first; n <= last; ++n) {
        const Point& p = points[static_cast<std::size_t>(n)];
        const double d = away.at<float>(cvRound(p.y), cvRound(p.x));
        sum += d;
        most = std::max(most, d);
        ++count;
      }
    }
  }
};

/// Pixels of the mask that have a neighbour outside.
cv::Mat outline_of(const cv::Mat& mask) {
  cv::Mat inner;
  cv::erode(mask, inner, cv::Mat());
  return mask - inner;
}

TEST(TrainHeads, ASeedGivesTheSameBytesEverywhere) {
  // Not of a peer: they hold compilers and processors to each other.
  constexpr std::uint64_t kHashes[] = {1693736213349100837u, 16309321635349012504u,
                                       6005463724012829656u, 9632980254905393509u};
  for (std::uint64_t i = 0; i < std::size(kHashes); ++i) {
    const Image<std::uint8_t> picture = draw(random_head({}, i));
    EXPECT_EQ(hash_of(picture.view()), kHashes[i]) << i;
    EXPECT_EQ(hash_of(picture.view()), hash_of(draw(random_head({}, i)).view()));
  }
  HeadOptions other;
  other.seed = 2;
  EXPECT_NE(hash_of(draw(random_head(other, 0)).view()), kHashes[0]);
}

TEST(TrainHeads, PointsLieInThePictureAndInTheBox) {
  for (std::uint64_t i = 0; i < 2000; ++i) {
    const auto points = points_of(random_head({}, i));
    const Box box = box_of_landmarks(points);
    for (const Point& p : points) {
      ASSERT_TRUE(p.x >= 0 && p.y >= 0 && p.x <= 239 && p.y <= 239) << "head " << i;
      ASSERT_TRUE(p.x > box.x - 0.1f * box.w && p.x < box.x + 1.1f * box.w &&
                  p.y > box.y - 0.1f * box.h && p.y < box.y + 1.2f * box.h)
          << "head " << i;
    }
  }
}

// What differs once the lips have another colour is the lips: the outer points lie on its outline.
TEST(TrainHeads, PointsOfLipsLieOnTheirOutline) {
  Distances outline;
  for (std::uint64_t i = 0; i < kHeads; ++i) {
    const Head head = clear_head(i);
    if (std::fabs(head.pose.yaw) > 0.15f) continue;
    Head other = head;
    other.looks.lips = 0;
    const cv::Mat lips = difference(head, other);
    outline.add(outline_of(lips), points_of(head), {{48, 59}});
  }
  EXPECT_GE(outline.count, 120);
  EXPECT_LT(outline.sum / outline.count, 1.0);
  EXPECT_LT(outline.most, 3.0);
}

TEST(TrainHeads, PointsOfBrowsLieOnThem) {
  Distances on;
  for (std::uint64_t i = 0; i < kHeads; ++i) {
    Head head = clear_head(i);
    head.looks.hairline = -0.6f;
    if (std::fabs(head.pose.yaw) > 0.15f) continue;
    Head other = head;
    other.looks.brows = 0.9f * head.looks.skin;
    on.add(difference(head, other), points_of(head), {{17, 26}});
  }
  EXPECT_GE(on.count, 100);
  EXPECT_LT(on.sum / on.count, 0.3);
  EXPECT_LT(on.most, 2.0);
}

// An iris lies within the points of its eye, and the lids move with theirs.
TEST(TrainHeads, PointsOfEyesEncloseTheIris) {
  int pixels = 0, outside = 0;
  for (std::uint64_t i = 0; i < kHeads; ++i) {
    const Head head = clear_head(i);
    Head other = head;
    other.looks.iris = 0.7f;
    const auto points = points_of(head);
    std::vector<cv::Point> hulls[2];
    for (std::size_t n = 36; n < 48; ++n) {
      hulls[n / 42].emplace_back(cvRound(points[n].x), cvRound(points[n].y));
    }
    cv::Mat eyes = cv::Mat::zeros(240, 240, CV_8UC1);
    for (const auto& hull : hulls) cv::fillConvexPoly(eyes, hull, 255);
    cv::dilate(eyes, eyes, cv::Mat());
    const cv::Mat irises = difference(head, other);
    pixels += cv::countNonZero(irises);
    outside += cv::countNonZero(irises & ~eyes);
  }
  EXPECT_GE(pixels, 300);
  EXPECT_LE(outside, pixels / 50);
}

// Where hair or the background meets the skin of the face is its outline. The chin's neighbour is
// the neck, which is skin too.
TEST(TrainHeads, PointsOfTheJawLieOnTheOutline) {
  Distances outline;
  for (std::uint64_t i = 0; i < kHeads; ++i) {
    Head head = clear_head(i);
    head.looks.hair_end = 2;  // nothing behind the ears is skin
    head.looks.hairline = -0.6f;
    Head other = head;
    other.looks.skin *= 0.5f;
    outline.add(outline_of(difference(head, other)), points_of(head), {{1, 4}, {12, 15}});
  }
  EXPECT_GE(outline.count, 190);
  EXPECT_LT(outline.sum / outline.count, 1.5);
}

TEST(TrainHeads, AMirrorShowsTheMirroredPoints) {
  double same = 0, twisted = 0;
  for (std::uint64_t i = 0; i < kHeads; ++i) {
    const Head head = clear_head(i), mirror = mirrored(head);
    const auto points = points_of(head), seen = points_of(mirror);
    for (int n = 0; n < kHeadPoints; ++n) {
      const int from = mirrored_landmark(kHeadPoints, n);
      EXPECT_EQ(mirrored_landmark(kHeadPoints, from), n);
      const Point& p = points[static_cast<std::size_t>(from)];
      const Point& q = seen[static_cast<std::size_t>(n)];
      // The jaw's points are the best of some along a curve, and two may be alike.
      const float most = n <= 16 ? 0.2f : 2e-3f;
      EXPECT_NEAR(q.x, 239 - p.x, most) << n;
      EXPECT_NEAR(q.y, p.y, most) << n;
    }
    cv::Mat flipped;
    const cv::Mat picture = drawn(head), other = drawn(mirror);
    cv::flip(other, flipped, 1);
    const Box box = box_of_landmarks(points);
    const cv::Rect face(cvRound(box.x + box.w / 4), cvRound(box.y + box.h / 4), cvRound(box.w / 2),
                        cvRound(box.h / 2));
    same += cv::norm(picture(face), flipped(face), cv::NORM_L1) / face.area();
    twisted += cv::norm(picture(face), other(face), cv::NORM_L1) / face.area();
  }
  EXPECT_LT(same / kHeads, 4);
  EXPECT_GT(twisted / kHeads, 8);
}

TEST(TrainHeads, MirroredLandmarksOfOtherSchemes) {
  for (int i = 0; i < 5; ++i) EXPECT_EQ(mirrored_landmark(5, mirrored_landmark(5, i)), i);
  EXPECT_EQ(mirrored_landmark(5, 0), 2);
  EXPECT_EQ(mirrored_landmark(6, 0), -1);
}

}  // namespace
}  // namespace cuface::train
