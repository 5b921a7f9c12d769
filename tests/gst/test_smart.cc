// cufacedetect search=smart: between searches of the whole picture its active parts.
#include <set>

#include "kernels/detect/schedule.h"
#include "tests/gst/support.h"

namespace cuface::test {
namespace {

constexpr int kWidth = 480, kHeight = 360;

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

class SmartChain : public testing::Test {
 protected:
  TempFolder folder;
  std::string cascade = folder.write("square.xml", square_cascade_xml());
  std::string detect =
      "cufacedetect name=d min-size=40 redetect-interval=20 cascade=" + cascade + " ";
  std::string smart = detect + "search=smart ";
  std::string track = "! culktrack name=t doubt-below=0 ";
  GstVideoInfo info = video_info(GST_VIDEO_FORMAT_GRAY8, kWidth, kHeight);
  const cv::Rect left{80, 120, 48, 48}, right{320, 200, 48, 48};

  struct Seen {
    std::string searched;     // 'x' where the whole picture was
    std::string fresh;        // faces that a search has just found
    std::vector<int> counts;  // of faces
    std::set<guint64> ids;
    guint64 searches = 0, lost = 0;
  };

  Seen run(const std::string& pipeline, const std::vector<cv::Mat>& frames) {
    Harness harness(pipeline);
    harness.set_caps(info);
    Seen seen;
    for (const cv::Mat& frame : frames) {
      GstBuffer* out = harness.pass(make_frame(info, frame));
      GstCufaceFaces* faces = faces_of(out);
      seen.searched += gst_cuface_faces_get_searched(faces) ? 'x' : '-';
      const guint count = gst_cuface_faces_get_count(faces);
      seen.counts.push_back(static_cast<int>(count));
      int fresh = 0;
      for (guint k = 0; k < count; ++k) {
        fresh += gst_cuface_faces_get_age(faces, k) == 0;
        seen.ids.insert(gst_cuface_faces_get_id(faces, k));
      }
      seen.fresh += static_cast<char>('0' + fresh);
      gst_cuface_faces_unref(faces);
      gst_buffer_unref(out);
    }
    seen.searches = harness.stat("d", "searches");
    seen.lost = harness.stat("t", "lost-tracks");
    return seen;
  }
  std::vector<cv::Mat> still(int frames, const std::vector<cv::Rect>& where) {
    return std::vector<cv::Mat>(static_cast<std::size_t>(frames), squares(kWidth, kHeight, where));
  }
  static void append(std::vector<cv::Mat>& frames, const std::vector<cv::Mat>& more) {
    frames.insert(frames.end(), more.begin(), more.end());
  }
};

TEST_F(SmartChain, FollowedFacesAreConfirmedInTheirPlace) {
  const Seen seen = run(smart + track, still(26, {left, right}));
  EXPECT_EQ(seen.searched, "x-------------------x-----");
  EXPECT_EQ(seen.fresh, "20000000002000000000200000");
  EXPECT_EQ(seen.counts, std::vector<int>(26, 2));
  EXPECT_EQ(seen.searches, 3u);
  EXPECT_EQ(seen.lost, 0u);
}

TEST_F(SmartChain, ANewFaceIsFoundByTheNextSearchOfActiveParts) {
  std::vector<cv::Mat> frames = still(6, {left});
  append(frames, still(12, {left, right}));
  EXPECT_EQ(run(detect + track, frames).counts.back(), 1) << "its turn has not come";
  const Seen seen = run(smart + track, frames);
  EXPECT_EQ(seen.counts[9], 1);
  EXPECT_EQ(seen.counts[10], 2);
  EXPECT_EQ(seen.counts.back(), 2);
  EXPECT_EQ(seen.ids.size(), 2u);
}

TEST_F(SmartChain, AFaceThatIsGoneIsMissedAndOthersAreNot) {
  std::vector<cv::Mat> frames = still(7, {left, right});
  append(frames, still(13, {left}));
  const Seen seen = run(smart + track + "max-missed=0 hold-time=0 min-points=0 ", frames);
  EXPECT_EQ(seen.counts.back(), 1);
  EXPECT_EQ(seen.lost, 1u);
  EXPECT_EQ(seen.ids.size(), 2u) << "the other keeps its id";
}

TEST_F(SmartChain, InAnEmptyPictureOnlyWhatChangesIsSearched) {
  std::vector<cv::Mat> frames = still(9, {});
  append(frames, still(8, {right}));
  const Seen seen = run(smart + track, frames);
  EXPECT_EQ(seen.searched, "x----------------") << "once whole, then in parts";
  EXPECT_EQ(seen.counts[8], 0);
  EXPECT_EQ(seen.counts[9], 1) << "found on its first frame";
}

TEST_F(SmartChain, HasNoEffectWhereItCannot) {
  const auto frames = still(25, {left, right});
  const auto text = [&](const std::string& pipeline) { return run_frames(pipeline, info, frames); };
  int same = 0;
  for (const std::string& pipeline :
       {detect, detect + "! queue " + track, detect + "spread=true " + track,
        detect + "roll=30 " + track, detect + "grouping=overlap " + track,
        detect + "scale-mode=window " + track,
        "cufacedetect max-size=60 cascade=" + cascade + " ! " + detect + track}) {
    std::string with = pipeline;
    with.insert(with.find("name=d"), "search=smart ");
    EXPECT_EQ(text(with), text(pipeline)) << pipeline;
    ++same;
  }
  EXPECT_EQ(same, 7);
  EXPECT_NE(text(smart + track), text(detect + track)) << "where it has one";
}

TEST_F(SmartChain, CanBeSwitchedWhileRunning) {
  Harness harness(detect + track);
  harness.set_caps(info);
  std::string searched;
  for (int i = 0; i < 40; ++i) {
    if (i == 7 || i == 22)
      gst_util_set_object_arg(G_OBJECT(harness.element("d")), "search", i == 7 ? "smart" : "full");
    const guint64 before = harness.stat("d", "searches");
    GstBuffer* out = harness.pass(grey_frame(squares(kWidth, kHeight, {left, right})));
    searched += was_searched(out) ? 'x' : harness.stat("d", "searches") > before ? 'a' : '-';
    EXPECT_EQ(face_count(out), 2);
    gst_buffer_unref(out);
  }
  EXPECT_EQ(searched, "x---------a---------x-------------------");
}

}  // namespace
}  // namespace cuface::test
