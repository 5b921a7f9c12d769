// Landmark schemes: those that are known, and what one may not say.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <utility>
#include <vector>

#include "kernels/faces/landmark_scheme.h"

namespace cuface {
namespace {

int lines_of(const LandmarkScheme& s) {
  int lines = 0;
  for (int c = 0; c < s.curves; ++c)
    lines += s.curve[c].last - s.curve[c].first + s.curve[c].closed;
  return lines;
}

TEST(LandmarkScheme, KnownOnes) {
  struct Known {
    int points, eye_points, curves, joined;
    bool mouth, jaw;
  };
  const Known all[] = {{68, 6, 9, 68, true, true},
                       {77, 8, 10, 67, true, true},  // not eyelids, pupils, ridge of the nose
                       {79, 0, 1, 15, false, true},
                       {5, 2, 0, 0, false, false},
                       {194, 20, 8, 194, true, true},
                       {21, 0, 0, 0, false, false}};
  for (const Known& known : all) {
    const LandmarkScheme s = known_scheme(known.points);
    EXPECT_TRUE(validate(s, known.points).ok()) << known.points;
    EXPECT_EQ(s.eyes.count, known.eye_points);
    EXPECT_EQ(s.curves, known.curves);
    EXPECT_EQ(s.mouth.count > 0, known.mouth);
    EXPECT_EQ(s.jaw.count > 0, known.jaw);
    int joined = 0;
    for (int i = 0; i < known.points; ++i) joined += s.has_on_curve(i);
    EXPECT_EQ(joined, known.joined) << known.points;
    EXPECT_LE(lines_of(s), kMaxLandmarkLines);
  }
}

TEST(LandmarkScheme, WhatIsSaidCountsForItsPointsOnly) {
  LandmarkScheme said;
  said.points = 68;
  EXPECT_EQ(scheme_for(&said, 68).curves, 0);
  EXPECT_EQ(scheme_for(&said, 77).curves, 10);
  EXPECT_EQ(scheme_for(nullptr, 68).curves, 9);
  said.points = 0;
  said.curves = 3;
  EXPECT_EQ(scheme_for(&said, 0).curves, 0);
}

TEST(LandmarkScheme, WhatIsRefused) {
  const std::pair<const char*, std::function<void(LandmarkScheme&)>> faults[] = {
      {"other points", [](auto& s) { s.points = 69; }},
      {"negative points", [](auto& s) { s.points = -68; }},
      {"left eye", [](auto& s) { s.eyes.left = 63; }},
      {"right eye", [](auto& s) { s.eyes.right = -1; }},
      {"eyes without end", [](auto& s) { s.eyes.count = 32767; }},
      {"eyes of less than nothing", [](auto& s) { s.eyes.count = -2; }},
      {"mouth",
       [](auto& s) {
         s.mouth = {60, 9};
       }},
      {"jaw",
       [](auto& s) {
         s.jaw = {-1, 4};
       }},
      {"low point", [](auto& s) { s.low.index = 68; }},
      {"kind of low point", [](auto& s) { s.low.kind = static_cast<LowPoint::Kind>(3); }},
      {"size", [](auto& s) { s.size.below = 400; }},
      {"33 curves", [](auto& s) { s.curves = 33; }},
      {"-1 curves", [](auto& s) { s.curves = -1; }},
      {"curve beyond", [](auto& s) { s.curve[2].last = 68; }},
      {"curve before", [](auto& s) { s.curve[2].first = -1; }},
      {"curve backwards",
       [](auto& s) {
         s.curve[0] = {16, 0, 0};
       }},
      {"neither open nor closed", [](auto& s) { s.curve[0].closed = 2; }},
      {"lines", [](auto& s) {
         s.curves = 32;
         for (LandmarkCurve& c : s.curve) c = {0, 67, 1};
       }}};
  for (const auto& [what, change] : faults) {
    LandmarkScheme s = known_scheme(68);
    change(s);
    const Status status = validate(s, 68);
    EXPECT_EQ(status.code(), StatusCode::kCorrupt) << what;
    EXPECT_NE(status.message().find("scheme"), std::string::npos) << what;
  }
  EXPECT_TRUE(validate(LandmarkScheme{}, 68).ok()) << "nobody has said anything";
}

TEST(LandmarkScheme, PointsInAnotherOrderHaveNone) {
  const auto shape_with = [](float x) {
    std::vector<Point> shape(68, {0.5f, 0.6f});
    const LandmarkScheme s = known_scheme(68);
    for (int i = 0; i < 17; ++i)
      shape[static_cast<std::size_t>(i)] = {static_cast<float>(i) / 16, i == 8 ? 1.0f : 0.8f};
    for (int i = 0; i < s.eyes.count; ++i) {
      shape[static_cast<std::size_t>(s.eyes.left + i)] = {0.5f - x, 0.2f};
      shape[static_cast<std::size_t>(s.eyes.right + i)] = {0.5f + x, 0.2f};
    }
    return shape;
  };
  EXPECT_EQ(known_scheme(shape_with(0.2f)).curves, 9);
  EXPECT_EQ(known_scheme(shape_with(-0.2f)).curves, 0) << "the left eye is on the right";
  EXPECT_EQ(known_scheme(shape_with(0.2f)).points, 68);
  std::vector<Point> scattered = shape_with(0.2f);
  scattered[50] = {-0.3f, 0.9f};
  EXPECT_EQ(known_scheme(scattered).eyes.count, 0) << "a line across the face";
  std::vector<Point> upside_down = shape_with(0.2f);
  for (Point& p : upside_down) p.y = -p.y;
  EXPECT_EQ(known_scheme(upside_down).curves, 0);
  EXPECT_EQ(known_scheme(std::vector<Point>(68)).curves, 0) << "no face at all";
  EXPECT_EQ(known_scheme(std::vector<Point>(68, {NAN, NAN})).curves, 0);
  const std::vector<Point> five = {
      {0.8f, 0.3f}, {0.6f, 0.3f}, {0.2f, 0.3f}, {0.4f, 0.3f}, {0.5f, 1}};
  EXPECT_EQ(known_scheme(five).eyes.count, 2);
}

}  // namespace
}  // namespace cuface
