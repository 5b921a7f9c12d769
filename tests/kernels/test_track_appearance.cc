// Cuts: a face in the place of another one is that one or not by how it looks.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "kernels/track/appearance.h"
#include "kernels/track/track.h"
#include "tests/kernels/pictures.h"
#include "tests/kernels/track_world.h"

namespace cuface {
namespace {

using test::view_of;

std::vector<std::int32_t> look_of(const cv::Mat& picture, const Box& box) {
  std::vector<std::int32_t> look;
  for (int i = 0; i < track::kAppearanceCells; ++i) {
    look.push_back(track::appearance_cell(view_of(picture), box, i));
  }
  return look;
}

TEST(TrackLook, CellsAreSumsOfPixels) {
  const cv::Mat picture = texture(kWidth, kHeight, 3);
  for (const auto& [x, y, k] : {std::array{40, 30, 1}, {100, 90, 2}, {0, 0, 3}}) {
    const auto side = static_cast<float>(64 * k);
    const auto look = look_of(picture, {static_cast<float>(x), static_cast<float>(y), side, side});
    for (int cell = 0; cell < track::kAppearanceCells; ++cell) {
      int sum = 0;
      for (int j = 0; j < 8; ++j) {
        for (int i = 0; i < 8; ++i) {
          const int row = y + ((cell / 8 * 8 + j) * 2 + 1) * k / 2;
          const int column = x + ((cell % 8 * 8 + i) * 2 + 1) * k / 2;
          sum += picture.at<std::uint8_t>(row, column);
        }
      }
      ASSERT_EQ(look[static_cast<std::size_t>(cell)], sum) << cell << " of " << k;
    }
  }
  // Outside of the picture the nearest pixel counts, however far it is.
  const auto far = look_of(picture, {-1e30f, 1e30f, 10, 10});
  for (std::int32_t sum : far) ASSERT_EQ(sum, 64 * picture.at<std::uint8_t>(kHeight - 1, 0));
}

TEST(TrackLook, CorrelationIsPearsons) {
  std::mt19937 random(5);
  for (int round = 0; round < 50; ++round) {
    std::vector<std::int32_t> a(track::kAppearanceCells), b(track::kAppearanceCells),
        c(track::kAppearanceCells);
    for (std::size_t i = 0; i < a.size(); ++i) {
      a[i] = static_cast<std::int32_t>(random() % 16321);
      b[i] = round % 2 ? static_cast<std::int32_t>(random() % 16321) : a[i] / 2 + 77;
      c[i] = 16320 - a[i];
    }
    double mean_a = 0, mean_b = 0, aa = 0, bb = 0, ab = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      mean_a += a[i] / 64.0;
      mean_b += b[i] / 64.0;
    }
    for (std::size_t i = 0; i < a.size(); ++i) {
      aa += (a[i] - mean_a) * (a[i] - mean_a);
      bb += (b[i] - mean_b) * (b[i] - mean_b);
      ab += (a[i] - mean_a) * (b[i] - mean_b);
    }
    EXPECT_NEAR(track::appearance_correlation(a.data(), b.data()), ab / std::sqrt(aa * bb), 1e-6);
    EXPECT_EQ(track::appearance_correlation(a.data(), c.data()), -1);
  }
  const std::vector<std::int32_t> flat(track::kAppearanceCells, 9), black(track::kAppearanceCells);
  EXPECT_EQ(track::appearance_correlation(flat.data(), black.data()), 1) << "it says nothing";
}

/// Two people who are never seen together.
struct Cuts {
  World first, second;
  Pose pose{160, 120};
  Cuts() {
    second.background = texture(kWidth, kHeight, 555);
    second.faces[0] = texture(kSide, kSide, 77);
  }
};

std::vector<std::uint64_t> ids_of(const TrackOutput& out) {
  std::vector<std::uint64_t> ids;
  for (const Face& f : out.faces.faces) ids.push_back(f.id);
  return ids;
}
using Ids = std::vector<std::uint64_t>;

TEST(TrackAppearance, ACutToAnotherFaceAndBack) {
  const Cuts cuts;
  const FaceList found = detections({box_of(cuts.pose)});
  for (const float min_correlation : {0.5f, 0.0f}) {
    const bool on = min_correlation > 0;
    TrackConfig config;
    config.min_correlation = min_correlation;
    Session session(config);
    settle(session, cuts.first, cuts.pose);
    const cv::Mat other = cuts.second.render({cuts.pose});
    EXPECT_EQ(ids_of(session.step(other, &found)), Ids{on ? 2u : 1u});
    EXPECT_EQ(session.out.lost, on);
    EXPECT_EQ(session.out.lost_by[static_cast<std::size_t>(Loss::kPoints)], on);
    for (int f = 0; f < 10; ++f) EXPECT_EQ(ids_of(session.step(other)), Ids{on ? 2u : 1u});
    // Of the two that were lost here, the one that is more alike.
    EXPECT_EQ(ids_of(session.step(cuts.first.render({cuts.pose}), &found)), Ids{1});
    EXPECT_EQ(ids_of(session.step(other, &found)), Ids{on ? 2u : 1u});
  }
}

TEST(TrackAppearance, ACutBetweenTwoSearches) {
  const Cuts cuts;
  const FaceList found = detections({box_of(cuts.pose)});
  const cv::Mat one = cuts.first.render({cuts.pose}), other = cuts.second.render({cuts.pose});
  for (const bool back : {false, true}) {
    Session session;
    settle(session, cuts.first, cuts.pose);
    EXPECT_EQ(ids_of(session.step(other)), Ids{});
    EXPECT_EQ(ids_of(session.step(back ? one : other, &found)), Ids{back ? 1u : 2u});
    if (back) continue;
    // Both were lost here, this one last.
    EXPECT_EQ(ids_of(session.step(one)), Ids{});
    EXPECT_EQ(ids_of(session.step(one, &found)), Ids{1});
  }
}

TEST(TrackAppearance, AFlashOrAJumpIsNoCut) {
  const Cuts cuts;
  const cv::Mat start = cuts.first.render({cuts.pose});
  const Pose there{190, 130};
  cv::Mat dark, bright, moved = cuts.first.render({there}), flat = start.clone();
  start.convertTo(dark, CV_8U, 0.15);
  start.convertTo(bright, CV_8U, 1.5, 60);
  moved.convertTo(moved, CV_8U, 0.5, 90);
  flat.setTo(255);
  int lost = 0;
  for (const auto& [frame, pose] :
       {std::pair{dark, cuts.pose}, {bright, cuts.pose}, {moved, there}, {flat, cuts.pose}}) {
    Session alone, session;
    settle(alone, cuts.first, cuts.pose);
    lost += alone.step(frame).lost;
    settle(session, cuts.first, cuts.pose);
    const FaceList found = detections({box_of(pose)});
    EXPECT_EQ(ids_of(session.step(frame, &found)), Ids{1});
    EXPECT_EQ(session.out.lost, 0);
    const FaceList back = detections({box_of(cuts.pose)});
    EXPECT_EQ(ids_of(session.step(start, &back)), Ids{1});
  }
  EXPECT_GE(lost, 2) << "what the flow can follow asks nothing";
}

}  // namespace
}  // namespace cuface
