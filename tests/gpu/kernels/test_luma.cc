// luma on CUDA: the suite of every version, and against luma() in graphs and on natural pictures.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "kernels/luma/luma.h"
#include "kernels/luma/luma_cuda.h"
#include "tests/gpu/gpu.h"
#include "tests/kernels/luma_suite.h"

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

/// A test::LumaVersion of CUDA's.
std::vector<std::uint8_t> on_gpu(const FrameView& frame, std::vector<std::uint8_t>& bytes,
                                 int stride) {
  const test::Stream stream;
  GuardedBytes in(bytes), out(static_cast<std::size_t>(stride * frame.height), kGuard);
  const FrameView view = moved(frame, bytes.data(), in.data());
  EXPECT_TRUE(cuda::luma(view, {out.data(), frame.width, frame.height, stride}, stream).ok());
  std::vector<std::uint8_t> got = out.get();
  const std::vector<std::uint8_t> after = in.get();
  std::copy(after.begin(), after.end(), bytes.begin());  // where the frame's view points
  return got;
}

class LumaCuda : public testing::Test {
 protected:
  void SetUp() override { CUFACE_NEEDS_GPU(); }
};

TEST_F(LumaCuda, EveryLayoutRangeSizeAndAlignmentFollowsTheFormula) {
  test::LumaCompared compared;
  ASSERT_NO_FATAL_FAILURE(
      test::every_frame_follows_the_formula(on_gpu, test::under_tool() ? 13 : 1, compared));
  test::compared("pixels", compared.pixels, 5'000'000);
  test::compared("frames with rows of whole 16 bytes", compared.whole_rows, 8 * 2 * 2);
}

TEST_F(LumaCuda, EveryValueOfADepthFollowsTheFormula) {
  test::every_value_follows_the_formula(on_gpu);
}

TEST_F(LumaCuda, BottomUpFramesAreReadUpwards) { test::bottom_up_frames_are_read_upwards(on_gpu); }

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
