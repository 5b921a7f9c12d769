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
    gst_harness_set_live(harness.get(), TRUE);
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

/// A pool with one buffer, offered to whoever asks the pad for one, and what came out of it.
class OfferedPool {
 public:
  OfferedPool(GstPad* pad, const GstVideoInfo& info) : size_(static_cast<guint>(info.size) + 64) {
    GstCaps* caps = gst_video_info_to_caps(&info);
    GstStructure* config = gst_buffer_pool_get_config(pool_);
    gst_buffer_pool_config_set_params(config, caps, size_, 1, 1);
    EXPECT_TRUE(gst_buffer_pool_set_config(pool_, config));
    gst_caps_unref(caps);
    gst_pad_add_probe(
        pad,
        static_cast<GstPadProbeType>(GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM |
                                     GST_PAD_PROBE_TYPE_BUFFER),
        [](GstPad*, GstPadProbeInfo* probe, gpointer data) {
          return static_cast<OfferedPool*>(data)->seen(probe);
        },
        this, nullptr);
  }
  ~OfferedPool() { gst_object_unref(pool_); }
  OfferedPool(const OfferedPool&) = delete;
  OfferedPool& operator=(const OfferedPool&) = delete;

  bool is_offered_by(GstQuery* query) const {
    GstBufferPool* pool = nullptr;
    guint size = 0, least = 0, most = 0;
    if (gst_query_get_n_allocation_pools(query) != 1) return false;
    gst_query_parse_nth_allocation_pool(query, 0, &pool, &size, &least, &most);
    const bool ours = pool == pool_ && size == size_ && least == 1 && most == 1;
    if (pool) gst_object_unref(pool);
    return ours;
  }

  int frames = 0, from_pool = 0;

 private:
  GstPadProbeReturn seen(GstPadProbeInfo* probe) {
    if (probe->type & GST_PAD_PROBE_TYPE_BUFFER) {
      ++frames;
      from_pool += GST_PAD_PROBE_INFO_BUFFER(probe)->pool == pool_;
      return GST_PAD_PROBE_OK;
    }
    GstQuery* query = GST_PAD_PROBE_INFO_QUERY(probe);
    if (GST_QUERY_TYPE(query) != GST_QUERY_ALLOCATION) return GST_PAD_PROBE_OK;
    gst_query_add_allocation_pool(query, pool_, size_, 1, 1);
    gst_query_add_allocation_meta(query, GST_VIDEO_META_API_TYPE, nullptr);
    return GST_PAD_PROBE_HANDLED;
  }

  GstBufferPool* const pool_ = gst_video_buffer_pool_new();
  const guint size_;
};

TEST_F(Queries, PoolsPassWithTheirSizes) {
  for (const std::string& pipeline : pipelines()) {
    Harness harness(pipeline);
    OfferedPool pool(harness.get()->sinkpad, info);
    harness.set_caps(info);
    GstCaps* caps = gst_pad_get_current_caps(harness.get()->srcpad);
    GstQuery* query = gst_query_new_allocation(caps, TRUE);
    EXPECT_TRUE(ask(harness, query)) << pipeline;
    EXPECT_TRUE(pool.is_offered_by(query)) << pipeline;
    gst_query_unref(query);
    gst_caps_unref(caps);
  }
}

/// How many of videotestsrc's frames are the one buffer of the sink's pool when they get there.
int frames_from_the_pool(const std::string& pipeline, const GstVideoInfo& info) {
  constexpr int kFrames = 20;
  GError* error = nullptr;
  GstElement* whole =
      gst_parse_launch(("videotestsrc pattern=ball num-buffers=" + std::to_string(kFrames) +
                        " ! video/x-raw,format=GRAY8,width=320,height=200,framerate=25/1 ! " +
                        pipeline + " ! fakesink name=end enable-last-sample=false")
                           .c_str(),
                       &error);
  if (!whole) {
    ADD_FAILURE() << error->message;
    g_error_free(error);
    return -1;
  }
  GstElement* end = gst_bin_get_by_name(GST_BIN(whole), "end");
  GstPad* pad = gst_element_get_static_pad(end, "sink");
  OfferedPool pool(pad, info);
  gst_element_set_state(whole, GST_STATE_PLAYING);
  GstBus* bus = gst_element_get_bus(whole);
  GstMessage* last = gst_bus_timed_pop_filtered(
      bus, 60 * GST_SECOND, static_cast<GstMessageType>(GST_MESSAGE_EOS | GST_MESSAGE_ERROR));
  EXPECT_TRUE(last && GST_MESSAGE_TYPE(last) == GST_MESSAGE_EOS)
      << pipeline << (last ? "" : ": the pool's buffer does not come back");
  gst_element_set_state(whole, GST_STATE_NULL);
  EXPECT_EQ(pool.frames, kFrames) << pipeline;
  if (last) gst_message_unref(last);
  gst_object_unref(bus);
  gst_object_unref(pad);
  gst_object_unref(end);
  gst_object_unref(whole);
  return pool.from_pool;
}

/// Nothing on the way copies the frame, or keeps it: then the source would wait for it for ever.
TEST_F(Queries, TheSourceWritesIntoTheSinksPool) {
  for (const std::string& pipeline : pipelines())
    EXPECT_EQ(frames_from_the_pool(pipeline, info), 20) << pipeline;
  EXPECT_EQ(frames_from_the_pool("identity drop-allocation=true", info), 0) << "all look like it";
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
