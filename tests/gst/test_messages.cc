// Element messages: which faces come and go, what is posted when, and that any program can read it.
#include <atomic>
#include <functional>
#include <utility>

#include "gst/lktrack/presence.h"
#include "tests/gst/motion.h"
#include "tests/gst/parts.h"
#include "tests/gst/publish.h"

namespace cuface::test {
namespace {

/// The structures of all element messages so far. Each is the same when it is read back from its
/// text, so what gst-launch-1.0 -m prints has all that was posted.
std::vector<std::string> posted(Bus& bus) {
  std::vector<std::string> all;
  while (GstMessage* message = bus.next(GST_MESSAGE_ELEMENT, 0)) {
    const GstStructure* s = gst_message_get_structure(message);
    gchar* text = gst_structure_to_string(s);
    GstStructure* again = gst_structure_from_string(text, nullptr);
    EXPECT_TRUE(again && gst_structure_is_equal(again, s)) << text;
    if (again) gst_structure_free(again);
    all.emplace_back(text);
    g_free(text);
    gst_message_unref(message);
  }
  return all;
}

guint64 number(const std::string& text, const char* field) {
  GstStructure* s = gst_structure_from_string(text.c_str(), nullptr);
  guint64 value = 0;
  EXPECT_TRUE(s && gst_structure_get_uint64(s, field, &value)) << field << " in " << text;
  if (s) gst_structure_free(s);
  return value;
}

/// "appeared 1 at 40" and "lost 1 at 120 after 80": id, timestamp, duration in ms.
std::vector<std::string> comings(Bus& bus) {
  std::vector<std::string> all;
  for (const std::string& text : posted(bus)) {
    const bool lost = text.starts_with("face-lost,");
    EXPECT_TRUE(lost || text.starts_with("face-appeared,")) << text;
    std::string line = std::string(lost ? "lost " : "appeared ") +
                       std::to_string(number(text, "id")) + " at " +
                       std::to_string(number(text, "timestamp") / GST_MSECOND);
    if (lost) line += " after " + std::to_string(number(text, "duration") / GST_MSECOND);
    all.push_back(line);
  }
  return all;
}

using Lines = std::vector<std::string>;

class Comings : public testing::Test {
 protected:
  static constexpr int kSquare = 48;
  const Parts parts;
  const std::string chain =
      parts.detect + " min-size=60 redetect-interval=1 ! culktrack name=t post-messages=true";
  static GstBuffer* with(const std::vector<cv::Rect>& where) {
    return grey_frame(squares(320, 200, where));
  }
  const cv::Rect left{40, 60, kSquare, kSquare}, right{220, 70, kSquare, kSquare};
};

TEST_F(Comings, AreToldWithTimeBoxAndDuration) {
  FrameHarness h(chain, "GRAY8", 320, 200);
  Bus bus(h);
  gst_buffer_unref(h.pass(with({})));
  EXPECT_EQ(comings(bus), Lines{});
  gst_buffer_unref(h.pass(with({left})));
  const auto first = posted(bus);
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(number(first[0], "timestamp"), 40 * GST_MSECOND);
  EXPECT_EQ(number(first[0], "running-time"), 40 * GST_MSECOND);
  GstStructure* s = gst_structure_from_string(first[0].c_str(), nullptr);
  gint width = 0, height = 0;
  gfloat x = 0, y = 0, w = 0, confidence = 0;
  EXPECT_TRUE(gst_structure_get(s, "frame-width", G_TYPE_INT, &width, "frame-height", G_TYPE_INT,
                                &height, "x", G_TYPE_FLOAT, &x, "y", G_TYPE_FLOAT, &y, "width",
                                G_TYPE_FLOAT, &w, "confidence", G_TYPE_FLOAT, &confidence,
                                nullptr));
  EXPECT_STREQ(gst_structure_get_string(s, "origin"), "detected");
  gst_structure_free(s);
  EXPECT_EQ(width, 320);
  EXPECT_EQ(height, 200);
  EXPECT_NEAR(x + w / 2, left.x + kSquare / 2, 8) << "the box's middle is the square's";
  EXPECT_GT(confidence, 0);

  gst_buffer_unref(h.pass(with({left, right})));
  EXPECT_EQ(comings(bus), Lines{}) << "a tentative face has not appeared";
  gst_buffer_unref(h.pass(with({left, right})));
  EXPECT_EQ(comings(bus), (Lines{"appeared 2 at 120"}));
  gst_buffer_unref(h.pass(with({right})));
  EXPECT_EQ(comings(bus), (Lines{"lost 1 at 120 after 80"})) << "of its last frame";
  gst_buffer_unref(h.pass(with({left, right})));
  EXPECT_EQ(comings(bus), (Lines{"appeared 1 at 200"})) << "back again, with its id";
  ASSERT_TRUE(h.finish());
  EXPECT_EQ(comings(bus), (Lines{"lost 1 at 200 after 0", "lost 2 at 200 after 80"}));
}

TEST_F(Comings, EndWithAFlushANewSizeAndTheStop) {
  FrameHarness h(chain, "GRAY8", 320, 200);
  Bus bus(h);
  gst_buffer_unref(h.pass(with({left})));
  EXPECT_EQ(comings(bus), (Lines{"appeared 1 at 0"}));
  gst_harness_push_event(h.get(), gst_event_new_flush_start());
  gst_harness_push_event(h.get(), gst_event_new_flush_stop(FALSE));
  EXPECT_EQ(comings(bus), (Lines{"lost 1 at 0 after 0"}));
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  gst_harness_push_event(h.get(), gst_event_new_segment(&segment));
  gst_buffer_unref(h.pass(with({left})));
  EXPECT_EQ(comings(bus), (Lines{"appeared 2 at 40"}));
  h.set_caps(video_info(GST_VIDEO_FORMAT_GRAY8, 240, 200));
  EXPECT_EQ(comings(bus), (Lines{"lost 2 at 40 after 0"}));
  gst_buffer_unref(h.pass(grey_frame(squares(240, 200, {left}))));
  EXPECT_EQ(comings(bus), (Lines{"appeared 3 at 80"}));
  gst_element_set_state(h.get()->element, GST_STATE_READY);
  EXPECT_EQ(comings(bus), (Lines{"lost 3 at 80 after 0"}));
}

TEST_F(Comings, AreNotToldUnlessAsked) {
  FrameHarness h(parts.faces(), "GRAY8", 320, 200);
  Bus bus(h);
  gst_buffer_unref(h.pass(with({left})));
  EXPECT_EQ(comings(bus), Lines{}) << "off by default";
  g_object_set(h.element("t"), "post-messages", TRUE, nullptr);
  gst_buffer_unref(h.pass(with({left})));
  EXPECT_EQ(comings(bus), (Lines{"appeared 1 at 40"}));
  g_object_set(h.element("t"), "post-messages", FALSE, nullptr);
  gst_buffer_unref(h.pass(with({left})));
  ASSERT_TRUE(h.finish());
  EXPECT_EQ(comings(bus), Lines{});
}

/// Faces that a GPU still works on until it is told to be ready.
class LateFaces final : public gst::PendingResult {
 public:
  explicit LateFaces(FaceListRef faces) : faces_(std::move(faces)) {}
  bool is_ready() const override { return ready; }
  Result<std::shared_ptr<const void>> read() const override {
    waits += ready ? 0 : 1;
    return std::shared_ptr<const void>(faces_);
  }
  std::atomic<bool> ready = false;
  mutable std::atomic<int> waits = 0;

