// overlay against definitions written out in double in this file, and as properties that hold for
// every layout: what is drawn does not depend on the format.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "kernels/overlay/overlay.h"
#include "kernels/overlay/raster.h"
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

// ---- against definitions in double -------------------------------------------------------------

double segment_distance(double x, double y, double ax, double ay, double bx, double by) {
  const double dx = bx - ax, dy = by - ay, square = dx * dx + dy * dy;
  const double t = square > 0 ? std::clamp(((x - ax) * dx + (y - ay) * dy) / square, 0.0, 1.0) : 0;
  return std::hypot(x - ax - t * dx, y - ay - t * dy);
}

TEST(OverlayStroke, EqualsDistanceToTheUnionOfSegments) {
  std::mt19937 random(1);
  std::uniform_int_distribution<int> position(-20 * 256, 120 * 256), radius(100, 1500);
  int compared = 0, inked = 0;
  for (int round = 0; round < 60; ++round) {
    std::vector<raster::Stroke> strokes;
    for (int i = 0; i <= round % 4; ++i) {
      const raster::FixedPoint a = {position(random), position(random)};
      raster::FixedPoint b = {position(random), position(random)};
      if (round % 5 == 0) b = a;
      strokes.push_back({a, b, radius(random)});
    }
    Frame frame(layout("GRAY8"), 101, 97, true);
    frame.paint([](int, int, int) { return 0; });
    raster::Ink ink;
    ink.value = {255, 0, 0};
    ink.alpha = 256;
    raster::fill(frame.view(), strokes, ink);
    for (int y = 0; y < 97; ++y) {
      for (int x = 0; x < 101; ++x) {
        double coverage = 0;
        for (const auto& s : strokes) {
          const double r = s.radius / 256.0;
          const auto inside = [&](double px, double py) {
            return r - segment_distance(px, py, s.a.x / 256.0, s.a.y / 256.0, s.b.x / 256.0,
                                        s.b.y / 256.0);
          };
          coverage = std::max(coverage, std::clamp(inside(x, y) + 0.5, 0.0, 1.0));
        }
        ASSERT_NEAR(frame.get(0, x, y), coverage * 255, 2.1) << "at " << x << "," << y;
        ++compared;
        inked += coverage > 0;
      }
    }
    EXPECT_EQ(frame.damage(), 0);
  }
  EXPECT_GT(compared, 500000);
  EXPECT_GT(inked, 40000);
}

TEST(OverlayStroke, LooksAsTheAreaItCovers) {
  // What anti-aliasing promises: a slanted line 2 px wide, sampled 16 x 16 times a pixel.
  Frame frame(layout("GRAY8"), 64, 48, true);
  frame.paint([](int, int, int) { return 0; });
  raster::Ink ink;
  ink.value = {255, 0, 0};
  ink.alpha = 256;
  const raster::Stroke line = {{5 * 256 + 77, 6 * 256 + 10}, {57 * 256 + 200, 39 * 256 + 3}, 256};
  raster::fill(frame.view(), std::span(&line, 1), ink);
  double worst = 0, sum = 0, expected = 0;
  for (int y = 0; y < 48; ++y) {
    for (int x = 0; x < 64; ++x) {
      int inside = 0;
      for (int j = 0; j < 16; ++j)
        for (int i = 0; i < 16; ++i)
          inside += segment_distance(x + (i - 7.5) / 16, y + (j - 7.5) / 16, line.a.x / 256.0,
                                     line.a.y / 256.0, line.b.x / 256.0, line.b.y / 256.0) <= 1;
      const double area = inside / 256.0, got = frame.get(0, x, y) / 255.0;
      worst = std::max(worst, std::abs(area - got));
      sum += got;
      expected += area;
    }
  }
  EXPECT_LT(worst, 0.15);
  EXPECT_NEAR(sum / expected, 1, 0.01);
}

