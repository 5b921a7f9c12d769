// overlay where the frame ends, and of boxes and points that cannot be drawn.
#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <utility>

#include "kernels/overlay/overlay.h"
#include "tests/kernels/overlay_frames.h"

namespace cuface {
namespace {

using test::blocks;
using test::face_at;
using test::kEverything;
using test::layout;
using test::layouts;
using test::some_faces;
using test::style;
using Frame = test::OverlayFrame;
using Layout = test::OverlayLayout;

TEST(OverlayBorders, AFrameIsAWindowOnTheDrawing) {
  // The same face drawn in a frame of 3 x 3 times the size, whose middle must look the same.
  const int width = 64, height = 48;
  int cases = 0, inked = 0;
  for (const char* name : {"Y444", "NV12", "YUY2", "RGB", "P010"}) {
    for (float x : {-70.0f, -33.25f, -0.5f, 20.0f, 40.0f, 63.75f, 80.0f}) {
      for (float y : {-70.0f, -20.5f, 0.0f, 10.0f, 30.25f, 47.75f, 60.0f}) {
        for (unsigned draw : {+kDrawBox, kDrawContour | kDrawPoints}) {
          Frame small(layout(name), width, height), large(layout(name), width * 3, height * 3);
          const auto gray = [](int, int, int) { return 90; };
          small.paint(gray);
          large.paint(gray);
          const auto s = style(draw, 3);
          draw_faces(small.view(), ColorMatrix::kBt601, some_faces(width, height, x, y, 37), s);
          FaceList shifted = some_faces(width, height, x, y, 37);
          shifted.faces[0].box.x += width;
          shifted.faces[0].box.y += height;
          for (Point& p : shifted.landmarks) p = {p.x + width, p.y + height};
          draw_faces(large.view(), ColorMatrix::kBt601, shifted, s);
          for (int i = 0; i < 3; ++i) {
            for (int v = 0; v < small.rows(i); ++v) {
              for (int u = 0; u < small.columns(i); ++u) {
                ASSERT_EQ(small.get(i, u, v), large.get(i, u + small.columns(i), v + small.rows(i)))
                    << name << " " << x << "," << y << " at " << u << "," << v;
                inked += small.get(i, u, v) != small.get(i, 0, 0);
              }
            }
          }
          ASSERT_EQ(small.damage(), 0);
          ++cases;
        }
      }
    }
  }
  EXPECT_EQ(cases, 5 * 49 * 2);
  EXPECT_GT(inked, 20000);
}

TEST(OverlayBorders, TouchesOnlyWhatItDraws) {
  const FaceList faces = some_faces(200, 200, 80, 80, 40);
  Frame frame(layout("Y444"), 200, 200);
  frame.paint(blocks);
  draw_faces(frame.view(), ColorMatrix::kBt601, faces, style(kDrawBox | kDrawContour));
  int changed = 0;
  for (int i = 0; i < 3; ++i) {
    for (int y = 0; y < 200; ++y) {
      for (int x = 0; x < 200; ++x) {
        const bool same = frame.get(i, x, y) == blocks(i, x, y);
        const bool near_face = x >= 78 && x < 122 && y >= 78 && y < 127;
        ASSERT_TRUE(same || near_face) << x << "," << y;
        changed += !same;
      }
    }
  }
  EXPECT_GT(changed, 800);
}

TEST(OverlayBorders, EverySizeAndPlaceStaysInside) {
  std::mt19937 random(4);
  std::uniform_real_distribution<float> position(-200, 400), size(0.1f, 500);
  int drawn = 0;
  for (int round = 0; round < 400; ++round) {
    const Layout& l = layouts()[static_cast<std::size_t>(round) % layouts().size()];
    const int width = 1 + static_cast<int>(random() % 200),
              height = 1 + static_cast<int>(random() % 200);
    Frame frame(l, width, height);
    frame.paint(blocks);
    const auto before = frame.all();
    FaceList faces =
        some_faces(width, height, position(random), position(random), size(random), 68);
    draw_faces(frame.view(), ColorMatrix::kBt601, faces,
               style(kEverything, static_cast<int>(random() % 9)));
    ASSERT_EQ(frame.damage(), 0) << l.name << " " << width << "x" << height;
    drawn += frame.all() != before;
  }
  EXPECT_GT(drawn, 100);
}

TEST(OverlayBadInput, IsIgnored) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float inf = std::numeric_limits<float>::infinity();
  for (const char* name : {"I420", "RGB", "P010"}) {
    Frame frame(layout(name), 80, 60);
    frame.paint(blocks);
    const auto before = frame.all();
    FaceList faces;
    faces.landmarks_per_face = 68;
    for (float bad : {nan, inf, -inf, 1e30f, -1e30f, 3e6f}) {
      for (int i = 0; i < 4; ++i) {
        float v[4] = {10, 10, 30, 30};
        v[i] = bad;
        faces.faces.push_back(face_at(v[0], v[1], v[2], v[3], 0, nan));
        for (int p = 0; p < 68; ++p)
          faces.landmarks.push_back(p % 2 ? Point{bad, 20} : Point{20, bad});
      }
    }
    faces.faces.push_back(face_at(10, 10, 0, 20));
    faces.faces.push_back(face_at(10, 10, 20, -5));
    for (int p = 0; p < 2 * 68; ++p) faces.landmarks.push_back({nan, nan});
    draw_faces(frame.view(), ColorMatrix::kBt601, faces, style(kEverything));
    EXPECT_EQ(frame.all(), before) << name;
    EXPECT_EQ(frame.damage(), 0);
  }
}

TEST(OverlayBadInput, OneBadPointCostsItsOwnLines) {
  FaceList faces = some_faces(100, 100, 20, 20, 60);
  Frame good(layout("Y444"), 100, 100), bad(layout("Y444"), 100, 100);
  good.paint(blocks);
  bad.paint(blocks);
  draw_faces(good.view(), ColorMatrix::kBt601, faces, style(kDrawContour));
  faces.landmarks[5].x = std::numeric_limits<float>::quiet_NaN();
  draw_faces(bad.view(), ColorMatrix::kBt601, faces, style(kDrawContour));
  const auto a = good.all(), b = bad.all();
  int differ = 0;
  for (std::size_t i = 0; i < a.size(); ++i) differ += a[i] != b[i];
  EXPECT_GT(differ, 10);
  EXPECT_LT(differ, 3000);
}

}  // namespace
}  // namespace cuface
