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

ImageView<const std::uint8_t> view(const cv::Mat& m) {
  return {m.data, m.cols, m.rows, static_cast<std::ptrdiff_t>(m.step)};
}

struct Tally {
  std::size_t keypoints = 0, others = 0, angles = 0, values = 0, far_values = 0;
  float worst = 0;
};

void count_others(const FloatFeatures& ours, const std::vector<cv::KeyPoint>& theirs,
                  const cv::Mat& descriptors, bool signs, Tally& tally) {
  tally.keypoints += theirs.size();
  if (ours.keypoints.size() != theirs.size()) {
    tally.others += theirs.size();
    return;
  }
  for (std::size_t i = 0; i < theirs.size(); ++i) {
    const Keypoint& k = ours.keypoints[i];
    const cv::KeyPoint& t = theirs[i];
    tally.others += k.x != t.pt.x || k.y != t.pt.y || k.size != t.size ||
                    k.response != t.response || k.octave != t.octave ||
                    (signs && ours.signs[i] != t.class_id);
    tally.angles += std::abs(std::remainder(k.angle - t.angle, 360.0f)) > 1e-3f;
    for (int v = 0; v < 64; ++v, ++tally.values) {
      const float apart =
          std::abs(ours.descriptor(i)[v] - descriptors.at<float>(static_cast<int>(i), v));
      tally.far_values += !(apart < 1e-5f);
      tally.worst = std::max(tally.worst, apart);
    }
  }
}

void compare(const cv::Mat& grey, const SurfConfig& config, Tally& tally) {
  cv::xfeatures2d::SURF_Impl peer(static_cast<double>(config.threshold), config.octaves,
                                  config.layers, false, config.upright);
  std::vector<cv::KeyPoint> theirs;
  cv::Mat descriptors;
  peer.detectAndCompute(grey, cv::noArray(), theirs, descriptors, false);
  SurfDetector detector = std::move(SurfDetector::create(config).value());
  FloatFeatures ours;
  if (!detector.run(view(grey), ours).ok()) std::abort();
  count_others(ours, theirs, descriptors, true, tally);
  // The same places are described where others have found them, between pixels and elsewhere.
  std::vector<Keypoint> given;
  std::vector<cv::KeyPoint> given_peer;
  for (std::size_t i = 0; i < theirs.size(); i += 7) {
    const cv::KeyPoint& t = theirs[i];
    given.push_back({t.pt.x / 2, t.pt.y / 2 + 0.25f, std::max(8.f, t.size * 0.7f), 3, 1, 0});
    const Keypoint& k = given.back();
    given_peer.emplace_back(k.x, k.y, k.size, k.angle, k.response, k.octave);
  }
  peer.detectAndCompute(grey, cv::noArray(), given_peer, descriptors, true);
  if (!detector.describe(view(grey), given, ours).ok()) std::abort();
  count_others(ours, given_peer, descriptors, false, tally);
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
