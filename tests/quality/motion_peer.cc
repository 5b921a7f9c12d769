// What people run today to see motion, on grey frames of 8 bit: a mask a frame, 255 or 0.
//
//   motion_peer mog2|mog2-median|difference|canny WIDTH HEIGHT < frames > masks
//
// mog2: OpenCV's background subtractor with its defaults and no shadows; mog2-median: and a median
// of 5 x 5 over its mask; difference: of successive frames, by more than 15 grey levels; canny: no
// motion, but the edge maps that motion_masks wants.
#include <cstdio>
#include <cstdlib>
#include <opencv2/imgproc.hpp>
#include <opencv2/video/background_segm.hpp>
#include <string>

int main(int argc, char** argv) {
  const std::string method = argc == 4 ? argv[1] : "";
  if (method != "mog2" && method != "mog2-median" && method != "difference" && method != "canny") {
    std::fprintf(stderr, "usage: motion_peer mog2|mog2-median|difference|canny WIDTH HEIGHT\n");
    return 2;
  }
  cv::setNumThreads(1);
  const auto model = cv::createBackgroundSubtractorMOG2(500, 16, false);
  cv::Mat frame(std::atoi(argv[3]), std::atoi(argv[2]), CV_8U), then, mask;
  while (std::fread(frame.data, 1, frame.total(), stdin) == frame.total()) {
    if (method == "canny") {
      cv::GaussianBlur(frame, mask, {5, 5}, 0);
      cv::Canny(mask, mask, 50, 150);
    } else if (method == "difference") {
      if (then.empty()) then = frame.clone();
      cv::absdiff(frame, then, mask);
      cv::threshold(mask, mask, 15, 255, cv::THRESH_BINARY);
      frame.copyTo(then);
    } else {
      model->apply(frame, mask);
      if (method == "mog2-median") cv::medianBlur(mask, mask, 5);
    }
    if (std::fwrite(mask.data, 1, mask.total(), stdout) != mask.total()) return 1;
  }
  return 0;
}
