// overlay on CUDA against draw_faces() on the same frames and faces: every byte of every plane.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "kernels/faces/faces_cuda.h"
#include "kernels/overlay/overlay.h"
#include "kernels/overlay/overlay_cuda.h"
#include "tests/gpu/compare.h"
#include "tests/gpu/gpu.h"
#include "tests/gpu/kernels/overlay_pair.h"
#include "tests/kernels/overlay_frames.h"

namespace cuface {
namespace {

using test::changed;
using test::DeviceFrame;
using test::GuardedBytes;
using test::many_faces;
using test::pack_faces;
using test::texture;
using Frame = test::OverlayFrame;

/// Curves anywhere, over each other, up to all lines that there may be.
LandmarkSchemeRef some_scheme(int points, std::mt19937& random) {
  auto scheme = std::make_shared<LandmarkScheme>();
  scheme->points = points;
  for (int c = 0; points > 1 && c < kMaxLandmarkCurves; ++c) {
    const int first = static_cast<int>(random() % static_cast<unsigned>(points));
    const int last = std::min(first + static_cast<int>(random() % 15), points - 1);
    scheme->curve[scheme->curves++] = {static_cast<std::int16_t>(first),
                                       static_cast<std::int16_t>(last),
                                       static_cast<std::int16_t>(random() % 2)};
  }
  return scheme;
}

class OverlayCuda : public testing::Test {
 protected:
  static constexpr int kCapacity = 400;

  void SetUp() override {
    CUFACE_NEEDS_GPU();
    auto overlay = cuda::Overlay::create(kCapacity);
    ASSERT_TRUE(overlay.ok()) << overlay.status().message();
    overlay_ = std::move(overlay.value());
    stream_ = std::make_unique<test::Stream>();
    faces_ = std::make_unique<GuardedBytes>(cuda::device_faces_bytes(kCapacity), 0x5A);
  }

  const cuda::DeviceFaces* device_faces() {
    return reinterpret_cast<const cuda::DeviceFaces*>(faces_->data());
  }
  void enqueue(const FrameView& frame, ColorMatrix matrix, const OverlayStyle& style) {
    const Status status =
        overlay_->enqueue(frame, matrix, device_faces(), scheme_, style, *stream_);
    ASSERT_TRUE(status.ok()) << status.message();
  }

  /// Draws into a textured frame on both sides; how many bytes the drawing changed.
  long compare(const test::OverlayLayout& layout, int width, int height, bool full,
               ColorMatrix matrix, const FaceList& faces, const OverlayStyle& style,
               const std::string& what) {
    Frame frame(layout, width, height, full), before(layout, width, height, full);
    frame.paint(texture);
    before.paint(texture);
    faces_->set(pack_faces(faces, kCapacity));
    scheme_ = faces.scheme.get();
    const DeviceFrame device(frame);
    enqueue(device.view(), matrix, style);
    draw_faces(frame.view(), matrix, faces, style);
    device.expect_same(frame, what + " " + layout.name + " " + std::to_string(width) + "x" +
                                  std::to_string(height));
    EXPECT_EQ(faces_->get(), pack_faces(faces, kCapacity)) << what << ": the faces were written to";
    return changed(frame, before);
  }

