// Flow of 68 points over a stream beside OpenCV's: each frame one new pyramid and one pass. The
// same frames, natural video, one thread; 720p is the 360p clip enlarged twice. Level 0 is the
// frame itself, as in culktrack, which keeps the chain's grey picture.
//
//   CUFACE_DATA=... build/tests/bench/cpu_flow [docs/results/cpu-flow.json]
#include <opencv2/imgproc.hpp>
#include <opencv2/video/tracking.hpp>

#include "kernels/flow/flow.h"
#include "tests/bench/ratio.h"
#include "tests/clip.h"
#include "tests/data.h"
#include "tests/models/landmark_rows.h"

namespace {

using namespace cuface;

constexpr int kPasses = 9, kFrames = 60;

/// 68 points over the face of the clip, which hardly moves in its first seconds.
std::vector<Point> face_points(float unit) {
  std::vector<Point> points;
  for (int i = 0; i < 68; ++i) {
    points.push_back({(250 + 16 * static_cast<float>(i % 9)) * unit,
                      (90 + 18 * static_cast<float>(i / 9)) * unit});
  }
  return points;
}

/// A pass over the clip; `both_ways`: each point is followed back too, as culktrack does.
class Stream {
 public:
  Stream(const std::vector<cv::Mat>& frames, bool both_ways)
      : frames_(frames), both_ways_(both_ways), scratch_(config_) {
    for (auto& p : pyramids_)
      p.emplace(frames[0].cols, frames[0].rows, config_.levels, config_.window);
    points_ = face_points(static_cast<float>(frames[0].rows) / 360);
    to_ = back_ = points_;
    status_.resize(points_.size());
    for (const Point& p : points_) cv_points_.emplace_back(p.x, p.y);
  }

  void ours() {
    build(0);
    for (std::size_t t = 1; t < frames_.size(); ++t) {
      GaussianPyramid &prev = *pyramids_[(t + 1) % 2], &next = *pyramids_[t % 2];
      build(t);
      flow(prev, next, points_, to_, status_, config_, scratch_);
      if (both_ways_) flow(next, prev, to_, back_, status_, config_, scratch_);
    }
  }

  void opencv() {
    const cv::Size window(config_.window, config_.window);
    const int top = config_.levels - 1;
    const cv::TermCriteria until(cv::TermCriteria::COUNT | cv::TermCriteria::EPS,
                                 config_.max_iterations, static_cast<double>(config_.epsilon));
    cv::buildOpticalFlowPyramid(frames_[0], cv_pyramids_[0], window, top);
    for (std::size_t t = 1; t < frames_.size(); ++t) {
      const auto &prev = cv_pyramids_[(t + 1) % 2], &next = cv_pyramids_[t % 2];
      cv::buildOpticalFlowPyramid(frames_[t], cv_pyramids_[t % 2], window, top);
      cv::calcOpticalFlowPyrLK(prev, next, cv_points_, cv_to_, status_, error_, window, top, until);
      if (both_ways_)
        cv::calcOpticalFlowPyrLK(next, prev, cv_to_, cv_back_, status_, error_, window, top, until);
    }
  }

  void build_pyramids() {
    for (std::size_t t = 1; t < frames_.size(); ++t) {
      build(t);
      pyramids_[t % 2]->level(pyramids_[t % 2]->levels() - 1).all();
    }
  }

 private:
  void build(std::size_t t) { pyramids_[t % 2]->refer(test::view(frames_[t])); }

  const std::vector<cv::Mat>& frames_;
  bool both_ways_;
  FlowConfig config_;
  std::optional<GaussianPyramid> pyramids_[2];
  FlowScratch scratch_;
  std::vector<Point> points_, to_, back_;
  std::vector<std::uint8_t> status_;
  std::vector<cv::Point2f> cv_points_, cv_to_, cv_back_;
  std::vector<cv::Mat> cv_pyramids_[2];
  std::vector<float> error_;
};

}  // namespace

int main(int argc, char** argv) {
  cv::setNumThreads(1);
  const std::vector<cv::Mat> small =
      test::read_clip(test::data_dir() + "/videos/WolfgangLanger_Pexels.mp4", 640, 360, kFrames);
  if (small.size() != kFrames) {
    std::fprintf(stderr, "cpu_flow: no test data: set CUFACE_DATA\n");
    return 1;
  }
  std::vector<cv::Mat> large;
  for (const cv::Mat& f : small) cv::resize(f, large.emplace_back(), {}, 2, 2, cv::INTER_CUBIC);
  Stream small_once(small, false), large_once(large, false), small_both(small, true),
      large_both(large, true);
  constexpr double kSteps = kFrames - 1;
  return bench::run_contests(
      "OpenCV's buildOpticalFlowPyramid with derivatives and calcOpticalFlowPyrLK",
      {{"640x360, 68 points", kSteps, [&] { small_once.ours(); }, [&] { small_once.opencv(); }, 3},
       {"1280x720, 68 points", kSteps, [&] { large_once.ours(); }, [&] { large_once.opencv(); }, 5},
       {"640x360, 68 points, both ways", kSteps, [&] { small_both.ours(); },
        [&] { small_both.opencv(); }},
       {"1280x720, 68 points, both ways", kSteps, [&] { large_both.ours(); },
        [&] { large_both.opencv(); }},
       {"640x360, all of our pyramid beside all of OpenCV's", kSteps,
        [&] { small_once.build_pyramids(); }, [&] { small_once.opencv(); }},
       {"1280x720, all of our pyramid beside all of OpenCV's", kSteps,
        [&] { large_once.build_pyramids(); }, [&] { large_once.opencv(); }}},
      kPasses, argc, argv);
}
