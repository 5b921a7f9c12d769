// Queries pass our elements as if they were not there: latency, allocation, context, caps.
#include "tests/gst/parts.h"

namespace cuface::test {
namespace {

constexpr int kWidth = 320, kHeight = 200;

class Queries : public testing::Test {
 protected:
  Parts parts;
  const GstVideoInfo info = video_info(GST_VIDEO_FORMAT_GRAY8, kWidth, kHeight);
  static cv::Mat picture() { return squares(kWidth, kHeight, {{100, 70, 48, 48}}); }
  std::vector<std::string> pipelines() const {
    std::vector<std::string> all = parts.each();
    all.push_back(parts.all());
    return all;
  }
};

TEST_F(Queries, LatencyIsThatOfTheSource) {
  for (const std::string& pipeline : pipelines()) {
    Harness harness(pipeline);
    harness.set_caps(info);
    for (const GstClockTime latency : {0 * GST_MSECOND, 123 * GST_MSECOND}) {
      gst_harness_set_upstream_latency(harness.get(), latency);
      EXPECT_EQ(gst_harness_query_latency(harness.get()), latency) << pipeline;
      GstBuffer* out = harness.pass(grey_frame(picture()));
      EXPECT_EQ(GST_BUFFER_PTS(out) % (GST_SECOND / 25), 0u) << "no timestamp is moved";
      gst_buffer_unref(out);
    }
  }
}

/// Asks the first element of the harness, as a source does.
bool ask(Harness& harness, GstQuery* query) {
  return gst_pad_peer_query(harness.get()->srcpad, query);
}

TEST_F(Queries, AllocationAndContextQueriesReachWhoAnswersThem) {
  for (const std::string& pipeline : pipelines()) {
    Harness harness(pipeline);
    gst_harness_add_propose_allocation_meta(harness.get(), GST_VIDEO_META_API_TYPE, nullptr);
    gst_harness_add_propose_allocation_meta(harness.get(), GST_VIDEO_CROP_META_API_TYPE, nullptr);
    GstAllocationParams params;
    gst_allocation_params_init(&params);
    params.align = 63;
    gst_harness_set_propose_allocator(harness.get(), nullptr, &params);
    harness.set_caps(info);
    GstCaps* caps = gst_pad_get_current_caps(harness.get()->srcpad);
    GstQuery* query = gst_query_new_allocation(caps, TRUE);
    EXPECT_TRUE(ask(harness, query)) << pipeline;
    EXPECT_TRUE(gst_query_find_allocation_meta(query, GST_VIDEO_META_API_TYPE, nullptr))
        << pipeline;
    EXPECT_TRUE(gst_query_find_allocation_meta(query, GST_VIDEO_CROP_META_API_TYPE, nullptr))
        << pipeline << ": we honour crop rectangles";
    gst_query_unref(query);
    gst_caps_unref(caps);

    // A context that is none of ours.
    GstPad* sink = harness.get()->sinkpad;
    bool asked = false;
    gst_pad_add_probe(
        sink, GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM,
        [](GstPad*, GstPadProbeInfo* probe, gpointer data) {
          GstQuery* seen = GST_PAD_PROBE_INFO_QUERY(probe);
          if (GST_QUERY_TYPE(seen) != GST_QUERY_CONTEXT) return GST_PAD_PROBE_OK;
          *static_cast<bool*>(data) = true;
          GstContext* context = gst_context_new("test.context", TRUE);
          gst_query_set_context(seen, context);
          gst_context_unref(context);
          return GST_PAD_PROBE_HANDLED;
        },
        &asked, nullptr);
    query = gst_query_new_context("test.context");
    EXPECT_TRUE(ask(harness, query)) << pipeline;
    EXPECT_TRUE(asked) << pipeline;
    gst_query_unref(query);
    GstContext* context = gst_context_new("test.context", TRUE);
    gst_element_set_context(harness.get()->element, context);
    gst_context_unref(context);
    GstBuffer* out = harness.pass(grey_frame(picture()));
    EXPECT_NE(out, nullptr) << pipeline;
    gst_buffer_unref(out);
  }
}

TEST_F(Queries, CapsQueriesOfferWhatThePeerTakes) {
  for (const std::string& element : parts.each()) {
    Harness harness(element +
                    " ! capsfilter caps=video/x-raw,format={NV12,NV12_64Z32,RGB},width=320");
    GstCaps* caps = gst_pad_peer_query_caps(harness.get()->srcpad, nullptr);
    GstCaps* expected = gst_caps_from_string(
        "video/x-raw,format={NV12,RGB},width=320,height=[1,2147483647],framerate=[0/1,2147483647/"
        "1]");
    EXPECT_TRUE(gst_caps_is_equal(caps, expected)) << element << " " << gst_caps_to_string(caps);
    gst_caps_unref(expected);
    gst_caps_unref(caps);
    for (const char* wrong :
         {"audio/x-raw",
          "video/"
          "x-raw(format:Interlaced),format=NV12,width=320,height=200,interlace-mode=alternate",
          "video/x-raw,format=NV12_64Z32,width=320,height=200"}) {
      caps = gst_caps_from_string(wrong);
      EXPECT_FALSE(gst_pad_peer_query_accept_caps(harness.get()->srcpad, caps)) << element << wrong;
      gst_caps_unref(caps);
    }
  }
}

}  // namespace
}  // namespace cuface::test
