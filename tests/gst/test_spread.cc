// cufacedetect spread: while faces are followed, a band of the picture on every frame.
#include <map>
#include <set>

#include "kernels/detect/schedule.h"
#include "tests/gst/support.h"

namespace cuface::test {
namespace {

constexpr int kWidth = 320, kHeight = 240;

TEST(SpreadSearch, HasEveryBandOnceInAnInterval) {
  for (const std::uint64_t interval : {1, 2, 7, 10, 16, 17, 30, 1000}) {
    SearchPeriod period;
    const auto most = static_cast<std::int32_t>(std::min(interval, std::uint64_t{kMostBands}));
    std::uint64_t last = 0, gap = 0;
    std::int32_t next = 0;
    for (std::uint64_t f = 0; f < 3 * interval; ++f) {
      const PeriodStep step = period.next(interval);
      EXPECT_EQ(step.search, f % interval == 0);
      if (interval == 1) {
        EXPECT_FALSE(step.band.is_part());
      } else if (step.band.count > 0) {
        EXPECT_EQ(step.band, (SearchRegion{next, most})) << f;
        next = (next + 1) % most;
        gap = std::max(gap, f - last);
        last = f;
      }
    }
    EXPECT_EQ(next, 0) << interval;
    EXPECT_LE(gap, interval / static_cast<std::uint64_t>(most) + 1) << "evenly";
  }
}

class Wish : public testing::Test {
 protected:
  SearchSchedule wish;
  SearchRequest ask;
  SearchRegion on(std::int32_t index, bool search = false) {
    ask.step = {search, {index, 5}};
    return wish.next(ask);
  }
  void SetUp() override { ask.follows = true; }
};

TEST_F(Wish, OfATrackerInDoubtIsForItsBand) {
  const SearchRegion band{3, 8};
  const auto next = [&](const SearchRegion& wanted, bool bands, bool asked = false) {
    SearchRequest now;
    now.bands = bands;
    now.asked = asked;
    now.tracker_asks(wanted);
    const SearchRegion what = wish.next(now);
    EXPECT_EQ(begins_search(now, what), what.count > 0);
    return what;
  };
  EXPECT_EQ(next(band, true), band);
  wish.searched(band, false);
  EXPECT_EQ(next({}, true), SearchRegion{}) << "a band without a face is no search without one";
  EXPECT_EQ(next(band, false), kWholePicture) << "where bands cannot be searched";
  wish.searched(kWholePicture, true);
  EXPECT_EQ(next(kWholePicture, true), kWholePicture);
  wish.searched(kWholePicture, false);
  EXPECT_EQ(next(band, true), kWholePicture) << "the search before found nothing";
  wish.searched(kWholePicture, true);
  EXPECT_EQ(next(band, true, true), kWholePicture) << "somebody else asks too";
  wish.searched(kWholePicture, true);
  // A late frame is not searched, and the tracker asks again.
  SearchRequest late;
  late.bands = late.late = true;
  late.searchable = false;
  late.tracker_asks(band);
  EXPECT_EQ(wish.next(late), SearchRegion{});
  EXPECT_TRUE(wish.skipped(late));
  EXPECT_EQ(next({}, true), SearchRegion{});
}

TEST_F(Wish, IsForBandsOnlyWhileFacesAreFollowed) {
  ask.follows = false;
  EXPECT_EQ(on(0, true), kWholePicture);
  wish.searched(kWholePicture, true);
  EXPECT_EQ(on(1), SearchRegion{});
  ask.follows = true;
  EXPECT_EQ(on(2), (SearchRegion{2, 5}));
  wish.searched({2, 5}, false);
  EXPECT_EQ(on(3), (SearchRegion{3, 5})) << "a band without a face is no search without one";
  EXPECT_EQ(on(0, true), (SearchRegion{0, 5}));
  ask.asked = true;
  EXPECT_EQ(on(1), kWholePicture);
  wish.searched(kWholePicture, false);
  ask.asked = false;
  EXPECT_EQ(on(2), kWholePicture) << "after a search that found nothing";
  wish.searched(kWholePicture, true);
  EXPECT_EQ(on(3), (SearchRegion{3, 5}));
  ask.step.band = {};
  EXPECT_EQ(wish.next(ask), SearchRegion{});
  ask.step.search = true;
  EXPECT_EQ(wish.next(ask), kWholePicture);
}

TEST_F(Wish, PutsBandsOffThatCannotBeSearched) {
  EXPECT_EQ(on(0, true), (SearchRegion{0, 5}));
  ask.searchable = false;
  ask.late = true;
  EXPECT_EQ(on(1), SearchRegion{});
  EXPECT_TRUE(wish.skipped(ask));
  EXPECT_EQ(on(2), SearchRegion{});
  ask.searchable = true;
  ask.late = false;
  EXPECT_EQ(on(3), (SearchRegion{1, 5}));
  EXPECT_FALSE(wish.skipped(ask));
  EXPECT_EQ(on(4), (SearchRegion{2, 5}));
  EXPECT_EQ(on(0, true), (SearchRegion{3, 5}));
  EXPECT_EQ(on(1), (SearchRegion{4, 5}));
  EXPECT_EQ(on(2), (SearchRegion{0, 5}));
  ask.asked = true;
  EXPECT_EQ(on(3), kWholePicture);
  wish.searched(kWholePicture, true);
  ask.asked = false;
  EXPECT_EQ(on(4), (SearchRegion{4, 5})) << "all have been searched: nothing is owed";
}

TEST_F(Wish, OfAWholeRoundPutOffIsForTheWholePicture) {
  EXPECT_EQ(on(0, true), (SearchRegion{0, 5}));
  ask.searchable = false;
  for (const int i : {1, 2, 3, 4}) EXPECT_EQ(on(i), SearchRegion{});
  SearchSchedule four = wish;
  EXPECT_EQ(on(0, true), SearchRegion{});
  EXPECT_EQ(on(1), SearchRegion{});
  ask.searchable = true;
  EXPECT_EQ(on(2), kWholePicture);
  wish.searched(kWholePicture, true);
  EXPECT_EQ(on(3), (SearchRegion{3, 5})) << "nothing is owed";
  wish = four;
  EXPECT_EQ(on(0, true), (SearchRegion{1, 5})) << "four bands of five are not all";
}

class Spread : public testing::Test {
 protected:
  TempFolder folder;
  std::string cascade = folder.write("square.xml", square_cascade_xml());
  std::string detect =
      "cufacedetect name=d min-size=40 redetect-interval=8 cascade=" + cascade + " ";
  std::string track = "! culktrack name=t ";
  GstVideoInfo info = video_info(GST_VIDEO_FORMAT_GRAY8, kWidth, kHeight);
  const cv::Rect high{40, 30, 48, 48}, low{200, 150, 48, 48}, middle{120, 90, 48, 48};

