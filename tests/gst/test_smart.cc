// cufacedetect search=smart: between searches of the whole picture its active parts. search=motion:
// nothing but what has moved.
#include <set>

#include "tests/gst/support.h"

namespace cuface::test {
namespace {

constexpr int kWidth = 480, kHeight = 360;

class SmartChain : public testing::Test {
 protected:
  TempFolder folder;
  std::string cascade = folder.write("square.xml", square_cascade_xml());
  std::string detect =
      "cufacedetect name=d min-size=40 redetect-interval=20 cascade=" + cascade + " ";
  std::string smart = detect + "search=smart ", motion = detect + "search=motion ";
  std::string track = "! culktrack name=t doubt-below=0 ";
  GstVideoInfo info = video_info(GST_VIDEO_FORMAT_GRAY8, kWidth, kHeight);
  const cv::Rect left{80, 120, 48, 48}, right{320, 200, 48, 48};

  struct Seen {
    std::string searched;     // 'x' where the whole picture was
    std::string searches_at;  // 's' where anything was
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
      const guint64 before = harness.stat("d", "searches");
      GstBuffer* out = harness.pass(make_frame(info, frame));
      seen.searches_at += harness.stat("d", "searches") > before ? 's' : '-';
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

TEST_F(SmartChain, MotionSearchesNothingWhereNothingMoves) {
  const Seen seen = run(motion + track, still(45, {left, right}));
  EXPECT_EQ(seen.searches_at, "s" + std::string(44, '-'));
  EXPECT_EQ(seen.searched[0], 'x');
  EXPECT_EQ(seen.counts, std::vector<int>(45, 2));
}

TEST_F(SmartChain, MotionFindsAFaceOnItsFirstFrame) {
  std::vector<cv::Mat> frames = still(30, {left});
  append(frames, still(12, {left, right}));
  const Seen seen = run(motion + track, frames);
  EXPECT_EQ(seen.searches_at, "s-----------------------------s-----------");
  EXPECT_EQ(seen.counts[29], 1);
  EXPECT_EQ(seen.counts[30], 2);
  EXPECT_EQ(seen.counts.back(), 2);
  EXPECT_EQ(seen.ids.size(), 2u);
  // Behind a search of the whole picture it takes ten frames.
  frames.erase(frames.begin(), frames.begin() + 28);
  const Seen soon = run(motion + track, frames);
  EXPECT_EQ(soon.searches_at, "s---------s---");
  EXPECT_EQ(soon.counts[9], 1);
  EXPECT_EQ(soon.counts[10], 2);
}

TEST_F(SmartChain, MotionMissesAFaceThatIsGoneAndNoOther) {
  std::vector<cv::Mat> frames = still(15, {left, right});
  append(frames, still(3, {left}));
  const Seen seen = run(motion + track + "max-missed=0 hold-time=0 min-points=0 ", frames);
  EXPECT_EQ(seen.counts.back(), 1);
  EXPECT_EQ(seen.lost, 1u);
  EXPECT_EQ(seen.ids.size(), 2u) << "the other keeps its id";
}

// The face is followed still, but no search finds it before a bright wall. One of what is new
// somewhere else has not looked for it.
TEST_F(SmartChain, MotionElsewhereMissesNoFace) {
  std::vector<cv::Mat> frames = still(12, {left, right});
  for (int i = 0; i < 14; ++i) {
    frames.push_back(frames[0].clone());
    if (i >= 3) {
      frames.back()(cv::Rect(0, 36, 224, 324)) = 220;
      draw_square(frames.back(), left.x, left.y, left.width);
    }
    frames.back()(cv::Rect(10 + i % 2 * 8, 4, 8, 8)) = 255;
  }
  const Seen seen = run(motion + track + "max-missed=0 hold-time=0 min-points=0 ", frames);
  EXPECT_EQ(seen.searches_at, "s-----------ss--s--s--ss--");
  std::string counts;
  for (const int count : seen.counts) counts += static_cast<char>('0' + count);
  EXPECT_EQ(counts, "22222222222222222222221111") << "ten frames after the first search";
}

TEST_F(SmartChain, MotionOfAllIsSearchedThreeTimesInTenFramesAndALittleMoreOften) {
  cv::Mat stripes(1, kWidth / 4, CV_8U), wide;
  cv::RNG random(3);
  random.fill(stripes, cv::RNG::UNIFORM, 20, 120);
  cv::resize(stripes, wide, {2 * kWidth, kHeight}, 0, 0, cv::INTER_NEAREST);
  std::vector<cv::Mat> turning, little;
  for (int i = 0; i < 41; ++i) {
    turning.push_back(wide(cv::Rect(5 * i, 0, kWidth, kHeight)).clone());
    draw_square(turning.back(), left.x, left.y, left.width);
    little.push_back(squares(kWidth, kHeight, {left}));
    little.back()(cv::Rect(400 + i % 3 * 8, 300, 8, 8)) = 255;
  }
  EXPECT_EQ(run(motion + track, turning).searches_at, "s---------s--s-----ss--s---s--s--s---s--s");
  EXPECT_EQ(run(motion + track, little).searches_at, "s---------ss-s-s-s-sss-s-s-s-sss-s-s-s-ss");
}

TEST_F(SmartChain, MotionLetsTheWholePictureBeAskedFor) {
  Harness harness(motion + track);
  harness.set_caps(info);
  std::string searched;
  for (int i = 0; i < 20; ++i) {
    if (i == 5) {
      GstStructure* ask = gst_structure_new_empty("GstCuFaceRedetect");
      gst_harness_push_upstream_event(harness.get(),
                                      gst_event_new_custom(GST_EVENT_CUSTOM_UPSTREAM, ask));
    }
    GstBuffer* out = harness.pass(grey_frame(squares(kWidth, kHeight, {left})));
    searched += was_searched(out) ? 'x' : '-';
    gst_buffer_unref(out);
  }
  EXPECT_EQ(searched, "x----x--------------");
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
    for (const std::string search : {"search=smart ", "search=motion "}) {
      std::string with = pipeline;
      with.insert(with.find("name=d"), search);
      EXPECT_EQ(text(with), text(pipeline)) << with;
      ++same;
    }
  }
  EXPECT_EQ(same, 14);
  EXPECT_NE(text(smart + track), text(detect + track)) << "where it has one";
  EXPECT_NE(text(motion + track), text(smart + track));
}

TEST_F(SmartChain, CanBeSwitchedWhileRunning) {
  Harness harness(detect + track);
  harness.set_caps(info);
  std::string searched;
  for (int i = 0; i < 55; ++i) {
    if (i == 7 || i == 22 || i == 45)
      gst_util_set_object_arg(G_OBJECT(harness.element("d")), "search",
                              i == 7    ? "smart"
                              : i == 22 ? "motion"
                                        : "full");
    const guint64 before = harness.stat("d", "searches");
    GstBuffer* out = harness.pass(grey_frame(squares(kWidth, kHeight, {left, right})));
    searched += was_searched(out) ? 'x' : harness.stat("d", "searches") > before ? 'a' : '-';
    EXPECT_EQ(face_count(out), 2);
    gst_buffer_unref(out);
  }
  EXPECT_EQ(searched,
            "x---------a---------x------------------------"
            "----------");
}

}  // namespace
}  // namespace cuface::test
