// One flat object followed at 640x480, one thread, beside OpenCV's calcOpticalFlowPyrLK and
// findHomography on the same number of points. Ours also looks at the picture in each frame.
#include <opencv2/calib3d.hpp>
#include <opencv2/video/tracking.hpp>
#include <vector>

#include "tests/bench/ratio.h"
#include "tests/planar_video.h"

namespace cuface {
namespace {

constexpr int kPasses = 41, kFrames = 24;
/// us of a frame, at most.
constexpr double kGoal = 3000;

/// Frames of one object, there and back.
struct Clip {
  cv::Mat object = test::poster(3);
  std::vector<cv::Mat> frames;
  std::vector<cv::Matx33d> maps;
  Features features;

  Clip() {
    for (int n = 0; n < kFrames; ++n) {
      test::View view;
      view.tilt = 20;
      view.scale = 0.9;
      view.roll = n;
      view.x += 4 * n - 40;
      cv::Mat frame = test::poster(77, test::kSceneWidth, test::kSceneHeight);
      maps.push_back(test::map_of(view, object.size()));
      test::lay(frame, object, maps.back());
      test::expose(frame, 1, 0, 0.5, 2, static_cast<unsigned>(n));
      frames.push_back(frame);
    }
    for (int n = kFrames - 2; n > 0; --n) {
      frames.push_back(frames[static_cast<std::size_t>(n)]);
      maps.push_back(maps[static_cast<std::size_t>(n)]);
    }
    features = test::features_of(object);
  }
};

/// All frames once; the object stays in view.
std::function<void()> ours(const Clip& clip) {
  auto video = std::make_shared<test::PlanarVideo>(std::vector{clip.object});
  return [&clip, video] {
    for (const cv::Mat& frame : clip.frames)
      if (!video->next(frame).visible) std::abort();
  };
}

/// As many points of the object, by their true places, from frame to frame; then their homography.
std::function<void()> opencv(const Clip& clip) {
  const PlanarConfig config;
  std::vector<cv::Point2f> points;
  for (const Keypoint& k : clip.features.keypoints) {
    if (points.size() == static_cast<std::size_t>(config.points)) break;
    points.emplace_back(k.x, k.y);
  }
  return [&clip, points, config, before = std::vector<cv::Mat>(),
          now = std::vector<cv::Mat>()]() mutable {
    const cv::Size window(config.flow.window, config.flow.window);
    for (std::size_t n = 0; n < clip.frames.size(); ++n) {
      const std::size_t last = (n + clip.frames.size() - 1) % clip.frames.size();
      cv::buildOpticalFlowPyramid(clip.frames[n], now, window, config.flow.levels - 1, true);
      if (before.empty()) before = now;
      std::vector<cv::Point2f> from, to;
      for (const cv::Point2f& p : points) {
        const cv::Point2d at = test::carried(clip.maps[last], p.x, p.y);
        from.emplace_back(static_cast<float>(at.x), static_cast<float>(at.y));
      }
      std::vector<std::uint8_t> status;
      std::vector<float> error;
      cv::calcOpticalFlowPyrLK(before, now, from, to, status, error, window,
                               config.flow.levels - 1);
      if (cv::findHomography(points, to, cv::RANSAC, 3).empty()) std::abort();
      std::swap(before, now);
    }
  };
}

}  // namespace
}  // namespace cuface

int main(int argc, char** argv) {
  using namespace cuface;
  cv::setNumThreads(1);
  const Clip clip;
  nlohmann::ordered_json report = {
      {"what", "processor time of one thread, ours and the peer in turn; medians over the passes"},
      {"peer", "cv::calcOpticalFlowPyrLK, cv::findHomography"},
      {"processor", bench::processor()},
      {"instruction_set", simd::chosen()},
      {"passes", kPasses},
      {"most_us", kGoal}};
  report["cases"].push_back(
      bench::compare({"one object followed, 640x480", static_cast<double>(clip.frames.size()),
                      ours(clip), opencv(clip)},
                     kPasses));
  return bench::write_json(report, argc, argv);
}
