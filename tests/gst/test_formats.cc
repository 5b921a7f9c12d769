// Every format, size and layout of a frame: the faces are those of the same picture in GRAY8.
#include <opencv2/objdetect.hpp>

#include "tests/gst/faces.h"
#include "tests/gst/first_sample.h"
#include "tests/gst/parts.h"

namespace cuface::test {
namespace {

constexpr int kWidth = 243, kHeight = 121, kFrames = 3;

class Formats : public testing::Test {
 protected:
  Parts parts;

  /// A face that moves, in the greys that limited range can give, of odd size.
  static cv::Mat picture(int frame) {
    cv::Mat grey = squares(kWidth, kHeight, {{30 + 2 * frame, 20, 40, 40}, {160, 45, 40, 40}});
    for (auto it = grey.begin<uchar>(); it != grey.end<uchar>(); ++it)
      *it = static_cast<uchar>(((*it * 219 / 255) * 255 + 109) / 219);
    return grey;
  }
  static GstVideoInfo info_of(const std::string& format, bool full_range = false) {
    GstVideoInfo info = video_info(gst_video_format_from_string(format.c_str()), kWidth, kHeight);
    if (!GST_VIDEO_INFO_IS_RGB(&info))
      info.colorimetry.range =
          full_range ? GST_VIDEO_COLOR_RANGE_0_255 : GST_VIDEO_COLOR_RANGE_16_235;
    return info;
  }
  /// The faces of three frames, each made by `frame_of`.
  template <typename MakeFrame>
  std::vector<std::string> faces(const GstVideoInfo& info, MakeFrame frame_of) const {
    Harness harness(parts.faces());
    harness.set_caps(info);
    std::vector<std::string> texts;
    for (int i = 0; i < kFrames; ++i) texts.push_back(harness.pass_text(frame_of(picture(i))));
    return texts;
  }
  std::vector<std::string> grey_faces() const {
    const std::vector<std::string> texts =
        faces(video_info(GST_VIDEO_FORMAT_GRAY8, kWidth, kHeight),
              [](const cv::Mat& p) { return grey_frame(p); });
    EXPECT_NE(texts[0].find("id 2 "), std::string::npos) << texts[0];
    EXPECT_NE(texts[2].find("id 1 origin 1 age 2"), std::string::npos) << texts[2];
    EXPECT_NE(texts[2].find(" ("), std::string::npos) << "no landmarks";
    return texts;
  }
};

TEST_F(Formats, AllGiveTheFacesOfGray8) {
  const auto expected = grey_faces();
  const auto formats = offered_formats("cufacedetect");
  int compared = 0;
  for (const std::string& format : formats) {
    for (const bool full_range : {false, true}) {
      const GstVideoInfo info = info_of(format, full_range);
      EXPECT_EQ(faces(info, [&](const cv::Mat& p) { return make_frame(info, p); }), expected)
          << format << (full_range ? " full range" : "");
      ++compared;
    }
  }
  EXPECT_GE(compared, 100);
}

TEST_F(Formats, AreTheSameForAllElements) {
  const auto formats = offered_formats("cufacedetect");
  for (const char* element : {"culktrack", "cufacelandmark", "cufaceoverlay", "cufacepublish"})
    EXPECT_EQ(offered_formats(element), formats) << element;
}

/// The bytes of `inner` (a frame without padding) inside a frame of another layout.
void copy_picture(GstBuffer* inner, const GstVideoInfo& inner_info, const GstVideoInfo& layout,
                  GstBuffer* outer, int x, int y) {
  GstVideoFrame from, to;
  GstVideoInfo in = inner_info, out = layout;
  ASSERT_TRUE(gst_video_frame_map(&from, &in, inner, GST_MAP_READ));
  ASSERT_TRUE(gst_video_frame_map(&to, &out, outer, GST_MAP_WRITE));
  for (guint c = 0; c < GST_VIDEO_FRAME_N_COMPONENTS(&from); ++c) {
    const int bytes = GST_VIDEO_FRAME_COMP_DEPTH(&from, c) > 8 ? 2 : 1;
    const int step = GST_VIDEO_FRAME_COMP_PSTRIDE(&from, c);
    const int left = x >> GST_VIDEO_FORMAT_INFO_W_SUB(from.info.finfo, c);
    const int top = y >> GST_VIDEO_FORMAT_INFO_H_SUB(from.info.finfo, c);
    for (int row = 0; row < GST_VIDEO_FRAME_COMP_HEIGHT(&from, c); ++row)
      for (int i = 0; i < GST_VIDEO_FRAME_COMP_WIDTH(&from, c); ++i)
        std::memcpy(first_sample(to, c) + (top + row) * GST_VIDEO_FRAME_COMP_STRIDE(&to, c) +
                        (left + i) * step,
                    first_sample(from, c) + row * GST_VIDEO_FRAME_COMP_STRIDE(&from, c) + i * step,
                    static_cast<std::size_t>(bytes));
  }
  gst_video_frame_unmap(&to);
  gst_video_frame_unmap(&from);
}

/// make_frame() of `info` with its pixel (0, 0) at (x, y) of `layout`, all else of which is 0xee.
GstBuffer* make_frame_in(GstVideoInfo layout, const GstVideoInfo& info, const cv::Mat& p, int x,
                         int y) {
  GstBuffer* plain = make_frame(info, p);
  GstBuffer* buffer = gst_buffer_new_allocate(nullptr, layout.size, nullptr);
  gst_buffer_memset(buffer, 0, 0xee, layout.size);
  gst_buffer_add_video_meta_full(buffer, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_INFO_FORMAT(&layout),
                                 static_cast<guint>(layout.width),
                                 static_cast<guint>(layout.height),
                                 GST_VIDEO_INFO_N_PLANES(&layout), layout.offset, layout.stride);
  copy_picture(plain, info, layout, buffer, x, y);
  gst_buffer_unref(plain);
  return buffer;
}

TEST_F(Formats, PaddedRowsAndPlanes) {
  const auto expected = grey_faces();
  int compared = 0;
  for (const std::string& format : offered_formats("cufacedetect")) {
    const GstVideoInfo info = info_of(format);
    GstVideoInfo padded = info;
    GstVideoAlignment alignment;
    gst_video_alignment_reset(&alignment);
    alignment.padding_left = alignment.padding_right = 16;
    alignment.padding_top = alignment.padding_bottom = 8;
    for (guint& bytes : alignment.stride_align) bytes = 63;
    ASSERT_TRUE(gst_video_info_align(&padded, &alignment)) << format;
    EXPECT_GT(padded.size, info.size) << format;
    const auto texts =
        faces(info, [&](const cv::Mat& p) { return make_frame_in(padded, info, p, 0, 0); });
    EXPECT_EQ(texts, expected) << format;
    ++compared;
  }
  EXPECT_GE(compared, 50);
}

TEST_F(Formats, CropRectangles) {
  const auto expected = grey_faces();
  int compared = 0;
  for (const std::string& format : offered_formats("cufacedetect")) {
    const GstVideoInfo info = info_of(format);
    GstVideoInfo large = video_info(GST_VIDEO_INFO_FORMAT(&info), kWidth + 41, kHeight + 30);
    large.colorimetry = info.colorimetry;
    const auto texts = faces(info, [&](const cv::Mat& p) {
      GstBuffer* buffer = make_frame_in(large, info, p, 24, 12);
      GstVideoCropMeta* crop = gst_buffer_add_video_crop_meta(buffer);
      crop->x = 24, crop->y = 12, crop->width = kWidth, crop->height = kHeight;
      return buffer;
    });
    EXPECT_EQ(texts, expected) << format;
    ++compared;
  }
  EXPECT_GE(compared, 50);
}

/// The frame with a memory for each plane and something behind each, as capture devices give them.
GstBuffer* in_memories(GstBuffer* plain, GstVideoInfo info) {
  constexpr gsize kBehind = 100;
  const guint planes = GST_VIDEO_INFO_N_PLANES(&info);
  GstBuffer* buffer = gst_buffer_new();
  gsize offset[GST_VIDEO_MAX_PLANES] = {}, at = 0;
  for (guint i = 0; i < planes; ++i) {
    const gsize from = info.offset[i], to = i + 1 < planes ? info.offset[i + 1] : info.size;
    GstMemory* memory = gst_allocator_alloc(nullptr, to - from + kBehind, nullptr);
    GstMapInfo map;
    EXPECT_TRUE(gst_memory_map(memory, &map, GST_MAP_WRITE));
    std::memset(map.data, 0xee, map.size);
    EXPECT_EQ(gst_buffer_extract(plain, from, map.data, to - from), to - from);
    gst_memory_unmap(memory, &map);
    gst_buffer_append_memory(buffer, memory);
    offset[i] = at;
    at += to - from + kBehind;
  }
  gst_buffer_add_video_meta_full(buffer, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_INFO_FORMAT(&info),
                                 static_cast<guint>(info.width), static_cast<guint>(info.height),
                                 planes, offset, info.stride);
  gst_buffer_unref(plain);
  return buffer;
}

/// Faces and pixels of one frame behind the chain with the overlay.
std::string shown(const Parts& parts, GstVideoInfo info, GstBuffer* frame) {
  Harness harness(parts.faces() + " ! " + parts.overlay);
  harness.set_caps(info);
  GstBuffer* out = harness.pass(frame);
  std::string text = faces_text(out);
  GstVideoFrame mapped;
  EXPECT_TRUE(gst_video_frame_map(&mapped, &info, out, GST_MAP_READ));
  for (guint c = 0; c < GST_VIDEO_FRAME_N_COMPONENTS(&mapped); ++c) {
    const int step = GST_VIDEO_FRAME_COMP_PSTRIDE(&mapped, c);
    for (int y = 0; y < GST_VIDEO_FRAME_COMP_HEIGHT(&mapped, c); ++y)
      for (int x = 0; x < GST_VIDEO_FRAME_COMP_WIDTH(&mapped, c); ++x)
        text += reinterpret_cast<const char*>(GST_VIDEO_FRAME_COMP_DATA(
            &mapped, c))[y * GST_VIDEO_FRAME_COMP_STRIDE(&mapped, c) + x * step];
  }
  gst_video_frame_unmap(&mapped);
  gst_buffer_unref(out);
  return text;
}

TEST_F(Formats, PlanesInMemoriesOfTheirOwn) {
  int compared = 0;
  for (const std::string& format : offered_formats("cufacedetect")) {
    const GstVideoInfo info = info_of(format);
    if (GST_VIDEO_INFO_N_PLANES(&info) < 2) continue;
    const std::string expected = shown(parts, info, make_frame(info, picture(0)));
    EXPECT_NE(expected.find("id 2 "), std::string::npos) << format;
    GstBuffer* buffer = in_memories(make_frame(info, picture(0)), info);
    EXPECT_EQ(gst_buffer_n_memory(buffer), GST_VIDEO_INFO_N_PLANES(&info)) << format;
    EXPECT_TRUE(shown(parts, info, buffer) == expected) << format;
    ++compared;
  }
  EXPECT_GE(compared, 15);
}

}  // namespace
}  // namespace cuface::test
