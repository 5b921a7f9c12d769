// flow against cv::calcOpticalFlowPyrLK: positions and status, on real clips and made-up motion.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <opencv2/imgproc.hpp>
#include <opencv2/objdetect.hpp>
#include <opencv2/video/tracking.hpp>
#include <random>

#include "kernels/flow/flow.h"
#include "kernels/landmarks/landmarks.h"
#include "models/models.h"
#include "tests/clip.h"
#include "tests/data.h"
#include "tests/fewer.h"
#include "tests/kernels/pictures.h"
#include "tests/kernels/versions.h"
#include "tests/mat_view.h"

namespace cuface {
namespace {

using test::view_of;

struct Tracked {
  std::vector<Point> points;
  std::vector<std::uint8_t> status;
};

/// `made`: all levels beforehand, not only what is read of them.
Tracked ours(const cv::Mat& a, const cv::Mat& b, const std::vector<Point>& points,
             const FlowConfig& config, bool made = false) {
  GaussianPyramid prev(a.cols, a.rows, config.levels, config.window);
  GaussianPyramid next(a.cols, a.rows, config.levels, config.window);
  prev.build(view_of(a));
  next.build(view_of(b));
  for (int i = 0; made && i < prev.levels(); ++i) {
    prev.level(i).all();
    next.level(i).all();
  }
  FlowScratch scratch(config);
  Tracked out{std::vector<Point>(points.size()), std::vector<std::uint8_t>(points.size(), 9)};
  flow(prev, next, points, out.points, out.status, config, scratch);
  return out;
}

Tracked opencv(const cv::Mat& a, const cv::Mat& b, const std::vector<Point>& points,
               const FlowConfig& config) {
  std::vector<cv::Point2f> from, to;
  for (const Point& p : points) from.emplace_back(p.x, p.y);
  Tracked out;
  std::vector<float> error;
  cv::calcOpticalFlowPyrLK(a, b, from, to, out.status, error, {config.window, config.window},
                           config.levels - 1,
                           cv::TermCriteria(cv::TermCriteria::COUNT | cv::TermCriteria::EPS,
                                            config.max_iterations, config.epsilon),
                           0, config.min_eigen);
  for (const cv::Point2f& p : to) out.points.push_back({p.x, p.y});
  return out;
}

/// What was compared, and how far apart it was.
struct Comparison {
  std::vector<float> distances;  // of points both follow
  std::size_t points = 0, same_status = 0, lost = 0;

  void add(const Tracked& a, const Tracked& b) {
    ASSERT_EQ(a.points.size(), b.points.size());
    for (std::size_t i = 0; i < a.points.size(); ++i) {
      ASSERT_LE(a.status[i], 1);
      ++points;
      same_status += a.status[i] == b.status[i];
      lost += b.status[i] == 0;
      if (a.status[i] && b.status[i]) {
        distances.push_back(
            std::hypot(a.points[i].x - b.points[i].x, a.points[i].y - b.points[i].y));
      }
    }
  }
  float quantile(double q) {
    const auto k = static_cast<std::ptrdiff_t>(q * static_cast<double>(distances.size() - 1));
    std::nth_element(distances.begin(), distances.begin() + k, distances.end());
    return distances[static_cast<std::size_t>(k)];
  }
  /// The figures the design asks for.
  void expect_equal(const std::string& what) {
    ASSERT_FALSE(distances.empty());
    EXPECT_LE(quantile(0.5), 0.01f) << what;
    EXPECT_LE(quantile(0.99), 0.05f) << what;
    EXPECT_GE(static_cast<double>(same_status), 0.995 * static_cast<double>(points)) << what;
  }
};

/// Smooth texture at any real position: a sum of a few waves.
double texture(double x, double y) {
  return 128 + 40 * std::sin(0.21 * x + 0.13 * y) + 35 * std::sin(0.11 * x - 0.27 * y + 1) +
         25 * std::sin(0.43 * x + 0.05 * y + 2) + 20 * std::sin(0.07 * x + 0.39 * y + 3);
}

cv::Mat textured(int width, int height, double shift_x, double shift_y) {
  cv::Mat m(height, width, CV_8U);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      m.at<std::uint8_t>(y, x) = cv::saturate_cast<std::uint8_t>(texture(x - shift_x, y - shift_y));
    }
  }
  return m;
}

