// cufaceoverlay draw=image: the picture of a file is drawn in every format, and what is wrong with
// it is said. Its pixels are the kernel's tests' matter.
#include <gtest/gtest.h>

#include <cstdlib>
#include <opencv2/imgcodecs.hpp>
#include <string>
#include <vector>

#include "tests/gst/faces.h"

namespace cuface::test {
namespace {

constexpr int kWidth = 161, kHeight = 121;
constexpr std::size_t kStride = GST_ROUND_UP_4(kWidth * 3);

/// A file of one colour, more or less transparent in places.
std::string write_picture(const TempFolder& folder) {
  cv::Mat bgra(60, 50, CV_8UC4, cv::Scalar(30, 90, 220, 0));
  bgra(cv::Rect(5, 5, 40, 50)) = cv::Scalar(30, 90, 220, 255);
  bgra(cv::Rect(5, 5, 40, 10)) = cv::Scalar(30, 90, 220, 128);
  cv::imwrite(folder.path() + "/mask.png", bgra);
  return folder.path() + "/mask.png";
}

/// The bytes of a frame with a face behind `launch`.
std::vector<std::uint8_t> drawn(const std::string& launch, const std::string& format) {
  FrameHarness harness(launch, format.c_str(), kWidth, kHeight);
  GstBuffer* out = harness.pass(
      with_faces(plain_frame(format.c_str(), kWidth, kHeight), make_faces(kWidth, kHeight, 1, 0)));
  const auto bytes = bytes_of(out);
  gst_buffer_unref(out);
  return bytes;
}

TEST(OverlayImage, LooksTheSameInEveryFormat) {
  const TempFolder folder;
  const std::string overlay = "cufaceoverlay draw=image image=" + write_picture(folder);
  const auto native = drawn(overlay, "RGB");
  int formats = 0;
  for (const std::string& format : offered_formats("cufaceoverlay")) {
    if (format.starts_with("GRAY")) continue;
    // Limited range, and full; RGB has one.
    const bool rgb = GST_VIDEO_FORMAT_INFO_IS_RGB(
        gst_video_format_get_info(gst_video_format_from_string(format.c_str())));
    for (const char* colorimetry : {",colorimetry=bt709", ",colorimetry=1:3:5:1"}) {
      if (rgb && colorimetry[13] == '1') continue;
      const std::string caps = "video/x-raw,format=" + format + (rgb ? "" : colorimetry);
      const auto converted = drawn("videoconvert ! capsfilter caps=" + caps + " ! " + overlay +
                                       " ! videoconvert ! capsfilter caps=video/x-raw,format=RGB",
                                   "RGB");
      ASSERT_EQ(native.size(), converted.size());
      int of_picture = 0, unlike = 0;
      for (std::size_t y = 0; y < kHeight; ++y) {
        for (std::size_t x = 0; x < 3 * kWidth; ++x) {
          const std::size_t at = y * kStride + x;
          of_picture += native[at] != 100;
          unlike += std::abs(native[at] - converted[at]) > 16;
        }
      }
      EXPECT_GT(of_picture, 3000);
      EXPECT_LT(unlike, of_picture / 2) << caps;  // at the rim chroma is of pixels outside, too
      ++formats;
    }
  }
  EXPECT_GT(formats, 60);
}

TEST(OverlayImage, IsPlacedByItsProperties) {
  const TempFolder folder;
  const std::string overlay = "cufaceoverlay draw=image image=" + write_picture(folder);
  const auto plain = drawn(overlay, "GRAY8");
  EXPECT_EQ(drawn(overlay + " image-eye-distance=0.4 image-eyes-y=0.4 image-chin-y=1", "GRAY8"),
            plain);
  for (const char* other : {" image-eye-distance=0.3", " image-eyes-y=0.5", " image-chin-y=0.8"})
    EXPECT_NE(drawn(overlay + other, "GRAY8"), plain) << other;
  EXPECT_NE(drawn(overlay + " draw=image+box", "GRAY8"), plain);
  // A picture that nothing draws.
  EXPECT_EQ(drawn(overlay + " draw=none", "GRAY8"), drawn("cufaceoverlay draw=none", "GRAY8"));
}

BusReport refused(const std::string& properties) {
  return run_pipeline(
      "videotestsrc num-buffers=3 ! video/x-raw,format=I420,width=64,height=48 ! "
      "cufaceoverlay " +
      properties + " ! fakesink");
}

TEST(OverlayImage, ErrorsNameTheFileThePropertyAndWhatHelps) {
  const TempFolder folder;
  const std::string whole = write_picture(folder), path = folder.path() + "/other.png";
  EXPECT_EQ(refused("draw=image image=" + whole).error, "");
  expect_error(refused("draw=image"), GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS,
               {"draw=image", "set image to a PNG file"});
  expect_error(refused("draw=image image=" + path), GST_RESOURCE_ERROR,
               GST_RESOURCE_ERROR_NOT_FOUND, {"image:", "other.png", "Set image to a PNG file"});
  for (const std::string& bytes : damaged_copies(whole)) {
    folder.write("other.png", bytes);
    expect_error(refused("draw=image image=" + path), GST_STREAM_ERROR, GST_STREAM_ERROR_DECODE,
                 {"image:", "other.png", "libpng", "Set image to a PNG file"});
  }
  const std::vector<std::pair<cv::Mat, std::string>> unusable = {
      {cv::Mat(20, 20, CV_8UC3, cv::Scalar(1, 2, 3)), "has no transparency"},
      {cv::Mat(20, 20, CV_8U, cv::Scalar(1)), "has no transparency"},
      {cv::Mat(2100, 2000, CV_8UC4, cv::Scalar(1)), "2000 x 2100"},
      {cv::Mat(1, 4097, CV_8UC4, cv::Scalar(1)), "4097 x 1"}};
  for (const auto& [picture, words] : unusable) {
    cv::imwrite(path, picture);
    const BusReport report = refused("draw=image image=" + path);
    EXPECT_NE(report.error, "");
    for (const std::string& word :
         {words, std::string("other.png"), std::string("image:"), std::string("4 million")})
      EXPECT_NE(report.error.find(word), std::string::npos) << word << " in: " << report.error;
  }
  expect_error(refused("draw=image image-chin-y=0.3 image=" + whole), GST_LIBRARY_ERROR,
               GST_LIBRARY_ERROR_SETTINGS, {"image-chin-y", "image-eyes-y"});
}

}  // namespace
}  // namespace cuface::test
