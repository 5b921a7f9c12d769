// Frames and faces for the tests of elements.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tests/gst/support.h"

namespace cuface::test {

/// A harness that knows what it gets.
struct FrameHarness : Harness {
  FrameHarness(const std::string& pipeline, const char* format, int width, int height)
      : Harness(pipeline) {
    set_caps(video_info(gst_video_format_from_string(format), width, height));
  }
};

/// A frame of one byte value, 40 ms after the last.
inline GstBuffer* plain_frame(const char* format, int width, int height, int number = 0,
                              int value = 100) {
  const GstVideoInfo info = video_info(gst_video_format_from_string(format), width, height);
  GstBuffer* buffer = gst_buffer_new_allocate(nullptr, info.size, nullptr);
  gst_buffer_memset(buffer, 0, static_cast<guint8>(value), info.size);
  GST_BUFFER_PTS(buffer) = static_cast<GstClockTime>(number) * 40 * GST_MSECOND;
  GST_BUFFER_DURATION(buffer) = 40 * GST_MSECOND;
  return buffer;
}

/// `count` faces with `landmarks` points each, in a frame of this size.
inline std::shared_ptr<FaceList> make_faces(int width, int height, int count, int landmarks,
                                            float shift = 0) {
  auto list = std::make_shared<FaceList>();
  list->width = width;
  list->height = height;
  list->searched = true;
  list->landmarks_per_face = landmarks;
  for (int i = 0; i < count; ++i) {
    Face face;
    face.id = static_cast<std::uint64_t>(i + 1);
    face.neighbors = 31;
    face.confidence = detection_confidence(31);
    face.box = {width * 0.25f + shift + static_cast<float>(i), height * 0.3f, width * 0.3f,
                height * 0.4f};
    list->faces.push_back(face);
    for (int p = 0; p < landmarks; ++p)
      list->landmarks.push_back({face.box.x + face.box.w * static_cast<float>(p % 9) / 9.0f,
                                 face.box.y + face.box.h * static_cast<float>(p % 7) / 7.0f});
  }
  return list;
}

inline GstBuffer* with_faces(GstBuffer* buffer, FaceListRef faces) {
  append_faces(buffer, std::move(faces));
  return buffer;
}

inline std::vector<std::uint8_t> bytes_of(GstBuffer* buffer) {
  std::vector<std::uint8_t> bytes(gst_buffer_get_size(buffer));
  gst_buffer_extract(buffer, 0, bytes.data(), bytes.size());
  return bytes;
}

/// Everything posted on the bus of the harness' elements. Make it before data flows.
class Bus {
 public:
  explicit Bus(Harness& h) : element_(h.get()->element), bus_(gst_bus_new()) {
    gst_element_set_bus(element_, bus_);
  }
  ~Bus() {
    gst_element_set_bus(element_, nullptr);
    gst_object_unref(bus_);
  }
  Bus(const Bus&) = delete;

  /// The next message of this kind within two seconds; null without. To be unreffed.
  GstMessage* next(GstMessageType type, GstClockTime timeout = 2 * GST_SECOND) {
    return gst_bus_timed_pop_filtered(bus_, timeout, type);
  }
  int count(GstMessageType type) {
    int n = 0;
    while (GstMessage* message = next(type, 0)) gst_message_unref(message), ++n;
    return n;
  }

 private:
  GstElement* element_;
  GstBus* bus_;
};

}  // namespace cuface::test
