// New faces that are tentative: followed, but nobody is told of them before enough windows have
// found them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/track/loss_rules.h"
#include "tests/kernels/track_world.h"

namespace cuface {
namespace {

const Pose kAt{160, 120};
const Pose kOther{60, 60, 0.8};

/// Two finds of 9 windows are enough.
FaceList weak(const std::vector<Box>& boxes, int windows = 9) {
  FaceList list = detections(boxes);
  for (Face& f : list.faces) {
    f.neighbors = windows;
    f.confidence = detection_confidence(windows);
  }
  return list;
}

class Doubt : public testing::Test {
 protected:
  World world;
  cv::Mat empty = world.render({}), one = world.render({kAt}), both = world.render({kAt, kOther});
  FaceList found = weak({box_of(kAt)}), other = weak({box_of(kOther)});

  /// A session whose first search has seen nothing.
  Session searched(const TrackConfig& config = {}) {
    Session session(config);
    session.step(empty, &kNothing);
    return session;
  }
  static std::vector<std::uint64_t> ids(const TrackOutput& out) {
    std::vector<std::uint64_t> all;
    for (const Face& f : out.faces.faces) all.push_back(f.id);
    return all;
  }
};

using Ids = std::vector<std::uint64_t>;

TEST_F(Doubt, EndsWithASecondSearch) {
  Session session = searched();
  const TrackOutput* out = &session.step(one, &found);
  EXPECT_EQ(ids(*out), Ids{});
  EXPECT_TRUE(out->search_wanted);
  EXPECT_EQ(out->faces.landmarks_per_face, 0);
  out = &session.step(one, &found);
  EXPECT_EQ(ids(*out), Ids{1});
  EXPECT_EQ(out->faces.faces.at(0).age, 0);
  EXPECT_FALSE(out->search_wanted);
  EXPECT_EQ(ids(session.step(one)), Ids{1});
}

TEST_F(Doubt, EndsWithEnoughWindowsOfAllSearches) {
  struct Case {
    float doubt_below;
    int windows, searches;
  };
  // 17 windows, 12 (the default), 57 and 255: what counts as most, so that a doubt ends at every
  // setting.
  for (const Case& c :
       {Case{0.85f, 16, 2}, {0.85f, 9, 2}, {0.85f, 8, 3},  {0.85f, 6, 3}, {0.85f, 5, 4},
        {0.85f, 4, 5},      {0.85f, 3, 6}, {0.85f, 1, 6},  {0.8f, 11, 2}, {0.8f, 6, 2},
        {0.8f, 4, 3},       {0.8f, 3, 4},  {0.95f, 17, 4}, {1.0f, 85, 3}, {1.0f, 84, 4},
        {0.85f, 17, 1},     {0.8f, 12, 1}, {0.5f, 3, 1},   {0.0f, 3, 1},  {1.0f, 255, 1}}) {
    TrackConfig config;
    config.doubt_below = c.doubt_below;
    Session session = searched(config);
    const FaceList list = weak({box_of(kAt)}, c.windows);
    for (int search = 1; search <= c.searches; ++search) {
      const bool last = search == c.searches;
      EXPECT_EQ(ids(session.step(one, &list)), last ? Ids{1} : Ids{})
          << c.doubt_below << ", " << c.windows << " windows, search " << search;
      EXPECT_EQ(bool{session.out.search_wanted}, !last);
    }
  }
}

TEST_F(Doubt, AMissBetweenTakesNothingAway) {
  Session session = searched();
  const FaceList list = weak({box_of(kAt)}, 4);
  for (int search = 0; search < 5; ++search) {
    const bool found_now = search % 2 == 0;
    EXPECT_EQ(ids(session.step(one, found_now ? &list : &kNothing)), search < 4 ? Ids{} : Ids{1});
  }
  // With the second in a row it is gone, however often it was found, and all begins again.
  session = searched();
  for (int round = 0; round < 3; ++round) {
    for (int search = 0; search < 4; ++search)
      EXPECT_EQ(ids(session.step(one, search < 2 ? &list : &kNothing)), Ids{});
  }
}

// A detector that tells no confidence: its finds count as the least of ours.
TEST_F(Doubt, EndsAlsoOfFindsWithoutConfidence) {
  for (const float confidence : {0.0f, -1.0f, std::nanf("")}) {
    FaceList list = weak({box_of(kAt)});
    list.faces[0].confidence = confidence;
    Session session = searched();
    for (int search = 1; search <= 4; ++search)
      EXPECT_EQ(ids(session.step(one, &list)), search < 4 ? Ids{} : Ids{1}) << confidence;
  }
}

/// As a network finds them.
FaceList scored(const std::vector<Box>& boxes, float score) {
  FaceList list = detections(boxes);
  for (Face& f : list.faces) {
    f.neighbors = -1;
    f.confidence = score;
    f.has_keypoints = true;
    for (int i = 0; i < kFaceKeypoints; ++i) {
      const float part = static_cast<float>(i) / 4;
      f.keypoints[i] = {f.box.x + f.box.w * part, f.box.y + f.box.h * (1 - part)};
    }
    f.roll = {0.8f, -0.6f};
  }
  return list;
}

TEST_F(Doubt, OfANetworkEndsWithTheSecondFindOrAGoodScore) {
  struct Case {
    float score;
    int min_confirmed, searches;
  };
  for (const Case& c : {Case{0.8f, 2, 1}, {0.79f, 2, 2}, {0.1f, 2, 2}, {0.79f, 4, 4}, {0, 1, 1}}) {
    TrackConfig config;
    config.min_confirmed = c.min_confirmed;
    Session session = searched(config);
    const FaceList list = scored({box_of(kAt)}, c.score);
    for (int search = 1; search <= c.searches; ++search) {
      const bool last = search == c.searches;
      EXPECT_EQ(ids(session.step(one, &list)), last ? Ids{1} : Ids{}) << c.score << " " << search;
      EXPECT_EQ(bool{session.out.search_wanted}, !last);
    }
  }
}

// A face half behind another one. Of a cascade a turned find there is a part of the face.
TEST_F(Doubt, OfANetworkFacesThatOverlapAreTwo) {
  const Box first = box_of(kAt);
  const Box behind{first.x + first.w * 0.45f, first.y + first.h * 0.45f, first.w, first.h};
  for (const bool network : {true, false}) {
    FaceList list = scored({first}, 0.9f);
    Session session;
    EXPECT_EQ(ids(session.step(one, &list)), Ids{1});
    list = scored({first, behind}, 0.9f);
    for (Face& f : list.faces) {
      f.has_keypoints = network;
      if (!network) f.neighbors = 30;
    }
    EXPECT_EQ(ids(session.step(one, &list)), (network ? Ids{1, 2} : Ids{1}));
  }
}

// Between searches; on a frame without a picture they wait.
TEST_F(Doubt, KeypointsFollowTheFaceThatANetworkFound) {
  const FaceList list = scored({box_of(kAt)}, 0.9f);
  Session session;
  session.step(one, &list);
  EXPECT_TRUE(std::ranges::equal(session.out.faces.faces.at(0).keypoints, list.faces[0].keypoints));
  const Pose there{kAt.x + 5, kAt.y - 3};
  const Face& now = session.step(world.render({there})).faces.faces.at(0);
  ASSERT_EQ(now.origin, Origin::kTracked);
  ASSERT_TRUE(now.has_keypoints);
  for (int i = 0; i < kFaceKeypoints; ++i) {
    EXPECT_NEAR(now.keypoints[i].x, list.faces[0].keypoints[i].x + 5, 0.6) << i;
    EXPECT_NEAR(now.keypoints[i].y, list.faces[0].keypoints[i].y - 3, 0.6) << i;
  }
  const Face before = now;
  session.tracker->pass_gap(session.out);
  EXPECT_TRUE(std::ranges::equal(session.out.faces.faces.at(0).keypoints, before.keypoints));
  const FaceList cascade = weak({box_of(there)}, 20);
  EXPECT_FALSE(session.step(world.render({there}), &cascade).faces.faces.at(0).has_keypoints);
}

TEST_F(Doubt, EndsWhereNoneIsDoubtedAnyMore) {
  Session session = searched();
  EXPECT_EQ(ids(session.step(one, &found)), Ids{});
  TrackConfig off;
  off.doubt_below = 0;
  ASSERT_TRUE(session.tracker->configure(off).ok());
  EXPECT_EQ(ids(session.step(one)), Ids{1});
}

// Not in the whole picture: the next frames take little longer than others.
TEST_F(Doubt, IsSearchedForInANarrowBand) {
  Session session = searched();
  const SearchRegion at = session.step(one, &found).search_wanted;
  EXPECT_GE(at.count, 3);
  EXPECT_TRUE(is_in(at, box_of(kAt), kHeight, -kWellInside / 2)) << "its box is a tracked one";
  // What a search of that band says counts as a whole one's: the second miss in a row ends it.
  FaceList nothing = kNothing;
  nothing.searched = false;
  nothing.part = at;
  EXPECT_EQ(session.step(one, &nothing).search_wanted, kWholePicture) << "nothing is found";
  EXPECT_EQ(session.step(one, &kNothing).search_wanted, SearchRegion{});
  session = searched();
  session.step(one, &found);
  FaceList again = found;
  again.searched = false;
  again.part = at;
  EXPECT_EQ(ids(session.step(one, &again)), Ids{1});
}

TEST_F(Doubt, OfSeveralIsSearchedForInTurn) {
  Session session = searched();
  const FaceList two = weak({box_of(kAt), box_of(kOther)}, 3);
  const auto inside = [](const SearchRegion& band, const Pose& pose) {
    return is_in(band, box_of(pose), kHeight, 0);
  };
  SearchRegion at = session.step(both, &two).search_wanted;
  const bool first = inside(at, kAt);
  for (int f = 0; f < 6; ++f) {
    const bool now_first = f % 2 ? !first : first;
    ASSERT_EQ(inside(at, kAt), now_first) << f;
    ASSERT_EQ(inside(at, kOther), !now_first) << f;
    FaceList list = weak({box_of(now_first ? kAt : kOther)}, 3);
    list.searched = false;
    list.part = at;
    at = session.step(both, &list).search_wanted;
    EXPECT_EQ(ids(session.out), f < 4 ? Ids{} : f < 5 ? Ids{1} : (Ids{1, 2}));
  }
  EXPECT_EQ(at, SearchRegion{});
}

TEST_F(Doubt, IsFollowedMeanwhile) {
  Session session = searched();
  for (int f = 0; f <= 10; ++f) {
    const Pose pose{100 + 8.0 * f, 120};
    const FaceList here = weak({box_of(pose)});
    const TrackOutput& out = session.step(world.render({pose}), f % 10 ? nullptr : &here);
    EXPECT_EQ(ids(out), f < 10 ? Ids{} : Ids{1}) << f;
    EXPECT_EQ(bool{out.search_wanted}, f < 10) << f;
    EXPECT_EQ(out.lost, 0);
  }
}

TEST_F(Doubt, TakesNoIdWhereNothingWasThere) {
  Session session = searched();
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(ids(session.step(one, &found)), Ids{});
    const TrackOutput* out = &session.step(one, &kNothing);
    EXPECT_EQ(ids(*out), Ids{}) << "one search may miss a face";
    EXPECT_TRUE(out->search_wanted);
    out = &session.step(one, &kNothing);
    EXPECT_EQ(ids(*out), Ids{});
    EXPECT_FALSE(out->search_wanted);
    EXPECT_EQ(out->lost, 0) << "nobody had heard of it";
  }
  const FaceList sure = detections({box_of(kAt)});
  EXPECT_EQ(ids(session.step(one, &sure)), Ids{1});
}

TEST_F(Doubt, NotOfTheFirstSearchNorOfSureOnesNorWhenOff) {
  Session first;
  EXPECT_EQ(ids(first.step(one, &found)), Ids{1}) << "there may be no second picture";
  EXPECT_FALSE(first.out.search_wanted);
  first.tracker->end_tracks();
  EXPECT_EQ(ids(first.step(one, &found)), Ids{2}) << "another picture";

  Session sure = searched();
  const FaceList strong = detections({box_of(kAt)});
  EXPECT_EQ(ids(sure.step(one, &strong)), Ids{1});

  TrackConfig off;
  off.doubt_below = 0;
  Session all = searched(off);
  EXPECT_EQ(ids(all.step(one, &found)), Ids{1});
}

TEST_F(Doubt, NotOfAFaceThatComesBack) {
  Session session;
  ASSERT_NO_FATAL_FAILURE(settle(session, world, kAt));
  for (int f = 0; f < 10; ++f) ASSERT_EQ(ids(session.step(empty, &kNothing)), Ids{});
  EXPECT_EQ(ids(session.step(one, &found)), Ids{1});
}

TEST_F(Doubt, OfOneLeavesTheOthersAlone) {
  Session session;
  const FaceList sure = detections({box_of(kAt)});
  ASSERT_EQ(ids(session.step(both, &sure)), Ids{1});
  // Two in doubt, of which the second is confirmed first: ids tell the order in which doubts end.
  const Pose third{260, 200, 0.6};
  const cv::Mat all = world.render({kAt, kOther, third});
  FaceList two = weak({box_of(kAt), box_of(kOther), box_of(third)});
  for (const Face& f : two.faces) {
    for (int i = 0; i < 5; ++i)
      two.landmarks.push_back({f.box.x + f.box.w * (0.3f + 0.2f * static_cast<float>(i % 3)),
                               f.box.y + f.box.h * (0.4f + 0.2f * static_cast<float>(i / 3))});
  }
  two.landmarks_per_face = 5;
  EXPECT_EQ(ids(session.step(all, &two)), Ids{1});
  EXPECT_EQ(session.out.faces.landmarks_per_face, 5);
  EXPECT_EQ(session.out.faces.landmarks.size(), 5u);
  EXPECT_TRUE(session.out.search_wanted);
  const FaceList last = weak({box_of(kAt), box_of(third)});
  const TrackOutput* out = &session.step(all, &last);
  ASSERT_EQ(ids(*out), (Ids{1, 2}));
  EXPECT_LT(box_error(out->faces.faces[1].box, box_of(third)), 1);
  EXPECT_TRUE(out->search_wanted);
  two.landmarks_per_face = 0;
  two.landmarks.clear();
  out = &session.step(all, &two);
  ASSERT_EQ(ids(*out), (Ids{1, 2, 3}));
  EXPECT_LT(box_error(out->faces.faces[2].box, box_of(kOther)), 1);
  EXPECT_FALSE(out->search_wanted);
}

TEST_F(Doubt, OfAPartOfAFaceIsNoNewFace) {
  // Found turned, where it is seen upright: a cheek. Twice, so that it would no longer be
  // tentative.
  Box cheek = box_of(kAt);
  cheek = {cheek.x + cheek.w * 0.4f, cheek.y + cheek.h * 0.5f, cheek.w * 0.4f, cheek.h * 0.4f};
  FaceList part = detections({cheek}), with_head = detections({box_of(kAt), cheek});
  const auto turn = [](Face& face, float sin) { face.roll = {std::sqrt(1 - sin * sin), sin}; };
  Session session;
  ASSERT_NO_FATAL_FAILURE(settle(session, world, kAt));
  for (const float sin : {0.4f, -0.4f, 0.7f}) {
    turn(part.faces[0], sin);
    turn(with_head.faces[1], sin);
    EXPECT_EQ(ids(session.step(one, &part)), Ids{1});
    EXPECT_TRUE(session.out.search_wanted) << "for the detector it was a find";
    EXPECT_EQ(ids(session.step(one, &with_head)), Ids{1});
    EXPECT_FALSE(session.out.search_wanted) << "the search has found the face";
  }
  // Elsewhere it is one, and so is what is found upright.
  FaceList far = detections({box_of(kAt), box_of(kOther)});
  turn(far.faces[1], 0.4f);
  EXPECT_EQ(ids(session.step(both, &far)), (Ids{1, 2}));
  turn(with_head.faces[1], 0);
  with_head.faces.push_back(far.faces[1]);
  EXPECT_EQ(ids(session.step(both, &with_head)), (Ids{1, 2, 3}));
}

TEST_F(Doubt, TheLossOfTheLastFaceIsToldAlthoughOneIsInDoubt) {
  Session session;
  const FaceList sure = detections({box_of(kAt)});
  ASSERT_EQ(ids(session.step(one, &sure)), Ids{1});
  ASSERT_EQ(ids(session.step(one, &sure)), Ids{1});
  FaceList also = weak({box_of(kAt), box_of(kOther)});
  ASSERT_EQ(ids(session.step(both, &also)), Ids{1});
  const TrackOutput& out = session.step(empty, &kNothing);
  EXPECT_EQ(ids(out), Ids{});
  EXPECT_EQ(out.lost, 1);
  EXPECT_TRUE(out.search_wanted);
}

TEST_F(Doubt, ManyComeAndGo) {
  // More than there is room for: places are free again, and none is lost.
  Session session = searched();
  for (int round = 0; round < 30; ++round) {
    std::vector<Box> boxes;
    for (int i = 0; i < 64; ++i)
      boxes.push_back({10.0f + 35 * (i % 8) + round % 3, 8.0f + 28 * (i / 8), 30, 26});
    const FaceList crowd = weak(boxes);
    ASSERT_EQ(session.step(empty, &crowd).faces.faces.size(), 0u) << round;
    ASSERT_EQ(session.step(empty, &kNothing).faces.faces.size(), 0u) << round;
    ASSERT_EQ(session.step(empty, &kNothing).faces.faces.size(), 0u) << round;
  }
  const FaceList sure = detections({box_of(kAt)});
  EXPECT_EQ(ids(session.step(one, &sure)), Ids{1});
}

}  // namespace
}  // namespace cuface