 private:
  const FaceListRef faces_;
};

TEST(LateMessages, ComeInOrderFourFramesLateAtMostAndBeforeEos) {
  FrameHarness h("cufacepublish post-messages=true", "GRAY8", kWidth, kHeight);
  Bus bus(h);
  std::vector<std::shared_ptr<LateFaces>> faces;
  const auto pass = [&] {
    faces.push_back(std::make_shared<LateFaces>(make_faces(kWidth, kHeight, 1, 0)));
    GstBuffer* buffer = plain_frame("GRAY8", kWidth, kHeight, static_cast<int>(faces.size()) - 1);
    append_faces(buffer, {faces.back(), kWidth, kHeight});
    push(h, buffer);
  };
  const auto frames = [&] {
    std::vector<guint64> numbers;
    for (const std::string& text : posted(bus)) numbers.push_back(number(text, "frame"));
    return numbers;
  };
  using Frames = std::vector<guint64>;
  for (int i = 0; i < 4; ++i) pass();
  EXPECT_EQ(frames(), Frames{}) << "nothing waits for a GPU";
  pass();
  EXPECT_EQ(frames(), Frames{0}) << "four frames late";
  EXPECT_EQ(faces[0]->waits, 1);
  faces[2]->ready = true;
  pass();
  EXPECT_EQ(frames(), (Frames{1, 2})) << "in order: the second was waited for";
  EXPECT_EQ(faces[2]->waits, 0);
  for (const auto& late : faces) late->ready = true;
  pass();
  EXPECT_EQ(frames(), (Frames{3, 4, 5}));
  pass();
  std::function<void()> at_the_end = [&] {
    EXPECT_EQ(frames(), (Frames{6, 7})) << "all before the end is passed on";
  };
  gst_pad_add_probe(
      h.get()->sinkpad, GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM,
      [](GstPad*, GstPadProbeInfo* info, gpointer data) {
        auto& call = *static_cast<std::function<void()>*>(data);
        if (GST_EVENT_TYPE(GST_PAD_PROBE_INFO_EVENT(info)) == GST_EVENT_EOS && call)
          std::exchange(call, {})();
        return GST_PAD_PROBE_OK;
      },
      &at_the_end, nullptr);
  ASSERT_TRUE(h.finish());
  EXPECT_FALSE(at_the_end) << "the end was not passed on";
  EXPECT_EQ(frames(), Frames{});
}

/// The same of culktrack's. Its input is on the CPU here, so what it calls is called.
TEST(LateMessages, OfATrackerComeFourFramesLateAtMostAndAllAtItsEnd) {
  FrameHarness h("culktrack", "GRAY8", kWidth, kHeight);
  Bus bus(h);
  gst::Presence presence(h.get()->element);
  std::vector<std::shared_ptr<LateFaces>> faces;
  const auto pass = [&](int count) {
    const GstClockTime time = faces.size() * 40 * GST_MSECOND;
    faces.push_back(std::make_shared<LateFaces>(make_faces(kWidth, kHeight, count, 0)));
    EXPECT_TRUE(presence.follow({faces.back(), kWidth, kHeight}, {time, time}).ok());
  };
  for (int i = 0; i < 4; ++i) pass(1);
  EXPECT_EQ(comings(bus), Lines{}) << "nothing waits for a GPU";
  pass(1);
  EXPECT_EQ(comings(bus), (Lines{"appeared 1 at 0"})) << "four frames late";
  EXPECT_EQ(faces[0]->waits, 1);
  EXPECT_EQ(faces[1]->waits, 0);
  for (const auto& late : faces) late->ready = true;
  pass(0);
  faces.back()->ready = true;
  pass(1);
  EXPECT_EQ(comings(bus), (Lines{"lost 1 at 160 after 160"}));
  EXPECT_TRUE(presence.end().ok());
  EXPECT_EQ(comings(bus), (Lines{"appeared 1 at 240", "lost 1 at 240 after 0"}));
  EXPECT_EQ(faces[6]->waits, 1) << "read with a wait, at the end";
}

TEST(Messages, ArePlainStructures) {
  FrameHarness h(
      "cumotiondetect method=difference interval=0 min-frames=1"
      " ! cufacepublish post-messages=true source=door",
      "GRAY8", kMotionWidth, kMotionHeight);
  Bus bus(h);
  gst_buffer_unref(h.pass(grey_frame(moving_square(-100, 0))));
  auto faces = make_faces(kMotionWidth, kMotionHeight, 2, 5);
  faces->faces[1].has_keypoints = true;
  faces->landmark_confidences.assign(10, 0.5f);
  gst_buffer_unref(h.pass(with_faces(grey_frame(moving_square(100, 60)), faces)));
  const auto all = posted(bus);
  ASSERT_EQ(all.size(), 3u) << "motion begins, and two frames";
  const auto mentions = [&](const char* what) {
    return std::ranges::count_if(all, [&](const std::string& text) {
      EXPECT_EQ(text.find("NULL"), std::string::npos) << text;
      return text.find(what) != std::string::npos;
    });
  };
  EXPECT_EQ(mentions("landmarks"), 1);
  EXPECT_EQ(mentions("landmark-confidences"), 1);
  EXPECT_EQ(mentions("keypoints"), 1);
  EXPECT_EQ(mentions("boxes"), 2);
  EXPECT_EQ(mentions("source=(string)door"), 2);
}

}  // namespace
}  // namespace cuface::test
