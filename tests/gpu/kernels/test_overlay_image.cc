// A picture drawn on faces on CUDA against draw_faces(): every byte of every plane.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <utility>

#include "kernels/faces/faces_cuda.h"
#include "kernels/overlay/overlay_cuda.h"
#include "kernels/overlay/picture.h"
#include "kernels/overlay/picture_cuda.h"
#include "tests/gpu/compare.h"
#include "tests/gpu/gpu.h"
#include "tests/gpu/kernels/overlay_pair.h"
#include "tests/kernels/overlay_frames.h"

namespace cuface {
namespace {

using test::DeviceFrame;
using test::GuardedBytes;
using test::pack_faces;
using Frame = test::OverlayFrame;

/// Noise, a part of it opaque, another transparent.
FacePicture noise_picture(int width, int height) {
  Image<Argb> pixels(width, height);
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) {
      Argb color = static_cast<Argb>(x * 104729 + y * 1299709 + 7) * 2654435761u;
      if (3 * x < width) color |= 0xff000000;
      if (3 * y > 2 * height) color &= 0x00ffffff;
      pixels.view().at(x, y) = color;
    }
  return std::move(FacePicture::create(std::move(pixels)).value());
}

class OverlayImageCuda : public testing::Test {
 protected:
  static constexpr int kCapacity = 80;

  void SetUp() override {
    CUFACE_NEEDS_GPU();
    auto overlay = cuda::Overlay::create(kCapacity);
    ASSERT_TRUE(overlay.ok()) << overlay.status().message();
    overlay_ = std::move(overlay.value());
    stream_ = std::make_unique<test::Stream>();
    faces_ = std::make_unique<GuardedBytes>(cuda::device_faces_bytes(kCapacity), 0x5A);
  }

  /// Draws into a textured frame on both sides; how many bytes the drawing changed.
  long compare(const test::OverlayLayout& layout, int width, int height, bool full,
               FacePicture& picture, const FaceList& faces, unsigned draw,
               const PictureFace& in = {}) {
    constexpr ColorMatrix kMatrix = ColorMatrix::kBt709;
    Frame frame(layout, width, height, full), before(layout, width, height, full);
    frame.paint(test::texture);
    before.paint(test::texture);
    faces_->set(pack_faces(faces, kCapacity));
    const DeviceFrame device(frame);
    OverlayStyle style = test::style(draw);
    style.picture_face = in;
    style.picture = &picture.in(frame.view(), kMatrix);
    auto copy = cuda::DevicePicture::create(*style.picture);
    EXPECT_TRUE(copy.ok()) << copy.status().message();
    if (!copy.ok()) return 0;
    OverlayStyle of_device = style;
    of_device.picture = &copy.value().levels();
    const auto* list = reinterpret_cast<const cuda::DeviceFaces*>(faces_->data());
    EXPECT_TRUE(overlay_->enqueue(device.view(), kMatrix, list, nullptr, of_device, *stream_).ok());
    draw_faces(frame.view(), kMatrix, faces, style);
    device.expect_same(frame, layout.name + " " + std::to_string(width) + "x" +
                                  std::to_string(height) + " draw " + std::to_string(draw));
    EXPECT_EQ(faces_->get(), pack_faces(faces, kCapacity)) << "the faces were written to";
    return test::changed(frame, before);
  }

