// cufacelandmark behind a detector that finds squares, with a model of drawn heads.
#pragma once

#include <opencv2/imgproc.hpp>
#include <string>

#include "tests/drawn_heads.h"
#include "tests/gst/support.h"

namespace cuface::test {

class LandmarkElement : public testing::Test {
 protected:
  static constexpr int kWidth = 320, kHeight = 200;

  TempFolder folder;
  std::string cascade = folder.write("square.xml", square_cascade_xml());
  std::string model = drawn_heads_model();
  std::string detect = "cufacedetect name=d min-size=60 cascade=" + cascade + " ";
  std::string landmark = "cufacelandmark name=l samples=1 refine=false model=" + model + " ";
  GstVideoInfo info = video_info(GST_VIDEO_FORMAT_GRAY8, kWidth, kHeight);
  cv::Mat two = squares(kWidth, kHeight, {{40, 40, 48, 48}, {200, 70, 60, 60}});

  FacesRead faces_after(const std::string& pipeline, const cv::Mat& picture) {
    Harness harness(pipeline);
    GstVideoInfo format = video_info(GST_VIDEO_FORMAT_GRAY8, picture.cols, picture.rows);
    harness.set_caps(format);
    GstBuffer* out = harness.pass(make_frame(format, picture));
    FacesRead read = read_faces(out, picture.cols, picture.rows);
    gst_buffer_unref(out);
    return read;
  }
  /// The faces of one more frame.
  FaceListRef next_faces(Harness& harness, const cv::Mat& picture) {
    GstBuffer* out = harness.pass(make_frame(info, picture));
    FaceListRef faces = read_faces(out, kWidth, kHeight).faces;
    gst_buffer_unref(out);
    return faces;
  }
  /// A square whose texture can be followed.
  static cv::Mat textured_square() {
    cv::Mat square = squares(kWidth, kHeight, {{60, 60, 48, 48}}), texture(square.size(), CV_8UC1);
    cv::RNG(1).fill(texture, cv::RNG::UNIFORM, 0, 160);
    cv::GaussianBlur(texture, texture, {}, 2);
    cv::addWeighted(square, 0.7, texture, 0.7, 0, square);
    return square;
  }
};

}  // namespace cuface::test
