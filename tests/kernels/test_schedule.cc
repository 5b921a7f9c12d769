// When search=smart and search=motion search what: the rules, without a picture.
#include <gtest/gtest.h>

#include <string>

#include "kernels/detect/schedule.h"

namespace cuface {
namespace {

TEST(SmartSearch, IsDueEveryFewFrames) {
  SearchPeriod period;
  std::string due;
  for (int f = 0; f < 40; ++f) {
    const PeriodStep step = period.next(20);
    due += step.search ? 'x' : step.active ? 'a' : '-';
  }
  EXPECT_EQ(due, "x---------a---------x---------a---------");
}

class Smart : public testing::Test {
 protected:
  SearchSchedule wish;
  SearchRequest ask;
  SearchRegion on(bool search, bool active) {
    ask.step = {search, {}, active};
    return wish.next(ask);
  }
  void SetUp() override { ask.active_parts = true; }
};

TEST_F(Smart, ActivePartsAreSearchedBetweenWholePictures) {
  EXPECT_EQ(on(true, true), kWholePicture);
  wish.searched(kWholePicture, true);
  EXPECT_EQ(on(false, false), SearchRegion{});
  EXPECT_EQ(on(false, true), kActiveParts);
  wish.searched(kActiveParts, true);
  EXPECT_EQ(on(false, false), SearchRegion{});
  ask.asked = true;
  EXPECT_EQ(on(false, true), kWholePicture);
  wish.searched(kWholePicture, true);
  ask.asked = false;
  EXPECT_EQ(on(false, false), SearchRegion{}) << "the whole picture had the active parts in it";
}

TEST_F(Smart, ActivePartsAreSearchedAgainWhereNothingIsFound) {
  EXPECT_EQ(on(true, true), kWholePicture);
  wish.searched(kWholePicture, false);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(on(false, false), kActiveParts);
    wish.searched(kActiveParts, false);
  }
  EXPECT_EQ(on(true, true), kWholePicture) << "the period";
  wish.searched(kWholePicture, false);
  EXPECT_EQ(on(false, false), kActiveParts);
  wish.searched(kActiveParts, true);
  EXPECT_EQ(on(false, false), SearchRegion{});
}

TEST_F(Smart, NobodyTellsWhatIsFollowed) {
  ask.active_parts = false;
  EXPECT_EQ(on(true, true), kWholePicture);
  wish.searched(kWholePicture, false);
  EXPECT_EQ(on(false, false), kWholePicture) << "nothing was found";
  wish.searched(kWholePicture, true);
  EXPECT_EQ(on(false, true), SearchRegion{});
}

TEST_F(Smart, PassesOnWhatCannotBeSearched) {
  EXPECT_EQ(on(true, true), kWholePicture);
  wish.searched(kWholePicture, true);
  ask.searchable = false;
  ask.late = true;
  EXPECT_EQ(on(false, true), SearchRegion{});
  EXPECT_TRUE(wish.skipped(ask));
  EXPECT_EQ(on(false, false), SearchRegion{});
  ask.searchable = true;
  ask.late = false;
  EXPECT_EQ(on(false, false), kActiveParts);
  EXPECT_FALSE(wish.skipped(ask));
  wish.searched(kActiveParts, true);
  EXPECT_EQ(on(false, false), SearchRegion{});
}

TEST(MotionPause, IsAsLongAsTheShareThatWasSearched) {
  for (const auto pause_of : {motion_pause, network_pause})
    for (const SearchRegion& what : {kChangedParts, kNewParts}) {
      EXPECT_EQ(pause_of(what, 0, 200), 0) << "it was no search";
      EXPECT_EQ(pause_of(what, 0, 0), 0);
      const int first = pause_of(what, 1, 200);
      int last = first;
      for (int changed = 1; changed <= 200; ++changed) {
        const int pause = pause_of(what, changed, 200);
        EXPECT_GE(pause, last);
        EXPECT_LE(pause, 10);
        if (pause > first && pause < 10) {
          EXPECT_LE(pause, last + 1) << changed;
        }
        last = pause;
      }
      EXPECT_EQ(pause_of(what, 4096, 4096), last);
    }
  EXPECT_EQ(motion_pause(kNewParts, 1, 200), 2);
  EXPECT_EQ(motion_pause(kNewParts, 66, 200), 2);
  EXPECT_EQ(motion_pause(kNewParts, 67, 200), 3);
  EXPECT_EQ(motion_pause(kNewParts, 200, 200), 6);
  EXPECT_EQ(motion_pause(kChangedParts, 1, 200), 1);
  EXPECT_EQ(motion_pause(kChangedParts, 200, 200), 3);
  EXPECT_EQ(network_pause(kNewParts, 75, 200), 3);
  EXPECT_EQ(network_pause(kNewParts, 76, 200), 4);
  EXPECT_EQ(network_pause(kNewParts, 200, 200), 8);
  EXPECT_EQ(network_pause(kChangedParts, 200, 200), 3);
}

class MotionSearch : public Smart {
 protected:
  void SetUp() override { ask_for_motion(); }
  void ask_for_motion() {
    ask = {};
    ask.active_parts = ask.motion = true;
  }
  SearchRegion next() { return wish.next(ask); }
};

TEST_F(MotionSearch, LooksOnEveryFrameUntilSomethingHasMoved) {
  for (int i = 0; i < 30; ++i) EXPECT_EQ(next(), kChangedParts);
  wish.searched(kChangedParts, true, 3);
  EXPECT_EQ(next(), SearchRegion{});
  EXPECT_EQ(next(), SearchRegion{});
  for (int i = 3; i < 6; ++i) EXPECT_EQ(next(), kNewParts) << i;
  wish.searched(kNewParts, false, 2);
  EXPECT_EQ(next(), SearchRegion{}) << "what was found makes no difference";
  for (int i = 7; i < 9; ++i) EXPECT_EQ(next(), kNewParts) << i;
  wish.searched(kNewParts, true, 10);
  EXPECT_EQ(next(), SearchRegion{});
  EXPECT_EQ(next(), kChangedParts) << "ten frames later, whatever was new";
}

TEST_F(MotionSearch, TheWholePictureIsSearchedOnRequestOnly) {
  ask.asked = ask.late = true;
  ask.searchable = false;
  EXPECT_EQ(next(), SearchRegion{});
  EXPECT_TRUE(wish.skipped(ask));
  ask_for_motion();
  EXPECT_EQ(next(), kWholePicture) << "as soon as it may be";
  wish.searched(kWholePicture, false);
  for (int i = 1; i < 10; ++i) EXPECT_EQ(next(), SearchRegion{}) << i;
  EXPECT_EQ(next(), kChangedParts);
}

TEST_F(MotionSearch, TheTrackerAsksForWhatHasChanged) {
  wish.searched(kWholePicture, true);
  ask.searchable = false;
  ask.tracker_asks(kWholePicture);
  EXPECT_FALSE(ask.asked);
  EXPECT_EQ(next(), SearchRegion{});
  ask_for_motion();
  EXPECT_EQ(next(), kChangedParts) << "as soon as it may be";
  wish.searched(kChangedParts, true, 10);
  EXPECT_EQ(next(), SearchRegion{});
}

TEST_F(MotionSearch, ALateFrameIsNotSearchedAndNothingIsSkipped) {
  ask.late = true;
  ask.searchable = false;
  EXPECT_EQ(next(), SearchRegion{});
  EXPECT_FALSE(wish.skipped(ask)) << "nobody knows whether something has moved";
}

TEST_F(MotionSearch, AFaceInDoubtIsSearchedForInItsBand) {
  wish.searched(kWholePicture, true);
  ask.bands = true;
  ask.tracker_asks({2, 6});
  EXPECT_EQ(next(), (SearchRegion{2, 6}));
  wish.searched({2, 6}, true);
  ask.tentative = {};
  for (int i = 2; i < 10; ++i) EXPECT_EQ(next(), SearchRegion{}) << "it is no look at what moves";
  EXPECT_EQ(next(), kChangedParts);
}

}  // namespace
}  // namespace cuface