TEST(OverlayBox, EqualsTheAreaBetweenTwoRectangles) {
  std::mt19937 random(2);
  std::uniform_real_distribution<float> position(-30, 110), size(0.3f, 90);
  int compared = 0, partly = 0;
  for (int round = 0; round < 100; ++round) {
    const int width = 1 + round % 4;
    Box box = {position(random), position(random), size(random), size(random)};
    if (round % 3 == 0) box = {std::rint(box.x), std::rint(box.y), std::ceil(box.w), 7};
    Frame frame(layout("RGB"), 99, 101);
    frame.paint([](int, int, int) { return 0; });
    FaceList faces;
    faces.faces = {face_at(box.x, box.y, box.w, box.h)};
    OverlayStyle s = style(kDrawBox, width);
    s.box_color = 0xffffffff;
    draw_faces(frame.view(), ColorMatrix::kBt601, faces, s);
    const auto overlap = [](double p, double low, double high) {
      return std::max(0.0, std::min(high, p + 1) - std::max(low, p));
    };
    const double right = box.x + box.w, bottom = box.y + box.h;
    for (int y = 0; y < 101; ++y) {
      for (int x = 0; x < 99; ++x) {
        const double outer = overlap(x, box.x, right) * overlap(y, box.y, bottom);
        const double hole =
            overlap(x, box.x + width, right - width) * overlap(y, box.y + width, bottom - width);
        ASSERT_NEAR(frame.get(1, x, y), (outer - hole) * 255, 3.1) << x << "," << y;
        if (round % 3 == 0) {  // whole pixels: crisp
          ASSERT_TRUE(frame.get(0, x, y) == 0 || frame.get(0, x, y) == 255);
        }
        ++compared;
        partly += outer - hole > 0.1 && outer - hole < 0.9;
      }
    }
    EXPECT_EQ(frame.damage(), 0);
  }
  EXPECT_GT(compared, 900000);
  EXPECT_GT(partly, 3000);
}

TEST(OverlayColor, EqualsTheStandardsInDouble) {
  std::mt19937 random(3);
  const double kr[] = {0.299, 0.2126, 0.2627}, kb[] = {0.114, 0.0722, 0.0593};
  int compared = 0;
  for (const Layout& l : layouts()) {
    for (int full = 0; full < 2; ++full) {
      Frame frame(l, 4, 4, full);
      for (int m = 0; m < 3; ++m) {
        for (int round = 0; round < 200; ++round) {
          const Argb color = 0xff000000 | (random() & 0xffffff);
          const double r = (color >> 16 & 255) / 255.0, g = (color >> 8 & 255) / 255.0,
                       b = (color & 255) / 255.0;
          const double y = kr[m] * r + (1 - kr[m] - kb[m]) * g + kb[m] * b;
          const double yuv[] = {y, (b - y) / (2 - 2 * kb[m]), (r - y) / (2 - 2 * kr[m])};
          const double rgb[] = {r, g, b};
          const auto ink = raster::make_ink(frame.view(), static_cast<ColorMatrix>(m), color);
          EXPECT_EQ(ink.alpha, 256);
          for (std::size_t i = 0; i < 3; ++i) {
            if (!frame.has(static_cast<int>(i))) continue;
            const int depth = frame.depth(static_cast<int>(i));
            const double unit = std::pow(2, depth - 8), top = std::pow(2, depth) - 1;
            double want = rgb[i] * top;
            if (!l.rgb && i == 0) want = full ? y * top : (16 + 219 * y) * unit;
            if (!l.rgb && i > 0) want = 128 * unit + yuv[i] * (full ? top : 224 * unit);
            ASSERT_NEAR(ink.value[i], std::min(want, top), 0.51) << l.name;
            ++compared;
          }
        }
      }
    }
  }
  EXPECT_GT(compared, 50000);
}

