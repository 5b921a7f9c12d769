// The landmark model of tests that need no real data: a forest that cuface-train has trained on
// drawn heads while the tests were built (tests/train/drawn-heads).
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>

#include "models/models.h"

namespace cuface::test {

inline constexpr int kDrawnHeadPoints = 68;

/// dlib's file of it; a failure of the test where the build does not say where it is.
inline std::string drawn_heads_model() {
  const char* path = std::getenv("CUFACE_DRAWN_HEADS");
  EXPECT_NE(path, nullptr) << "CUFACE_DRAWN_HEADS is not set: run tests by meson";
  return path ? path : "";
}

/// The same as the loader makes it of that file.
inline std::shared_ptr<const ForestModel> drawn_heads_forest() {
  const auto model = load_forest(drawn_heads_model());
  EXPECT_TRUE(model.ok()) << model.status().message();
  return model.value();
}

}  // namespace cuface::test
