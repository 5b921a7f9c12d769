// cuface2json: the lines of cufacepublish as buffers, with the frames' times.
#include <atomic>

#include "tests/gst/motion.h"
#include "tests/gst/parts.h"
#include "tests/gst/publish.h"

namespace cuface::test {
namespace {

struct JsonHarness : FrameHarness {
  explicit JsonHarness(const std::string& before = "", int width = kWidth, int height = kHeight)
      : FrameHarness(before + "cuface2json name=j source=door", "GRAY8", width, height) {}
};

std::string text_of(GstBuffer* buffer) {
  const auto bytes = bytes_of(buffer);
  return {bytes.begin(), bytes.end()};
}

TEST(Json, BuffersHaveTheFramesTimes) {
  JsonHarness h;
  for (int i = 0; i < 3; ++i) {
    GstBuffer* out = h.pass(frame(i, i, 5));
    ASSERT_NE(out, nullptr);
    EXPECT_EQ(GST_BUFFER_PTS(out), static_cast<GstClockTime>(i) * 40 * GST_MSECOND);
    EXPECT_EQ(GST_BUFFER_DURATION(out), 40 * GST_MSECOND);
    const std::string text = text_of(out);
    gst_buffer_unref(out);
    EXPECT_EQ(text.find('\n'), text.size() - 1) << "a line, for a file of lines";
    const Json line = Json::parse(text);
    EXPECT_EQ(line["frame"], i);
    EXPECT_EQ(line["timestamp"], i * 40'000'000);
    EXPECT_EQ(line["source"], "door");
    EXPECT_EQ(line["objects"].size(), static_cast<std::size_t>(i));
  }
  GstCaps* caps = gst_pad_get_current_caps(h.get()->sinkpad);
  GstCaps* wanted = gst_caps_from_string("application/x-json");
  EXPECT_TRUE(gst_caps_is_equal(caps, wanted));
  gst_caps_unref(wanted);
  gst_caps_unref(caps);
  EXPECT_TRUE(h.finish());
}

TEST(Json, LandmarksHaveTheirConfidences) {
  JsonHarness h;
  GstBuffer* buffer = plain_frame("GRAY8", kWidth, kHeight);
  auto faces = make_faces(kWidth, kHeight, 2, 3);
  faces->landmark_confidences = {0, 0.25f, 0.5f, 0.75f, 0.875f, 1};
  append_faces(buffer, faces);
  GstBuffer* out = h.pass(buffer);
  const Json line = Json::parse(text_of(out));
  gst_buffer_unref(out);
  EXPECT_EQ(line["objects"][0]["landmark_confidences"], (Json{0.0, 0.25, 0.5}));
  EXPECT_EQ(line["objects"][1]["landmark_confidences"], (Json{0.75, 0.875, 1.0}));
  out = h.pass(frame(1, 1, 5));
  EXPECT_FALSE(Json::parse(text_of(out))["objects"][0].contains("landmark_confidences"));
  gst_buffer_unref(out);
}

/// The whole chain, with motion: what the file has and what comes out are the same bytes.
TEST(Json, IsWhatCufacepublishWrites) {
  const Parts parts;
  FrameHarness h("cumotiondetect min-frames=1 ! " + parts.detect + " min-size=60 ! " + parts.track +
                     " ! " + parts.landmark + " ! " + parts.publish + " ! cuface2json",
                 "GRAY8", kMotionWidth, kMotionHeight);
  std::string all;
  for (int i = 0; i < 12; ++i) {
    GstBuffer* out = h.pass(grey_frame(moving_square(60 + 4 * i, 80)));
    ASSERT_NE(out, nullptr) << i;
    all += text_of(out);
    gst_buffer_unref(out);
  }
  ASSERT_TRUE(h.finish());
  std::string written;
  int faces = 0, motion = 0;
  for (const std::string& line : parts.published()) {
    written += line + "\n";
    faces += static_cast<int>(Json::parse(line)["objects"].size());
    motion += Json::parse(line).contains("motion");
  }
  EXPECT_EQ(all, written);
  EXPECT_GE(faces, 10);
  EXPECT_EQ(motion, 12);
}

TEST(Json, GoesIntoFiles) {
  const TempFolder folder;
  const std::string source = "videotestsrc num-buffers=4 ! video/x-raw,width=160,height=120 ! ";
  const BusReport one =
      run_pipeline(source + "cuface2json ! filesink location=" + folder.path() + "/all.jsonl");
  EXPECT_TRUE(one.finished);
  EXPECT_EQ(one.error, "");
  ASSERT_EQ(one.warnings.size(), 1u) << "nobody looks for faces";
  EXPECT_NE(one.warnings[0].find("missing before cuface2json"), std::string::npos);
  std::ifstream file(folder.path() + "/all.jsonl");
  int lines = 0;
  for (std::string line; std::getline(file, line); ++lines)
    EXPECT_EQ(Json::parse(line)["frame"], lines);
  EXPECT_EQ(lines, 4);
  const BusReport many =
      run_pipeline(source + "cuface2json ! multifilesink location=" + folder.path() + "/%d.json");
  EXPECT_EQ(many.error, "");
  for (int i = 0; i < 4; ++i) {
    std::ifstream each(folder.path() + "/" + std::to_string(i) + ".json");
    EXPECT_EQ(Json::parse(each)["frame"], i);
  }
}

/// Faces that a GPU still works on until they are asked for.
class LateFaces final : public gst::PendingResult {
 public:
  explicit LateFaces(FaceListRef faces) : faces_(std::move(faces)) {}
  bool is_ready() const override { return false; }
  Result<std::shared_ptr<const void>> read() const override {
    return std::shared_ptr<const void>(faces_);
  }

