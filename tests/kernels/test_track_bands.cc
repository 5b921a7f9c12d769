// What the search of a band says to the tracker: nothing about faces elsewhere.
#include <gtest/gtest.h>

#include <vector>

#include "tests/kernels/track_world.h"

namespace cuface {
namespace {

constexpr std::int32_t kBands = 4;
const Pose kHigh{80, 50, 0.8}, kLow{230, 190, 0.8};  // in the first band, and in the last

FaceList in_band(std::int32_t index, const std::vector<Box>& boxes) {
  FaceList list = detections(boxes);
  list.searched = false;
  list.part = {index, kBands};
  return list;
}

class TrackBands : public testing::Test {
 protected:
  World world;
  cv::Mat picture = world.render({kHigh, kLow});
  FaceList both = detections({box_of(kHigh), box_of(kLow)});

  /// Searches band after band; each of the two is found there, or not. Returns the faces by frame.
  std::vector<std::size_t> sweep(Session& session, bool high, bool low) {
    std::vector<std::size_t> counts;
    for (std::int32_t band = 0; band < kBands; ++band) {
      std::vector<Box> found;
      if (high && band == 0) found.push_back(box_of(kHigh));
      if (low && band == kBands - 1) found.push_back(box_of(kLow));
      const FaceList list = in_band(band, found);
      counts.push_back(session.step(picture, &list).faces.faces.size());
      wanted = wanted || session.out.search_wanted;
    }
    return counts;
  }
  bool wanted = false;
};

using Counts = std::vector<std::size_t>;

TEST_F(TrackBands, AFaceElsewhereIsNotMissed) {
  ASSERT_TRUE(is_in({0, kBands}, box_of(kHigh), kHeight, 0));
  ASSERT_TRUE(is_in({kBands - 1, kBands}, box_of(kLow), kHeight, 0));
  TrackConfig config;
  config.max_missed = 0;
  config.min_confirmed = 1000;  // none is held
  Session session(config);
  session.step(picture, &both);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(sweep(session, true, true), Counts(kBands, 2));
  EXPECT_FALSE(wanted);
  for (const Face& f : session.out.faces.faces)
    EXPECT_EQ(f.age, f.id == 1 ? kBands - 1 : 0) << "confirmed in its band";
  EXPECT_EQ(session.out.faces.faces.size(), 2u);
  EXPECT_FALSE(session.out.faces.searched);
}

TEST_F(TrackBands, AFaceIsMissedInItsOwnBand) {
  TrackConfig config;
  config.min_confirmed = 1000;
  Session session(config);
  session.step(picture, &both);
  sweep(session, true, true);
  EXPECT_EQ(sweep(session, true, false), Counts(kBands, 2)) << "once is none";
  EXPECT_EQ(sweep(session, true, false), (Counts{2, 2, 2, 1})) << "twice, and no sooner";
  EXPECT_EQ(session.out.lost_by[static_cast<std::size_t>(Loss::kMissed)], 1);
  EXPECT_FALSE(wanted) << "the other one is found";
  // Found by a search of the whole picture it is as new again.
  session.step(picture, &both);
  EXPECT_EQ(sweep(session, true, false), Counts(kBands, 2));
}

// As after a search of the whole picture that finds nothing.
TEST_F(TrackBands, WhereTheLastFaceIsMissedTheNextFrameIsSearched) {
  TrackConfig config;
  config.min_confirmed = 1000;
  Session session(config);
  session.step(picture, &both);
  sweep(session, true, true);
  EXPECT_FALSE(wanted);
  const FaceList nothing = in_band(0, {}), elsewhere = in_band(1, {}), last = in_band(3, {});
  EXPECT_FALSE(session.step(picture, &nothing).search_wanted) << "the low one was found last";
  EXPECT_FALSE(session.step(picture, &elsewhere).search_wanted);
  session.step(picture);
  EXPECT_TRUE(session.step(picture, &last).search_wanted);
  EXPECT_FALSE(session.step(picture, &both).search_wanted);
}

// It may have been found by the search of the band beside, on the frame before.
TEST_F(TrackBands, AFaceAtABorderFoundOnTheFrameBeforeIsNotMissed) {
  const Pose at_border{80, 62, 0.8};
  ASSERT_TRUE(is_in({0, kBands}, box_of(at_border), kHeight, 0));
  ASSERT_FALSE(is_in({0, kBands}, box_of(at_border), kHeight, -kWellInside));
  picture = world.render({at_border, kLow});
  both = detections({box_of(at_border), box_of(kLow)});
  TrackConfig config;
  config.max_missed = 0;
  config.min_confirmed = 1000;
  Session session(config);
  session.step(picture, &both);
  const FaceList last = in_band(3, {box_of(kLow)}), first = in_band(0, {});
  EXPECT_EQ(session.step(picture, &first).faces.faces.size(), 2u);
  EXPECT_EQ(session.step(picture, &last).faces.faces.size(), 2u);
  EXPECT_EQ(session.step(picture, &first).faces.faces.size(), 1u);
}

TEST_F(TrackBands, AFaceWellInsideIsMissedAtOnce) {
  ASSERT_TRUE(is_in({0, kBands}, box_of(kHigh), kHeight, -kWellInside));
  TrackConfig config;
  config.max_missed = 0;
  config.min_confirmed = 1000;
  Session session(config);
  session.step(picture, &both);
  const FaceList first = in_band(0, {});
  EXPECT_EQ(session.step(picture, &first).faces.faces.size(), 1u);
}

TEST_F(TrackBands, ANewFaceThatIsWeakIsDoubtedAndAnyIsFollowed) {
  Session session;
  const FaceList one = detections({box_of(kHigh)});
  session.step(picture, &one);
  FaceList weak = in_band(3, {box_of(kLow)});
  weak.faces[0].confidence = detection_confidence(4);
  session.step(picture, &weak);
  EXPECT_EQ(session.out.faces.faces.size(), 1u);
  EXPECT_TRUE(session.out.search_wanted);
  session.step(picture, &both);
  EXPECT_EQ(session.out.faces.faces.size(), 2u);
  EXPECT_FALSE(session.out.search_wanted);
}

}  // namespace
}  // namespace cuface
