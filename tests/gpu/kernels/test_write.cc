// write_grey() and write_black() of frames in device memory, against the CPU's: every byte.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "kernels/luma/write.h"
#include "kernels/luma/write_cuda.h"
#include "tests/gpu/gpu.h"

namespace cuface {
namespace {

/// How the components of a format lie, in planes one behind the other.
struct Format {
  const char* name;
  bool rgb;
  int depth, shift, sub_x, sub_y;
  bool packed;  ///< the components' samples take turns: all three, or the chroma's two
  int components;
};
constexpr Format kFormats[] = {
    {"GRAY8", false, 8, 0, 0, 0, false, 1},    {"NV12", false, 8, 0, 1, 1, true, 3},
    {"I420", false, 8, 0, 1, 1, false, 3},     {"YUV9", false, 8, 0, 2, 2, false, 3},
    {"Y42B", false, 8, 0, 1, 0, false, 3},     {"P010", false, 10, 6, 1, 1, true, 3},
    {"I420_12", false, 12, 0, 1, 1, false, 3}, {"Y444_16", false, 16, 0, 0, 0, false, 3},
    {"RGBA", true, 8, 0, 0, 0, true, 3},       {"RGBP", true, 8, 0, 0, 0, false, 3}};

/// `at`: where the memory lies. Returns the bytes that it takes.
std::size_t lay_out(const Format& f, int width, int height, bool full, std::uint8_t* at,
                    FrameView& frame) {
  const int bytes = f.depth > 8 ? 2 : 1;
  frame.width = width;
  frame.height = height;
  frame.rgb = f.rgb;
  frame.full_range = full || f.rgb;
  std::size_t used = 3;  // nothing begins where words do
  for (int i = 0; i < f.components; ++i) {
    Component& c = frame.component[i];
    const bool chroma = i > 0 && !f.rgb;
    c.depth = f.depth;
    c.shift = f.shift;
    c.sub_x = chroma ? f.sub_x : 0;
    c.sub_y = chroma ? f.sub_y : 0;
    const int together = !f.packed ? 1 : f.rgb ? 4 : chroma ? 2 : 1;
    const bool first = together == 1 || (f.rgb ? i == 0 : i == 1);
    c.pixel_stride = together * bytes;
    c.stride = (((width - 1) >> c.sub_x) + 1) * c.pixel_stride + 5;
    c.data = first ? at + used : frame.component[i - 1].data + bytes;
    if (first) used += static_cast<std::size_t>(c.stride * (((height - 1) >> c.sub_y) + 1));
  }
  return used;
}

class WriteCuda : public testing::Test {
 protected:
  void SetUp() override { CUFACE_NEEDS_GPU(); }
};

TEST_F(WriteCuda, EveryFormatAndSizeIsTheCpus) {
  const test::Stream stream;
  std::mt19937 random(3);
  long frames = 0;
  for (const Format& format : kFormats) {
    for (const auto& [w, h] :
         {std::pair{1, 1}, {2, 3}, {5, 4}, {63, 9}, {64, 5}, {65, 7}, {131, 33}, {301, 20}}) {
      for (int kind = 0; kind < 4; ++kind) {
        SCOPED_TRACE(std::string(format.name) + " " + std::to_string(w) + "x" + std::to_string(h) +
                     " kind " + std::to_string(kind));
        const bool full = kind % 2 == 0, masks = kind / 2 == 1;
        std::vector<std::uint8_t> picture(static_cast<std::size_t>(w * h));
        for (auto& p : picture) p = masks && random() % 4 ? 0 : static_cast<std::uint8_t>(random());
        FrameView frame;
        std::vector<std::uint8_t> bytes(lay_out(format, w, h, full, nullptr, frame) + 7);
        for (auto& b : bytes) b = static_cast<std::uint8_t>(random());
        test::GuardedBytes on_gpu(bytes), in(picture);
        lay_out(format, w, h, full, on_gpu.data(), frame);
        const ImageView<const std::uint8_t> view{in.data(), w, h, w};
        ASSERT_TRUE(
            (masks ? cuda::write_black(view, frame, stream) : cuda::write_grey(view, frame, stream))
                .ok());
        lay_out(format, w, h, full, bytes.data(), frame);
        const ImageView<const std::uint8_t> host{picture.data(), w, h, w};
        if (masks)
          write_black(host, frame);
        else
          write_grey(host, frame);
        ASSERT_TRUE(on_gpu.get() == bytes);
        ++frames;
      }
    }
  }
  test::compared("frames", frames, 10 * 8 * 4);
}

TEST_F(WriteCuda, RefusesOtherSizes) {
  const test::Stream stream;
  test::GuardedBytes bytes(400, test::kCanary);
  FrameView frame;
  lay_out(kFormats[0], 10, 10, true, bytes.data(), frame);
  const ImageView<const std::uint8_t> other{bytes.data(), 10, 9, 10};
  EXPECT_EQ(cuda::write_grey(other, frame, stream).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(cuda::write_black(other, frame, stream).code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace cuface
