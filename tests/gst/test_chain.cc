// The chain as a whole: results depend on the video and the pipeline, never on timing.
#include <atomic>

#include "tests/drawn_heads.h"
#include "tests/gst/support.h"

namespace cuface::test {
namespace {

constexpr int kWidth = 320, kHeight = 200;

class ChainTest : public testing::Test {
 protected:
  TempFolder folder;
  std::string cascade = folder.write("square.xml", square_cascade_xml());
  std::string model = drawn_heads_model();
  std::string detect = "cufacedetect name=d min-size=60 redetect-interval=6 cascade=" + cascade;
  std::string track = "culktrack name=t max-shape-change=0";
  std::string landmark = "cufacelandmark name=l model=" + model;
  GstVideoInfo info = video_info(GST_VIDEO_FORMAT_GRAY8, kWidth, kHeight);

  /// Two squares that move; one goes away for a while, then both, so that every rule comes into
  /// play: loss, request, search after nothing, return.
  std::vector<cv::Mat> film() {
    std::vector<cv::Mat> frames;
    for (int i = 0; i < 30; ++i) {
      std::vector<cv::Rect> where;
      if (i < 8 || i >= 17) where.emplace_back(40 + 2 * i, 50, 48, 48);
      if (i < 14 || i >= 20) where.emplace_back(220 - 2 * i, 110, 56, 56);
      frames.push_back(squares(kWidth, kHeight, where));
    }
    return frames;
  }
  std::string text(const std::string& pipeline) {
    std::string all;
    for (const std::string& frame : run_frames(pipeline, info, film())) all += frame + "\n";
    return all;
  }
};

TEST_F(ChainTest, SameBytesInEveryRunWithQueuesAndTeesAnywhere) {
  const std::vector<std::vector<std::string>> orders = {{detect, track, landmark},
                                                        {detect, landmark, track}};
  int compared = 0;
  for (const auto& order : orders) {
    const std::string plain = text(order[0] + " ! " + order[1] + " ! " + order[2]);
    ASSERT_NE(plain.find("id 1 "), std::string::npos);
    ASSERT_NE(plain.find("id 2 "), std::string::npos);
    for (std::size_t place = 0; place <= order.size(); ++place)
      for (const char* between :
           {"queue", "queue max-size-buffers=1", "tee ! identity", "tee ! queue"}) {
        std::vector<std::string> parts = order;
        parts.insert(parts.begin() + static_cast<std::ptrdiff_t>(place), between);
        std::string pipeline = parts[0];
        for (std::size_t i = 1; i < parts.size(); ++i) pipeline += " ! " + parts[i];
        const std::string first = text(pipeline);
        for (int run = 1; run < 4; ++run, ++compared)
          EXPECT_TRUE(text(pipeline) == first) << pipeline;
        const bool outside = place == 0 || place == order.size();
        const bool same_thread = std::string(between) == "tee ! identity";
        if (outside || same_thread) {
          EXPECT_TRUE(first == plain) << pipeline;
        }
      }
  }
  EXPECT_GE(compared, 90);
}

TEST_F(ChainTest, APixelChangeBetweenCountsWithAndWithoutAQueue) {
  // What changes pixels between two of our elements must reach the second, also where they could
  // share the luma; and a queue must not make a difference then.
  const std::string darken = "videobalance brightness=-0.2";
  info = video_info(GST_VIDEO_FORMAT_I420, kWidth, kHeight);
  info.colorimetry.range = GST_VIDEO_COLOR_RANGE_0_255;
  const std::string none = text(detect + " ! " + landmark);
  const std::string direct = text(detect + " ! " + darken + " ! " + landmark);
  const std::string queued = text(detect + " ! queue ! " + darken + " ! " + landmark);
  EXPECT_TRUE(direct == queued);
  EXPECT_TRUE(direct != none);
  EXPECT_TRUE(text(detect + " ! cufaceoverlay ! " + landmark) ==
              text(detect + " ! cufaceoverlay ! queue ! " + landmark));
}

TEST_F(ChainTest, ARequestCountsOnTheChainsOwnThreadOnly) {
  std::vector<cv::Mat> frames(3, squares(kWidth, kHeight, {{100, 70, 48, 48}}));
  frames.resize(13, dark_ground(kWidth, kHeight));
  const auto searches = [&](const std::string& pipeline) {
    Harness harness(pipeline);
    harness.set_caps(info);
    std::string searched;
    for (const cv::Mat& frame : frames) {
      GstBuffer* out = harness.pass(make_frame(info, frame));
      searched += was_searched(out) ? 'x' : '-';
      gst_buffer_unref(out);
    }
    return searched;
  };
  EXPECT_EQ(searches(detect + " ! " + track), "x---xxxxxxxxx");  // lost on 3, searched on 4
  EXPECT_EQ(searches(detect + " ! identity ! " + track), "x---xxxxxxxxx");
  EXPECT_EQ(searches(detect + " ! queue ! " + track), "x-----xxxxxxx");  // at the next regular one
}

TEST_F(ChainTest, BranchesOfATeeAreIndependent) {
  const std::string plain = text(detect + " ! " + track + " ! " + landmark);
  // The other branch has a chain of its own with other settings, in the same or in another thread.
  for (const char* queue : {"", "queue ! "}) {
    const std::string other = std::string("tee name=x x. ! ") + queue +
                              "cufacedetect redetect-interval=1 cascade=" + cascade +
                              " ! culktrack ! fakesink async=false sync=false x. ! " + queue;
    EXPECT_TRUE(text("identity ! " + other + detect + " ! " + track + " ! " + landmark) == plain);
  }
  // The other branch shares the detector's results and appends its own.
  const std::string sibling =
      "tee name=x x. ! queue ! culktrack ! fakesink async=false sync=false x.";
  EXPECT_TRUE(text(detect + " ! " + sibling + " ! " + track + " ! " + landmark) == plain);
}

TEST_F(ChainTest, ScalingBetweenElementsKeepsThePositions) {
  const std::string scale = " ! videoscale ! capsfilter caps=video/x-raw,width=160,height=100 ! ";
  const auto boxes = [&](const std::string& pipeline) {
    Harness harness(pipeline);
    harness.set_caps(info);
    std::vector<float> all;
    for (const cv::Mat& frame : film()) {
      GstBuffer* out = harness.pass(make_frame(info, frame));
      GstCufaceFaces* faces = faces_of(out);
      for (guint i = 0; i < gst_cuface_faces_get_count(faces); ++i) {
        float box[4];
        gst_cuface_faces_get_box(faces, i, &box[0], &box[1], &box[2], &box[3]);
        all.insert(all.end(), box, box + 4);
      }
      gst_cuface_faces_unref(faces);
      gst_buffer_unref(out);
    }
    return all;
  };
  const std::vector<float> whole = boxes(detect + " ! " + track);
  const std::vector<float> half = boxes(detect + scale + track);
  ASSERT_EQ(whole.size(), half.size());
  ASSERT_GT(whole.size(), 100u);
  for (std::size_t i = 0; i < whole.size(); ++i) EXPECT_NEAR(whole[i], half[i], 0.02f) << i;
}

TEST_F(ChainTest, ElementsBehindAFlipIgnoreOldPositionsAndWarnOnce) {
  const BusReport report = run_pipeline(
      "videotestsrc num-buffers=8 ! video/x-raw,width=320,height=200 ! " + detect +
      " ! videoflip video-direction=horiz ! " + track + " ! " + landmark + " ! fakesink");
  EXPECT_TRUE(report.finished);
  EXPECT_EQ(report.error, "");
  ASSERT_EQ(report.warnings.size(), 1u);
  EXPECT_NE(report.warnings[0].find("cropped, flipped or padded"), std::string::npos);
}

/// The lists of faces on a frame, in the order of the elements that delivered them.
std::vector<const void*> lists_on(GstBuffer* buffer) {
  std::vector<const void*> lists;
  for (const gst::FrameRecord::Entry& entry : gst::get_frame_record(buffer)->results)
    if (entry.kind == gst::ResultKind<FaceList>::type()) lists.push_back(entry.result.value.get());
  return lists;
}

// Only frames that the second detector searches have a list of its own.
TEST_F(ChainTest, WhoChangesNoFacePassesTheListOn) {
  Harness h("cufacedetect name=first redetect-interval=1 min-size=60 cascade=" + cascade +
            " ! cufacedetect name=second redetect-interval=6 min-size=60 cascade=" + cascade +
            " ! cufaceoverlay ! cufacepublish post-messages=true");
  h.set_caps(info);
  int searched = 0, passed_on = 0;
  for (const cv::Mat& picture : film()) {
    GstBuffer* out = h.pass(grey_frame(picture));
    ASSERT_TRUE(out);
    const auto lists = lists_on(out);
    ASSERT_EQ(lists.size(), 2u) << "the overlay and the publisher deliver none";
    const bool same = lists[0] == lists[1];
    ++(same ? passed_on : searched);
    gst_buffer_unref(out);
  }
  EXPECT_EQ(searched, 5);
  EXPECT_EQ(passed_on, 25);
}

std::atomic<int> lumas{0};
void count_lumas(GstDebugCategory* category, GstDebugLevel, const gchar*, const gchar*, gint,
                 GObject*, GstDebugMessage* message, gpointer) {
  if (std::string(gst_debug_category_get_name(category)) == "cufacefilter" &&
      std::string(gst_debug_message_get(message)).starts_with("luma of "))
    ++lumas;
}

TEST_F(ChainTest, OneLumaServesEveryElement) {
  gst_debug_set_threshold_for_name("cufacefilter", GST_LEVEL_LOG);
  gst_debug_add_log_function(count_lumas, nullptr, nullptr);
  const auto made = [&](const std::string& pipeline) {
    lumas = 0;
    run_frames(pipeline, info, film());
    return lumas.load();
  };
  const std::string all =
      "cuedgedetect name=e output=meta ! cumotiondetect ! cufeatures ! cufacedetect min-size=60 "
      "redetect-interval=1 cascade=" +
      cascade + " ! " + track + " ! " + landmark;
  EXPECT_EQ(made(all), 30);
  EXPECT_GT(made("cuedgedetect ! " + all), 30) << "the picture is of edges then";
  gst_debug_remove_log_function(count_lumas);
  gst_debug_set_threshold_for_name("cufacefilter", GST_LEVEL_WARNING);
}

}  // namespace
}  // namespace cuface::test