std::vector<Point> random_points(int count, float lo_x, float hi_x, float lo_y, float hi_y) {
  std::mt19937 random(5);
  std::uniform_real_distribution<float> x(lo_x, hi_x), y(lo_y, hi_y);
  std::vector<Point> points;
  for (int i = 0; i < count; ++i) points.push_back({x(random), y(random)});
  return points;
}

TEST(Flow, FindsAKnownShift) {
  const cv::Mat a = textured(320, 240, 0, 0);
  for (const Point shift : {Point{0, 0}, Point{0.25f, -0.5f}, Point{3.3f, 2.7f}, Point{-9, 6.5f}}) {
    const cv::Mat b = textured(320, 240, shift.x, shift.y);
    const std::vector<Point> points = random_points(200, 40, 280, 40, 200);
    const Tracked t = ours(a, b, points, {});
    for (std::size_t i = 0; i < points.size(); ++i) {
      ASSERT_EQ(t.status[i], 1);
      EXPECT_NEAR(t.points[i].x - points[i].x, shift.x, 0.06);
      EXPECT_NEAR(t.points[i].y - points[i].y, shift.y, 0.06);
    }
  }
}

TEST(Flow, EqualsOpenCvAtAndBeyondTheBorder) {
  for (int window : {5, 9, 21, 31, 63}) {
    for (int levels : {1, 3}) {
      Comparison c;
      for (const auto& size : {cv::Size(200, 150), cv::Size(64, 300), cv::Size(37, 41)}) {
        const cv::Mat a = textured(size.width, size.height, 0, 0);
        const cv::Mat b = textured(size.width, size.height, 1.7, -1.2);
        const auto w = static_cast<float>(size.width), h = static_cast<float>(size.height);
        const std::vector<Point> points = random_points(1500, -80, w + 80, -80, h + 80);
        FlowConfig config;
        config.window = window;
        config.levels = levels;
        c.add(ours(a, b, points, config), opencv(a, b, points, config));
      }
      c.expect_equal("window " + std::to_string(window) + " levels " + std::to_string(levels));
      EXPECT_GT(c.lost, 500u);
      EXPECT_GT(c.distances.size(), 500u);
    }
  }
}

TEST(Flow, EqualsOpenCvOnPicturesSmallerThanTheWindow) {
  Comparison c;
  for (const auto& size : {cv::Size(1, 1), cv::Size(2, 9), cv::Size(9, 1), cv::Size(12, 15)}) {
    const cv::Mat a = textured(size.width, size.height, 0, 0);
    const cv::Mat b = textured(size.width, size.height, 0.3, 0.2);
    const std::vector<Point> points = random_points(400, -30, 40, -30, 40);
    c.add(ours(a, b, points, {}), opencv(a, b, points, {}));
  }
  EXPECT_GE(static_cast<double>(c.same_status), 0.995 * static_cast<double>(c.points));
}

TEST(Flow, FlatPicturesAndBadPointsFail) {
  const cv::Mat flat(120, 160, CV_8U, cv::Scalar(77));
  const cv::Mat a = textured(160, 120, 0, 0);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float inf = std::numeric_limits<float>::infinity();
  for (std::uint8_t s : ours(flat, flat, random_points(50, 0, 160, 0, 120), {}).status) {
    EXPECT_EQ(s, 0);
  }
  const std::vector<Point> bad = {{nan, 50},  {50, nan},   {inf, 50},
                                  {50, -inf}, {1e30f, 50}, {50, -1e9f}};
  for (std::uint8_t s : ours(a, a, bad, {}).status) EXPECT_EQ(s, 0);
}

