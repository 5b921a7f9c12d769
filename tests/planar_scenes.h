// Flat objects before a camera, made from seeds: printed pictures, and where each is on a frame.
#pragma once

#include <algorithm>
#include <cmath>
#include <opencv2/imgproc.hpp>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace cuface::test {

inline constexpr int kSceneWidth = 640, kSceneHeight = 480;

/// A printed picture: shapes, lines and words, in grey.
inline cv::Mat poster(unsigned seed, int width = 320, int height = 240) {
  std::mt19937 random(seed);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  cv::Mat out(height, width, CV_8U, cv::Scalar(160 + below(60)));
  for (int i = 0; i < 24; ++i) {
    const cv::Point at(below(width), below(height));
    const cv::Size size(5 + below(width / 6), 5 + below(height / 6));
    if (i % 2)
      cv::ellipse(out, at, size, below(180), 0, 360, cv::Scalar(below(256)), i % 3 ? -1 : 2,
                  cv::LINE_AA);
    else
      cv::rectangle(out, {at, size}, cv::Scalar(below(256)), i % 4 ? -1 : 2, cv::LINE_AA);
  }
  for (int i = 0; i < 12; ++i) {
    std::string word;
    for (int k = 3 + below(5); k > 0; --k) word += static_cast<char>('A' + below(26));
    cv::putText(out, word, {below(width * 3 / 4), 12 + below(height - 16)},
                cv::FONT_HERSHEY_SIMPLEX, 0.4 + 0.05 * below(8), cv::Scalar(below(256)),
                1 + below(2), cv::LINE_AA);
  }
  return out;
}

/// How a flat object lies before the camera.
struct View {
  double tilt = 0;     ///< degrees between its normal and the camera's axis
  double towards = 0;  ///< degrees: which way it tilts
  double roll = 0;     ///< degrees in the picture
  double scale = 1;    ///< pixels of the frame a pixel of the object, in its middle
  double x = kSceneWidth / 2.0, y = kSceneHeight / 2.0;  ///< px: its middle
};

/// From pixels of an object of this size to those of the frame. The camera's focal length is 700
/// pixels.
inline cv::Matx33d map_of(const View& view, const cv::Size& object) {
  constexpr double kFocal = 700, kDegree = 3.14159265358979323846 / 180;
  const double c = std::cos(view.towards * kDegree), s = std::sin(view.towards * kDegree);
  const double t = view.tilt * kDegree, r = view.roll * kDegree;
  const cv::Matx33d about(c, -s, 0, s, c, 0, 0, 0, 1);
  const cv::Matx33d tilt(1, 0, 0, 0, std::cos(t), -std::sin(t), 0, std::sin(t), std::cos(t));
  const cv::Matx33d roll(std::cos(r), -std::sin(r), 0, std::sin(r), std::cos(r), 0, 0, 0, 1);
  const cv::Matx33d turn = about * tilt * about.t() * roll;
  const double depth = kFocal / view.scale;
  const cv::Matx33d plane(turn(0, 0), turn(0, 1), (view.x - kSceneWidth / 2.0) / view.scale,
                          turn(1, 0), turn(1, 1), (view.y - kSceneHeight / 2.0) / view.scale,
                          turn(2, 0), turn(2, 1), depth);
  const cv::Matx33d camera(kFocal, 0, kSceneWidth / 2.0, 0, kFocal, kSceneHeight / 2.0, 0, 0, 1);
  const cv::Matx33d centred(1, 0, -(object.width - 1) / 2.0, 0, 1, -(object.height - 1) / 2.0, 0, 0,
                            1);
  return camera * plane * centred;
}

/// Where a map carries a point.
inline cv::Point2d carried(const cv::Matx33d& map, double x, double y) {
  const cv::Vec3d p = map * cv::Vec3d(x, y, 1);
  return {p[0] / p[2], p[1] / p[2]};
}

/// Lays an object onto a frame, with smooth edges and no aliasing.
inline void lay(cv::Mat& frame, const cv::Mat& object, const cv::Matx33d& map) {
  constexpr int kFiner = 3;
  cv::Point2d low = carried(map, -1, -1), high = low;
  for (const auto& [x, y] :
       {std::pair{object.cols, -1}, {-1, object.rows}, {object.cols, object.rows}}) {
    const cv::Point2d p = carried(map, x, y);
    low = {std::min(low.x, p.x), std::min(low.y, p.y)};
    high = {std::max(high.x, p.x), std::max(high.y, p.y)};
  }
  const cv::Point first(static_cast<int>(std::floor(low.x)), static_cast<int>(std::floor(low.y)));
  const cv::Point last(static_cast<int>(std::ceil(high.x)), static_cast<int>(std::ceil(high.y)));
  const cv::Rect part = cv::Rect(first, last + cv::Point(1, 1)) & cv::Rect({0, 0}, frame.size());
  if (part.empty()) return;
  const double half = (kFiner - 1) / 2.0;  // between the centres of the first pixels, finer
  const cv::Matx33d finer(kFiner, 0, half - kFiner * part.x, 0, kFiner, half - kFiner * part.y, 0,
                          0, 1);
  const cv::Size size(part.width * kFiner, part.height * kFiner);
  const cv::Mat solid(object.size(), CV_8U, cv::Scalar(255));
  cv::Mat seen, mask;
  cv::warpPerspective(object, seen, cv::Mat(finer * map), size, cv::INTER_LINEAR,
                      cv::BORDER_REPLICATE);
  cv::warpPerspective(solid, mask, cv::Mat(finer * map), size, cv::INTER_LINEAR);
  cv::resize(seen, seen, part.size(), 0, 0, cv::INTER_AREA);
  cv::resize(mask, mask, part.size(), 0, 0, cv::INTER_AREA);
  for (int y = 0; y < part.height; ++y) {
    for (int x = 0; x < part.width; ++x) {
      const int m = mask.at<std::uint8_t>(y, x);
      std::uint8_t& pixel = frame.at<std::uint8_t>(part.y + y, part.x + x);
      pixel = static_cast<std::uint8_t>(
          (pixel * (255 - m) + seen.at<std::uint8_t>(y, x) * m + 127) / 255);
    }
  }
}