  std::unique_ptr<cuda::Overlay> overlay_;
  std::unique_ptr<test::Stream> stream_;
  std::unique_ptr<GuardedBytes> faces_;
};

TEST_F(OverlayImageCuda, EveryLayoutAndSize) {
  FacePicture picture = noise_picture(70, 91);
  long drawn = 0, number = 0;
  for (const auto& layout : test::layouts())
    for (const auto& [width, height] :
         {std::pair{160, 120}, {131, 97}, {37, 41}, {1, 1}, {33, 3}, {66, 34}}) {
      if (++number % 5 != 0 && test::under_tool()) continue;
      const float w = static_cast<float>(width), h = static_cast<float>(height);
      FaceList faces = test::some_faces(width, height, w * 0.3f, h * 0.2f, 50, 0);
      faces.faces[0].roll = {0.8f, 0.6f};
      drawn += compare(layout, width, height, number % 2, picture, faces, kDrawImage);
      if (HasFailure()) return;
    }
  test::compared("bytes changed", drawn, 200'000);
}

TEST_F(OverlayImageCuda, ManyFacesOneUponTheOtherUnderLinesAndOverBlocks) {
  FacePicture pictures[] = {noise_picture(200, 150), noise_picture(1, 1), noise_picture(31, 640)};
  std::mt19937 random(31);
  long drawn = 0;
  for (int round = 0; round < std::max(9, test::cases(60)); ++round) {
    const auto& layout =
        test::layouts()[static_cast<std::size_t>(7 * round) % test::layouts().size()];
    const int width = 50 + static_cast<int>(random() % (test::under_tool() ? 200 : 500));
    const int height = 50 + static_cast<int>(random() % (test::under_tool() ? 100 : 300));
    const int counts[] = {0, 1, 2, 7, 33, cuda::kMaxFaces};
    const int points[] = {68, 5, 0};
    const FaceList faces =
        test::many_faces(width, height, counts[round % 6], points[round % 3], random);
    const unsigned draw = round % 3 == 0   ? kDrawImage | test::kEverything
                          : round % 3 == 1 ? +kDrawImage
                                           : kDrawImage | kDrawPixelate;
    drawn += compare(layout, width, height, round % 2, pictures[round % 3], faces, draw);
    if (HasFailure()) return;
  }
  test::compared("bytes changed", drawn, 100'000);
}

/// By landmarks, keypoints and boxes, from faces of a pixel to such as no frame holds.
TEST_F(OverlayImageCuda, EveryPose) {
  FacePicture picture = noise_picture(127, 63);
  std::mt19937 random(32);
  std::uniform_real_distribution<float> place(-60, 200), turn(-1, 1);
  long drawn = 0, frames = 0;
  for (int round = 0; round < test::cases(200); ++round) {
    const auto& layout = test::layouts()[static_cast<std::size_t>(round) % test::layouts().size()];
    const float side = std::exp2(turn(random) * 5 + 4);
    const int points[] = {68, 5, 0, 0};
    FaceList faces =
        test::some_faces(150, 110, place(random), place(random), side, points[round % 4]);
    Face& face = faces.faces[0];
    for (Point& p : faces.landmarks) p = {p.x + turn(random) * side / 4, p.y};
    face.roll = {std::cos(3 * turn(random)), std::sin(3 * turn(random))};
    face.has_keypoints = round % 4 == 2;
    for (Point& p : face.keypoints)
      p = {face.box.x + side * (turn(random) + 1) / 2, face.box.y + side * (turn(random) + 1) / 2};
    if (round % 10 == 9) face.box.x = std::numeric_limits<float>::quiet_NaN();
    if (round % 14 == 13 && !faces.landmarks.empty()) faces.landmarks[3].y = 1e30f;
    const PictureFace in{0.1f + std::abs(turn(random)), 0.3f * std::abs(turn(random)),
                         0.5f + std::abs(turn(random)) / 2};
    const long n = compare(layout, 150, 110, round % 2, picture, faces, kDrawImage, in);
    drawn += n;
    frames += n > 0;
    if (HasFailure()) return;
  }
  test::compared("bytes changed", drawn, 200'000);
  test::compared("frames with a picture", frames, 60);
}

// More landmarks than room was made for: as of boxes. And without a picture nothing.
TEST_F(OverlayImageCuda, WhatIsNotThereIsNotUsed) {
  Frame frame(test::layout("NV12"), 160, 120);
  frame.paint(test::texture);
  const DeviceFrame device(frame);
  faces_->set(pack_faces(test::some_faces(160, 120, 30, 20, 50), kCapacity));
  const auto* list = reinterpret_cast<const cuda::DeviceFaces*>(faces_->data());
  ASSERT_TRUE(overlay_
                  ->enqueue(device.view(), ColorMatrix::kBt601, list, nullptr,
                            test::style(kDrawImage), *stream_)
                  .ok());
  device.expect_same(frame, "no picture");
  auto small = cuda::Overlay::create(5);
  ASSERT_TRUE(small.ok());
  overlay_ = std::move(small.value());
  FacePicture picture = noise_picture(70, 91);
  FaceList faces = test::some_faces(160, 120, 30, 20, 50);
  faces_->set(pack_faces(faces, kCapacity));
  OverlayStyle style = test::style(kDrawImage);
  style.picture = &picture.in(frame.view(), ColorMatrix::kBt601);
  auto copy = cuda::DevicePicture::create(*style.picture);
  ASSERT_TRUE(copy.ok());
  OverlayStyle of_device = style;
  of_device.picture = &copy.value().levels();
  ASSERT_TRUE(
      overlay_->enqueue(device.view(), ColorMatrix::kBt601, list, nullptr, of_device, *stream_)
          .ok());
  faces.landmarks_per_face = 0;
  draw_faces(frame.view(), ColorMatrix::kBt601, faces, style);
  device.expect_same(frame, "too many landmarks");
}

TEST_F(OverlayImageCuda, Times) {
  FacePicture picture = noise_picture(600, 700);
  for (const auto& [width, height] : {std::pair{640, 360}, {1920, 1080}}) {
    if (test::under_tool() && width > 640) continue;
    Frame frame(test::layout("NV12"), width, height);
    frame.paint(test::texture);
    const DeviceFrame device(frame);
    const float side = static_cast<float>(height) / 3;
    const FaceList faces = test::some_faces(width, height, side, side, side, 0);
    faces_->set(pack_faces(faces, kCapacity));
    OverlayStyle style = test::style(kDrawImage);
    style.picture = &picture.in(frame.view(), ColorMatrix::kBt709);
    auto copy = cuda::DevicePicture::create(*style.picture);
    ASSERT_TRUE(copy.ok());
    OverlayStyle of_device = style;
    of_device.picture = &copy.value().levels();
    const auto* list = reinterpret_cast<const cuda::DeviceFaces*>(faces_->data());
    const std::string size = std::to_string(width) + "x" + std::to_string(height);
    test::report_time("overlay image", size, test::median_us(*stream_, [&] {
                        EXPECT_TRUE(overlay_
                                        ->enqueue(device.view(), ColorMatrix::kBt709, list, nullptr,
                                                  of_device, *stream_)
                                        .ok());
                      }));
    test::report_cpu_time("overlay image", size,
                          [&] { draw_faces(frame.view(), ColorMatrix::kBt709, faces, style); });
  }
}

}  // namespace
}  // namespace cuface
