// The faces of landmarks68.csv with their pictures, for tests, benchmarks and the calibration.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "kernels/common/geometry.h"
#include "kernels/common/image.h"
#include "tests/data.h"

namespace cuface::test {

struct LandmarkRow {
  std::string set, path;     ///< path below the data folder
  bool human = false;        ///< labelled by people: fit for accuracy; else for parity only
  std::vector<Point> truth;  ///< 68 points in pixels of picture()

  /// Grey, or as another of cv::ImreadModes. HELEN's crops cut the face tight, so they get a border
  /// of 128 px, BORDER_REPLICATE (and `truth` counts it).
  cv::Mat picture(int mode = cv::IMREAD_GRAYSCALE) const {
    cv::Mat read = cv::imread(data_dir() + "/" + path, mode);
    if (read.empty() || set != "helen") return read;
    cv::Mat padded;
    cv::copyMakeBorder(read, padded, kBorder, kBorder, kBorder, kBorder, cv::BORDER_REPLICATE);
    return padded;
  }

  static constexpr int kBorder = 128;
};

/// How many rows there are, and how many of them people labelled.
inline constexpr std::size_t kLandmarkRows = 209, kHumanRows = 166;

inline std::vector<LandmarkRow> landmark_rows() {
  std::vector<LandmarkRow> rows;
  std::ifstream file(data_dir() + "/landmarks68.csv");
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    std::istringstream in(line);
    LandmarkRow row;
    std::string field;
    std::getline(in, row.set, ',');
    std::getline(in, field, ',');
    row.human = field == "human";
    std::getline(in, row.path, ',');
    const float border = row.set == "helen" ? LandmarkRow::kBorder : 0;
    while (std::getline(in, field, ',')) {
      Point p;
      p.x = std::strtof(field.c_str(), nullptr) + border;
      std::getline(in, field, ',');
      p.y = std::strtof(field.c_str(), nullptr) + border;
      row.truth.push_back(p);
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

inline ImageView<const std::uint8_t> view(const cv::Mat& grey) {
  return {grey.data, grey.cols, grey.rows, static_cast<std::ptrdiff_t>(grey.step)};
}

/// A box like a detector's around labelled points: over the eyebrows there are none.
inline Box box_around(std::span<const Point> points) {
  Point low = points[0], high = points[0];
  for (const Point& p : points) {
    low = {std::min(low.x, p.x), std::min(low.y, p.y)};
    high = {std::max(high.x, p.x), std::max(high.y, p.y)};
  }
  const float side = 1.1f * std::max(high.x - low.x, high.y - low.y);
  return {(low.x + high.x - side) / 2, high.y - 0.95f * side, side, side};
}

/// Mean distance of the points in % of the distance between the outer eye corners.
inline double nme_percent(std::span<const Point> points, std::span<const Point> truth) {
  double sum = 0;
  for (std::size_t i = 0; i < truth.size(); ++i) {
    sum += std::hypot(points[i].x - truth[i].x, points[i].y - truth[i].y);
  }
  const double eyes = std::hypot(truth[36].x - truth[45].x, truth[36].y - truth[45].y);
  return 100.0 * sum / static_cast<double>(truth.size()) / eyes;
}

}  // namespace cuface::test