/// What light, lens and sensor add.
inline void expose(cv::Mat& frame, double gain, double offset, double blur, double noise,
                   unsigned seed) {
  frame.convertTo(frame, CV_8U, gain, offset);
  if (blur > 0) cv::GaussianBlur(frame, frame, {}, blur);
  if (noise <= 0) return;
  cv::Mat grains(frame.size(), CV_16S);
  cv::RNG random(seed + 1);
  random.fill(grains, cv::RNG::NORMAL, 0, noise);
  cv::Mat sum;
  frame.convertTo(sum, CV_16S);
  sum += grains;
  sum.convertTo(frame, CV_8U);
}

/// A clip of three printed pictures: all rest, then move; the first is covered by up to 60 %, the
/// second leaves the frame and comes back, the third tilts. In the end they rest where they began.
struct PlanarClip {
  static constexpr int kRest = 100, kMove = 160, kFrames = 2 * kRest + kMove;

  explicit PlanarClip(unsigned number) : seed(1000 * number) {
    std::mt19937 random(seed);
    const auto between = [&](double low, double high) {
      return std::uniform_real_distribution<double>(low, high)(random);
    };
    background = poster(seed, kSceneWidth, kSceneHeight);
    const cv::Point2d places[] = {{170, 130}, {470, 130}, {320, 350}};
    for (unsigned i = 0; i < 3; ++i) {
      objects.push_back(poster(seed + i + 1));
      covers.push_back(poster(seed + i + 10, 192, 300));
      View view;
      view.tilt = between(0, 30);
      view.towards = between(0, 360);
      view.roll = between(-30, 30);
      view.scale = between(0.55, 0.75);
      view.x = places[i].x + between(-10, 10);
      view.y = places[i].y + between(-10, 10);
      views.push_back(view);
      turns.push_back(between(-25, 25));
    }
  }

  /// 0 at rest, 1 in the middle of the motion.
  static double phase(int n) {
    const double t = std::clamp((n - kRest) / static_cast<double>(kMove), 0.0, 1.0);
    return (1 - std::cos(2 * 3.14159265358979323846 * t)) / 2;
  }

  cv::Matx33d map(std::size_t i, int n) const {
    View view = views[i];
    const double p = phase(n);
    view.roll += turns[i] * p;
    view.x += (i == 0 ? 30 : i == 1 ? 320 : 40) * p;
    view.y += (i == 0 ? 40 : i == 1 ? -60 : -20) * p;
    view.scale *= 1 + 0.2 * p;
    if (i == 2) view.tilt += 15 * p;
    return map_of(view, objects[i].size());
  }

  /// The cover's place in pixels of the object: it comes from the left.
  double cover_until(std::size_t i, int n) const {
    return i == 0 ? 0.6 * phase(n) * objects[i].cols : -1;
  }

  /// The share of the object that is in the frame and not covered.
  double seen(std::size_t i, int n) const {
    constexpr int kSteps = 40;
    const cv::Matx33d m = map(i, n);
    int count = 0;
    for (int y = 0; y < kSteps; ++y) {
      for (int x = 0; x < kSteps; ++x) {
        const double u = (x + 0.5) / kSteps * objects[i].cols,
                     v = (y + 0.5) / kSteps * objects[i].rows;
        const cv::Point2d at = carried(m, u, v);
        count += u > cover_until(i, n) && at.x >= 0 && at.y >= 0 && at.x < kSceneWidth &&
                 at.y < kSceneHeight;
      }
    }
    return count / static_cast<double>(kSteps * kSteps);
  }

  cv::Mat frame(int n) const {
    cv::Mat out = background.clone();
    for (std::size_t i : {1u, 2u, 0u}) {  // the first lies in front
      const cv::Matx33d m = map(i, n);
      lay(out, objects[i], m);
      if (const double until = cover_until(i, n); until > 0)
        lay(out, covers[i], m * cv::Matx33d(1, 0, until - covers[i].cols, 0, 1, -30, 0, 0, 1));
    }
    expose(out, 1, 8 * phase(n), 0.5, 2, seed + static_cast<unsigned>(n));
    return out;
  }

  unsigned seed;
  cv::Mat background;
  std::vector<cv::Mat> objects, covers;
  std::vector<View> views;
  std::vector<double> turns;
};

}  // namespace cuface::test
