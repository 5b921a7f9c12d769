// What the tests of cufacepublish share: its file, frames with faces, pushing.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tests/gst/faces.h"

namespace cuface::test {

using Json = nlohmann::ordered_json;

constexpr int kWidth = 640, kHeight = 360;

class FacePublish : public testing::Test {
 public:
  std::string launch(const std::string& more = "") const {
    return "cufacepublish location=" + path_.string() + " " + more;
  }
  std::string text() const {
    std::ifstream file(path_);
    std::ostringstream all;
    all << file.rdbuf();
    return all.str();
  }
  std::vector<std::string> lines() const {
    std::vector<std::string> all;
    std::istringstream stream(text());
    for (std::string line; std::getline(stream, line);) all.push_back(line);
    return all;
  }

  const TempFolder temp_;
  const std::filesystem::path folder_ = temp_.path(), path_ = folder_ / "faces.jsonl";
};

inline GstBuffer* frame(int number, int faces = 1, int landmarks = 68) {
  return with_faces(
      plain_frame("GRAY8", kWidth, kHeight, number),
      make_faces(kWidth, kHeight, faces, landmarks, 0.1f * static_cast<float>(number)));
}

/// Pushes and throws away what comes out.
inline GstFlowReturn push(Harness& h, GstBuffer* buffer) {
  const GstFlowReturn flow = gst_harness_push(h.get(), buffer);
  if (GstBuffer* out = gst_harness_try_pull(h.get())) gst_buffer_unref(out);
  return flow;
}

}  // namespace cuface::test
