// flow against cv::calcOpticalFlowPyrLK on consecutive frames of real clips.
#include <gtest/gtest.h>

#include <cstdio>
#include <memory>
#include <opencv2/imgproc.hpp>
#include <opencv2/objdetect.hpp>
#include <vector>

#include "kernels/landmarks/landmarks.h"
#include "models/models.h"
#include "tests/clip.h"
#include "tests/data.h"
#include "tests/fewer.h"
#include "tests/kernels/flow_comparison.h"

namespace cuface {
namespace {

using test::FlowComparison;
using test::opencv_flow;
using test::our_flow;
using test::TrackedPoints;
using test::view_of;

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
  FlowComparison all;
  test::Turn turn;
  for (const Clip& clip : clips) {
    const auto frames =
        test::read_clip(test::data_dir() + "/videos/" + clip.name, clip.width, clip.height, 35);
    ASSERT_GE(frames.size(), 30u) << clip.name;
    FlowComparison c;
    for (std::size_t f = 0; f + 1 < frames.size(); f += 5) {
      const std::vector<Point> points =
          interesting_points(frames[f], cascade, model, landmark_count);
      for (int window : {9, 15, 21, 31}) {
        for (int levels : {1, 2, 3, 4}) {
          if (!turn()) continue;
          FlowConfig config;
          config.window = window;
          config.levels = levels;
          const TrackedPoints a = our_flow(frames[f], frames[f + 1], points, config);
          const TrackedPoints b = opencv_flow(frames[f], frames[f + 1], points, config);
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
