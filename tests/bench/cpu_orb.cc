// Keypoints of natural pictures beside cv::ORB, one thread: found and described, and described
// alone.
#include "kernels/orb/orb.h"
#include "tests/bench/keypoint_pair.h"
#include "tests/bench/ratio.h"

namespace cuface {
namespace {

constexpr int kPasses = 41;

using Pair = bench::KeypointPair<OrbDetector, BinaryFeatures>;

Pair pair_of(const cv::Mat& picture) {
  const cv::Size size = bench::ShiftedPicture(picture).size();
  const OrbConfig config;
  return {picture, std::move(OrbDetector::create(config, size.width, size.height).value()),
          cv::ORB::create(config.max_keypoints)};
}

}  // namespace
}  // namespace cuface

int main(int argc, char** argv) {
  using namespace cuface;
  cv::setNumThreads(1);
  const cv::Mat large = bench::mosaic(1080);
  if (large.empty()) {
    std::fprintf(stderr, "cpu_orb: no test data, or no ffmpeg: set CUFACE_DATA\n");
    return 1;
  }
  const cv::Mat middle = large(cv::Rect(200, 100, 1288, 728));
  const cv::Mat small = large(cv::Rect(100, 100, 520, 392));
  Pair at_1080 = pair_of(large), at_720 = pair_of(middle), at_384 = pair_of(small);
  return bench::run_contests("cv::ORB",
                             {{"keypoints, 720p, found and described", 1, [&] { at_720.find(); },
                               [&] { at_720.opencv(); }, 3},
                              {"keypoints, 1080p, found and described", 1, [&] { at_1080.find(); },
                               [&] { at_1080.opencv(); }, 0},
                              {"keypoints, 512x384, found and described", 1, [&] { at_384.find(); },
                               [&] { at_384.opencv(); }, 0},
                              {"keypoints, 512x384, described", 1, [&] { at_384.describe(); },
                               [&] { at_384.opencv_describe(); }, 0}},
                             kPasses, argc, argv);
}
