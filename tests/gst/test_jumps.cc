// Which steps of the timestamps part two frames: those far above the usual one, and neither a
// DISCONT flag nor frames that a live source dropped because it had to wait. With a real queue that
// leaks: test_leaky.cc.
#include <unistd.h>

#include "gst/base/slowness.h"
#include "gst/base/timejump.h"
#include "tests/gst/parts.h"

namespace cuface::test {
namespace {

using gst::FrameStep;
using gst::Slowness;
using gst::TimeLine;

/// 'j' for each of these timestamps, in milliseconds, that is a jump; '-' for the others.
std::string jumps(const std::vector<int>& times, bool reverse = false, GstClockTime missing = 0) {
  TimeLine line;
  std::string text;
  for (const int ms : times) {
    const GstClockTime pts =
        ms < 0 ? GST_CLOCK_TIME_NONE : static_cast<GstClockTime>(ms) * GST_MSECOND;
    text += line.advance(pts, reverse, [&] { return missing; }).jump ? 'j' : '-';
  }
  return text;
}

TEST(TimeLine, AJumpIsOverASecondAndOverThreeUsualSteps) {
  EXPECT_EQ(jumps({0, 40, 80, 1080, 1120, 2121, 2161}), "-----j-");
  EXPECT_EQ(jumps({0, 500, 1000, 1500, 3000, 4500}), "------") << "1.5 s is three steps";
  EXPECT_EQ(jumps({0, 500, 1000, 1500, 3001}), "----j");
  EXPECT_EQ(jumps({0, 2000, 4000, 10000, 16001}), "----j") << "the median is 2 s still";
  EXPECT_EQ(jumps({5000, 5040, 5080, 4080, 3079, 3119}), "----j-") << "backwards";
  EXPECT_EQ(jumps({0, 40, 80, 3600000, 3600040}), "---j-");
}

TEST(TimeLine, TheUsualStepIsKnownFromTheSecondFrameOn) {
  EXPECT_EQ(jumps({0, 60000, 120000, 180000}), "----") << "a frame a minute";
  EXPECT_EQ(jumps({0, 60000, 60040, 60080, 62000}), "----j") << "then it is known better";
  EXPECT_EQ(jumps({60000, 50000, 50040}), "-j-") << "no stream begins backwards";
  EXPECT_EQ(jumps({0, 40, 80, 2080, 4080, 6080, 8080, 10080, 12080}), "---jjj---")
      << "a stream that has become slower";
}

TEST(TimeLine, BackwardsMayBeForwards) {
  EXPECT_EQ(jumps({9000, 7000, 5000, 3000}, true), "----");
  EXPECT_EQ(jumps({9000, 8960, 8920, 7000, 9000}, true), "---jj");
}

TEST(TimeLine, FramesWithoutTimestampsAndBreaks) {
  EXPECT_EQ(jumps({0, -1, 60000, 60040}), "----");
  TimeLine line;
  const auto none = [] { return GstClockTime{0}; };
  EXPECT_FALSE(line.advance(0, false, none).jump);
  line.break_off();
  EXPECT_TRUE(line.advance(40 * GST_MSECOND, false, none).jump);
  const FrameStep step = line.advance(20 * GST_MSECOND, false, none);
  EXPECT_FALSE(step.jump);
  EXPECT_EQ(step.seconds, -0.02);
  line.restart();
  EXPECT_FALSE(line.advance(GST_SECOND * 60, false, none).jump);
}

TEST(TimeLine, WhatALiveSourceHadToDropIsNoJump) {
  EXPECT_EQ(jumps({0, 40, 80, 2980, 3020}, false, 2 * GST_SECOND), "-----");
  EXPECT_EQ(jumps({0, 40, 80, 3081, 3121}, false, 2 * GST_SECOND), "---j-");
  EXPECT_EQ(jumps({5000, 5040, 5080, 4079}, false, 2 * GST_SECOND), "---j") << "nobody goes back";
}

/// A thread that is busy for some milliseconds with each frame, `step` later than the one before.
void pass(Slowness& slowness, GstClockTime& now, int step, int busy) {
  now += GST_MSECOND;
  slowness.arrive(now);
  slowness.advance(static_cast<GstClockTime>(step) * GST_MSECOND);
  now += static_cast<GstClockTime>(busy) * GST_MSECOND;
  slowness.leave(now);
}

TEST(Slowness, IsWhatTheSourceHadToWait) {
  Slowness slowness;
  GstClockTime now = 0;
  for (int i = 0; i < 50; ++i) pass(slowness, now, 40, 30);
  EXPECT_EQ(slowness.behind(), 30 * GST_MSECOND) << "in time";
  pass(slowness, now, 40, 2000);
  EXPECT_EQ(slowness.behind(), 2 * GST_SECOND);
  pass(slowness, now, 2000, 30);
  EXPECT_EQ(slowness.behind(), 30 * GST_MSECOND) << "what was dropped is dropped";
  // Frames that waited come first, and what was dropped is missing behind them.
  pass(slowness, now, 40, 2000);
  for (int i = 0; i < 10; ++i) pass(slowness, now, 40, 10);
  EXPECT_EQ(slowness.behind(), (2000 - 10 * 40 + 10 * 10) * GST_MSECOND);
  pass(slowness, now, 40, 2000);
  EXPECT_GT(slowness.behind(), 3 * GST_SECOND) << "two such times";
  for (int i = 0; i < 1000; ++i) pass(slowness, now, 40, 10);
  EXPECT_EQ(slowness.behind(), 10 * GST_MSECOND) << "nothing was dropped after all";
}

TEST(Slowness, APauseIsNone) {
  Slowness slowness;
  slowness.arrive(GST_SECOND);
  slowness.advance(40 * GST_MSECOND);
  slowness.resume(100 * GST_SECOND);
  slowness.leave(100 * GST_SECOND + 5);
  EXPECT_EQ(slowness.behind(), 5u);
}

class Jumps : public testing::Test {
 protected:
  Parts parts;
  const std::string tracked = parts.detect + " min-size=60 ! " + parts.track;
  const GstVideoInfo info = video_info(GST_VIDEO_FORMAT_GRAY8, 320, 200);
  static cv::Mat square_at(int x) { return squares(320, 200, {{x, 70, 48, 48}}); }