  struct Seen {
    std::string searched;                           // 'x' where the whole picture was
    std::vector<int> counts;                        // of faces
    std::map<guint64, std::vector<int>> confirmed;  // on these frames, by id
    guint64 searches = 0, lost = 0;
  };

  Seen run(const std::string& pipeline, const std::vector<cv::Mat>& frames, int flush = -1,
           bool live = false) {
    Harness harness(pipeline);
    gst_harness_set_live(harness.get(), live);
    harness.set_caps(info);
    Seen seen;
    for (int i = 0; i < static_cast<int>(frames.size()); ++i) {
      if (i == flush) {
        gst_harness_push_event(harness.get(), gst_event_new_flush_start());
        gst_harness_push_event(harness.get(), gst_event_new_flush_stop(TRUE));
        GstSegment segment;
        gst_segment_init(&segment, GST_FORMAT_TIME);
        gst_harness_push_event(harness.get(), gst_event_new_segment(&segment));
      }
      GstBuffer* out = harness.pass(make_frame(info, frames[static_cast<std::size_t>(i)]));
      GstCufaceFaces* faces = faces_of(out);
      seen.searched += gst_cuface_faces_get_searched(faces) ? 'x' : '-';
      const guint count = gst_cuface_faces_get_count(faces);
      seen.counts.push_back(static_cast<int>(count));
      for (guint k = 0; k < count; ++k)
        if (gst_cuface_faces_get_age(faces, k) == 0)
          seen.confirmed[gst_cuface_faces_get_id(faces, k)].push_back(i);
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
};

TEST_F(Spread, EachFaceIsConfirmedInItsBand) {
  const Seen seen = run(detect + "spread=true " + track, still(33, {high, low}));
  EXPECT_EQ(seen.searched, "x" + std::string(32, '-'));
  EXPECT_EQ(seen.searches, 5u) << "the first, and four that are spread";
  EXPECT_EQ(seen.counts, std::vector<int>(33, 2));
  EXPECT_EQ(seen.lost, 0u);
  ASSERT_EQ(seen.confirmed.size(), 2u);
  std::set<int> phases[2];
  for (const auto& [id, frames] : seen.confirmed)
    for (const int f : frames)
      if (f > 0) phases[id - 1].insert(f % 8);
  for (const auto& [id, frames] : seen.confirmed) {
    const std::set<int>& own = phases[id - 1];
    // On one frame of the interval, or two where it lies at a border.
    ASSERT_FALSE(own.empty());
    EXPECT_LE(*own.rbegin() - *own.begin(), 1);
    EXPECT_EQ(frames.size(), 1 + 4 * own.size()) << "in every interval";
    for (const int phase : own) EXPECT_FALSE(phases[2 - id].contains(phase)) << "bands differ";
  }
}

TEST_F(Spread, ANewFaceComesWithinAnInterval) {
  std::vector<cv::Mat> frames = still(11, {high});
  for (const cv::Mat& frame : still(20, {high, low, middle})) frames.push_back(frame);
  const Seen seen = run(detect + "spread=true " + track + "doubt-below=0 ", frames);
  EXPECT_EQ(seen.searched, "x" + std::string(30, '-'));
  EXPECT_EQ(seen.counts[10], 1);
  EXPECT_EQ(seen.counts[11 + 8], 3);
  EXPECT_EQ(seen.confirmed.size(), 3u);
}

TEST_F(Spread, WithoutAFollowedFaceThePictureIsSearchedWhole) {
  std::vector<cv::Mat> frames = still(4, {high});
  for (const cv::Mat& frame : still(4, {})) frames.push_back(frame);
  for (const cv::Mat& frame : still(12, {high})) frames.push_back(frame);
  const Seen seen = run(detect + "spread=true " + track, frames);
  // Frame 5 by request, 6 to 8 because nothing was found.
  EXPECT_EQ(seen.searched, "x----xxxx-----------");
  EXPECT_EQ(run(detect + "spread=true " + track, still(12, {high}), 6).searched, "x-----x-----");
}

// Also without spread=true: until the doubt ends, every frame's search is of its band only.
TEST_F(Spread, AFaceInDoubtIsSearchedForInItsBand) {
  std::vector<cv::Mat> frames = still(8, {high});
  for (const cv::Mat& frame : still(24, {high, low})) frames.push_back(frame);
  const std::string doubting = track + "doubt-below=0.95 ";
  const Seen seen = run(detect + doubting, frames);
  ASSERT_EQ(seen.confirmed.size(), 2u);
  const int end = seen.confirmed.at(2).front();
  ASSERT_GE(end, 9);
  ASSERT_LT(end, 16);
  EXPECT_EQ(seen.counts[static_cast<std::size_t>(end) - 1], 1);
  EXPECT_EQ(seen.searched, "x-------x-------x-------x-------");
  EXPECT_EQ(seen.searches, static_cast<guint64>(4 + end - 8));
  EXPECT_EQ(seen.confirmed.at(1), (std::vector<int>{0, 8, 16, 24})) << "it lies elsewhere";
  // Where there are no bands, the picture is searched whole, and the face comes as soon.
  const Seen whole = run(detect + "roll=30 " + doubting, frames);
  EXPECT_EQ(whole.searched.substr(8, 8), std::string(static_cast<std::size_t>(end) - 7, 'x') +
                                             std::string(static_cast<std::size_t>(15 - end), '-'));
  EXPECT_EQ(whole.counts, seen.counts);
}

TEST_F(Spread, HasNoEffectWhereItCannot) {
  const auto frames = still(20, {high, low});
  const auto text = [&](const std::string& pipeline) { return run_frames(pipeline, info, frames); };
  int same = 0;
  for (const std::string& pipeline :
       {detect, detect + "! queue " + track, detect + "roll=30 " + track,
        detect + "grouping=overlap " + track, detect + "scale-mode=window " + track,
        "cufacedetect max-size=60 cascade=" + cascade + " ! " + detect + track}) {
    std::string spread = pipeline;
    spread.insert(spread.find("name=d"), "spread=true ");
    EXPECT_EQ(text(spread), text(pipeline)) << pipeline;
    ++same;
  }
  EXPECT_EQ(same, 6);
  EXPECT_NE(text(detect + "spread=true " + track), text(detect + track)) << "where it has one";
}

TEST_F(Spread, LeftToItselfIsForLiveSources) {
  const auto frames = still(24, {high, low});
  const auto searched = [&](const std::string& settings, bool live) {
    return run(detect + settings + track, frames, -1, live).searched;
  };
  const std::string whole = "x-------x-------x-------", spread = "x-----------------------";
  EXPECT_EQ(searched("", true), spread);
  EXPECT_EQ(searched("", false), whole) << "what is found must not depend on the source";
  EXPECT_EQ(searched("spread=true ", false), spread);
  EXPECT_EQ(searched("spread=false ", true), whole);
  EXPECT_EQ(searched("search=smart ", true), searched("search=smart ", false));
}

TEST_F(Spread, CanBeSwitchedWhileRunning) {
  Harness harness(detect + track);
  harness.set_caps(info);
  std::string searched;
  for (int i = 0; i < 40; ++i) {
    if (i == 12 || i == 28) g_object_set(harness.element("d"), "spread", i == 12, nullptr);
    GstBuffer* out = harness.pass(grey_frame(squares(kWidth, kHeight, {high, low})));
    searched += was_searched(out) ? 'x' : '-';
    EXPECT_EQ(face_count(out), 2);
    gst_buffer_unref(out);
  }
  EXPECT_EQ(searched, "x-------x-----------------------x-------");
}

}  // namespace
}  // namespace cuface::test
