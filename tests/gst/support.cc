#include "tests/gst/support.h"

#include <gst/base/gstbasetransform.h>

#include <cstdarg>
#include <cstdio>

#include "tests/gst/first_sample.h"

namespace cuface::test {
namespace {

void append(std::string& text, const char* format, ...) __attribute__((format(printf, 2, 3)));
void append(std::string& text, const char* format, ...) {
  char line[256];
  va_list args;
  va_start(args, format);
  std::vsnprintf(line, sizeof line, format, args);
  va_end(args);
  text += line;
}

/// The Y of `depth` bits that luma() turns into this grey.
unsigned sample_for(int grey, int depth, bool full_range) {
  if (full_range) return static_cast<unsigned>(grey) << (depth - 8);
  for (unsigned y = 16; y <= 235; ++y)
    if (static_cast<int>(((y - 16) * 255 + 109) / 219) == grey) return y << (depth - 8);
  ADD_FAILURE() << "grey " << grey << " is none of limited range";
  return 0;
}

}  // namespace

GstBuffer* make_frame(const GstVideoInfo& info, const cv::Mat& grey) {
  GstBuffer* buffer = gst_buffer_new_allocate(nullptr, info.size, nullptr);
  gst_buffer_memset(buffer, 0, 0, info.size);
  GstVideoFrame frame;
  EXPECT_TRUE(gst_video_frame_map(&frame, &info, buffer, GST_MAP_WRITE));
  const bool rgb = GST_VIDEO_INFO_IS_RGB(&info);
  const bool full = rgb || info.colorimetry.range != GST_VIDEO_COLOR_RANGE_16_235;
  const int components = GST_VIDEO_INFO_IS_GRAY(&info) ? 1 : 3;
  for (int c = 0; c < components; ++c) {
    const int depth = static_cast<int>(GST_VIDEO_FRAME_COMP_DEPTH(&frame, c));
    const int shift = static_cast<int>(GST_VIDEO_FORMAT_INFO_SHIFT(info.finfo, c));
    for (int y = 0; y < GST_VIDEO_FRAME_COMP_HEIGHT(&frame, c); ++y) {
      for (int x = 0; x < GST_VIDEO_FRAME_COMP_WIDTH(&frame, c); ++x) {
        auto* p = first_sample(frame, static_cast<guint>(c)) +
                  y * GST_VIDEO_FRAME_COMP_STRIDE(&frame, c) +
                  x * GST_VIDEO_FRAME_COMP_PSTRIDE(&frame, c);
        const unsigned value =
            c > 0 && !rgb ? 128u << (depth - 8) : sample_for(grey.at<uchar>(y, x), depth, full);
        p[0] = static_cast<guint8>(depth == 8 ? value : value << shift);
        // Rows may begin at odd addresses: no word is written.
        if (depth > 8) p[1] = static_cast<guint8>(value << shift >> 8);
      }
    }
  }
  gst_video_frame_unmap(&frame);
  return buffer;
}

void expect_defaults(const char* element,
                     const std::vector<std::pair<const char*, const char*>>& defaults) {
  GstElement* made = gst_element_factory_make(element, nullptr);
  ASSERT_NE(made, nullptr) << element;
  for (const auto& [name, text] : defaults) {
    GParamSpec* spec = g_object_class_find_property(G_OBJECT_GET_CLASS(made), name);
    ASSERT_NE(spec, nullptr) << element << " " << name;
    GValue wanted = G_VALUE_INIT;
    g_value_init(&wanted, spec->value_type);
    ASSERT_TRUE(gst_value_deserialize(&wanted, text)) << name << "=" << text;
    EXPECT_EQ(g_param_values_cmp(spec, &wanted, g_param_spec_get_default_value(spec)), 0)
        << element << " " << name;
    // What is set by nobody is the default, too.
    GValue there = G_VALUE_INIT;
    g_value_init(&there, spec->value_type);
    g_object_get_property(G_OBJECT(made), name, &there);
    EXPECT_EQ(g_param_values_cmp(spec, &wanted, &there), 0) << element << " " << name;
    g_value_unset(&wanted);
    g_value_unset(&there);
  }
  gst_object_unref(made);
}

std::vector<std::string> offered_formats(const char* element) {
  GstElement* made = gst_element_factory_make(element, nullptr);
  GstCaps* caps = gst_pad_get_pad_template_caps(GST_BASE_TRANSFORM_SINK_PAD(made));
  std::vector<std::string> formats;
  const GValue* list =
      gst_structure_get_value(gst_caps_get_structure(caps, gst_caps_get_size(caps) - 1), "format");
  for (guint i = 0; i < gst_value_list_get_size(list); ++i)
    formats.push_back(g_value_get_string(gst_value_list_get_value(list, i)));
  gst_caps_unref(caps);
  gst_object_unref(made);
  return formats;
}

std::string faces_text(GstBuffer* buffer) {
  GstCufaceFaces* faces = faces_of(buffer);
  if (!faces) return "-";
  std::string text = gst_cuface_faces_get_searched(faces) ? "searched" : "not searched";
  for (guint i = 0; i < gst_cuface_faces_get_count(faces); ++i) {
    gfloat x, y, w, h;
    gst_cuface_faces_get_box(faces, i, &x, &y, &w, &h);
    append(text, "\n id %" G_GUINT64_FORMAT " origin %d age %u neighbors %d confidence %a box",
           gst_cuface_faces_get_id(faces, i), gst_cuface_faces_get_origin(faces, i),
           gst_cuface_faces_get_age(faces, i), gst_cuface_faces_get_neighbors(faces, i),
           static_cast<double>(gst_cuface_faces_get_confidence(faces, i)));
    for (float v : {x, y, w, h}) append(text, " %a", static_cast<double>(v));
    for (guint j = 0; j < gst_cuface_faces_get_n_landmarks(faces); ++j) {
      gst_cuface_faces_get_landmark(faces, i, j, &x, &y);
      append(text, " (%a %a)", static_cast<double>(x), static_cast<double>(y));
    }
    for (guint j = 0; j < gst_cuface_faces_get_n_keypoints(faces, i); ++j) {
      gst_cuface_faces_get_keypoint(faces, i, j, &x, &y);
      append(text, " <%a %a>", static_cast<double>(x), static_cast<double>(y));
    }
  }
  gst_cuface_faces_unref(faces);
  return text;
}

void add_probe(GstElement* pipeline, const char* element, const char* pad_name,
               GstPadProbeType type, GstPadProbeCallback callback, gpointer data) {
  GstElement* found = gst_bin_get_by_name(GST_BIN(pipeline), element);
  GstPad* pad = gst_element_get_static_pad(found, pad_name);
  gst_pad_add_probe(pad, type, callback, data, nullptr);
  gst_object_unref(pad);
  gst_object_unref(found);
}

Harness::Harness(const std::string& pipeline) : h_(gst_harness_new_parse(pipeline.c_str())) {
  gst_harness_set_live(h_, FALSE);
}

Harness::~Harness() { gst_harness_teardown(h_); }

void Harness::set_caps(const GstVideoInfo& info) {
  GstVideoInfo copy = info;
  gst_harness_set_src_caps(h_, gst_video_info_to_caps(&copy));
}

GstFlowReturn Harness::push(GstBuffer* buffer) {
  return push_at(buffer, frames_ * GST_SECOND / 25);
}

GstFlowReturn Harness::push_at(GstBuffer* buffer, GstClockTime pts) {
  GST_BUFFER_PTS(buffer) = pts;
  GST_BUFFER_DURATION(buffer) = GST_SECOND / 25;
  ++frames_;
  return gst_harness_push(h_, buffer);
}

std::string Harness::pass_text(GstBuffer* buffer) {
  GstBuffer* out = pass(buffer);
  if (!out) return "no buffer";
  std::string text = faces_text(out);
  gst_buffer_unref(out);
  return text;
}

bool Harness::finish() {
  gst_harness_push_event(h_, gst_event_new_eos());
  for (bool ended = false; !ended;) {
    GstEvent* event = gst_harness_pull_event(h_);
    if (!event) return false;
    ended = GST_EVENT_TYPE(event) == GST_EVENT_EOS;
    gst_event_unref(event);
  }
  return true;
}

GstElement* Harness::element(const char* name) {
  GstElement* found = gst_bin_get_by_name(GST_BIN(h_->element), name);
  EXPECT_NE(found, nullptr) << name;
  if (found) gst_object_unref(found);  // the bin keeps it
  return found;
}

guint64 Harness::stat(const char* name, const char* field) {
  GstStructure* stats = nullptr;
  g_object_get(element(name), "stats", &stats, nullptr);
  guint64 value = G_MAXUINT64;
  EXPECT_TRUE(gst_structure_get_uint64(stats, field, &value)) << field;
  gst_structure_free(stats);
  return value;
}

std::vector<std::string> run_frames(const std::string& pipeline, const GstVideoInfo& info,
                                    const std::vector<cv::Mat>& frames) {
  Harness harness(pipeline);
  harness.set_caps(info);
  std::vector<std::string> texts;
  std::size_t pushed = 0;
  for (const cv::Mat& frame : frames)
    pushed += harness.push(make_frame(info, frame)) == GST_FLOW_OK;
  for (std::size_t i = 0; i < pushed; ++i) {
    GstBuffer* out = harness.pull();
    texts.push_back(out ? faces_text(out) : "no buffer");
    if (out) gst_buffer_unref(out);
  }
  EXPECT_EQ(pushed, frames.size()) << pipeline;
  return texts;
}

void expect_error(const BusReport& report, GQuark domain, int code,
                  const std::vector<std::string>& words) {
  EXPECT_EQ(report.error_domain, domain) << report.error;
  EXPECT_EQ(report.error_code, code) << report.error;
  for (const std::string& word : words)
    EXPECT_NE(report.error.find(word), std::string::npos) << word << " in: " << report.error;
}

std::vector<std::string> damaged_copies(const std::string& png) {
  std::ifstream file(png, std::ios::binary);
  const std::string whole((std::istreambuf_iterator<char>(file)), {});
  std::string flipped = whole;
  flipped.at(whole.size() / 2) ^= 0x55;
  return {whole.substr(0, whole.size() / 2), whole.substr(0, 20), flipped, "P5 no PNG"};
}

BusReport run_pipeline(const std::string& text) {
  BusReport report;
  GError* parse_error = nullptr;
  GstElement* pipeline = gst_parse_launch(text.c_str(), &parse_error);
  if (parse_error) {
    ADD_FAILURE() << parse_error->message;
    g_clear_error(&parse_error);
    return report;
  }
  GstBus* bus = gst_element_get_bus(pipeline);
  gst_element_set_state(pipeline, GST_STATE_PLAYING);
  constexpr auto kTypes =
      static_cast<GstMessageType>(GST_MESSAGE_EOS | GST_MESSAGE_ERROR | GST_MESSAGE_WARNING);
  while (!report.finished) {
    GstMessage* message = gst_bus_timed_pop_filtered(bus, 60 * GST_SECOND, kTypes);
    if (!message) break;
    GError* error = nullptr;
    if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_WARNING) {
      gst_message_parse_warning(message, &error, nullptr);
      report.warnings.push_back(error->message);
    } else {
      report.finished = true;
      if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR) {
        gchar* debug = nullptr;
        gst_message_parse_error(message, &error, &debug);
        report.debug = debug ? debug : "";
        g_free(debug);
        report.error_domain = error->domain;
        report.error_code = error->code;
        report.error = error->message;
        report.error_source = GST_OBJECT_NAME(GST_MESSAGE_SRC(message));
      }
    }
    g_clear_error(&error);
    gst_message_unref(message);
  }
  gst_element_set_state(pipeline, GST_STATE_NULL);
  gst_object_unref(bus);
  gst_object_unref(pipeline);
  return report;
}

std::vector<GstBuffer*> decode(const std::string& path, const std::string& caps, int frames,
                               GstVideoInfo* info) {
  std::vector<GstBuffer*> buffers;
  GstHarness* h =
      gst_harness_new_parse(("filesrc location=" + path +
                             " ! decodebin ! videoconvert ! videoscale ! capsfilter caps=" + caps)
                                .c_str());
  gst_harness_play(h);
  for (int i = 0; i < frames; ++i) {
    GstBuffer* buffer = gst_harness_pull(h);
    if (!buffer) break;
    buffers.push_back(buffer);
  }
  GstCaps* out = gst_pad_get_current_caps(h->sinkpad);
  EXPECT_TRUE(out && gst_video_info_from_caps(info, out)) << path;
  if (out) gst_caps_unref(out);
  gst_harness_teardown(h);
  return buffers;
}

}  // namespace cuface::test