TEST(OverlayAlpha, BlendsByItsShare) {
  for (int alpha : {0, 1, 64, 128, 200, 255}) {
    Frame frame(layout("RGB"), 16, 16);
    frame.paint([](int, int x, int) { return 10 * x; });
    const auto before = frame.all();
    FaceList faces;
    faces.faces = {face_at(0, 0, 16, 16)};
    OverlayStyle s = style(kDrawBox, 8);  // fills the frame
    s.box_color = static_cast<Argb>(alpha) << 24 | 0x64c8ff;
    draw_faces(frame.view(), ColorMatrix::kBt601, faces, s);
    const int color[] = {0x64, 0xc8, 0xff};
    for (int i = 0; i < 3; ++i)
      for (int x = 0; x < 16; ++x)
        EXPECT_NEAR(frame.get(i, x, 7), 10 * x + (color[i] - 10 * x) * alpha / 255.0, 1.0) << alpha;
    if (alpha == 0) {
      EXPECT_EQ(frame.all(), before);
    }
    if (alpha == 255) {
      EXPECT_EQ(frame.get(2, 3, 3), 0xff);
    }
  }
}

// ---- the same in every layout ------------------------------------------------------------------

TEST(OverlayLayouts, DrawTheSame) {
  int luma_compared = 0, chroma_compared = 0, changed = 0;
  for (const auto& [width, height] : {std::pair{160, 120}, {131, 97}, {37, 41}}) {
    for (unsigned draw : {+kDrawBox, +kDrawContour, +kDrawPoints, kEverything}) {
      for (int full = 0; full < 2; ++full) {
        const FaceList faces = some_faces(width, height, width * 0.3f, height * 0.2f, 50);
        Frame ycc(layout("Y444"), width, height, full);
        ycc.paint(blocks);
        const auto before = ycc.all();
        draw_faces(ycc.view(), ColorMatrix::kBt709, faces, style(draw));
        EXPECT_NE(ycc.all(), before);
        Frame rgb(layout("RGB"), width, height);
        rgb.paint(blocks);
        draw_faces(rgb.view(), ColorMatrix::kBt709, faces, style(draw));
        for (const Layout& l : layouts()) {
          Frame frame(l, width, height, full);
          frame.paint(blocks);
          draw_faces(frame.view(), ColorMatrix::kBt709, faces, style(draw));
          EXPECT_EQ(frame.damage(), 0) << l.name;
          const Frame& model = l.rgb ? rgb : ycc;
          for (int i = 0; i < 3; ++i) {
            if (!frame.has(i)) continue;
            const int sx = l.plane[i].sub_x, sy = l.plane[i].sub_y;
            // Layers that overlap (text on its rim, all on blocks) mix in another order when they
            // are averaged first: only luma must agree there.
            if ((sx || sy) && draw == kEverything) continue;
            const double unit = std::pow(2, l.plane[i].depth - 8);
            const bool exact = unit == 1 && !sx && !sy;
            // Full range of n bits ends at 2^n - 1, which is not a multiple of 255.
            const double tolerance = (draw == kEverything ? 2.5 : 1.26) + (unit > 1 && full);
            for (int y = 0; y < frame.rows(i); ++y) {
              for (int x = 0; x < frame.columns(i); ++x) {
                double sum = 0;
                int n = 0;
                for (int v = y << sy; v < std::min(height, (y + 1) << sy); ++v)
                  for (int u = x << sx; u < std::min(width, (x + 1) << sx); ++u, ++n)
                    sum += model.get(i, u, v);
                const double got = frame.get(i, x, y) / unit;
                ASSERT_NEAR(got, sum / n, exact ? 0 : tolerance)
                    << l.name << " component " << i << " at " << x << "," << y;
                (sx || sy ? chroma_compared : luma_compared) += 1;
                changed += std::abs(got - blocks(i, x << sx, y << sy)) > 2;
              }
            }
          }
        }
      }
    }
  }
  EXPECT_GT(luma_compared, 5000000);
  EXPECT_GT(chroma_compared, 500000);
  EXPECT_GT(changed, 500000);
}

TEST(OverlayLayouts, P010KeepsTheBytesOfI420) {
  const FaceList faces = some_faces(121, 91, 30, 20, 50);
  Frame a(layout("I420_10"), 121, 91), b(layout("P010"), 121, 91);
  a.paint(blocks);
  b.paint(blocks);
  draw_faces(a.view(), ColorMatrix::kBt601, faces, style(kEverything));
  draw_faces(b.view(), ColorMatrix::kBt601, faces, style(kEverything));
  EXPECT_EQ(a.all(), b.all());
  std::uint16_t word;
  std::memcpy(&word, b.at(0, 31, 21), 2);
  EXPECT_EQ(word & 63, 0);
}

