// cumotiondetect: what the kernel says, in the meta and as messages; time, gaps, jumps, settings.
#include "kernels/edges/edges.h"
#include "kernels/motion/motion.h"
#include "tests/gst/motion.h"

namespace cuface::test {
namespace {

constexpr GstClockTime kFrame = 40 * GST_MSECOND;

/// 40 frames at rest, a square that comes in and crosses the picture, and rest again.
cv::Mat picture(int frame) {
  const bool there = frame >= 40 && frame < 70;
  return moving_square(there ? 6 * (frame - 40) : -100, 60);
}
constexpr int kFrames = 110;

std::string start_of(const char* method) { return std::string("method=") + method; }

/// The frames, and the indices of those on which something moves.
std::vector<int> moving_frames(MotionHarness& harness) {
  std::vector<int> moving;
  for (int f = 0; f < kFrames; ++f)
    if (const MotionMapRef motion = harness.see(picture(f)); motion && motion->moving_cells > 0)
      moving.push_back(f);
  return moving;
}

TEST(MotionDetect, SaysWhatTheKernelSays) {
  for (const auto& [name, method] : {std::pair{"edges", MotionMethod::kEdges},
                                     {"difference", MotionMethod::kDifference},
                                     {"background", MotionMethod::kBackground}}) {
    MotionHarness harness(start_of(name) + " columns=16 rows=12 threshold=0.02 min-frames=3");
    MotionConfig config;
    config.method = method;
    config.columns = 16;
    config.rows = 12;
    config.threshold = 20'000;
    config.min_frames = 3;
    auto made = MotionDetector::create(config, kMotionWidth, kMotionHeight);
    auto edges = EdgeDetector::create({}, kMotionWidth, kMotionHeight);
    ASSERT_TRUE(made.ok() && edges.ok());
    int moved = 0;
    for (int f = 0; f < kFrames; ++f) {
      const cv::Mat grey = picture(f);
      Image<std::uint8_t> map(kMotionWidth, kMotionHeight);
      ImageView<const std::uint8_t> look{grey.data, grey.cols, grey.rows,
                                         static_cast<std::ptrdiff_t>(grey.step)};
      if (method == MotionMethod::kEdges) {
        ASSERT_TRUE(edges.value().run(look, {.map = map.view()}).ok());
        look = std::as_const(map).view();
      }
      const auto expected = made.value().look(look, f * static_cast<std::int64_t>(kFrame));
      const MotionResult& result = *expected.value();
      const MotionMapRef motion = harness.see(grey);
      ASSERT_TRUE(motion) << name << f;
      ASSERT_EQ(motion->compared, result.compared != 0) << name << f;
      ASSERT_EQ(motion->moving_cells, result.moving_cells) << name << f;
      ASSERT_EQ(motion->in_event, result.in_event != 0) << name << f;
      for (int i = 0; i < 16 * 12; ++i) {
        const MotionCell& cell = motion->cells[static_cast<std::size_t>(i)];
        ASSERT_EQ(cell.moves, (result.moving[i / 16] >> i % 16 & 1) != 0) << name << f;
        ASSERT_EQ(cell.share, static_cast<float>(result.cell_changed[i]) / (20 * 20)) << name;
      }
      ASSERT_EQ(motion->regions.size(), static_cast<std::size_t>(result.count));
      for (std::size_t i = 0; i < motion->regions.size(); ++i) {
        const MotionBox& box = result.boxes[i];
        const Box& seen = motion->regions[i].box;
        ASSERT_EQ(motion->regions[i].id, static_cast<std::uint64_t>(box.id));
        ASSERT_EQ(seen.x, 20.0f * static_cast<float>(box.left));
        ASSERT_EQ(seen.y, 20.0f * static_cast<float>(box.top));
        ASSERT_EQ(seen.w, 20.0f * static_cast<float>(box.right - box.left));
        ASSERT_EQ(seen.h, 20.0f * static_cast<float>(box.bottom - box.top));
        ++moved;
      }
    }
    EXPECT_GE(moved, 20) << name;
    EXPECT_GE(harness.stat("m", "moving-frames"), 20u) << name;
    EXPECT_EQ(harness.stat("m", "events"), 1u) << name;
  }
}

TEST(MotionDetect, DefaultsAreTheDocumentedOnes) {
  expect_defaults("cumotiondetect", {{"method", "background"},
                                     {"interval", "0.2"},
                                     {"tolerance", "0"},
                                     {"symmetric", "true"},
                                     {"border", "0"},
                                     {"columns", "10"},
                                     {"rows", "6"},
                                     {"threshold", "0.01"},
                                     {"density", "exact"},
                                     {"global-changes", "true"},
                                     {"min-frames", "2"},
                                     {"gap", "1"},
                                     {"output", "meta"}});
}

TEST(MotionDetect, PostsBeginAndEnd) {
  MotionHarness harness("method=difference gap=0.5");
  Bus bus(harness);
  std::vector<MotionMapRef> moving;
  std::vector<int> frames;
  for (int f = 0; f < kFrames; ++f) {
    const MotionMapRef motion = harness.see(picture(f));
    if (motion->moving_cells == 0) continue;
    moving.push_back(motion);
    frames.push_back(f);
  }
  ASSERT_GE(moving.size(), 20u);
  // The first frame's share and cells, then the largest of the event.
  int most_cells = 0;
  float most_share = 0;
  for (const MotionMapRef& motion : moving) {
    most_cells = std::max(most_cells, motion->moving_cells);
    most_share = std::max(most_share, motion->share);
  }
  EXPECT_GT(most_cells, moving.front()->moving_cells);
  EXPECT_GT(most_share, moving.front()->share);
  std::vector<float> shares;
  EXPECT_EQ(motion_messages(bus, &shares),
            (std::vector<std::string>{
                "begin " + std::to_string(40 * frames.front()) + " " +
                    std::to_string(moving.front()->moving_cells),
                "end " + std::to_string(40 * frames.back()) + " " + std::to_string(most_cells)}));
  EXPECT_EQ(shares, (std::vector<float>{moving.front()->share, most_share}));
}

TEST(MotionDetect, TheEndOfTheStreamEndsAnEvent) {
  MotionHarness harness("method=difference gap=60");
  Bus bus(harness);
  const std::vector<int> moving = moving_frames(harness);
  EXPECT_EQ(motion_messages(bus).size(), 1u);
  EXPECT_TRUE(harness.finish());
  const auto messages = motion_messages(bus);
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_TRUE(messages[0].starts_with("end " + std::to_string(40 * moving.back()) + " "));
}

// The frame before belongs to another scene: compared with it, a square would have come.
TEST(MotionDetect, NothingIsSeenAcrossAJump) {
  for (const char* method : {"edges", "difference", "background"}) {
    for (const std::string what : {"jump", "flush", "caps", "nothing"}) {
      MotionHarness harness(start_of(method) + " interval=0 min-frames=1");
      Bus bus(harness);
      for (int f = 0; f < 60; ++f)
        harness.see_at(moving_square(f < 55 ? -100 : 5 * (f - 55), 60),
                       static_cast<GstClockTime>(f) * kFrame);
      ASSERT_EQ(motion_messages(bus).size(), 1u) << method << what;
      GstClockTime time = 60 * kFrame;
      if (what == "jump") time += 3600 * GST_SECOND;
      if (what == "flush") {
        gst_harness_push_event(harness.get(), gst_event_new_flush_start());
        gst_harness_push_event(harness.get(), gst_event_new_flush_stop(FALSE));
        GstSegment segment;
        gst_segment_init(&segment, GST_FORMAT_TIME);
        gst_harness_push_event(harness.get(), gst_event_new_segment(&segment));
      }
      if (what == "caps") {
        harness.set_caps(video_info(GST_VIDEO_FORMAT_GRAY8, 160, 120));
        harness.push_at(grey_frame(dark_ground(160, 120)), time);
        gst_buffer_unref(harness.pull());
        harness.set_caps(video_info(GST_VIDEO_FORMAT_GRAY8, kMotionWidth, kMotionHeight));
        time += kFrame;
      }
      const MotionMapRef first = harness.see_at(moving_square(200, 150), time);
      const MotionMapRef second = harness.see_at(moving_square(200, 150), time + kFrame);
      if (what == "nothing") {
        // Against the background a pixel that is new, as rain is, counts on the frame after.
        EXPECT_GT(first->moving_cells + second->moving_cells, 0) << "it would be seen: " << method;
        continue;
      }
      EXPECT_FALSE(first->compared) << method << what;
      EXPECT_EQ(first->moving_cells + second->moving_cells, 0) << method << what;
      const auto messages = motion_messages(bus);
      ASSERT_EQ(messages.size(), 1u) << method << what;
      EXPECT_TRUE(messages[0].starts_with("end ")) << "the event ends with what it was seen in";
    }
  }
}

// What moves at the same place an hour later is somebody else.
TEST(MotionDetect, NoIdComesBackAfterAJump) {
  MotionHarness harness("method=difference interval=0 min-frames=1 gap=60");
  std::uint64_t ids[2] = {};
  for (const int part : {0, 1})
    for (int f = 0; f < 8; ++f) {
      const GstClockTime time = static_cast<GstClockTime>(part) * 3600 * GST_SECOND +
                                static_cast<GstClockTime>(f) * kFrame;
      const MotionMapRef motion = harness.see_at(moving_square(100 + f % 2 * 30, 60), time);
      if (f == 0) continue;
      ASSERT_EQ(motion->regions.size(), 1u) << part << f;
      EXPECT_TRUE(f == 1 || motion->regions[0].id == ids[part]) << "the same box";
      ids[part] = motion->regions[0].id;
    }
  EXPECT_GT(ids[1], ids[0]);
}

// Black gaps are no motion, and what comes behind them is as without them.
TEST(MotionDetect, GapsAreNotLookedAt) {
  const auto is_gap = [](int f) { return f % 6 == 2 || f % 6 == 3; };
  for (const char* method : {"edges", "difference", "background"}) {
    std::vector<std::string> texts[2];
    for (const bool with : {false, true}) {
      MotionHarness harness(start_of(method));
      for (int f = 0; f < kFrames; ++f) {
        if (is_gap(f) && !with) continue;
        const GstClockTime time = static_cast<GstClockTime>(f) * kFrame;
        if (!is_gap(f)) {
          texts[with].push_back(motion_text(harness.see_at(picture(f), time)));
          continue;
        }
        GstBuffer* buffer =
            grey_frame(cv::Mat(kMotionHeight, kMotionWidth, CV_8U, cv::Scalar(f % 2 * 255)));
        GST_BUFFER_FLAG_SET(buffer, GST_BUFFER_FLAG_GAP);
        harness.push_at(buffer, time);
        GstBuffer* out = harness.pull();
        const MotionMapRef motion = motion_of(out);
        EXPECT_FALSE(motion->compared);
        EXPECT_EQ(motion->moving_cells, 0);
        gst_buffer_unref(out);
      }
      EXPECT_GE(harness.stat("m", "moving-frames"), 12u) << method;
    }
    EXPECT_EQ(texts[true], texts[false]) << method;
  }
}

TEST(MotionDetect, AnEventEndsInGapsToo) {
  MotionHarness harness("method=difference gap=0.4");
  Bus bus(harness);
  for (int f = 0; f < 60; ++f) harness.see(picture(f));
  EXPECT_EQ(motion_messages(bus).size(), 1u);
  for (int f = 0; f < 12; ++f) {
    GstBuffer* buffer = grey_frame(picture(60 + f));
    GST_BUFFER_FLAG_SET(buffer, GST_BUFFER_FLAG_GAP);
    GstBuffer* out = harness.pass(buffer);
    EXPECT_EQ(motion_of(out)->in_event, f < 9) << f;
    gst_buffer_unref(out);
  }
  EXPECT_EQ(motion_messages(bus).size(), 1u);
}

// Without timestamps, with equal ones and backwards: time stands still or goes by the caps' rate.
TEST(MotionDetect, TimestampsMayBeMissing) {
  MotionHarness harness("method=difference");
  int moved = 0;
  for (int f = 0; f < kFrames; ++f)
    moved += harness.see_at(picture(f), GST_CLOCK_TIME_NONE)->moving_cells > 0;
  EXPECT_GE(moved, 20);
  for (int f = 40; f < 60; ++f)
    harness.see_at(picture(f), static_cast<GstClockTime>(100 - f) * kFrame);
}

TEST(MotionDetect, SettingsChangeBetweenTwoFrames) {
  MotionHarness harness("method=difference min-frames=1");
  std::uint64_t id = 0;
  for (int f = 0; f < 60; ++f) {
    const MotionMapRef motion = harness.see(picture(f));
    if (!motion->regions.empty()) id = motion->regions[0].id;
  }
  ASSERT_GT(id, 0u);
  g_object_set(harness.element("m"), "columns", 32, "rows", 24, nullptr);
  MotionMapRef motion = harness.see(picture(60));
  EXPECT_FALSE(motion->compared) << "nothing is seen that the change made";
  EXPECT_EQ(motion->columns, 32);
  EXPECT_EQ(motion->rows, 24);
  for (int f = 61; f < 68; ++f) motion = harness.see(picture(f));
  ASSERT_FALSE(motion->regions.empty());
  EXPECT_GT(motion->regions[0].id, id) << "an id is never used again";
}

TEST(MotionDetect, GlobalChangesAreCountedAndNoMotion) {
  for (const bool find : {true, false}) {
    MotionHarness harness(std::string("method=difference min-frames=1 global-changes=") +
                          (find ? "true" : "false"));
    harness.rest(20);
    const MotionMapRef motion = harness.see(moving_square(-100, 0) + 80);
    EXPECT_EQ(motion->global_change, find);
    EXPECT_EQ(motion->moving_cells > 0, !find);
    EXPECT_EQ(harness.stat("m", "global-changes"), find ? 1u : 0u);
  }
}

TEST(MotionDetect, PresetOfThePublishedSystem) {
  GstElement* element = gst_element_factory_make("cumotiondetect", nullptr);
  g_object_set(element, "columns", 3, "output", 2, nullptr);
  ASSERT_TRUE(gst_preset_load_preset(GST_PRESET(element), "published"));
  gdouble interval = 9, threshold = 9;
  gint border = 0, columns = 0, rows = 0, min_frames = 0, method = 9, density = 9;
  gboolean symmetric = TRUE, global = TRUE;
  g_object_get(element, "interval", &interval, "threshold", &threshold, "border", &border,
               "columns", &columns, "rows", &rows, "min-frames", &min_frames, "method", &method,
               "density", &density, "symmetric", &symmetric, "global-changes", &global, nullptr);
  const MotionConfig config = published_motion();
  EXPECT_EQ(interval, 0);
  EXPECT_EQ(config.interval, 0);
  EXPECT_EQ(threshold, 0.01);
  EXPECT_EQ(config.threshold, 10'000);
  EXPECT_EQ(border, config.border);
  EXPECT_EQ(columns, config.columns);
  EXPECT_EQ(rows, config.rows);
  EXPECT_EQ(min_frames, config.min_frames);
  EXPECT_EQ(method, static_cast<int>(config.method));
  EXPECT_EQ(density != 0, config.published_density);
  EXPECT_EQ(symmetric != FALSE, config.symmetric);
  EXPECT_EQ(global != FALSE, config.find_global_changes);
  gst_object_unref(element);
}

TEST(MotionDetect, ALiveSource) {
  const BusReport report = run_pipeline(
      "videotestsrc is-live=true num-buffers=20 pattern=ball ! "
      "video/x-raw,width=160,height=120,framerate=100/1 ! cumotiondetect ! fakesink");
  EXPECT_TRUE(report.finished);
  EXPECT_EQ(report.error, "");
}

}  // namespace
}  // namespace cuface::test