  /// 'x' for a searched frame, else '-'; and the ids of the frames' only faces.
  struct Seen {
    std::string searched, ids;
    void take(GstBuffer* out) {
      GstCufaceFaces* faces = faces_of(out);
      searched += gst_cuface_faces_get_searched(faces) ? 'x' : '-';
      ids += gst_cuface_faces_get_count(faces) == 1
                 ? std::to_string(gst_cuface_faces_get_id(faces, 0))
                 : "?";
      gst_cuface_faces_unref(faces);
      gst_buffer_unref(out);
    }
  };

  Seen pass(Harness& harness, const std::vector<int>& times) {
    Seen seen;
    for (const int ms : times) {
      const GstClockTime pts = static_cast<GstClockTime>(ms) * GST_MSECOND;
      EXPECT_EQ(harness.push_at(grey_frame(square_at(100)), pts), GST_FLOW_OK);
      seen.take(harness.pull());
    }
    return seen;
  }
};

TEST_F(Jumps, DiscontAsksForNothing) {
  Harness harness(tracked);
  harness.set_caps(info);
  Seen seen;
  for (int i = 0; i < 20; ++i) {
    GstBuffer* buffer = grey_frame(square_at(100 + i));
    GST_BUFFER_FLAG_SET(buffer, GST_BUFFER_FLAG_DISCONT);
    seen.take(harness.pass(buffer));
  }
  EXPECT_EQ(seen.searched, "x---------x---------");
  EXPECT_EQ(seen.ids, std::string(20, '1'));
}

TEST_F(Jumps, AFrameEveryTwoSecondsIsNone) {
  for (const auto& [numerator, denominator] : {std::pair{1, 2}, {0, 1}, {30, 1}}) {
    GstVideoInfo slow = info;
    slow.fps_n = numerator;
    slow.fps_d = denominator;
    Harness harness(tracked);
    harness.set_caps(slow);
    Seen seen;
    for (int i = 0; i < 20; ++i) {
      harness.push_at(grey_frame(square_at(100 + 3 * (i % 3))),
                      static_cast<GstClockTime>(i) * 2 * GST_SECOND);
      seen.take(harness.pull());
    }
    EXPECT_EQ(seen.ids, std::string(20, '1')) << numerator << "/" << denominator;
    EXPECT_EQ(seen.searched, "x---------x---------") << numerator << "/" << denominator;
  }
}

// Where the source waits, a run must not depend on the machine's speed.
TEST_F(Jumps, OwnSlownessCountsForALiveSourceOnly) {
  for (const bool live : {false, true})
    for (const std::string between : {"", "queue ! "}) {
      Harness harness(parts.detect + " min-size=60 ! " + between + parts.track);
      gst_harness_set_live(harness.get(), live);
      harness.set_caps(info);
      Seen seen = pass(harness, {0, 40, 80});
      GstPad* pad = gst_element_get_static_pad(harness.element("d"), "src");
      const gulong probe = gst_pad_add_probe(
          pad, GST_PAD_PROBE_TYPE_BUFFER,
          [](GstPad*, GstPadProbeInfo*, gpointer) {
            g_usleep(300000);
            return GST_PAD_PROBE_OK;
          },
          nullptr, nullptr);
      const Seen slow = pass(harness, {120});
      gst_pad_remove_probe(pad, probe);
      gst_object_unref(pad);
      // 0.3 s of busy thread and not over a second more.
      const Seen after = pass(harness, {1320, 1360, 3360});
      EXPECT_EQ(seen.searched + slow.searched + after.searched, live ? "x-----x" : "x---x-x")
          << live << between;
      EXPECT_EQ(seen.ids + slow.ids + after.ids, live ? "1111112" : "1111223") << live << between;
    }
}

}  // namespace
}  // namespace cuface::test
