// The natural grey pictures that benchmarks time.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <opencv2/core.hpp>
#include <sstream>
#include <string>

#include "models/cascade_xml.h"
#include "tests/clip.h"
#include "tests/data.h"

namespace cuface::bench {

/// A 640x360 frame with one face; empty without the test data and ffmpeg.
inline cv::Mat video_frame() {
  const auto frames =
      test::read_clip(test::data_dir() + "/videos/WolfgangLanger_Pexels.mp4", 640, 360, 40);
  return frames.empty() ? cv::Mat() : frames.back();
}

/// The mosaic of 12 faces that the data folder's mosaics.sh makes, 1280x720 or 1920x1080; empty
/// without them.
inline cv::Mat mosaic(int height = 720) {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / "cuface-bench";
  const std::filesystem::path file = folder / ("mosaic" + std::to_string(height) + ".raw");
  if (!std::filesystem::exists(file)) {
    const std::string command =
        "sh '" + test::data_dir() + "/mosaics.sh' '" + folder.string() + "'";
    if (std::system(command.c_str()) != 0) return {};
  }
  cv::Mat picture(height, height * 16 / 9, CV_8U);
  std::ifstream stream(file, std::ios::binary);
  stream.read(reinterpret_cast<char*>(picture.data), static_cast<std::streamsize>(picture.total()));
  return stream ? picture : cv::Mat();
}

inline std::shared_ptr<const CascadeModel> cascade(const std::string& name) {
  std::ifstream file(test::cascade_path(name), std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  auto parsed = parse_cascade_xml(text.str(), test::cascade_path(name));
  return parsed.ok() ? parsed.value() : nullptr;
}

/// A part of a picture that is another one each time: shifted by some pixels.
class ShiftedPicture {
 public:
  explicit ShiftedPicture(const cv::Mat& picture)
      : picture_(picture), size_(picture.cols - kShifts, picture.rows - kShifts) {}
  cv::Size size() const { return size_; }
  cv::Mat next() {
    const int shift = ++number_ % kShifts;
    return picture_(cv::Rect({shift, shift}, size_));
  }

 private:
  static constexpr int kShifts = 8;
  cv::Mat picture_;
  cv::Size size_;
  int number_ = 0;
};

}  // namespace cuface::bench
