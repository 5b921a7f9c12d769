// colour beside OpenCV's conversion and resizing, in turns.
#include <cstdlib>
#include <memory>
#include <opencv2/imgproc.hpp>
#include <string>
#include <utility>
#include <vector>

#include "kernels/colour/colour.h"
#include "tests/bench/ratio.h"

namespace {

using namespace cuface;

/// A frame of noise of one size, as OpenCV has it and as we see it.
class Frames {
 public:
  Frames(int width, int height, bool nv12) : nv12_(nv12) {
    picture_.create(nv12 ? height * 3 / 2 : height, width, nv12 ? CV_8U : CV_8UC3);
    cv::randu(picture_, 16, 236);
    const auto stride = static_cast<std::ptrdiff_t>(picture_.step);
    view_ = {width, height, !nv12, !nv12, {}};
    std::uint8_t* chroma = picture_.data + height * stride;
    if (nv12) {
      view_.component[0] = {picture_.data, stride, 1, 8, 0, 0, 0};
      for (int c = 1; c < 3; ++c) view_.component[c] = {chroma + c - 1, stride, 2, 8, 0, 1, 1};
    } else {
      for (int c = 0; c < 3; ++c)
        view_.component[c] = {picture_.data + 2 - c, stride, 3, 8, 0, 0, 0};
    }
  }

  bench::Contest contest(int input_size, int interpolation, int passes) {
    const BgrSize size = bgr_size(view_.width, view_.height, input_size);
    const auto text = [](int w, int h) { return std::to_string(w) + "x" + std::to_string(h); };
    const auto ours = [this, size, input_size, passes] {
      if (!scaler_ || made_.size() != cv::Size(size.width, size.height)) {
        auto scaler = BgrScaler::create(view_.width, view_.height, input_size);
        if (!scaler.ok()) std::abort();
        scaler_ = std::make_unique<BgrScaler>(std::move(scaler.value()));
        made_.create(size.height, size.width, CV_8UC3);
      }
      for (int i = 0; i < passes; ++i)
        if (!scaler_
                 ->run(view_, ColorMatrix::kBt601,
                       {reinterpret_cast<Bgr*>(made_.data), size.width, size.height,
                        static_cast<std::ptrdiff_t>(made_.step)})
                 .ok())
          std::abort();
    };
    const auto peer = [this, size, interpolation, passes] {
      for (int i = 0; i < passes; ++i) {
        if (nv12_) cv::cvtColor(picture_, converted_, cv::COLOR_YUV2BGR_NV12);
        const cv::Mat& whole = nv12_ ? converted_ : picture_;
        if (whole.cols == size.width) {
          if (!nv12_) whole.copyTo(resized_);
        } else {
          cv::resize(whole, resized_, cv::Size(size.width, size.height), 0, 0, interpolation);
        }
      }
    };
    const char* how = interpolation == cv::INTER_LINEAR ? ", INTER_LINEAR" : "";
    return {std::string(nv12_ ? "NV12 " : "BGR ") + text(view_.width, view_.height) + " to " +
                text(size.width, size.height) + how,
            static_cast<double>(passes), ours, peer};
  }

 private:
  bool nv12_;
  cv::Mat picture_, converted_, resized_, made_;
  FrameView view_;
  std::unique_ptr<BgrScaler> scaler_;
};

}  // namespace

int main(int argc, char** argv) {
  cv::setNumThreads(1);
  Frames hd(1280, 720, true), full_hd(1920, 1080, true), small(640, 360, true),
      bgr(1280, 720, false);
  return bench::run_contests(
      "OpenCV's cvtColor and resize, INTER_LINEAR_EXACT unless stated",
      {hd.contest(640, cv::INTER_LINEAR_EXACT, 4), hd.contest(640, cv::INTER_LINEAR, 4),
       hd.contest(500, cv::INTER_LINEAR_EXACT, 4), hd.contest(320, cv::INTER_LINEAR_EXACT, 4),
       hd.contest(0, cv::INTER_LINEAR_EXACT, 4), full_hd.contest(640, cv::INTER_LINEAR_EXACT, 4),
       small.contest(0, cv::INTER_LINEAR_EXACT, 8), bgr.contest(640, cv::INTER_LINEAR_EXACT, 4)},
      51, argc, argv);
}