class FlowVersions : public test::EveryVersion {
 protected:
  /// Points whose place or status is not what the plain reference says of whole pyramids.
  std::size_t differences(const cv::Mat& a, const cv::Mat& b, const std::vector<Point>& points,
                          const FlowConfig& config) {
    const Tracked vectors = ours(a, b, points, config);
    const Tracked plain = test::plainly([&] { return ours(a, b, points, config, true); });
    std::size_t count = 0;
    for (std::size_t i = 0; i < points.size(); ++i) {
      const Point p = vectors.points[i], q = plain.points[i];
      const bool nan = (std::isnan(p.x) && std::isnan(q.x)) || (std::isnan(p.y) && std::isnan(q.y));
      const bool same = nan || std::memcmp(&p, &q, sizeof p) == 0;
      count += !same || vectors.status[i] != plain.status[i];
    }
    compared_ += points.size();
    return count;
  }
  std::size_t compared_ = 0;
};
CUFACE_EVERY_VERSION(FlowVersions);

TEST_P(FlowVersions, EveryWindowOnSmoothNoisyAndExtremePictures) {
  cv::Mat checker(150, 200, CV_8U);
  for (int y = 0; y < checker.rows; ++y) {
    for (int x = 0; x < checker.cols; ++x)
      checker.at<std::uint8_t>(y, x) = (x / 3 + y / 3) % 2 ? 255 : 0;
  }
  const std::pair<cv::Mat, cv::Mat> pairs[] = {
      {textured(200, 150, 0, 0), textured(200, 150, 1.7, -1.2)},
      {test::noise(160, 120, 1), test::noise(160, 120, 2)},
      {test::smooth_noise(123, 97, 7, 3), test::smooth_noise(123, 97, 7, 3)},
      {checker, 255 - checker},
      {textured(37, 41, 0, 0), textured(37, 41, 2, 1)},
      {test::noise(9, 1, 3), test::noise(9, 1, 4)},
      {test::noise(1, 1, 3), test::noise(1, 1, 4)},
      {cv::Mat(50, 60, CV_8U, cv::Scalar(255)), cv::Mat(50, 60, CV_8U, cv::Scalar(255))}};
  test::Turn turn;
  for (int window = 5; window <= 63; window += 2) {
    FlowConfig config;
    config.window = window;
    config.min_eigen = 0;
    for (const auto& [a, b] : pairs) {
      if (!turn()) continue;
      const auto w = static_cast<float>(a.cols), h = static_cast<float>(a.rows);
      EXPECT_EQ(differences(a, b, random_points(40, -40, w + 40, -40, h + 40), config), 0u)
          << "window " << window << ", picture " << a.cols << "x" << a.rows;
      EXPECT_EQ(differences(a, b, random_points(20, w / 3, w * 2 / 3, h / 3, h * 2 / 3), config),
                0u)
          << "window " << window << ", inside picture " << a.cols << "x" << a.rows;
    }
  }
  EXPECT_EQ(compared_, test::Turn::of(30 * std::size(pairs)) * 60);
}

TEST_P(FlowVersions, ConsecutiveFramesOfAClip) {
  CUFACE_NEEDS_DATA();
  const auto frames =
      test::read_clip(test::data_dir() + "/videos/WolfgangLanger_Pexels.mp4", 640, 360, 12);
  ASSERT_GE(frames.size(), 12u);
  test::Turn turn;
  for (std::size_t f = 0; f + 1 < frames.size(); f += 2) {
    for (const int window : {9, 21, 31}) {
      if (!turn()) continue;
      FlowConfig config;
      config.window = window;
      const std::vector<Point> points = random_points(400, -20, 660, -20, 380);
      EXPECT_EQ(differences(frames[f], frames[f + 1], points, config), 0u) << "frame " << f;
    }
  }
  EXPECT_EQ(compared_, test::Turn::of(6 * 3) * 400);
}

TEST(Flow, StepEdgesAreNotFollowed) {
  cv::Mat edge(120, 160, CV_8U, cv::Scalar(20));
  edge.colRange(80, 160).setTo(220);
  const std::vector<Point> points = {{80, 60}, {79.5f, 50.25f}};
  const Tracked t = ours(edge, edge, points, {});
  EXPECT_EQ(t.status, opencv(edge, edge, points, {}).status);
  EXPECT_EQ(t.status[0], 0);
}

