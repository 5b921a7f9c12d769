// overlay of landmarks, by their scheme and their confidences, and of text.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/overlay/overlay.h"
#include "tests/kernels/overlay_frames.h"

namespace cuface {
namespace {

using test::layout;
using test::some_faces;
using test::style;
using Frame = test::OverlayFrame;

/// Pixels that differ from a plain picture of 100.
int inked_pixels(const FaceList& faces, const OverlayStyle& s, int width = 160, int height = 120) {
  Frame frame(layout("GRAY8"), width, height, true);
  frame.paint([](int, int, int) { return 100; });
  draw_faces(frame.view(), ColorMatrix::kBt601, faces, s);
  int n = 0;
  for (int v : frame.all()) n += v != 100;
  return n;
}

TEST(OverlayLandmarks, ContourJoinsTheFeaturesOf68Points) {
  FaceList faces = some_faces(160, 120, 30, 20, 70);
  // Every point on the spot of its curve: 9 spots. Lines must join no two curves.
  const int starts[] = {0, 17, 22, 27, 31, 36, 42, 48, 60, 68};
  for (int c = 0; c < 9; ++c)
    for (int i = starts[c]; i < starts[c + 1]; ++i)
      faces.landmarks[static_cast<std::size_t>(i)] = {15.0f + 15 * c, 60};
  EXPECT_EQ(inked_pixels(faces, style(kDrawContour)), 9 * 9);  // a disc 2 px wide: 3 x 3 pixels

  // One point of a curve moved away draws its lines; only closed curves have a line from the last
  // point to the first.
  for (int c = 0; c < 9; ++c) {
    FaceList open = faces;
    open.landmarks[static_cast<std::size_t>(starts[c])] = {15.0f + 15 * c, 20};
    const int one_line = inked_pixels(open, style(kDrawContour));
    open.landmarks[static_cast<std::size_t>(starts[c + 1] - 1)] = {15.0f + 15 * c, 100};
    open.landmarks[static_cast<std::size_t>(starts[c])].x += 1;  // so that lines do not coincide
    Frame frame(layout("GRAY8"), 160, 120, true);
    frame.paint([](int, int, int) { return 100; });
    draw_faces(frame.view(), ColorMatrix::kBt601, open, style(kDrawContour, 1));
    EXPECT_GT(one_line, 9 * 9 + 100);
    // From (x+1, 20) and (x, 100) two lines meet at (x, 60); a closing line passes x + 1/2 there.
    const bool closed = frame.get(0, 15 + 15 * c + 1, 59) > 130;
    EXPECT_EQ(closed, c >= 5) << "curve " << c;
  }
}

TEST(OverlayLandmarks, OtherModelsAreDrawnAsPoints) {
  const FaceList five = some_faces(160, 120, 30, 20, 70, 5);
  const int discs = inked_pixels(five, style(kDrawPoints));
  EXPECT_GT(discs, 5 * 15);
  EXPECT_EQ(inked_pixels(five, style(kDrawContour)), discs);
  const FaceList many = some_faces(160, 120, 30, 20, 70, 194 * 2);  // more than one batch
  EXPECT_GT(inked_pixels(many, style(kDrawPoints)), 1000);
  const FaceList none = some_faces(160, 120, 30, 20, 70, 0);
  EXPECT_EQ(inked_pixels(none, style(kDrawPoints | kDrawContour)), 0);
}

TEST(OverlayLandmarks, TheSchemeOfTheModelIsDrawn) {
  FaceList faces = some_faces(160, 120, 30, 20, 70);
  for (std::size_t i = 0; i < 68; ++i)
    faces.landmarks[i] = {10.0f + 20 * static_cast<float>(i % 7),
                          10.0f + 10 * static_cast<float>(i / 7)};
  LandmarkScheme own;
  own.points = 68;
  const auto drawn = [&](unsigned draw) {
    faces.scheme = std::make_shared<const LandmarkScheme>(own);
    return inked_pixels(faces, style(draw));
  };
  constexpr int kDisc = 29;  // of line width 2 the points' discs, as counted below
  const int discs = drawn(kDrawPoints);
  EXPECT_EQ(discs % 68, 0);
  EXPECT_NEAR(discs / 68, kDisc, 8);
  EXPECT_EQ(drawn(kDrawContour), discs) << "a scheme that nobody knows: points";
  own.curves = 1;
  own.curve[0] = {0, 6, 0};
  const int with_line = drawn(kDrawContour);
  EXPECT_NE(with_line, discs);
  EXPECT_GT(with_line, discs / 68 * 61 + 120 * 2) << "a line of 120 pixels, and 61 points";
  EXPECT_LT(with_line, discs / 68 * 61 + 130 * 4);
  own.points = 67;
  EXPECT_EQ(drawn(kDrawContour), [&] {
    faces.scheme = nullptr;
    return inked_pixels(faces, style(kDrawContour));
  }()) << "said of other points: that of 68";
}

TEST(OverlayLandmarks, WeakPointsAreDimAndConfidencesHaveColours) {
  FaceList faces = some_faces(160, 120, 30, 20, 70, 6);
  for (std::size_t i = 0; i < 6; ++i) faces.landmarks[i] = {20.0f + 20 * static_cast<float>(i), 60};
  OverlayStyle s = style(kDrawPoints);
  s.landmark_color = 0xffffffff;
  const auto drawn = [&](unsigned draw) {
    s.draw = draw;
    auto frame = std::make_unique<Frame>(layout("RGB"), 160, 120, true);
    frame->paint([](int, int, int) { return 100; });
    draw_faces(frame->view(), ColorMatrix::kBt709, faces, s);
    return frame;
  };
  const auto plain = drawn(kDrawPoints)->all();
  EXPECT_EQ(drawn(kDrawPointConfidence)->all(), plain) << "nobody knows: their own colour";
  faces.landmark_confidences.assign(6, 1);
  EXPECT_EQ(drawn(kDrawPoints)->all(), plain) << "strong points are as before";
  faces.landmark_confidences = {1, 0.5f, 0.49f, 0, 0.95f, 0.7f};
  const auto at = [](const std::unique_ptr<Frame>& frame, int point, int component) {
    return frame->get(component, 20 + 20 * point, 60);
  };
  for (const int point : {0, 1, 4, 5}) EXPECT_EQ(at(drawn(kDrawPoints), point, 0), 255) << point;
  for (const int point : {2, 3}) {
    EXPECT_NEAR(at(drawn(kDrawPoints), point, 0), 100 + 155 * 3 / 8, 2) << point;
    EXPECT_NEAR(at(drawn(kDrawPoints), point, 2), 100 + 155 * 3 / 8, 2) << point;
  }
  const int colours[6][3] = {{0, 208, 0}, {255, 128, 0}, {255, 0, 0},
                             {255, 0, 0}, {0, 208, 0},   {255, 224, 0}};
  for (int point = 0; point < 6; ++point)
    for (int c = 0; c < 3; ++c)
      EXPECT_EQ(at(drawn(kDrawPointConfidence), point, c), colours[point][c]) << point << " " << c;
  // A line is as sure as its weaker end.
  LandmarkScheme own;
  own.points = 6;
  own.curves = 1;
  own.curve[0] = {1, 2, 0};
  faces.scheme = std::make_shared<const LandmarkScheme>(own);
  EXPECT_NEAR(drawn(kDrawContour)->get(0, 50, 60), 100 + 155 * 3 / 8, 3);
}

TEST(OverlayText, ShowsWhatIsKnown) {
  FaceList faces = some_faces(320, 240, 60, 100, 70, 0);
  const auto ink = [&](unsigned draw, std::uint64_t id, float confidence) {
    faces.faces[0].id = id;
    faces.faces[0].confidence = confidence;
    return inked_pixels(faces, style(draw), 320, 240);
  };
  EXPECT_EQ(ink(kDrawId, 0, 0.5f), 0);  // nobody gave an id
  EXPECT_GT(ink(kDrawId, 1, 0.5f), 30);
  EXPECT_GT(ink(kDrawId, 8888, 0.5f), ink(kDrawId, 8, 0.5f));
  EXPECT_EQ(ink(kDrawId, 7, 0.1f), ink(kDrawId, 7, 0.9f));
  EXPECT_GT(ink(kDrawConfidence, 0, 0.5f), 30);
  EXPECT_GT(ink(kDrawId | kDrawConfidence, 3, 1.0f), ink(kDrawConfidence, 3, 1.0f));
  EXPECT_GT(ink(kDrawId, ~std::uint64_t{0}, 0), 200);
  // Every digit has a shape of its own.
  std::vector<std::vector<int>> shapes;
  for (int digit = 0; digit < 10; ++digit) {
    Frame frame(layout("GRAY8"), 320, 240, true);
    frame.paint([](int, int, int) { return 100; });
    faces.faces[0].id = static_cast<std::uint64_t>(10 + digit);
    draw_faces(frame.view(), ColorMatrix::kBt601, faces, style(kDrawId));
    for (const auto& other : shapes) EXPECT_NE(frame.all(), other) << digit;
    shapes.push_back(frame.all());
  }
}

TEST(OverlayText, MovesInsideAtTheTop) {
  const FaceList top = some_faces(320, 240, 60, -10, 70, 0);
  EXPECT_GT(inked_pixels(top, style(kDrawId), 320, 240), 30);
}

}  // namespace
}  // namespace cuface
