// Time on CUDA of a picture's integrals and of its grey against its size: the curves of
// tests/eval/faces.cc, by the same names.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/integral/integral_cuda.h"
#include "kernels/luma/luma.h"
#include "kernels/luma/luma_cuda.h"
#include "tests/gpu/bench/curve.h"
#include "tests/gpu/compare.h"
#include "tests/gpu/gpu.h"
#include "tests/gpu/kernels/integral_pair.h"

namespace cuface {
namespace {

/// S0.E3: both integrals of a whole picture, and the grey that comes before.
TEST(IntegralCurvesCuda, AgainstThePictureSize) {
  CUFACE_NEEDS_GPU();
  const test::Stream stream;
  const test::Grey mosaic = test::natural("mosaic1080");
  if (mosaic.width == 0) GTEST_SKIP() << "no natural pictures: set CUFACE_GPU_DATA";
  test::Curve integral("integral", "pixels of the picture"), grey("grey", "pixels of the picture");
  long sums = 0, pixels = 0;
  for (const test::Size& s : test::sizes<test::Size>(
           {{640, 480}, {1280, 720}, {1920, 1080}, {3840, 2160}, {4096, 2160}}, {{100, 80}})) {
    const test::Grey picture = test::resized(mosaic, s.width, s.height);
    test::DevicePicture device(s.width, s.height);
    device.set(picture.view());
    cuda::ScratchLayout layout;
    cuda::IntegralImages integrals;
    integrals.plan(s.width, s.height, false, layout);
    test::GuardedBytes scratch(layout.bytes(), test::kCanary);
    integrals.bind(reinterpret_cast<std::byte*>(scratch.data()));
    cuda::LaunchList list;
    ASSERT_TRUE(integrals.enqueue(device.view(), nullptr, {}, cuda::Launcher(list)).ok());
    integral.add(s.area(), test::launch_us(stream, list));
    ASSERT_NO_FATAL_FAILURE(test::compare_integrals(integrals, picture.view(), sums));

    std::vector<std::uint8_t> rgb;
    for (const std::uint8_t v : picture.pixels) rgb.insert(rgb.end(), {v, 255, 0});
    const auto frame_of = [&](std::uint8_t* data) {
      FrameView frame{s.width, s.height, true, true, {}};
      for (int c = 0; c < 3; ++c) frame.component[c] = {data + c, std::ptrdiff_t{3} * s.width, 3};
      return frame;
    };
    test::GuardedBytes in(rgb), out(picture.pixels.size(), test::kCanary);
    cuda::LaunchList conversion;
    ASSERT_TRUE(cuda::luma(frame_of(in.data()), {out.data(), s.width, s.height, s.width},
                           cuda::Launcher(conversion))
                    .ok());
    grey.add(s.area(), test::launch_us(stream, conversion));
    test::Grey expected(s.width, s.height);
    luma(frame_of(rgb.data()), expected.view());
    EXPECT_EQ(out.get(), expected.pixels);
    pixels += static_cast<long>(expected.pixels.size());
  }
  integral.expect_no_faster_than_the_work();
  grey.expect_no_faster_than_the_work();
  test::compared("sums", sums, 40'000'000);
  test::compared("pixels", pixels, 20'000'000);
}

}  // namespace
}  // namespace cuface
