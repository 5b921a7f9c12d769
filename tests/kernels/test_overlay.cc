// overlay against definitions written out in double in this file, and as properties that hold for
// every layout: what is drawn does not depend on the format, on where the frame ends, or on memory
// outside of it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <string>
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

// ---- borders, bad input ------------------------------------------------------------------------

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

// ---- contour, points, text ---------------------------------------------------------------------

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
