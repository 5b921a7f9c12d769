// Flat objects in the frames of a video, as an element finds and follows them.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <opencv2/core.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/keypoints/reference.h"
#include "kernels/planar/objects.h"
#include "tests/mat_view.h"
#include "tests/planar_scenes.h"

namespace cuface::test {

inline constexpr FeatureConfig kSurfFeatures{.detector = FeatureDetector::kHessian,
                                             .descriptor = FeatureDescriptor::kSurf};

/// Ends the program where a call failed that the tests do not expect to fail.
inline void must(const Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", status.message().c_str());
  std::abort();
}

inline Features features_of(const cv::Mat& grey, const FeatureConfig& config = {}) {
  Features out;
  must(find_keypoints(config, view_of(grey), out));
  return out;
}

/// Of a picture that is looked for.
inline Features reference_features(const cv::Mat& grey, const FeatureConfig& config) {
  Features out;
  must(find_in_reference(config, view_of(grey), out));
  return out;
}

class PlanarVideo {
 public:
  explicit PlanarVideo(std::vector<cv::Mat> pictures, const PlanarSearchConfig& config = {},
                       cv::Size size = {kSceneWidth, kSceneHeight})
      : pictures_(std::move(pictures)),
        pyramids_{{size.width, size.height}, {size.width, size.height}} {
    for (const cv::Mat& picture : pictures_)
      features_.push_back(reference_features(picture, config.features));
    std::vector<PlanarObjects::Reference> references;
    for (std::size_t i = 0; i < pictures_.size(); ++i)
      references.push_back({view_of(pictures_[i]), &features_[i]});
    auto made = PlanarObjects::create(references, config);
    must(made.status());
    objects_.emplace(std::move(made.value()));
    must(objects_->resize(size.width, size.height));
  }

  /// The next frame, and its keypoints where they are known. Gives the first object's pose.
  const PlanarPose& next(const cv::Mat& frame, const Features* known = nullptr) {
    GaussianPyramid &now = pyramids_[n_ % 2], &before = pyramids_[(n_ + 1) % 2];
    now.build(view_of(frame));
    must(objects_->step(n_ > 0 ? &before : nullptr, now, known, n_));
    ++n_;
    return pose(0);
  }
  const PlanarPose& pose(std::size_t i) const { return objects_->objects()[i].tracker.pose(); }
  std::uint64_t id(std::size_t i) const { return objects_->objects()[i].id; }

 private:
  std::vector<cv::Mat> pictures_;
  std::vector<Features> features_;
  GaussianPyramid pyramids_[2];
  std::optional<PlanarObjects> objects_;
  std::uint64_t n_ = 0;
};

}  // namespace cuface::test