  std::unique_ptr<cuda::Overlay> overlay_;
  std::unique_ptr<test::Stream> stream_;
  std::unique_ptr<GuardedBytes> faces_;
  const LandmarkScheme* scheme_ = nullptr;
};

TEST_F(OverlayCuda, EveryLayoutSizeAndFlagHasTheBytesOfTheReference) {
  long drawn[3] = {}, number = 0;
  for (const auto& layout : test::layouts()) {
    for (const auto& [width, height] :
         {std::pair{160, 120}, {131, 97}, {37, 41}, {1, 1}, {33, 3}}) {
      for (unsigned draw : {+kDrawBox, +kDrawContour, +kDrawPoints, +kDrawId, +kDrawConfidence,
                            +kDrawPixelate, OverlayStyle().draw, test::kEverything}) {
        if (++number % 13 != 0 && test::under_tool()) continue;
        const bool full = draw & kDrawContour;
        const auto matrix = static_cast<ColorMatrix>(width % 3);
        const float w = static_cast<float>(width), h = static_cast<float>(height);
        const FaceList faces = test::some_faces(width, height, w * 0.3f, h * 0.2f, 50);
        const long n = compare(layout, width, height, full, matrix, faces, test::style(draw),
                               "draw " + std::to_string(draw));
        drawn[draw == kDrawPixelate ? 0 : draw & kDrawContour ? 1 : 2] += n;
        if (HasFailure()) return;
      }
    }
  }
  test::compared("bytes changed by pixelating", drawn[0], 200'000);
  test::compared("bytes changed by contours", drawn[1], 300'000);
  test::compared("bytes changed by the rest", drawn[2], 100'000);
}

TEST_F(OverlayCuda, ManyFacesOneUponTheOther) {
  std::mt19937 random(21);
  long drawn = 0, faces_drawn = 0, confident = 0;
  for (int round = 0; round < std::max(6, test::cases(60)); ++round) {
    const auto& layout = test::layouts()[static_cast<std::size_t>(round) % test::layouts().size()];
    const int width = 50 + static_cast<int>(random() % 500);
    const int height = 50 + static_cast<int>(random() % 300);
    const int counts[] = {0, 1, 2, 7, 33, cuda::kMaxFaces};
    const int points[] = {68, 5, 68, 0, 388};  // 388: more than one batch
    FaceList faces = many_faces(width, height, counts[round % 6], points[round % 5], random);
    if (round % 4 == 1) faces.scheme = some_scheme(points[round % 5], random);
    if (round % 3 == 1) {
      for (std::size_t i = 0; i < faces.landmarks.size(); ++i)
        faces.landmark_confidences.push_back(static_cast<float>(random() % 101) / 100);
      confident += counts[round % 6];
    }
    OverlayStyle style =
        test::style(static_cast<unsigned>(random() % 64), static_cast<int>(random() % 9));
    if (round % 3 == 0) style.draw = test::kEverything;
    if (round % 2 == 0) style.draw |= kDrawPointConfidence;
    style.box_color = static_cast<Argb>(random());  // translucent
    style.landmark_color = static_cast<Argb>(random());
    style.text_color = static_cast<Argb>(random());
    drawn += compare(layout, width, height, round % 2, ColorMatrix::kBt709, faces, style,
                     "round " + std::to_string(round));
    faces_drawn += counts[round % 6];
    if (HasFailure()) return;
  }
  test::compared("bytes changed", drawn, 1'000'000);
  test::compared("faces", faces_drawn, 1000);
  test::compared("faces with confidences", confident, 200);
}

TEST_F(OverlayCuda, EverySizeAndPlace) {
  std::mt19937 random(22);
  std::uniform_real_distribution<float> position(-300, 500), size(0.01f, 600);
  long drawn = 0, untouched = 0;
  for (int round = 0; round < test::cases(300); ++round) {
    const auto& layout = test::layouts()[static_cast<std::size_t>(round) % test::layouts().size()];
    const int width = 1 + static_cast<int>(random() % 260);
    const int height = 1 + static_cast<int>(random() % 200);
    const long n =
        compare(layout, width, height, round % 2, ColorMatrix::kBt2020,
                test::some_faces(width, height, position(random), position(random), size(random)),
                test::style(test::kEverything, static_cast<int>(random() % 70)),
                "round " + std::to_string(round));
    drawn += n > 0;
    untouched += n == 0;
    if (HasFailure()) return;
  }
  test::compared("frames drawn upon", drawn, 100);
  test::compared("frames left alone", untouched, 20);
}

TEST_F(OverlayCuda, VeryShortAndVeryLongLines) {
  std::mt19937 random(23);
  long drawn = 0;
  for (int round = 0; round < test::cases(40); ++round) {
    FaceList faces = test::some_faces(200, 160, 60, 40, 70);
    const float step = round % 2 ? 1 / 256.0f : 30000.0f;
    for (Point& p : faces.landmarks) {
      p.x = 100 + step * (static_cast<float>(random() % 9) - 4) / 4;
      p.y = 80 + step * (static_cast<float>(random() % 9) - 4) / 4;
    }
    drawn += compare(test::layout("NV12"), 200, 160, false, ColorMatrix::kBt601, faces,
                     test::style(kDrawContour, 1 + round), "round " + std::to_string(round));
    if (HasFailure()) return;
  }
  test::compared("bytes changed", drawn, 40 * 100);
}

TEST_F(OverlayCuda, BadInputIsIgnoredAlike) {
  const float bad[] = {std::numeric_limits<float>::quiet_NaN(),
                       std::numeric_limits<float>::infinity(),
                       -std::numeric_limits<float>::infinity(),
                       1e30f,
                       -1e30f,
                       32768,
                       -32768,
                       3e6f};
  for (const char* name : {"I420", "RGB", "P010"}) {
    if (test::under_tool() && name[0] != 'I') continue;
    FaceList faces;
    faces.landmarks_per_face = 68;
    for (float b : bad) {
      for (int i = 0; i < 4; ++i) {
        float v[4] = {10, 10, 30, 30};
        v[i] = b;
        faces.faces.push_back(test::face_at(v[0], v[1], v[2], v[3], 7, i % 2 ? b : 0.5f));
        for (int p = 0; p < 68; ++p)
          faces.landmarks.push_back(p % 9 == 4 ? Point{b, 20}
                                               : Point{20.0f + 5 * i, 40.0f - p / 2});
      }
    }
    const long n = compare(test::layout(name), 80, 60, true, ColorMatrix::kBt601, faces,
                           test::style(test::kEverything), "bad input");
    EXPECT_GT(n, 500);
    if (HasFailure()) return;
  }
}

TEST_F(OverlayCuda, CountsOutOfRangeAreCut) {
  FaceList faces = test::some_faces(80, 60, 20, 10, 30, kCapacity);
  Frame frame(test::layout("NV12"), 80, 60), plain(test::layout("NV12"), 80, 60);
  frame.paint(texture);
  const DeviceFrame device(frame);
  auto bytes = pack_faces(faces, kCapacity);
  for (std::int32_t count : {0, -1, std::numeric_limits<std::int32_t>::min()}) {
    std::memcpy(bytes.data() + offsetof(cuda::DeviceFaces, count), &count, sizeof count);
    faces_->set(bytes);
    enqueue(device.view(), ColorMatrix::kBt601, test::style(test::kEverything));
    device.expect_same(frame, "count " + std::to_string(count));
  }
  // More landmarks than room was made for: drawn without.
  bytes = pack_faces(faces, kCapacity);
  const std::int32_t landmarks = kCapacity + 1;
  std::memcpy(bytes.data() + offsetof(cuda::DeviceFaces, landmarks_per_face), &landmarks,
              sizeof landmarks);
  faces_->set(bytes);
  enqueue(device.view(), ColorMatrix::kBt601, test::style(kDrawBox | kDrawPoints));
  faces.landmarks_per_face = 0;
  draw_faces(frame.view(), ColorMatrix::kBt601, faces, test::style(kDrawBox | kDrawPoints));
  device.expect_same(frame, "too many landmarks");
}

TEST_F(OverlayCuda, OneGraphOverDifferentPicturesAndFaces) {
  if (test::under_tool("emulator")) GTEST_SKIP() << "the emulator captures no stream";
  std::mt19937 random(24);
  const int width = 322, height = 181;
  const auto style = test::style(test::kEverything);
  Frame frame(test::layout("NV12"), width, height);
  frame.paint(texture);
  DeviceFrame device(frame);
  const cudaGraphExec_t graph =
      test::capture(*stream_, [&] { enqueue(device.view(), ColorMatrix::kBt601, style); });
  long drawn = 0;
  for (int round = 0; round < 8; ++round) {
    const int counts[] = {3, 0, 40, 1, 0, 64, 2, 2};
    frame.paint([&](int i, int x, int y) { return texture(i, x + round, y); });
    Frame before(test::layout("NV12"), width, height);
    before.paint([&](int i, int x, int y) { return texture(i, x + round, y); });
    const FaceList faces = many_faces(width, height, counts[round], 68, random);
    faces_->set(pack_faces(faces, kCapacity));
    device.set(frame);
    CUFACE_CUDA_OK(cudaGraphLaunch(graph, *stream_));
    draw_faces(frame.view(), ColorMatrix::kBt601, faces, style);
    device.expect_same(frame, "round " + std::to_string(round));
    const long n = changed(frame, before);
    EXPECT_EQ(n > 0, counts[round] > 0);
    drawn += n;
  }
  test::compared("bytes changed", drawn, 50'000);
  CUFACE_CUDA_OK(cudaGraphExecDestroy(graph));
}

TEST_F(OverlayCuda, Times) {
  for (const auto& [width, height] : {std::pair{640, 360}, {1280, 720}, {1920, 1080}}) {
    Frame frame(test::layout("NV12"), width, height);
    frame.paint(texture);
    const DeviceFrame device(frame);
    const float side = static_cast<float>(height) / 3;
    const FaceList faces = test::some_faces(width, height, side, side, side);
    faces_->set(pack_faces(faces, kCapacity));
    const std::string size = std::to_string(width) + "x" + std::to_string(height);
    for (const auto& [what, draw] : {std::pair{"overlay box+contour+id", OverlayStyle().draw},
                                     {"overlay pixelate", +kDrawPixelate}}) {
      const OverlayStyle style = test::style(draw, 0);
      test::report_time(what, size, test::median_us(*stream_, [&] {
                          enqueue(device.view(), ColorMatrix::kBt709, style);
                        }));
      test::report_cpu_time(what, size,
                            [&] { draw_faces(frame.view(), ColorMatrix::kBt709, faces, style); });
    }
  }
}

TEST(OverlayCudaArguments, AreChecked) {
  EXPECT_EQ(cuda::Overlay::create(-1).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(cuda::Overlay::create(1 << 20).status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace cuface