// ---- pixelate ----------------------------------------------------------------------------------

TEST(OverlayPixelate, LeavesOnlyLargeBlocksOfTheMean) {
  std::mt19937 random(5);
  for (const char* name : {"Y444", "I420", "YUY2", "YUV9", "RGB", "P010"}) {
    for (const auto& [width, height] : {std::pair{320, 240}, {161, 123}}) {
      Frame frame(layout(name), width, height), before(layout(name), width, height);
      std::vector<int> noise(static_cast<std::size_t>(3 * width * height));
      for (int& v : noise) v = static_cast<int>(random() % 256);
      const auto texture = [&](int i, int x, int y) {
        return noise[static_cast<std::size_t>((i * height + y) * width + x)];
      };
      frame.paint(texture);
      before.paint(texture);
      const float x = 50.3f, y = 40.8f, side = 80;
      const FaceList faces = some_faces(width, height, x, y, side, 0);
      draw_faces(frame.view(), ColorMatrix::kBt601, faces, style(kDrawPixelate));
      EXPECT_EQ(frame.damage(), 0);
      // side 90 (the box is higher than wide): blocks of 16 px on the frame's own grid, a margin of
      // 22.5 px.
      const int block = 16, x0 = 27, y0 = 18, x1 = 153, y1 = 154;
      int inside = 0, untouched = 0;
      for (int i = 0; i < 3; ++i) {
        const int bx = block >> frame.view().component[i].sub_x,
                  by = block >> frame.view().component[i].sub_y;
        for (int v = 0; v < frame.rows(i); v += by) {
          for (int u = 0; u < frame.columns(i); u += bx) {
            const int px = u / bx * block, py = v / by * block;
            const bool in = px + block > x0 && px < x1 && py + block > y0 && py < y1;
            const int right = std::min(u + bx, frame.columns(i));
            const int bottom = std::min(v + by, frame.rows(i));
            double sum = 0;
            for (int b = v; b < bottom; ++b)
              for (int a = u; a < right; ++a) sum += before.get(i, a, b);
            const double mean = sum / ((right - u) * (bottom - v));
            for (int b = v; b < bottom; ++b) {
              for (int a = u; a < right; ++a) {
                const int got = frame.get(i, a, b), old = before.get(i, a, b);
                ASSERT_NEAR(got, in ? mean : old, in ? 0.5 : 0) << name << " " << a << "," << b;
                ++(in ? inside : untouched);
              }
            }
          }
        }
      }
      EXPECT_GT(inside, 15000);
      EXPECT_GT(untouched, 500);
    }
  }
}

TEST(OverlayPixelate, CoversLandmarksOutsideTheBox) {
  FaceList faces = some_faces(320, 240, 120, 80, 60, 1);
  faces.landmarks[0] = {220, 200};
  Frame frame(layout("GRAY8"), 320, 240);
  frame.paint(blocks);
  draw_faces(frame.view(), ColorMatrix::kBt601, faces, style(kDrawPixelate));
  EXPECT_EQ(frame.get(0, 216, 200), frame.get(0, 223, 203));
}

TEST(Overlay, NothingToDrawChangesNothing) {
  Frame frame(layout("NV12"), 64, 64);
  frame.paint(blocks);
  const auto before = frame.all();
  draw_faces(frame.view(), ColorMatrix::kBt601, some_faces(64, 64, 5, 5, 40), style(kDrawNone));
  draw_faces(frame.view(), ColorMatrix::kBt601, FaceList{}, style(kEverything));
  OverlayStyle clear = style(kDrawBox | kDrawContour | kDrawId);
  clear.box_color = clear.landmark_color = clear.text_color = 0x00ffffff;
  draw_faces(frame.view(), ColorMatrix::kBt601, some_faces(64, 64, 5, 5, 40), clear);
  EXPECT_EQ(frame.all(), before);
}

}  // namespace
}  // namespace cuface
