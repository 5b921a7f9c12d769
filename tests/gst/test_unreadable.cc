// Faces on a GPU that cannot be read: nobody is told that there are none, and who asks again gets
// them once the GPU answers.
#include <atomic>

#include "gst/faces/standardmetas.h"
#include "tests/gst/parts.h"
#include "tests/gst/publish.h"

namespace cuface::test {
namespace {

/// Faces of a GPU that fails as long as `fails`.
class FailingFaces final : public gst::PendingResult {
 public:
  explicit FailingFaces(FaceListRef faces) : faces_(std::move(faces)) {}
  bool is_ready() const override { return true; }
  Result<std::shared_ptr<const void>> read() const override {
    ++reads;
    if (fails) return Status(StatusCode::kUnsupported, "copying faces: the test's GPU has failed");
    return std::shared_ptr<const void>(faces_);
  }
  std::atomic<bool> fails = true;
  mutable std::atomic<int> reads = 0;

 private:
  const FaceListRef faces_;
};

std::shared_ptr<FailingFaces> failing(int faces = 2) {
  return std::make_shared<FailingFaces>(make_faces(kWidth, kHeight, faces, 68));
}

GstBuffer* with(const gst::PendingResultRef& faces, int number = 0) {
  GstBuffer* buffer = plain_frame("GRAY8", kWidth, kHeight, number);
  append_faces(buffer, {faces, kWidth, kHeight});
  return buffer;
}

void expect_error(Bus& bus, const std::string& source, int resource_error = -1) {
  GstMessage* message = bus.next(GST_MESSAGE_ERROR);
  ASSERT_NE(message, nullptr) << source;
  GError* error = nullptr;
  gst_message_parse_error(message, &error, nullptr);
  EXPECT_NE(std::string(error->message).find("the test's GPU has failed"), std::string::npos)
      << error->message;
  EXPECT_EQ(GST_MESSAGE_SRC_NAME(message), source);
  if (resource_error >= 0) {
    EXPECT_TRUE(g_error_matches(error, GST_RESOURCE_ERROR, resource_error));
  }
  g_error_free(error);
  gst_message_unref(message);
}

TEST(Unreadable, TheMetaGivesNoSnapshotAndThenTheFaces) {
  const auto faces = failing();
  GstBuffer* buffer = with(faces);
  GstCufaceMeta* meta = gst_cuface_buffer_get_face_meta(buffer);
  ASSERT_NE(meta, nullptr);
  EXPECT_EQ(gst_cuface_meta_get_faces(meta), nullptr);
  EXPECT_EQ(gst_cuface_meta_get_n_faces(meta), 0u);
  const FacesRead failed = read_faces(buffer, kWidth, kHeight);
  EXPECT_EQ(failed.positions, gst::Positions::kKnown);
  EXPECT_FALSE(failed.status.ok());
  EXPECT_EQ(failed.faces, nullptr);
  EXPECT_GE(faces->reads, 3);
  faces->fails = false;
  EXPECT_EQ(gst_cuface_meta_get_n_faces(meta), 2u);
  GstCufaceFaces* snapshot = gst_cuface_meta_get_faces(meta);
  ASSERT_NE(snapshot, nullptr);
  EXPECT_EQ(gst_cuface_faces_get_count(snapshot), 2u);
  EXPECT_TRUE(gst_cuface_faces_get_searched(snapshot));
  gst_cuface_faces_unref(snapshot);
  gst_buffer_unref(buffer);
}

TEST(Unreadable, NoMessageSaysThatThereAreNoFaces) {
  FrameHarness h("cufacepublish name=publish post-messages=true", "GRAY8", kWidth, kHeight);
  Bus bus(h);
  EXPECT_EQ(push(h, with(failing())), GST_FLOW_ERROR);
  expect_error(bus, "publish");
  EXPECT_EQ(bus.count(GST_MESSAGE_ELEMENT), 0);
}

TEST_F(FacePublish, UnreadableFacesEndTheStreamWithoutALine) {
  Harness h(launch("name=publish"));
  Bus bus(h);
  h.set_caps(video_info(GST_VIDEO_FORMAT_GRAY8, kWidth, kHeight));
  EXPECT_EQ(push(h, frame(0)), GST_FLOW_OK);
  EXPECT_EQ(push(h, frame(1)), GST_FLOW_OK);
  push(h, with(failing(), 2));
  // The last ones reach the writer before or after its error; neither has a line.
  push(h, frame(3));
  push(h, frame(4));
  expect_error(bus, "publish", GST_RESOURCE_ERROR_READ);
  EXPECT_EQ(push(h, frame(5)), GST_FLOW_ERROR);
  gst_element_set_state(h.get()->element, GST_STATE_NULL);
  const auto written = lines();
  ASSERT_EQ(written.size(), 2u) << text();
  for (const std::string& line : written) EXPECT_EQ(Json::parse(line)["objects"].size(), 1u);
}

TEST(Unreadable, NoStandardMetas) {
  GstBuffer* buffer = plain_frame("GRAY8", kWidth, kHeight);
  const GstVideoInfo info = video_info(GST_VIDEO_FORMAT_GRAY8, kWidth, kHeight);
  gst::FirstSeen first_seen;
  const auto faces = failing();
  const gst::FaceResult result(faces, kWidth, kHeight);
  EXPECT_FALSE(gst::publish_standard_metas(buffer, info, result, first_seen).ok());
  EXPECT_EQ(gst_buffer_get_n_meta(buffer, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE), 0u);
  faces->fails = false;
  EXPECT_TRUE(gst::publish_standard_metas(buffer, info, result, first_seen).ok());
  EXPECT_EQ(gst_buffer_get_n_meta(buffer, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE), 2u);
  gst_buffer_unref(buffer);
}

/// Puts the faces into the frame that the element is about to get.
GstPadProbeReturn add_faces(GstPad*, GstPadProbeInfo* info, gpointer) {
  append_faces(GST_PAD_PROBE_INFO_BUFFER(info), {failing(), kWidth, kHeight});
  return GST_PAD_PROBE_OK;
}

TEST(Unreadable, AnElementThatNeedsTheFacesEndsTheStream) {
  const Parts parts;
  for (const std::string& element :
       {"cufacedetect backend=cpu cascade=" + parts.cascade, std::string("culktrack backend=cpu"),
        "cufacelandmark backend=cpu model=" + parts.model, std::string("cufaceoverlay")}) {
    Harness h(parts.detect + " backend=cpu ! " + element + " name=last");
    Bus bus(h);
    h.set_caps(video_info(GST_VIDEO_FORMAT_GRAY8, kWidth, kHeight));
    GstPad* pad = gst_element_get_static_pad(h.element("last"), "sink");
    gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, add_faces, nullptr, nullptr);
    gst_object_unref(pad);
    EXPECT_EQ(push(h, plain_frame("GRAY8", kWidth, kHeight)), GST_FLOW_ERROR) << element;
    expect_error(bus, "last");
  }
}

}  // namespace
}  // namespace cuface::test
