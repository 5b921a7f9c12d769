// A picture on a face: what holds in every layout, wherever the face is. Its arithmetic is held by
// test_picture_twin.py.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "kernels/overlay/picture.h"
#include "kernels/overlay/raster.h"
#include "tests/kernels/overlay_frames.h"

namespace cuface {
namespace {

using test::blocks;
using test::face_at;
using test::layout;
using test::layouts;
using test::some_faces;
using Frame = test::OverlayFrame;
using Layout = test::OverlayLayout;

FacePicture picture_of(int width, int height, Argb (*color)(int, int)) {
  Image<Argb> pixels(width, height);
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) pixels.view().at(x, y) = color(x, y);
  return std::move(FacePicture::create(std::move(pixels)).value());
}

Argb noise(int x, int y) { return static_cast<Argb>(x * 104729 + y * 1299709 + 7) * 2654435761u; }

void draw(const Frame& frame, FacePicture& picture, const FaceList& faces,
          unsigned flags = kDrawImage) {
  OverlayStyle style = test::style(flags);
  style.picture = &picture.in(frame.view(), ColorMatrix::kBt709);
  draw_faces(frame.view(), ColorMatrix::kBt709, faces, style);
}

/// By its box alone.
FaceList one_face(float x, float y, float side, Roll roll = {}) {
  FaceList faces;
  faces.faces = {face_at(x, y, side, side)};
  faces.faces[0].roll = roll;
  return faces;
}

TEST(OverlayPicture, AnOpaqueColourIsThatOfLinesAndNothingIsNothing) {
  constexpr Argb kColor = 0xff2080c0;
  FacePicture opaque = picture_of(40, 50, [](int, int) { return kColor; });
  FacePicture nothing = picture_of(40, 50, [](int, int) { return kColor & 0xffffff; });
  int compared = 0;
  for (const Layout& l : layouts()) {
    for (int full = 0; full < 2; ++full) {
      Frame frame(l, 101, 77, full);
      frame.paint(blocks);
      const std::vector<int> before = frame.all();
      // The picture reaches from 7 to 93 % of the box's sides at least.
      const FaceList faces = one_face(20, 10, 60, {0.8f, 0.6f});
      draw(frame, nothing, faces);
      ASSERT_EQ(frame.all(), before) << l.name;
      draw(frame, opaque, faces);
      const raster::Ink ink = raster::make_ink(frame.view(), ColorMatrix::kBt709, kColor);
      for (int i = 0; i < 3; ++i) {
        if (!frame.has(i)) continue;
        for (int y = 32; y < 48; ++y)
          for (int x = 40; x < 60; ++x) {
            ASSERT_EQ(frame.get(i, x >> l.plane[i].sub_x, y >> l.plane[i].sub_y),
                      ink.value[static_cast<std::size_t>(i)])
                << l.name << " " << i;
            ++compared;
          }
      }
      ASSERT_EQ(frame.damage(), 0) << l.name;
    }
  }
  EXPECT_GT(compared, 30000);
}

TEST(OverlayPicture, AFrameIsAWindowOnTheDrawing) {
  // The same face in the middle of a frame of 3 x 3 times the size.
  const int width = 64, height = 48;
  FacePicture picture = picture_of(90, 70, noise);
  int cases = 0, drawn = 0;
  for (const char* name : {"Y444", "NV12", "YUY2", "RGB", "P010", "YUV9"}) {
    for (float x : {-70.0f, -33.25f, -0.5f, 20.0f, 40.0f, 63.75f}) {
      for (float y : {-70.0f, -20.5f, 0.0f, 10.0f, 30.25f, 47.75f}) {
        Frame small(layout(name), width, height), large(layout(name), width * 3, height * 3);
        for (const Frame* frame : {&small, &large}) frame->paint([](int, int, int) { return 90; });
        draw(small, picture, one_face(x, y, 37, {0.6f, -0.8f}));
        draw(large, picture, one_face(x + width, y + height, 37, {0.6f, -0.8f}));
        for (int i = 0; i < 3; ++i)
          for (int v = 0; v < small.rows(i); ++v)
            for (int u = 0; u < small.columns(i); ++u) {
              ASSERT_EQ(small.get(i, u, v), large.get(i, u + small.columns(i), v + small.rows(i)))
                  << name << " " << x << "," << y << " at " << u << "," << v;
              drawn += small.get(i, u, v) != 90 << (small.depth(i) - 8);
            }
        ASSERT_EQ(small.damage(), 0);
        ++cases;
      }
    }
  }
  EXPECT_EQ(cases, 6 * 36);
  EXPECT_GT(drawn, 20000);
}

TEST(OverlayPicture, EverySizeAndPlaceStaysInside) {
  std::mt19937 random(4);
  std::uniform_real_distribution<float> position(-150, 200), size(0.1f, 500), turn(-4, 4);
  int drawn = 0;
  for (int round = 0; round < 400; ++round) {
    const Layout& l = layouts()[static_cast<std::size_t>(round) % layouts().size()];
    const int width = 1 + static_cast<int>(random() % 200);
    const int height = 1 + static_cast<int>(random() % 200);
    FacePicture picture = picture_of(1 + static_cast<int>(random() % 130),
                                     1 + static_cast<int>(random() % 130), noise);
    Frame frame(l, width, height);
    frame.paint(blocks);
    const std::vector<int> before = frame.all();
    const float angle = turn(random);
    FaceList faces = one_face(position(random), position(random), size(random),
                              {std::cos(angle), std::sin(angle)});
    if (round % 2)
      faces = some_faces(width, height, position(random), position(random), size(random));
    draw(frame, picture, faces);
    ASSERT_EQ(frame.damage(), 0) << l.name << " " << width << "x" << height;
    drawn += frame.all() != before;
  }
  EXPECT_GT(drawn, 100);
}

TEST(OverlayPicture, TheHeadTurnsIt) {
  // Red to the left of the picture, blue to the right; the head lies on its side.
  FacePicture picture =
      picture_of(60, 60, [](int x, int) { return x < 30 ? 0xffff0000u : 0xff0000ffu; });
  Frame frame(layout("RGB"), 120, 120);
  frame.paint([](int, int, int) { return 0; });
  draw(frame, picture, one_face(30, 30, 60, {0, 1}));
  EXPECT_EQ(frame.get(0, 60, 40), 255);
  EXPECT_EQ(frame.get(2, 60, 40), 0);
  EXPECT_EQ(frame.get(0, 60, 80), 0);
  EXPECT_EQ(frame.get(2, 60, 80), 255);
}

TEST(OverlayPicture, LandmarksAreTakenBeforeKeypointsAndTheBox) {
  FacePicture picture = picture_of(30, 30, [](int, int) { return 0xffffffffu; });
  // Where it is drawn tells whose points were taken: the middle of what is not black.
  const auto middle = [&](const FaceList& faces) {
    Frame frame(layout("GRAY8"), 400, 100, true);
    frame.paint([](int, int, int) { return 0; });
    draw(frame, picture, faces);
    int sum = 0, n = 0;
    for (int y = 0; y < 100; ++y)
      for (int x = 0; x < 400; ++x)
        if (frame.get(0, x, y) > 128) sum += x, ++n;
    return n ? sum / n : -1;
  };
  FaceList faces = one_face(30, 30, 40);
  EXPECT_NEAR(middle(faces), 50, 2);
  Face& face = faces.faces[0];
  face.has_keypoints = true;
  const Point keypoints[] = {{140, 40}, {160, 40}, {150, 50}, {142, 60}, {158, 60}};
  std::copy_n(keypoints, 5, face.keypoints);
  EXPECT_NEAR(middle(faces), 150, 2);
  faces.landmarks_per_face = 68;
  faces.landmarks.assign(68, Point{250, 70});
  for (std::size_t i = 36; i < 42; ++i) faces.landmarks[i] = {240, 40};
  for (std::size_t i = 42; i < 48; ++i) faces.landmarks[i] = {260, 40};
  EXPECT_NEAR(middle(faces), 250, 2);
  // A head from the side, and points that are none: the next best.
  const auto nan = std::numeric_limits<float>::quiet_NaN();
  for (const Point& chin : {Point{600, 41}, Point{nan, 70}, Point{250, 1e30f}, Point{250, -70}}) {
    faces.landmarks[8] = chin;
    EXPECT_NEAR(middle(faces), 150, 2) << chin.x << "," << chin.y;
  }
  face.keypoints[1] = face.keypoints[0];
  EXPECT_NEAR(middle(faces), 50, 2);
  face.box.x = nan;
  EXPECT_EQ(middle(faces), -1);
}

TEST(OverlayPicture, BadFacesDrawNothing) {
  FacePicture picture = picture_of(20, 20, noise);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float inf = std::numeric_limits<float>::infinity();
  for (const char* name : {"I420", "RGB", "P010"}) {
    Frame frame(layout(name), 80, 60);
    frame.paint(blocks);
    const std::vector<int> before = frame.all();
    FaceList faces;
    faces.landmarks_per_face = 68;
    for (float bad : {nan, inf, -inf, 1e30f, -1e30f, 3e6f}) {
      for (int i = 0; i < 4; ++i) {
        float v[4] = {10, 10, 30, 30};
        v[i] = bad;
        faces.faces.push_back(face_at(v[0], v[1], v[2], v[3]));
        for (int p = 0; p < 68; ++p)
          faces.landmarks.push_back(p % 2 ? Point{bad, 20} : Point{20, bad});
      }
      faces.faces.push_back(face_at(10, 10, 30, 30));
      faces.faces.back().roll = {bad, 0};
      faces.landmarks.insert(faces.landmarks.end(), 68, {bad, bad});
    }
    faces.faces.push_back(face_at(10, 10, 0, 20));
    faces.faces.push_back(face_at(10, 10, 0.1f, 0.1f));
    faces.landmarks.insert(faces.landmarks.end(), std::size_t{2 * 68}, {nan, nan});
    draw(frame, picture, faces);
    EXPECT_EQ(frame.all(), before) << name;
    EXPECT_EQ(frame.damage(), 0);
  }
}

TEST(OverlayPicture, LiesUnderLinesAndOverBlocks) {
  FacePicture picture = picture_of(20, 20, [](int, int) { return 0xff808080u; });
  const FaceList faces = one_face(30, 30, 40);
  Frame all(layout("GRAY8"), 100, 100, true), lines(layout("GRAY8"), 100, 100, true);
  for (const Frame* frame : {&all, &lines}) frame->paint(blocks);
  draw(all, picture, faces, kDrawImage | kDrawPixelate | kDrawBox);
  draw(lines, picture, faces, kDrawBox);
  EXPECT_EQ(all.get(0, 50, 50), 0x80);
  EXPECT_EQ(all.get(0, 30, 50), lines.get(0, 30, 50));
}

TEST(OverlayPicture, SizesOutOfRangeAreRefused) {
  for (const auto& [width, height] :
       {std::pair{0, 10}, {10, 0}, {kMostPictureSide + 1, 1}, {kMostPictureSide, 1025}}) {
    const auto made = FacePicture::create(Image<Argb>(width, height));
    ASSERT_FALSE(made.ok());
    EXPECT_EQ(made.status().code(), StatusCode::kInvalidArgument);
    EXPECT_NE(made.status().message().find(std::to_string(width)), std::string::npos);
  }
  // The largest one, and one so thin that it has all the levels there may be.
  for (const auto& [width, height] : {std::pair{kMostPictureSide, 1024}, {kMostPictureSide, 1}}) {
    auto made = FacePicture::create(Image<Argb>(width, height));
    ASSERT_TRUE(made.ok());
    const Frame frame(layout("RGB"), 8, 8);
    EXPECT_EQ(made.value().in(frame.view(), ColorMatrix::kBt601).count, raster::kMostPictureLevels);
  }
}

}  // namespace
}  // namespace cuface
