// Where the test data lies. Tests that need it skip, visibly, where it is missing.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace cuface::test {

/// $CUFACE_DATA (meson sets it), or "" when that folder is not there.
inline std::string data_dir() {
  const char* dir = std::getenv("CUFACE_DATA");
  return dir && std::filesystem::is_directory(dir) ? dir : "";
}

/// $CUFACE_CASCADES, else Debian's OpenCV cascades (package opencv-data).
inline const std::string kCascadeDir = [] {
  const char* dir = std::getenv("CUFACE_CASCADES");
  return std::string(dir ? dir : "/usr/share/opencv4/haarcascades");
}();

/// The folder models/fetch fills: $CUFACE_MODEL_PATH, else $XDG_CACHE_HOME/gst-cuface, else
/// ~/.cache/gst-cuface.
inline std::string model_dir() {
  if (const char* dir = std::getenv("CUFACE_MODEL_PATH")) return dir;
  if (const char* dir = std::getenv("XDG_CACHE_HOME")) return std::string(dir) + "/gst-cuface";
  const char* home = std::getenv("HOME");
  return std::string(home ? home : "") + "/.cache/gst-cuface";
}

}  // namespace cuface::test

/// Skips the test, with the reason, when the shared pictures are not there.
#define CUFACE_NEEDS_DATA() \
  if (cuface::test::data_dir().empty()) GTEST_SKIP() << "no test data: set CUFACE_DATA"
