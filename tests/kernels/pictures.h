// Grey pictures to compare implementations on: noise, smooth, drawn, extreme, and natural ones
// where the test data is there. Everything generated depends on its seed alone.
#pragma once

#include <algorithm>
#include <filesystem>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>
#include <random>
#include <string>
#include <vector>

#include "kernels/common/image.h"
#include "tests/data.h"
#include "tests/mat_view.h"

namespace cuface::test {

/// A header of the picture, without a copy.
inline cv::Mat mat_of(ImageView<const std::uint8_t> v) {
  return {v.height, v.width, CV_8U, const_cast<std::uint8_t*>(v.data),
          static_cast<std::size_t>(v.stride)};
}

inline cv::Mat noise(int width, int height, unsigned seed) {
  std::mt19937 random(seed);
  cv::Mat out(height, width, CV_8U);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      out.at<std::uint8_t>(y, x) = static_cast<std::uint8_t>(random() & 255);
    }
  }
  return out;
}

/// Noise enlarged `grain` times: blobs, which weak cascades take for what they look for.
inline cv::Mat smooth_noise(int width, int height, int grain, unsigned seed) {
  cv::Mat out;
  cv::resize(noise(width / grain + 1, height / grain + 1, seed), out, cv::Size(width, height), 0, 0,
             cv::INTER_CUBIC);
  return out;
}

/// One schematic face: bright oval, dark eyes and brows, nose shadow, mouth, dark surroundings.
inline void draw_face(cv::Mat& picture, cv::Point centre, int side) {
  const auto part = [&](double v) { return static_cast<int>(v * side); };
  const auto oval = [&](double x, double y, double w, double h, int grey) {
    cv::ellipse(picture, centre + cv::Point(part(x), part(y)), cv::Size(part(w), part(h)), 0, 0,
                360, cv::Scalar(grey), cv::FILLED);
  };
  oval(0, -0.12, 0.48, 0.56, 50);  // hair
  oval(0, 0, 0.38, 0.50, 190);
  for (const double eye : {-0.17, 0.17}) {
    oval(eye, -0.17, 0.12, 0.03, 70);
    oval(eye, -0.08, 0.10, 0.05, 90);
    oval(eye, -0.08, 0.045, 0.045, 20);
  }
  oval(0, 0.05, 0.05, 0.14, 205);
  oval(0, 0.16, 0.09, 0.025, 120);
  oval(0, 0.30, 0.16, 0.045, 85);
}

/// Faces of several sizes on a shaded, slightly noisy ground.
inline cv::Mat drawn_faces(int width, int height, unsigned seed) {
  cv::Mat out = smooth_noise(width, height, 40, seed) / 4 + 70;
  const int unit = std::min(width, height);
  draw_face(out, {unit / 2, unit / 2}, unit * 2 / 3);
  for (int x = unit + unit / 8; x < width - unit / 8; x += unit / 3) {
    draw_face(out, {x, unit / 4}, unit / 4);
    draw_face(out, {x, unit * 2 / 3}, unit / 3);
  }
  cv::GaussianBlur(out, out, cv::Size(), unit / 160.0);
  out += noise(width, height, seed + 1) / 24;
  return out;
}

/// A picture of the data folder in grey, its longer side at most `side` pixels.
inline cv::Mat natural(const std::string& path, int side) {
  cv::Mat out = cv::imread(data_dir() + "/images/" + path, cv::IMREAD_GRAYSCALE);
  const int longer = std::max(out.cols, out.rows);
  if (longer > side) {
    const double f = static_cast<double>(side) / longer;
    cv::resize(out, out, cv::Size(), f, f, cv::INTER_AREA);
  }
  return out;
}

/// Every cascade of Debian's opencv-data whose name says Haar.
inline std::vector<std::string> haar_cascades() {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(kCascadeDir)) {
    if (entry.path().extension() == ".xml") paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

}  // namespace cuface::test
