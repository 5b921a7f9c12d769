// cufaceoverlay: draws what the kernel draws, in every format it offers, and copies nothing that
// need not be copied. What is drawn is the kernel's test's matter.
#include <gst/controller/gstdirectcontrolbinding.h>
#include <gst/controller/gstinterpolationcontrolsource.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "tests/gst/faces.h"

namespace cuface::test {
namespace {

constexpr int kWidth = 161, kHeight = 121;

int changed_bytes(const std::vector<std::uint8_t>& bytes, int value = 100) {
  int n = 0;
  for (std::uint8_t b : bytes) n += b != value;
  return n;
}

/// The bytes behind `launch` of a frame with `faces` faces.
std::vector<std::uint8_t> drawn(const std::string& launch, const std::string& format = "I420",
                                int faces = 1, int landmarks = 68) {
  FrameHarness h(launch, format.c_str(), kWidth, kHeight);
  GstBuffer* out =
      gst_harness_push_and_pull(h.get(), with_faces(plain_frame(format.c_str(), kWidth, kHeight),
                                                    make_faces(kWidth, kHeight, faces, landmarks)));
  const auto bytes = bytes_of(out);
  gst_buffer_unref(out);
  return bytes;
}

TEST(FaceOverlay, DrawsInEveryFormatItOffers) {
  const auto formats = offered_formats("cufaceoverlay");
  EXPECT_GT(formats.size(), 40u);
  for (const std::string& format : formats) {
    const auto bytes = drawn("cufaceoverlay", format);
    EXPECT_GT(changed_bytes(bytes), 500) << format;
    EXPECT_EQ(bytes, drawn("cufaceoverlay draw=box+contour+id", format)) << format;
  }
}

TEST(FaceOverlay, LooksTheSameInYuvAndRgb) {
  // The same drawing, converted by GStreamer's own videoconvert.
  const auto native = drawn("cufaceoverlay draw=box box-color=0xffff2000", "RGB");
  const auto converted = drawn(
      "videoconvert ! capsfilter caps=video/x-raw,format=AYUV,colorimetry=bt709 ! cufaceoverlay "
      "draw=box "
      "box-color=0xffff2000 ! videoconvert ! capsfilter caps=video/x-raw,format=RGB",
      "RGB");
  ASSERT_EQ(native.size(), converted.size());
  int compared = 0;
  const std::size_t stride = GST_ROUND_UP_4(kWidth * 3);
  for (std::size_t i = 0; i < native.size(); ++i) {
    if (i % stride >= kWidth * 3) continue;        // padding
    ASSERT_NEAR(native[i], converted[i], 8) << i;  // videoconvert is 4 off on plain grey
    compared += native[i] != 100;
  }
  EXPECT_GT(compared, 500);
}

// A box so wide that it fills the face is one colour in every format; GStreamer converts it back.
TEST(FaceOverlay, TheColourIsTheSameInEveryFormat) {
  const std::string draw = "cufaceoverlay draw=box box-color=0xffff2000 line-width=20";
  const auto native = drawn(draw, "RGB");
  const std::size_t stride = GST_ROUND_UP_4(kWidth * 3);
  int formats = 0;
  for (const std::string& format : offered_formats("cufaceoverlay")) {
    if (format.starts_with("GRAY")) continue;
    const auto converted =
        drawn("videoconvert ! capsfilter caps=video/x-raw,format=" + format + " ! " + draw +
                  " ! videoconvert ! capsfilter caps=video/x-raw,format=RGB",
              "RGB");
    ASSERT_EQ(native.size(), converted.size());
    int of_box = 0, unlike = 0;
    for (std::size_t y = 0; y < kHeight; ++y) {
      for (std::size_t x = 0; x < kWidth; ++x) {
        const std::size_t at = y * stride + 3 * x;
        if (native[at] < 250) continue;
        ++of_box;
        for (std::size_t c = at; c < at + 3; ++c) unlike += std::abs(native[c] - converted[c]) > 16;
      }
    }
    EXPECT_GT(of_box, 500);
    EXPECT_LT(unlike, of_box / 2) << format;  // at the rim chroma is of pixels outside, too
    ++formats;
  }
  EXPECT_GT(formats, 40);
}

TEST(FaceOverlay, DrawChoosesWhatIsDrawn) {
  EXPECT_EQ(changed_bytes(drawn("cufaceoverlay draw=none")), 0);
  std::vector<std::vector<std::uint8_t>> all;
  for (const char* what : {"box", "contour", "points", "id", "confidence", "box+id"}) {
    const auto bytes = drawn(std::string("cufaceoverlay draw=") + what);
    EXPECT_GT(changed_bytes(bytes), 30) << what;
    for (const auto& other : all) EXPECT_NE(bytes, other) << what;
    all.push_back(bytes);
  }
  EXPECT_NE(drawn("cufaceoverlay line-width=5"), drawn("cufaceoverlay line-width=1"));
  EXPECT_EQ(drawn("cufaceoverlay line-width=0"), drawn("cufaceoverlay line-width=1"));
  for (const char* color : {"box-color", "landmark-color", "text-color"})
    EXPECT_NE(drawn(std::string("cufaceoverlay ") + color + "=0xff123456"), drawn("cufaceoverlay"))
        << color;
  EXPECT_EQ(changed_bytes(drawn("cufaceoverlay box-color=0 landmark-color=0 text-color=0")), 0);
}

TEST(FaceOverlay, PixelateLeavesNoDetail) {
  FrameHarness h("cufaceoverlay draw=pixelate", "GRAY8", 320, 240);
  GstBuffer* frame = plain_frame("GRAY8", 320, 240);
  GstMapInfo map;
  gst_buffer_map(frame, &map, GST_MAP_WRITE);
  for (gsize i = 0; i < map.size; ++i) map.data[i] = static_cast<guint8>(i * 2654435761u >> 24);
  gst_buffer_unmap(frame, &map);
  GstBuffer* out =
      gst_harness_push_and_pull(h.get(), with_faces(frame, make_faces(320, 240, 1, 0)));
  const auto bytes = bytes_of(out);
  for (int y = 72; y < 168; ++y)  // the box
    for (int x = 80; x < 175; ++x)
      ASSERT_EQ(bytes[static_cast<std::size_t>(y * 320 + x)],
                bytes[static_cast<std::size_t>(y / 4 * 4 * 320 + x / 4 * 4)]);
  gst_buffer_unref(out);
}

TEST(FaceOverlay, CopiesOnlyWhatItMustChange) {
  struct Case {
    const char* launch;
    int faces;
    bool held, copied;
  };
  for (const Case& c : {Case{"cufaceoverlay", 0, true, false},
                        {"cufaceoverlay draw=none", 1, true, false},
                        {"cufaceoverlay", 1, false, false},
                        {"cufaceoverlay", 1, true, true}}) {
    FrameHarness h(c.launch, "I420", kWidth, kHeight);
    GstBuffer* in =
        with_faces(plain_frame("I420", kWidth, kHeight), make_faces(kWidth, kHeight, c.faces, 68));
    GstMemory* memory = gst_buffer_peek_memory(in, 0);
    if (c.held) gst_buffer_ref(in);
    GstBuffer* out = gst_harness_push_and_pull(h.get(), in);
    EXPECT_EQ(gst_buffer_peek_memory(out, 0) != memory, c.copied) << c.launch << c.faces;
    if (c.held) {
      EXPECT_EQ(changed_bytes(bytes_of(in)), 0) << "the other holder's picture";
      gst_buffer_unref(in);
    }
    gst_buffer_unref(out);
  }
}

TEST(FaceOverlay, DrawsInsideTheCropRectangle) {
  // Faces are in pixels of the cropped picture.
  FrameHarness h("cufaceoverlay draw=box", "GRAY8", 200, 100);
  GstBuffer* in = plain_frame("GRAY8", 200, 100);
  GstVideoCropMeta* crop = gst_buffer_add_video_crop_meta(in);
  crop->x = 60, crop->y = 10, crop->width = 100, crop->height = 80;
  auto faces = make_faces(100, 80, 1, 0);
  faces->faces[0].box = {0, 0, 100, 80};
  GstBuffer* out = gst_harness_push_and_pull(h.get(), with_faces(in, faces));
  const auto bytes = bytes_of(out);
  for (int y = 0; y < 100; ++y)
    for (int x = 0; x < 200; ++x) {
      const bool inside = x >= 60 && x < 160 && y >= 10 && y < 90;
      const bool hollow = x >= 61 && x < 159 && y >= 11 && y < 89;
      ASSERT_EQ(bytes[static_cast<std::size_t>(y * 200 + x)] != 100, inside && !hollow)
          << x << "," << y;
    }
  gst_buffer_unref(out);
}

TEST(FaceOverlay, DrawsFacesOfOtherDetectors) {
  FrameHarness h("cufaceoverlay", "GRAY8", kWidth, kHeight);
  GstBuffer* in = plain_frame("GRAY8", kWidth, kHeight);
  gst_buffer_add_video_region_of_interest_meta(in, "face", 10, 20, 30, 40);
  GstBuffer* out = gst_harness_push_and_pull(h.get(), in);
  EXPECT_EQ(changed_bytes(bytes_of(out)), 2 * 30 + 2 * 38);
  gst_buffer_unref(out);
}

TEST(FaceOverlay, SurvivesFramesWithoutFacesOrPicture) {
  FrameHarness h("cufaceoverlay", "I420", kWidth, kHeight);
  GstBuffer* out = gst_harness_push_and_pull(h.get(), plain_frame("I420", kWidth, kHeight));
  EXPECT_EQ(changed_bytes(bytes_of(out)), 0);
  gst_buffer_unref(out);
}

TEST(FaceOverlay, PropertiesFollowAController) {
  FrameHarness h("cufaceoverlay name=o draw=box", "GRAY8", kWidth, kHeight);
  GstElement* overlay = gst_harness_find_element(h.get(), "cufaceoverlay");
  ASSERT_NE(overlay, nullptr);
  GstControlSource* source = gst_interpolation_control_source_new();
  g_object_set(source, "mode", GST_INTERPOLATION_MODE_NONE, nullptr);
  gst_object_add_control_binding(
      GST_OBJECT(overlay),
      gst_direct_control_binding_new_absolute(GST_OBJECT(overlay), "line-width", source));
  auto* values = GST_TIMED_VALUE_CONTROL_SOURCE(source);
  gst_timed_value_control_source_set(values, 0, 1);
  gst_timed_value_control_source_set(values, 40 * GST_MSECOND, 6);
  int inked[2];
  for (int n = 0; n < 2; ++n) {
    GstBuffer* out = gst_harness_push_and_pull(
        h.get(),
        with_faces(plain_frame("GRAY8", kWidth, kHeight, n), make_faces(kWidth, kHeight, 1, 0)));
    inked[n] = changed_bytes(bytes_of(out));
    gst_buffer_unref(out);
  }
  EXPECT_GT(inked[1], 3 * inked[0]);
  gst_object_unref(source);
  gst_object_unref(overlay);
}

}  // namespace
}  // namespace cuface::test