TEST(Flow, ExtremeContrastDoesNotOverflow) {
  std::mt19937 random(9);
  Comparison c;
  for (int window : {21, 63}) {
    cv::Mat a(200, 260, CV_8U), b;
    for (int y = 0; y < a.rows; ++y) {
      for (int x = 0; x < a.cols; ++x) {
        a.at<std::uint8_t>(y, x) = (x / 3 + y / 3) % 2 ? 255 : 0;
        if (random() % 16 == 0) a.at<std::uint8_t>(y, x) ^= 255;
      }
    }
    b = 255 - a;
    FlowConfig config;
    config.window = window;
    const std::vector<Point> points = random_points(300, 0, 260, 0, 200);
    c.add(ours(a, b, points, config), opencv(a, b, points, config));
    // Not moved at all: the same place.
    const Tracked still = ours(a, a, points, config);
    for (std::size_t i = 0; i < points.size(); ++i) {
      ASSERT_EQ(still.status[i], 1);
      EXPECT_NEAR(still.points[i].x, points[i].x, 1e-3);
      EXPECT_NEAR(still.points[i].y, points[i].y, 1e-3);
    }
  }
  EXPECT_GE(static_cast<double>(c.same_status), 0.98 * static_cast<double>(c.points));
}

TEST(Flow, PointsDoNotInfluenceEachOther) {
  const cv::Mat a = textured(200, 150, 0, 0), b = textured(200, 150, 2.2, 1.1);
  const std::vector<Point> points = random_points(60, -10, 210, -10, 160);
  const Tracked together = ours(a, b, points, {});
  for (std::size_t i = 0; i < points.size(); ++i) {
    const Tracked alone = ours(a, b, {points[i]}, {});
    EXPECT_EQ(std::memcmp(&alone.points[0], &together.points[i], sizeof(Point)), 0);
    EXPECT_EQ(alone.status[0], together.status[i]);
  }
}

TEST(Flow, ConfigsOutOfRangeAreRefused) {
  EXPECT_TRUE(validate(FlowConfig{}).ok());
  for (int window : {-1, 0, 3, 20, 65}) {
    FlowConfig c;
    c.window = window;
    EXPECT_EQ(validate(c).code(), StatusCode::kInvalidArgument) << window;
  }
  FlowConfig c;
  c.levels = 0;
  EXPECT_FALSE(validate(c).ok());
  c = {};
  c.max_iterations = 0;
  EXPECT_FALSE(validate(c).ok());
  c = {};
  c.epsilon = std::numeric_limits<float>::quiet_NaN();
  EXPECT_FALSE(validate(c).ok());
  c = {};
  c.min_eigen = -1;
  EXPECT_FALSE(validate(c).ok());
}

/// The landmarks of the faces in `boxes`, by the 68-point model.
std::vector<Point> landmarks(const cv::Mat& frame, const std::vector<cv::Rect>& boxes,
                             const std::shared_ptr<const ForestModel>& model) {
  auto landmarker = Landmarker::create(Backend::kCpu, model);
  std::vector<Box> faces;
  for (const cv::Rect& r : boxes) {
    faces.push_back({static_cast<float>(r.x), static_cast<float>(r.y), static_cast<float>(r.width),
                     static_cast<float>(r.height)});
  }
  std::vector<Point> points(faces.size() * static_cast<std::size_t>(model->landmarks));
  EXPECT_TRUE(landmarker.value()->enqueue(view_of(frame), faces, points).ok());
  return points;
}

