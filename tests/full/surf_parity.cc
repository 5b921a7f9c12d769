// SURF beside OpenCV's surf.cpp on the pictures that are named; tests/full/surf_parity compiles
// both.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <opencv2/imgcodecs.hpp>

#include "kernels/surf/surf.h"
#include "precomp.hpp"
#include "surf.hpp"

namespace {

using namespace cuface;

struct Tally {
  std::size_t keypoints = 0, others = 0, angles = 0, values = 0, far_values = 0;
  float worst = 0;
};

void compare(const cv::Mat& grey, const SurfConfig& config, Tally& tally) {
  cv::xfeatures2d::SURF_Impl peer(static_cast<double>(config.threshold), config.octaves,
                                  config.layers, false, config.upright);
  std::vector<cv::KeyPoint> theirs;
  cv::Mat descriptors;
  peer.detectAndCompute(grey, cv::noArray(), theirs, descriptors, false);
  FloatFeatures ours;
  if (!SurfDetector::create(config)
           .value()
           .run({grey.data, grey.cols, grey.rows, static_cast<std::ptrdiff_t>(grey.step)}, ours)
           .ok())
    std::abort();
  tally.keypoints += theirs.size();
  if (ours.keypoints.size() != theirs.size()) {
    tally.others += theirs.size();
    return;
  }
  for (std::size_t i = 0; i < theirs.size(); ++i) {
    const Keypoint& k = ours.keypoints[i];
    const cv::KeyPoint& t = theirs[i];
    tally.others += k.x != t.pt.x || k.y != t.pt.y || k.size != t.size ||
                    k.response != t.response || k.octave != t.octave || ours.signs[i] != t.class_id;
    tally.angles += std::abs(std::remainder(k.angle - t.angle, 360.0f)) > 1e-3f;
    for (int v = 0; v < 64; ++v, ++tally.values) {
      const float apart =
          std::abs(ours.descriptor(i)[v] - descriptors.at<float>(static_cast<int>(i), v));
      tally.far_values += !(apart < 1e-5f);
      tally.worst = std::max(tally.worst, apart);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  Tally tally;
  for (int i = 1; i < argc; ++i) {
    const cv::Mat grey = cv::imread(argv[i], cv::IMREAD_GRAYSCALE);
    if (grey.empty()) {
      std::fprintf(stderr, "%s: no picture\n", argv[i]);
      return 1;
    }
    for (const auto& [threshold, octaves, layers] :
         {std::tuple{100.0f, 4, 3}, {400.0f, 4, 2}, {20.0f, 3, 4}})
      for (const bool upright : {false, true}) {
        SurfConfig config;
        config.max_keypoints = kMostKeypoints;
        config.threshold = threshold;
        config.octaves = octaves;
        config.layers = layers;
        config.upright = upright;
        compare(grey, config, tally);
      }
  }
  std::printf(
      "%zu keypoints: %zu differ, %zu directions; of %zu values %zu by 1e-5 or more, the worst by "
      "%g\n",
      tally.keypoints, tally.others, tally.angles, tally.values, tally.far_values,
      static_cast<double>(tally.worst));
  const bool good = tally.keypoints > 0 && tally.others == 0 && tally.angles == 0 &&
                    tally.far_values * 200 <= tally.values && tally.worst <= 5e-3f;
  return good ? 0 : 1;
}
