// Edges of natural pictures beside cv::Canny: apertures, norms and the default blur, one thread.
// Gradients and angles as pictures beside OpenCV's floats.
#include <opencv2/imgproc.hpp>

#include "kernels/edges/edges.h"
#include "tests/bench/naturals.h"
#include "tests/bench/ratio.h"

namespace cuface {
namespace {

constexpr int kPasses = 41;

enum class Wanted { kMap, kGradient, kAngle };

/// Both find the edges of a picture that is another one each time: shifted by some pixels.
class Pair {
 public:
  Pair(const cv::Mat& picture, const EdgeConfig& config, Wanted wanted)
      : picture_(picture),
        config_(config),
        wanted_(wanted),
        detector_(std::move(
            EdgeDetector::create(config, picture_.size().width, picture_.size().height).value())),
        map_(picture_.size(), CV_8U) {}

  void ours() {
    const cv::Mat part = picture_.next();
    EdgeViews out;
    (wanted_ == Wanted::kMap ? out.map
     : wanted_ == Wanted::kGradient
         ? out.magnitude
         : out.angle) = {map_.data, map_.cols, map_.rows, static_cast<std::ptrdiff_t>(map_.step)};
    const Status status = detector_.run(
        {part.data, part.cols, part.rows, static_cast<std::ptrdiff_t>(part.step)}, out);
    if (!status.ok()) std::abort();
  }
  void opencv() {
    cv::Mat part = picture_.next();
    if (config_.kernel_size > 1) {
      const cv::Size size(config_.kernel_size, config_.kernel_size);
      cv::GaussianBlur(part, blurred_, size, config_.sigma);
      part = blurred_;
    }
    if (wanted_ != Wanted::kMap) {
      cv::Sobel(part, dx_, CV_32F, 1, 0);
      cv::Sobel(part, dy_, CV_32F, 0, 1);
      if (wanted_ == Wanted::kGradient) cv::magnitude(dx_, dy_, real_);
      if (wanted_ == Wanted::kAngle) cv::phase(dx_, dy_, real_);
      real_.convertTo(map_, CV_8U, wanted_ == Wanted::kAngle ? 128 / CV_PI : 0.25);
      return;
    }
    cv::Canny(part, map_, config_.low, config_.high, config_.aperture,
              config_.norm == GradientNorm::kL2);
  }

 private:
  bench::ShiftedPicture picture_;
  EdgeConfig config_;
  Wanted wanted_;
  EdgeDetector detector_;
  cv::Mat map_, blurred_, dx_, dy_, real_;
};

}  // namespace
}  // namespace cuface

int main(int argc, char** argv) {
  using namespace cuface;
  cv::setNumThreads(1);
  const cv::Mat large = bench::mosaic(1080);
  if (large.empty()) {
    std::fprintf(stderr, "cpu_edges: no test data, or no ffmpeg: set CUFACE_DATA\n");
    return 1;
  }
  const cv::Mat small = large(cv::Rect(100, 100, 648, 488));
  std::vector<std::unique_ptr<Pair>> pairs;
  std::vector<bench::Contest> contests;
  const auto add = [&](const std::string& name, const cv::Mat& picture, const EdgeConfig& config,
                       double goal, Wanted wanted = Wanted::kMap) {
    Pair* pair = pairs.emplace_back(std::make_unique<Pair>(picture, config, wanted)).get();
    contests.push_back({name, 1, [pair] { pair->ours(); }, [pair] { pair->opencv(); }, goal});
  };
  for (const int aperture : {3, 5, 7}) {
    for (const GradientNorm norm : {GradientNorm::kL1, GradientNorm::kL2}) {
      EdgeConfig config;
      config.kernel_size = 1;
      config.aperture = aperture;
      config.norm = norm;
      const double scale = aperture == 3 ? 1 : aperture == 5 ? 12 : 160;  // alike many edges
      config.low *= scale;
      config.high *= scale;
      add("edges, 1080p, aperture " + std::to_string(aperture) +
              (norm == GradientNorm::kL1 ? ", l1" : ", l2"),
          large, config, 3);
    }
  }
  add("edges, 1080p, blur of 5", large, {}, 3);
  add("edges, 640x480, blur of 5", small, {}, 0);
  EdgeConfig euclidean;
  euclidean.norm = GradientNorm::kL2;
  add("gradient, 640x480, blur of 5, l1, beside cv::magnitude", small, {}, 0, Wanted::kGradient);
  add("gradient, 640x480, blur of 5, l2, beside cv::magnitude", small, euclidean, 0,
      Wanted::kGradient);
  add("angle, 640x480, blur of 5, beside cv::phase", small, {}, 0, Wanted::kAngle);
  return bench::run_contests("cv::Canny, behind cv::GaussianBlur where there is a blur", contests,
                             kPasses, argc, argv);
}
