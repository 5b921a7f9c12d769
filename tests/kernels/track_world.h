// A made-up world whose motion is known: textured faces move over a textured background by
// sub-pixel similarities, and a tracker is told of it frame by frame.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <opencv2/imgproc.hpp>
#include <utility>
#include <vector>

#include "kernels/track/track.h"

namespace cuface {

constexpr int kWidth = 320, kHeight = 240;

/// Texture with structure of several sizes.
inline cv::Mat texture(int width, int height, int seed) {
  cv::Mat sum = cv::Mat::zeros(height, width, CV_32F);
  cv::RNG random(static_cast<std::uint64_t>(seed) + 1);
  for (double sigma : {1.2, 3.0, 8.0}) {
    cv::Mat layer(height, width, CV_32F);
    random.fill(layer, cv::RNG::NORMAL, 0, 40 * sigma);
    cv::GaussianBlur(layer, layer, {}, sigma);
    sum += layer;
  }
  cv::Mat out;
  sum.convertTo(out, CV_8U, 1, 128);
  return out;
}

/// Where a face of side `side` is: its centre, scale and turn.
struct Pose {
  double x, y, scale = 1, angle = 0;
};

constexpr int kSide = 80;

inline Box box_of(const Pose& p) {
  const double side = kSide * p.scale;
  return {static_cast<float>(p.x - side / 2), static_cast<float>(p.y - side / 2),
          static_cast<float>(side), static_cast<float>(side)};
}

/// A world with any number of faces over a background.
struct World {
  cv::Mat background = texture(kWidth, kHeight, 100);
  std::vector<cv::Mat> faces = {texture(kSide, kSide, 1), texture(kSide, kSide, 2),
                                texture(kSide, kSide, 3)};

  cv::Mat render(const std::vector<Pose>& poses) const {
    cv::Mat frame = background.clone();
    for (std::size_t i = 0; i < poses.size(); ++i) {
      const Pose& p = poses[i];
      const double a = p.scale * std::cos(p.angle), b = p.scale * std::sin(p.angle);
      const double c = (kSide - 1) / 2.0;
      // Centre of the texture to the centre of the box, in pixel centres.
      const cv::Matx23d m(a, -b, p.x - 0.5 - (a * c - b * c), b, a, p.y - 0.5 - (b * c + a * c));
      cv::Mat warped, mask;
      cv::warpAffine(faces[i], warped, m, frame.size(), cv::INTER_CUBIC);
      cv::warpAffine(cv::Mat(kSide, kSide, CV_8U, cv::Scalar(255)), mask, m, frame.size());
      warped.copyTo(frame, mask > 127);
    }
    return frame;
  }
};

inline FaceList detections(const std::vector<Box>& boxes) {
  FaceList list;
  list.width = kWidth;
  list.height = kHeight;
  list.searched = true;
  list.detector = "haarcascade_frontalface_alt";
  for (const Box& b : boxes) {
    Face f;
    f.box = b;
    f.neighbors = 17;
    f.confidence = detection_confidence(17);
    list.faces.push_back(f);
  }
  return list;
}

inline std::shared_ptr<GaussianPyramid> pyramid_of(const cv::Mat& frame) {
  auto pyramid = std::make_shared<GaussianPyramid>(frame.cols, frame.rows);
  pyramid->build({frame.data, frame.cols, frame.rows, static_cast<std::ptrdiff_t>(frame.step)});
  return pyramid;
}

/// A tracker that is told frames one by one.
struct Session {
  explicit Session(const TrackConfig& config = {}, int width = kWidth, int height = kHeight) {
    auto made = Tracker::create(Backend::kCpu, config, width, height);
    EXPECT_TRUE(made.ok());
    tracker = std::move(made.value());
    for (auto& pyramid : pyramids) pyramid = std::make_shared<GaussianPyramid>(width, height);
  }
  const TrackOutput& step(const cv::Mat& frame, const FaceList* faces = nullptr,
                          const FaceList* feedback = nullptr, double elapsed = 0.04) {
    pyramids[turn = 1 - turn]->build(
        {frame.data, frame.cols, frame.rows, static_cast<std::ptrdiff_t>(frame.step)});
    return step(pyramids[turn], faces, feedback, elapsed);
  }
  const TrackOutput& step(std::shared_ptr<GaussianPyramid> pyramid, const FaceList* faces = nullptr,
                          const FaceList* feedback = nullptr, double elapsed = 0.04) {
    TrackInput input;
    input.pyramid = std::move(pyramid);
    input.faces = faces;
    input.feedback = feedback;
    input.frame = count++;
    input.elapsed = elapsed;
    EXPECT_TRUE(tracker->enqueue(input, out).ok());
    int lost = 0;
    for (int n : out.lost_by) lost += n;
    EXPECT_EQ(lost, out.lost);
    return out;
  }
  /// A frame whose picture is not looked at.
  const TrackOutput& pass_gap() {
    ++count;
    tracker->pass_gap(out);
    return out;
  }
  std::unique_ptr<Tracker> tracker;
  std::shared_ptr<GaussianPyramid> pyramids[2];  // of this frame and the one before
  int turn = 0;
  TrackOutput out;
  std::uint64_t count = 0;
};

inline float box_error(const Box& a, const Box& b) {
  return std::max({std::abs(a.x - b.x), std::abs(a.y - b.y), std::abs(a.x + a.w - b.x - b.w),
                   std::abs(a.y + a.h - b.y - b.h)});
}

inline const FaceList kNothing = [] {
  FaceList l = detections({});
  return l;
}();

/// Tracks a still face for some frames.
inline void settle(Session& session, const World& world, const Pose& pose) {
  const FaceList found = detections({box_of(pose)});
  for (int f = 0; f < 5; ++f) {
    ASSERT_EQ(session.step(world.render({pose}), f == 0 ? &found : nullptr).faces.faces.size(), 1u);
  }
}

}  // namespace cuface
