// A detector of ours beside one of OpenCV, which both find and describe keypoints.
#pragma once

#include <cstdlib>
#include <opencv2/features2d.hpp>
#include <utility>
#include <vector>

#include "tests/bench/naturals.h"
#include "tests/mat_view.h"

namespace cuface::bench {

using test::view_of;

/// Both look at a picture that is another one each time: shifted by some pixels. Found is what the
/// detector gives.
template <typename Detector, typename Found>
class KeypointPair {
 public:
  KeypointPair(const cv::Mat& picture, Detector ours, cv::Ptr<cv::Feature2D> peer)
      : picture_(picture), ours_(std::move(ours)), peer_(std::move(peer)) {
    find();
    given_ = found_.keypoints;
    for (const Keypoint& k : given_)
      given_peer_.emplace_back(k.x, k.y, k.size, k.angle, k.response, k.octave);
  }

  void find() {
    const cv::Mat part = picture_.next();
    if (!ours_.run(view_of(part), found_).ok()) std::abort();
  }
  void opencv() {
    keypoints_.clear();
    peer_->detectAndCompute(picture_.next(), cv::noArray(), keypoints_, descriptors_);
  }
  void describe() {
    const cv::Mat part = picture_.next();
    if (!ours_.describe(view_of(part), given_, found_).ok()) std::abort();
  }
  void opencv_describe() {
    keypoints_ = given_peer_;
    peer_->detectAndCompute(picture_.next(), cv::noArray(), keypoints_, descriptors_, true);
  }

 private:
  ShiftedPicture picture_;
  Detector ours_;
  cv::Ptr<cv::Feature2D> peer_;
  Found found_;
  std::vector<Keypoint> given_;
  std::vector<cv::KeyPoint> given_peer_, keypoints_;
  cv::Mat descriptors_;
};

}  // namespace cuface::bench
