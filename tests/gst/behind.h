// A frame with a face on it behind other elements: what is delivered, and where the face is.
#pragma once

#include <cmath>
#include <string>

#include "tests/gst/support.h"

namespace cuface::test {

constexpr int kWidth = 320, kHeight = 240;
inline const cv::Rect kFace(200, 40, 60, 50);

/// A bright block, its box and its corners as landmarks: pixels and faces can be compared.
inline GstVideoInfo frame_info() {
  GstVideoInfo info = video_info(GST_VIDEO_FORMAT_AYUV, kWidth, kHeight);
  info.colorimetry.range = GST_VIDEO_COLOR_RANGE_0_255;
  return info;
}

inline std::shared_ptr<FaceList> face_list(const cv::Rect& r = kFace) {
  auto list = std::make_shared<FaceList>();
  list->width = kWidth;
  list->height = kHeight;
  list->searched = true;
  Face face;
  face.id = 7;
  face.confidence = 0.75f;
  face.box = {static_cast<float>(r.x), static_cast<float>(r.y), static_cast<float>(r.width),
              static_cast<float>(r.height)};
  list->faces = {face};
  list->landmarks_per_face = 2;
  list->landmarks = {
      {static_cast<float>(r.x), static_cast<float>(r.y)},
      {static_cast<float>(r.x + r.width) - 1, static_cast<float>(r.y + r.height) - 1}};
  return list;
}

inline GstBuffer* frame_with_face(const gst::ElementRef& passed = nullptr) {
  cv::Mat grey(kHeight, kWidth, CV_8UC1, cv::Scalar(20));
  grey(kFace).setTo(230);
  const GstVideoInfo info = frame_info();
  GstBuffer* buffer = make_frame(info, grey);
  GstMapInfo map;
  gst_buffer_map(buffer, &map, GST_MAP_WRITE);
  for (gsize i = 0; i < map.size; i += 4) map.data[i] = 255;  // alpha
  gst_buffer_unmap(buffer, &map);
  gst::ensure_frame_record(buffer).geometry_warned = std::make_shared<std::atomic<bool>>(false);
  append_faces(buffer, face_list());
  gst::get_frame_record(buffer)->last_passed = passed;
  return buffer;
}

struct Out {
  int frames = 0;
  int width = 0, height = 0;
  FaceListRef faces;  ///< null where they are not delivered
  cv::Rect bright;    ///< where the face is in the picture
  std::string moved_by;
};

/// The last of some frames behind `elements`; one of the name "ours" stands for our last.
inline Out behind(const std::string& elements, int frames = 3) {
  Out out;
  Harness harness(elements + " ! videoconvert ! capsfilter caps=video/x-raw,format=GRAY8");
  harness.set_caps(frame_info());
  const bool named = elements.find("name=ours") != std::string::npos;
  const auto ours = named ? gst::make_element_ref(harness.element("ours")) : nullptr;
  for (int i = 0; i < frames; ++i)
    EXPECT_EQ(harness.push(frame_with_face(ours)), GST_FLOW_OK) << elements;
  EXPECT_TRUE(harness.finish()) << elements;
  GstCaps* caps = gst_pad_get_current_caps(harness.get()->sinkpad);
  GstVideoInfo info;
  EXPECT_TRUE(caps && gst_video_info_from_caps(&info, caps)) << elements;
  if (!caps) return out;
  gst_caps_unref(caps);
  out.width = info.width;
  out.height = info.height;
  while (GstBuffer* buffer = gst_harness_try_pull(harness.get())) {
    ++out.frames;
    const FacesRead read = read_faces(buffer, info.width, info.height);
    const auto moved_by = gst::find_result<FaceList>(buffer, info.width, info.height).moved_by;
    out.moved_by = moved_by ? *moved_by : "";
    out.faces = read.positions == gst::Positions::kKnown ? read.faces : nullptr;
    EXPECT_EQ(face_count(buffer), out.faces                                 ? 1
                                  : gst_cuface_buffer_get_face_meta(buffer) ? 0
                                                                            : -1)
        << elements << ": applications and elements see the same";
    GstVideoFrame mapped;
    gst_video_frame_map(&mapped, &info, buffer, GST_MAP_READ);
    const cv::Mat grey(info.height, info.width, CV_8UC1, GST_VIDEO_FRAME_PLANE_DATA(&mapped, 0),
                       static_cast<std::size_t>(GST_VIDEO_FRAME_PLANE_STRIDE(&mapped, 0)));
    out.bright = cv::boundingRect(grey > 125);
    gst_video_frame_unmap(&mapped);
    gst_buffer_unref(buffer);
  }
  return out;
}

/// Whether what is delivered lies where the face is, to a pixel and a half of the smaller picture.
inline bool fits(const Out& out) {
  const float room = 1.5f * std::max(1.0f, static_cast<float>(out.width) / kWidth);
  const auto near = [&](float a, int b) { return std::abs(a - static_cast<float>(b)) < room; };
  const Box& box = out.faces->faces[0].box;
  const cv::Rect& r = out.bright;
  const Point *first = out.faces->landmarks_of(0), *last = first + 1;
  return near(box.x, r.x) && near(box.y, r.y) && near(box.x + box.w, r.x + r.width) &&
         near(box.y + box.h, r.y + r.height) && near(first->x, r.x) && near(first->y, r.y) &&
         near(last->x, r.x + r.width - 1) && near(last->y, r.y + r.height - 1);
}

}  // namespace cuface::test