/// Corners, and the landmarks of the faces and a grid over them (over the middle where none is
/// found); the grid has flat places and some of it hangs out of the picture, so that failures are
/// compared too.
std::vector<Point> interesting_points(const cv::Mat& frame, cv::CascadeClassifier& cascade,
                                      const std::shared_ptr<const ForestModel>& model,
                                      std::size_t& landmark_count) {
  std::vector<cv::Point2f> corners;
  cv::goodFeaturesToTrack(frame, corners, 150, 0.01, 5);
  std::vector<Point> points;
  for (const cv::Point2f& p : corners) points.push_back({p.x, p.y});
  std::vector<cv::Rect> boxes;
  if (!cascade.empty()) cascade.detectMultiScale(frame, boxes, 1.2, 3, 0, {40, 40});
  if (model && !boxes.empty()) {
    const std::vector<Point> found = landmarks(frame, boxes, model);
    points.insert(points.end(), found.begin(), found.end());
    landmark_count += found.size();
  }
  if (boxes.empty())
    boxes.push_back({frame.cols / 3, frame.rows / 3, frame.cols / 4, frame.rows / 3});
  for (const cv::Rect& box : boxes) {
    for (int i = 0; i < 144; ++i) {
      points.push_back({static_cast<float>(box.x + (i % 12 + 0.37) * box.width / 12),
                        static_cast<float>(box.y + (i / 12 + 0.59) * box.height / 12)});
    }
  }
  for (int i = 0; i < 64; ++i) {  // the whole frame and a rim around it
    points.push_back({static_cast<float>(-24 + (i % 8 + 0.3) * (frame.cols + 48) / 8),
                      static_cast<float>(-24 + (i / 8 + 0.7) * (frame.rows + 48) / 8)});
  }
  return points;
}

TEST(Flow, EqualsOpenCvOnConsecutiveFramesOfSixClips) {
  CUFACE_NEEDS_DATA();
  struct Clip {
    const char* name;
    int width, height;
  };
  const Clip clips[] = {{"WolfgangLanger_Pexels.mp4", 640, 360},
                        {"book.mkv", 640, 480},
                        {"classroom.mp4", 480, 270},
                        {"face-demographics-walking.mp4", 480, 270},
                        {"franck.mp4", 360, 288},
                        {"sister.mkv", 640, 480}};
  cv::CascadeClassifier cascade(std::string(test::kCascadeDir) +
                                "/haarcascade_frontalface_alt.xml");
  // Where the model has not been fetched the other points are compared all the same.
  std::shared_ptr<const ForestModel> model;
  if (const auto path = find_default_forest(); path.ok()) model = load_forest(path.value()).value();
  std::size_t landmark_count = 0;
  Comparison all;
  test::Turn turn;
  for (const Clip& clip : clips) {
    const auto frames =
        test::read_clip(test::data_dir() + "/videos/" + clip.name, clip.width, clip.height, 35);
    ASSERT_GE(frames.size(), 30u) << clip.name;
    Comparison c;
    for (std::size_t f = 0; f + 1 < frames.size(); f += 5) {
      const std::vector<Point> points =
          interesting_points(frames[f], cascade, model, landmark_count);
      for (int window : {9, 15, 21, 31}) {
        for (int levels : {1, 2, 3, 4}) {
          if (!turn()) continue;
          FlowConfig config;
          config.window = window;
          config.levels = levels;
          const Tracked a = ours(frames[f], frames[f + 1], points, config);
          const Tracked b = opencv(frames[f], frames[f + 1], points, config);
          c.add(a, b);
          all.add(a, b);
        }
      }
    }
    c.expect_equal(clip.name);
    std::printf(
        "%-30s %7zu points, %6zu lost, status equal %.4f %%, distance median %.6f 99%% %.6f max "
        "%.4f\n",
        clip.name, c.points, c.lost,
        100.0 * static_cast<double>(c.same_status) / static_cast<double>(c.points),
        static_cast<double>(c.quantile(0.5)), static_cast<double>(c.quantile(0.99)),
        static_cast<double>(c.quantile(1.0)));
  }
  EXPECT_GT(all.distances.size(), test::fewer(100000u));
  EXPECT_GT(all.lost, test::fewer(1000u));
  std::printf("%zu of the points are landmarks of faces\n", landmark_count);
  if (model) {
    EXPECT_GT(landmark_count, 1000u);
  }
}

}  // namespace
}  // namespace cuface
