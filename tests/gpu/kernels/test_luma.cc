// luma on CUDA against luma() on the same bytes: every layout, depth, range and alignment.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "kernels/luma/luma.h"
#include "kernels/luma/luma_cuda.h"
#include "tests/gpu/gpu.h"
#include "tests/kernels/luma_frames.h"

namespace cuface {
namespace {

using test::GuardedBytes;
using test::kGuard;

/// `frame` with its host memory at `host` replaced by the copy of it at `device`.
FrameView moved(FrameView frame, const std::uint8_t* host, std::uint8_t* device) {
  for (Component& c : frame.component)
    if (c.data) c.data = device + (c.data - host);
  return frame;
}

/// What luma() makes of a frame in host memory, in rows of `stride` bytes filled with canaries.
std::vector<std::uint8_t> reference(const FrameView& frame, int stride) {
  std::vector<std::uint8_t> out(static_cast<std::size_t>(stride * frame.height), kGuard);
  luma(frame, {out.data(), frame.width, frame.height, stride});
  return out;
}

class LumaCuda : public testing::Test {
 protected:
  void SetUp() override { CUFACE_NEEDS_GPU(); }
};

TEST_F(LumaCuda, EveryLayoutRangeSizeAndAlignmentHasTheBytesOfTheReference) {
  struct Fit {
    int lead, padding, out_padding;
    bool to_16;  ///< rows of whole 16 bytes
  };
  const test::Stream stream;
  std::mt19937 random(11);
  long compared = 0, vectors = 0, number = 0;
  for (const test::LumaLayout& layout : test::kLumaLayouts) {
    for (const auto& [width, height] :
         {std::pair{1, 1}, {2, 3}, {15, 4}, {16, 2}, {17, 5}, {33, 7}, {641, 23}, {1100, 9}}) {
      for (const Fit& fit : {Fit{0, 16, 0, true},
                             {16, 32, 48, true},
                             {0, 0, 1, false},
                             {7, 13, 9, false},
                             {3, 0, 16, true}}) {
        const auto up = [&](int row) { return fit.to_16 ? (16 - row % 16) % 16 : 0; };
        test::TestFrame frame = test::make_frame(layout, width, height, random, fit.lead,
                                                 fit.padding + up(width * layout.pixel_stride));
        const int stride = width + up(width) + fit.out_padding;
        for (bool full : {false, true}) {
          if (++number % 13 != 0 && test::under_tool()) continue;
          frame.view.full_range = full;
          GuardedBytes in(frame.bytes);
          GuardedBytes out(static_cast<std::size_t>(stride * height), kGuard);
          const FrameView view = moved(frame.view, frame.bytes.data(), in.data());
          ASSERT_TRUE(cuda::luma(view, {out.data(), width, height, stride}, stream).ok());
          ASSERT_EQ(out.get(), reference(frame.view, stride))
              << layout.name << " full=" << full << " " << width << "x" << height << " lead "
              << fit.lead;
          ASSERT_EQ(in.get(), frame.bytes) << layout.name << ": the frame was written to";
          compared += static_cast<long>(width) * height;
          vectors += layout.pixel_stride == 1 && !layout.rgb && fit.to_16 && fit.lead % 16 == 0;
        }
      }
    }
  }
  test::compared("pixels", compared, 5'000'000);
  test::compared("frames with rows of whole 16 bytes", vectors, 8 * 2 * 2);
}

TEST_F(LumaCuda, EveryValueOfADepth) {
  const test::Stream stream;
  for (int depth = 8; depth <= 16; ++depth) {
    const int values = 1 << depth, bytes = depth > 8 ? 2 : 1;
    std::vector<std::uint8_t> data(static_cast<std::size_t>(values * bytes));
    for (int v = 0; v < values; ++v)
      for (int b = 0; b < bytes; ++b)
        data[static_cast<std::size_t>(v * bytes + b)] = static_cast<std::uint8_t>(v >> 8 * b);
    for (bool full : {false, true}) {
      FrameView frame{values, 1, false, full, {}};
      frame.component[0] = {data.data(), values * bytes, bytes, depth, 0, 0, 0};
      GuardedBytes in(data), out(static_cast<std::size_t>(values), kGuard);
      ASSERT_TRUE(
          cuda::luma(moved(frame, data.data(), in.data()), {out.data(), values, 1, values}, stream)
              .ok());
      ASSERT_EQ(out.get(), reference(frame, values)) << depth << " bits, full=" << full;
    }
  }
}

TEST_F(LumaCuda, BottomUpFramesAreReadUpwards) {
  const test::Stream stream;
  std::mt19937 random(12);
  for (int width : {48, 37}) {
    test::TestFrame frame = test::make_frame(test::kLumaLayouts[0], width, 19, random, 0, 11);
    Component& y = frame.view.component[0];
    y.data += 18 * y.stride;
    y.stride = -y.stride;
    frame.view.full_range = false;
    GuardedBytes in(frame.bytes), out(static_cast<std::size_t>(width * 19), kGuard);
    ASSERT_TRUE(cuda::luma(moved(frame.view, frame.bytes.data(), in.data()),
                           {out.data(), width, 19, width}, stream)
                    .ok());
    ASSERT_EQ(out.get(), reference(frame.view, width));
  }
}

TEST_F(LumaCuda, OneGraphOverDifferentPictures) {
  const test::Stream stream;
  std::mt19937 random(13);
  const int width = 320, height = 181;
  test::TestFrame frame = test::make_frame(test::kLumaLayouts[0], width, height, random, 0, 64);
  frame.view.full_range = false;
  GuardedBytes in(frame.bytes), out(static_cast<std::size_t>(width * height), kGuard);
  const FrameView view = moved(frame.view, frame.bytes.data(), in.data());
  const cudaGraphExec_t graph = test::capture(stream, [&] {
    EXPECT_TRUE(cuda::luma(view, {out.data(), width, height, width}, stream).ok());
  });
  std::vector<std::uint8_t> last;
  for (int round = 0; round < 6; ++round) {
    if (round % 2 == 0)
      for (std::uint8_t& b : frame.bytes) b = static_cast<std::uint8_t>(random());
    in.set(frame.bytes);
    out.set(std::vector<std::uint8_t>(out.size(), kGuard));
    CUFACE_CUDA_OK(cudaGraphLaunch(graph, stream));
    const auto got = out.get();
    ASSERT_EQ(got, reference(frame.view, width));
    EXPECT_EQ(got == last, round % 2 == 1);  // another picture, then the same once more
    last = got;
  }
  CUFACE_CUDA_OK(cudaGraphExecDestroy(graph));
}

TEST_F(LumaCuda, NaturalPicturesAndTimes) {
  const auto pictures = test::load_gray_pictures();
  if (pictures.empty()) GTEST_SKIP() << "no pictures: set CUFACE_GPU_DATA";
  const test::Stream stream;
  for (const test::GrayPicture& picture : pictures) {
    GuardedBytes in(picture.pixels);
    auto out = cuda::DeviceImage<std::uint8_t>::create(picture.width, picture.height);
    ASSERT_TRUE(out.ok());
    for (bool full : {false, true}) {
      FrameView frame{picture.width, picture.height, false, full, {}};
      frame.component[0] = {
          const_cast<std::uint8_t*>(picture.pixels.data()), picture.width, 1, 8, 0, 0, 0};
      const FrameView view = moved(frame, picture.pixels.data(), in.data());
      const auto enqueue = [&] { EXPECT_TRUE(cuda::luma(view, out.value().view(), stream).ok()); };
      enqueue();
      std::vector<std::uint8_t> got(picture.pixels.size());
      CUFACE_CUDA_OK(cudaStreamSynchronize(stream));
      CUFACE_CUDA_OK(
          cudaMemcpy2D(got.data(), static_cast<std::size_t>(picture.width), out.value().view().data,
                       static_cast<std::size_t>(out.value().view().stride),
                       static_cast<std::size_t>(picture.width),
                       static_cast<std::size_t>(picture.height), cudaMemcpyDeviceToHost));
      ASSERT_EQ(got, reference(frame, picture.width)) << picture.name;
      if (!test::is_timed(picture)) continue;
      const char* what = full ? "luma full range" : "luma limited range";
      test::report_time(what, picture.name, test::median_us(stream, enqueue));
      test::report_cpu_time(what, picture.name, [&] {
        luma(frame, {got.data(), frame.width, frame.height, frame.width});
      });
    }
  }
}

TEST(LumaCudaArguments, AreCheckedBeforeAnyGpuIsNeeded) {
  std::uint8_t data[64] = {};
  FrameView frame{4, 4, false, true, {}};
  frame.component[0] = {data, 16, 1, 8, 0, 0, 0};
  const auto code = [&](ImageView<std::uint8_t> out) {
    return cuda::luma(frame, out, nullptr).code();
  };
  EXPECT_EQ(code({data, 3, 4, 4}), StatusCode::kInvalidArgument);
  EXPECT_EQ(code({data, 4, 5, 4}), StatusCode::kInvalidArgument);
  EXPECT_EQ(code({nullptr, 4, 4, 4}), StatusCode::kInvalidArgument);
  frame.component[0].depth = 7;
  EXPECT_EQ(code({data, 4, 4, 4}), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace cuface
