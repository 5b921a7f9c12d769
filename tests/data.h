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

/// The file of a cascade, named without prefix and suffix as in OpenCV 4.6; one name is spelt
/// otherwise from 4.10 on.
inline std::string cascade_path(const std::string& name) {
  const auto path = [](const std::string& n) { return kCascadeDir + "/haarcascade_" + n + ".xml"; };
  if (name == "licence_plate_rus_16stages" && !std::filesystem::exists(path(name)))
    return path("license_plate_rus_16stages");
  return path(name);
}

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

/// Skips the test when OpenCV's cascades are not there.
#define CUFACE_NEEDS_CASCADES() \
  if (!std::filesystem::is_directory(cuface::test::kCascadeDir)) GTEST_SKIP() << "no opencv-data"
