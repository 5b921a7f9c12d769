// revive=features: what a face's views are, beside OpenCV, and who gets which id back by them.
#include <gtest/gtest.h>

#include <memory>
#include <opencv2/imgproc.hpp>
#include <vector>

#include "kernels/common/lanes.h"
#include "kernels/track/face_views.h"
#include "tests/kernels/pictures.h"
#include "tests/kernels/track_world.h"

namespace cuface {
namespace {

using test::view_of;
using track::kDrawnSide;
using track::KnownFaces;

/// The middle of a box, 64 x 64 sums, blurred by OpenCV.
cv::Mat blurred_by_opencv(const cv::Mat& picture, const Box& box) {
  cv::Mat sums(kDrawnSide, kDrawnSide, CV_32F);
  const double left = box.x + 0.125 * box.w, top = box.y + 0.125 * box.h;
  const double step = 0.75 * box.w / (2 * kDrawnSide);
  const auto pixel = [](double at, int most) { return std::clamp(static_cast<int>(at), 0, most); };
  for (int y = 0; y < kDrawnSide; ++y) {
    for (int x = 0; x < kDrawnSide; ++x) {
      float sum = 0;
      for (int k = 0; k < 4; ++k) {
        sum +=
            picture.at<std::uint8_t>(pixel(top + (2 * y + k / 2 + 0.5) * step, picture.rows - 1),
                                     pixel(left + (2 * x + k % 2 + 0.5) * step, picture.cols - 1));
      }
      sums.at<float>(y, x) = sum;
    }
  }
  cv::boxFilter(sums, sums, -1, {5, 5}, {-1, -1}, false, cv::BORDER_REPLICATE);
  return sums;
}

TEST(TrackViews, ADrawnFaceIsThatOfOpenCv) {
  const cv::Mat picture = texture(kWidth, kHeight, 3);
  const auto memory = std::make_unique<KnownFaces>();
  int compared = 0;
  // Inside the frame, over its corner, larger than it.
  for (const Box& box : {Box{40, 30, 128, 128}, Box{100, 90, 64, 64}, Box{-30, -20, 96, 96},
                         Box{260, 200, 128, 128}, Box{-100, -100, 512, 512}}) {
    draw_face(SerialLanes{}, view_of(picture), box, *memory);
    const cv::Mat expected = blurred_by_opencv(picture, box);
    for (int i = 0; i < track::kDrawnPixels; ++i, ++compared)
      ASSERT_EQ(static_cast<float>(memory->blurred[i]),
                expected.at<float>(i / kDrawnSide, i % kDrawnSide))
          << i;
  }
  EXPECT_EQ(compared, 5 * 4096);
}

TEST(TrackViews, DescriptorsAreComparisonsAndTheirDistanceIsHammings) {
  const cv::Mat picture = texture(kWidth, kHeight, 4);
  const auto memory = std::make_unique<KnownFaces>();
  const Box one{50, 40, 100, 100}, other{57, 36, 104, 104};
  track::View view;
  draw_face(SerialLanes{}, view_of(picture), one, *memory);
  describe_face(SerialLanes{}, orb::kPattern, *memory, view);
  const auto bits = [](const cv::Mat& drawn, int x, int y) {
    cv::Mat out = cv::Mat::zeros(1, 32, CV_8U);
    const auto at = [&](int dx, int dy) {
      return drawn.at<float>(std::clamp(y + dy, 0, 63), std::clamp(x + dx, 0, 63));
    };
    for (int k = 0; k < 256; ++k) {
      const orb::Pair& p = orb::kPattern[k];
      if (at(p.x0, p.y0) < at(p.x1, p.y1)) out.data[k / 8] |= static_cast<std::uint8_t>(1 << k % 8);
    }
    return out;
  };
  const cv::Mat here = blurred_by_opencv(picture, one), there = blurred_by_opencv(picture, other);
  draw_face(SerialLanes{}, view_of(picture), other, *memory);
  probe_face(SerialLanes{}, orb::kPattern, *memory);
  int shifted = 0;
  for (int place = 0; place < track::kPlaces; ++place) {
    const int x = 12 + 10 * (place % 5), y = 12 + 10 * (place / 5);
    const cv::Mat known = bits(here, x, y);
    ASSERT_EQ(std::memcmp(view.at[place].word, known.data, 32), 0) << place;
    double least = 256, middle = cv::norm(known, bits(there, x, y), cv::NORM_HAMMING);
    for (int dy = -6; dy <= 6; dy += 2)
      for (int dx = -6; dx <= 6; dx += 2)
        least = std::min(least, cv::norm(known, bits(there, x + dx, y + dy), cv::NORM_HAMMING));
    ASSERT_EQ(track::least_differing(view, memory->probe, place), static_cast<int>(least)) << place;
    shifted += least < middle;
  }
  EXPECT_GE(shifted, 10) << "faces that lie otherwise in their boxes";
}

TEST(TrackViews, AFlatFaceSaysNothing) {
  const cv::Mat flat(kHeight, kWidth, CV_8U, cv::Scalar(90));
  const auto memory = std::make_unique<KnownFaces>();
  track::View view;
  draw_face(SerialLanes{}, view_of(flat), {20, 20, 80, 80}, *memory);
  describe_face(SerialLanes{}, orb::kPattern, *memory, view);
  probe_face(SerialLanes{}, orb::kPattern, *memory);
  for (int place = 0; place < track::kPlaces; ++place)
    EXPECT_EQ(track::least_differing(view, memory->probe, place), track::kUnknown);
}

TEST(TrackViews, OneIsKnownIfAlikeAndMoreThanAllOthers) {
  constexpr int kAlike = track::kMostDiffering * track::kPlaces,
                kApart = track::kLeastApart * track::kPlaces;
  const auto known = [](std::vector<int> least) {
    return track::known_ghost(least.data(), static_cast<int>(least.size()));
  };
  EXPECT_EQ(known({}), -1);
  EXPECT_EQ(known({kAlike}), 0);
  EXPECT_EQ(known({kAlike + 1}), -1);
  EXPECT_EQ(known({2000, 100, 100 + kApart}), 1);
  EXPECT_EQ(known({2000, 100, 99 + kApart}), -1) << "in doubt";
  EXPECT_EQ(known({99 + kApart, 100, 2000}), -1) << "in doubt";
  EXPECT_EQ(known({100, 100}), -1);
}

TrackConfig by_features() {
  TrackConfig config;
  config.revive = Revive::kFeatures;
  config.revive_time = 15;
  return config;
}

/// Faces of a world at places; `first` is the number of the first one.
cv::Mat show(const World& world, int first, std::vector<Pose> poses, double gain = 1,
             double offset = 0) {
  World shown = world;
  shown.faces.erase(shown.faces.begin(), shown.faces.begin() + first);
  cv::Mat frame;
  shown.render(poses).convertTo(frame, CV_8U, gain, offset);
  return frame;
}

/// The id of a face that comes after another one, the world's first, has gone for `seconds`.
std::uint64_t id_after(const TrackConfig& config, const World& world, int who, const Pose& back,
                       double seconds) {
  Session session(config);
  settle(session, world, {100, 100});
  const cv::Mat empty = world.render({});
  for (double t = 0; t < seconds; t += 0.1) session.step(empty, &kNothing, nullptr, 0.1);
  const FaceList found = detections({box_of(back)});
  const TrackOutput& out = session.step(show(world, who, {back}, 0.8, 20), &found, nullptr, 0.1);
  EXPECT_EQ(out.faces.faces.size(), 1u);
  return out.faces.faces.empty() ? 0 : out.faces.faces[0].id;
}

TEST(TrackViews, AFaceComesBackElsewhereInAnotherSizeAndLight) {
  const World world;
  for (const Pose& back : {Pose{220, 150}, Pose{230, 90, 1.3}, Pose{90, 170, 0.75}}) {
    for (const double seconds : {1.0, 10.0}) {
      EXPECT_EQ(id_after(by_features(), world, 0, back, seconds), 1u) << back.x;
      EXPECT_EQ(id_after(by_features(), world, 1, back, seconds), 2u) << "somebody else";
    }
  }
  EXPECT_EQ(id_after(by_features(), world, 0, {220, 150}, 16), 2u) << "after revive-time";
  EXPECT_EQ(id_after(by_features(), world, 1, {100, 100}, 1), 2u) << "somebody else in its place";
  TrackConfig by_look = by_features();
  by_look.revive = Revive::kLook;
  EXPECT_EQ(id_after(by_look, world, 0, {220, 150}, 1), 2u);
}

TEST(TrackViews, TwoThatAreAlikeAreInDoubtAndSmallFacesTellNothing) {
  World twins;
  twins.faces[1] = twins.faces[0];
  Session session(by_features());
  const Pose left{80, 100}, right{220, 100};
  const FaceList both = detections({box_of(left), box_of(right)});
  for (int f = 0; f < 3; ++f) session.step(twins.render({left, right}), &both);
  for (int f = 0; f < 5; ++f) session.step(twins.render({}), &kNothing);
  const FaceList one = detections({box_of(left)});
  EXPECT_EQ(session.step(twins.render({left}), &one).faces.faces[0].id, 3u);

  const World world;
  Session small(by_features());
  settle(small, world, {100, 100, 0.39});
  for (int f = 0; f < 5; ++f) small.step(world.render({}), &kNothing);
  const FaceList again = detections({box_of({100, 100, 0.39})});
  EXPECT_EQ(small.step(world.render({{100, 100, 0.39}}), &again).faces.faces[0].id, 2u);
}

TEST(TrackViews, IsSwitchedWhileFacesAreFollowed) {
  const World world;
  TrackConfig config;
  Session session(config);
  settle(session, world, {100, 100});
  ASSERT_TRUE(session.tracker->configure(by_features()).ok());
  for (int f = 0; f < 5; ++f) session.step(world.render({}), &kNothing);
  const FaceList found = detections({box_of({220, 150})});
  EXPECT_EQ(session.step(world.render({{220, 150}}), &found).faces.faces[0].id, 2u)
      << "nobody looked at it while it was there";
  ASSERT_TRUE(session.tracker->configure(config).ok());
  for (int f = 0; f < 5; ++f) session.step(world.render({}), &kNothing);
  EXPECT_EQ(session.step(world.render({{220, 150}}), &found).faces.faces[0].id, 2u) << "by place";
}

// Views are kept as one is lost: nobody may be known by those of another who was lost before.
TEST(TrackViews, WhoIsLostWhileItIsOffIsNotKnown) {
  const World world;
  Session session(by_features());
  settle(session, world, {100, 100});
  for (int f = 0; f < 200; ++f) session.step(world.render({}), &kNothing, nullptr, 0.1);
  const FaceList second = detections({box_of({100, 100})}),
                 first = detections({box_of({220, 150})});
  for (int f = 0; f < 3; ++f) {
    const TrackOutput& out = session.step(show(world, 1, {{100, 100}}), &second);
    ASSERT_EQ(out.faces.faces.at(0).id, 2u) << "the first one is forgotten";
  }
  ASSERT_TRUE(session.tracker->configure({}).ok());
  for (int f = 0; f < 5; ++f) session.step(world.render({}), &kNothing);
  ASSERT_TRUE(session.tracker->configure(by_features()).ok());
  EXPECT_EQ(session.step(world.render({{220, 150}}), &first).faces.faces[0].id, 3u);
}

}  // namespace
}  // namespace cuface
