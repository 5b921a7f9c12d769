// SURF beside OpenCV's surf.cpp, one thread; tests/full/surf_parity compiles both.
#include <cstdlib>

#include "kernels/surf/surf.h"
#include "precomp.hpp"
#include "surf.hpp"
#include "tests/bench/keypoint_pair.h"
#include "tests/bench/ratio.h"

namespace cuface {
namespace {

constexpr int kPasses = 21, kKeypoints = 1020;

/// The threshold above which a picture has kKeypoints: OpenCV has no other limit.
float threshold_of(const cv::Mat& picture) {
  FloatFeatures found;
  SurfConfig all;
  all.max_keypoints = kKeypoints + 1;
  if (!SurfDetector::create(all).value().run(bench::view_of(picture), found).ok()) std::abort();
  if (found.keypoints.size() <= kKeypoints) std::abort();
  return found.keypoints.back().response;
}

using Pair = bench::KeypointPair<SurfDetector, FloatFeatures>;

Pair pair_of(const cv::Mat& picture, bool upright) {
  SurfConfig config;
  config.threshold = threshold_of(bench::ShiftedPicture(picture).next());
  config.max_keypoints = kMostKeypoints;
  config.upright = upright;
  return {picture, std::move(SurfDetector::create(config).value()),
          cv::makePtr<cv::xfeatures2d::SURF_Impl>(static_cast<double>(config.threshold),
                                                  config.octaves, config.layers, false, upright)};
}

}  // namespace
}  // namespace cuface

int main(int argc, char** argv) {
  using namespace cuface;
  cv::setNumThreads(1);
  const cv::Mat large = bench::mosaic(1080);
  if (large.empty()) {
    std::fprintf(stderr, "surf_speed: no test data, or no ffmpeg: set CUFACE_DATA\n");
    return 1;
  }
  const cv::Mat middle = large(cv::Rect(200, 100, 1288, 728));
  const cv::Mat small = large(cv::Rect(100, 100, 520, 392));
  Pair upright = pair_of(middle, true), turned = pair_of(middle, false),
       small_upright = pair_of(small, true), small_turned = pair_of(small, false);
  return bench::run_contests(
      "OpenCV's SURF",
      {{"1,020 keypoints, 720p, upright", 1, [&] { upright.find(); }, [&] { upright.opencv(); }, 4},
       {"1,020 keypoints, 720p, turned", 1, [&] { turned.find(); }, [&] { turned.opencv(); }, 3},
       {"1,020 keypoints, 512x384, described, upright", 1, [&] { small_upright.describe(); },
        [&] { small_upright.opencv_describe(); }, 0},
       {"1,020 keypoints, 512x384, described, turned", 1, [&] { small_turned.describe(); },
        [&] { small_turned.opencv_describe(); }, 0}},
      kPasses, argc, argv);
}
