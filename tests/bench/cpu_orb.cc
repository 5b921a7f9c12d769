// Keypoints of natural pictures beside cv::ORB, one thread: found and described, and described
// alone.
#include <opencv2/features2d.hpp>

#include "kernels/orb/orb.h"
#include "tests/bench/naturals.h"
#include "tests/bench/ratio.h"

namespace cuface {
namespace {

constexpr int kPasses = 41;

/// Both look at a picture that is another one each time: shifted by some pixels.
class Pair {
 public:
  Pair(const cv::Mat& picture, const OrbConfig& config)
      : picture_(picture),
        ours_(std::move(
            OrbDetector::create(config, picture_.size().width, picture_.size().height).value())),
        peer_(cv::ORB::create(config.max_keypoints)) {
    const cv::Mat part = picture_.next();
    if (!ours_.run(view(part), found_).ok()) std::abort();
    given_ = found_.keypoints;
    for (const Keypoint& k : given_)
      given_peer_.emplace_back(k.x, k.y, k.size, k.angle, k.response, k.octave);
  }

  void ours() {
    const cv::Mat part = picture_.next();
    if (!ours_.run(view(part), found_).ok()) std::abort();
  }
  void opencv() {
    keypoints_.clear();
    peer_->detectAndCompute(picture_.next(), cv::noArray(), keypoints_, descriptors_);
  }
  void describe() {
    const cv::Mat part = picture_.next();
    if (!ours_.describe(view(part), given_, found_).ok()) std::abort();
  }
  void opencv_describe() {
    keypoints_ = given_peer_;
    peer_->compute(picture_.next(), keypoints_, descriptors_);
  }

 private:
  static ImageView<const std::uint8_t> view(const cv::Mat& m) {
    return {m.data, m.cols, m.rows, static_cast<std::ptrdiff_t>(m.step)};
  }
  bench::ShiftedPicture picture_;
  OrbDetector ours_;
  cv::Ptr<cv::ORB> peer_;
  BinaryFeatures found_;
  std::vector<Keypoint> given_;
  std::vector<cv::KeyPoint> given_peer_, keypoints_;
  cv::Mat descriptors_;
};

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
  Pair at_1080(large, {}), at_720(middle, {}), at_384(small, {});
  return bench::run_contests("cv::ORB",
                             {{"keypoints, 720p, found and described", 1, [&] { at_720.ours(); },
                               [&] { at_720.opencv(); }, 3},
                              {"keypoints, 1080p, found and described", 1, [&] { at_1080.ours(); },
                               [&] { at_1080.opencv(); }, 0},
                              {"keypoints, 512x384, found and described", 1, [&] { at_384.ours(); },
                               [&] { at_384.opencv(); }, 0},
                              {"keypoints, 512x384, described", 1, [&] { at_384.describe(); },
                               [&] { at_384.opencv_describe(); }, 0}},
                             kPasses, argc, argv);
}