 private:
  const FaceListRef faces_;
};

TEST(Json, WaitsForNoGpuAndComesBeforeTheNextEvent) {
  JsonHarness h;
  const auto push_late = [&](int i) {
    GstBuffer* buffer = plain_frame("GRAY8", kWidth, kHeight, i);
    append_faces(buffer,
                 {std::make_shared<LateFaces>(make_faces(kWidth, kHeight, 1, 0)), kWidth, kHeight});
    EXPECT_EQ(h.push(buffer), GST_FLOW_OK);
  };
  const auto out = [&] { return gst_harness_buffers_in_queue(h.get()); };
  for (int i = 0; i < 4; ++i) push_late(i);
  EXPECT_EQ(out(), 0u);
  push_late(4);
  EXPECT_EQ(out(), 1u);
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  gst_harness_push_event(h.get(), gst_event_new_segment(&segment));
  EXPECT_EQ(out(), 5u) << "their times are of the segment before";
  push_late(5);
  ASSERT_TRUE(h.finish());
  EXPECT_EQ(out(), 6u);
  for (int i = 0; i < 6; ++i) {
    GstBuffer* buffer = h.pull();
    EXPECT_EQ(Json::parse(text_of(buffer))["frame"], i);
    gst_buffer_unref(buffer);
  }
}

TEST(Json, AFlushForgetsWhatWaitsAndAStopStartsAnew) {
  JsonHarness h;
  GstBuffer* buffer = plain_frame("GRAY8", kWidth, kHeight, 0);
  append_faces(buffer,
               {std::make_shared<LateFaces>(make_faces(kWidth, kHeight, 1, 0)), kWidth, kHeight});
  h.push(buffer);
  gst_harness_push_event(h.get(), gst_event_new_flush_start());
  gst_harness_push_event(h.get(), gst_event_new_flush_stop(TRUE));
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  gst_harness_push_event(h.get(), gst_event_new_segment(&segment));
  GstBuffer* out = h.pass(frame(1));
  EXPECT_EQ(Json::parse(text_of(out))["frame"], 1) << "a flush does not start anew";
  gst_buffer_unref(out);
}

TEST(Json, WhatDownstreamSaysReachesTheSource) {
  EXPECT_EQ(run_pipeline("videotestsrc num-buffers=50 ! video/x-raw,width=160,height=120"
                         " ! cuface2json ! identity name=stop error-after=3 ! fakesink")
                .error_source,
            "stop");
}

}  // namespace
}  // namespace cuface::test
