// Frames of a clip of the test data, decoded by the ffmpeg program. Grey is the Y plane of the file
// as it is: what matters here is that ours and the other implementation see the same bytes.
#pragma once

#include <cstdio>
#include <opencv2/core.hpp>
#include <string>
#include <vector>

namespace cuface::test {

/// At most `count` frames; empty when the clip cannot be decoded.
inline std::vector<cv::Mat> read_clip(const std::string& path, int width, int height, int count) {
  std::vector<cv::Mat> frames;
  const std::string command = "ffmpeg -nostdin -v error -i '" + path + "' -frames:v " +
                              std::to_string(count) + " -pix_fmt gray -f rawvideo -";
  FILE* pipe = popen(command.c_str(), "r");
  if (!pipe) return frames;
  for (;;) {
    cv::Mat frame(height, width, CV_8U);
    if (std::fread(frame.data, 1, frame.total(), pipe) != frame.total()) break;
    frames.push_back(frame);
  }
  pclose(pipe);
  return frames;
}

}  // namespace cuface::test
