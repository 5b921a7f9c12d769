// colour on CUDA against the CPU's on the same bytes: every format, matrix, range and size.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <string>
#include <vector>

#include "kernels/colour/colour.h"
#include "kernels/colour/colour_cuda.h"
#include "tests/gpu/gpu.h"
#include "tests/kernels/colour_frames.h"

namespace cuface {
namespace {

using test::ColourLayout;
using test::GuardedBytes;
using test::kGuard;

constexpr ColorMatrix kMatrices[] = {ColorMatrix::kBt601, ColorMatrix::kBt709, ColorMatrix::kBt2020,
                                     ColorMatrix::kFcc, ColorMatrix::kSmpte240m};

const ColourLayout& layout_named(const std::string& name) {
  return *std::find_if(test::colour_layouts().begin(), test::colour_layouts().end(),
                       [&](const ColourLayout& l) { return l.name == name; });
}

/// `frame` with its host memory at `host` replaced by the copy of it at `device`.
FrameView moved(FrameView frame, const std::uint8_t* host, std::uint8_t* device) {
  for (Component& c : frame.component)
    if (c.data) c.data = device + (c.data - host);
  return frame;
}

/// A picture in rows that lie `beside` bytes apart.
struct Rows {
  Rows(BgrSize s, int beside) : size(s), stride(3 * s.width + beside) {}
  std::size_t bytes() const { return static_cast<std::size_t>(stride * size.height); }
  ImageView<Bgr> at(std::uint8_t* data) const {
    return {reinterpret_cast<Bgr*>(data), size.width, size.height, stride};
  }
  BgrSize size;
  int stride;
};

/// What the CPU makes, with canaries between the rows.
std::vector<std::uint8_t> reference(const FrameView& frame, ColorMatrix matrix, int input_size,
                                    const Rows& rows) {
  std::vector<std::uint8_t> out(rows.bytes(), kGuard);
  auto scaler = BgrScaler::create(frame.width, frame.height, input_size);
  EXPECT_TRUE(scaler.ok() && scaler.value().run(frame, matrix, rows.at(out.data())).ok());
  return out;
}

class ColourCuda : public testing::Test {
 protected:
  void SetUp() override { CUFACE_NEEDS_GPU(); }
};

TEST_F(ColourCuda, EveryFormatMatrixRangeAndSizeHasTheBytesOfTheCpu) {
  const test::Stream stream;
  std::mt19937 random(21);
  long compared = 0, number = 0;
  for (const ColourLayout& layout : test::colour_layouts()) {
    for (const auto& [width, height, input_size] : {std::array{1, 1, 0},
                                                    {2, 3, 0},
                                                    {33, 7, 0},
                                                    {130, 61, 0},
                                                    {161, 93, 107},
                                                    {161, 93, 64},
                                                    {93, 161, 31},
                                                    {161, 93, 1},
                                                    {640, 360, 320}}) {
      auto scaler = cuda::BgrScaler::create(width, height, input_size);
      ASSERT_TRUE(scaler.ok()) << scaler.status().message();
      const Rows rows(scaler.value().size(), width % 5);
      for (const bool full : {false, true}) {
        for (const ColorMatrix matrix : kMatrices) {
          if (++number % 13 != 0 && test::under_tool()) continue;
          test::TestFrame frame = test::make_frame(layout, width, height, random, 7, width % 3);
          frame.view.full_range = full;
          GuardedBytes in(frame.bytes), out(rows.bytes(), kGuard);
          ASSERT_TRUE(scaler.value()
                          .enqueue(moved(frame.view, frame.bytes.data(), in.data()), matrix,
                                   nullptr, rows.at(out.data()), stream)
                          .ok());
          ASSERT_EQ(out.get(), reference(frame.view, matrix, input_size, rows))
              << layout.name << " full=" << full << " matrix " << static_cast<int>(matrix) << " "
              << width << "x" << height << " to " << input_size;
          ASSERT_EQ(in.get(), frame.bytes) << layout.name << ": the frame was written to";
          compared += static_cast<long>(rows.size.width) * rows.size.height;
        }
      }
    }
  }
  test::compared("pixels", compared, 25'000'000);
}

TEST_F(ColourCuda, RandomSizes) {
  const test::Stream stream;
  std::mt19937 random(22);
  long compared = 0;
  for (int i = 0; i < test::cases(300); ++i) {
    const auto side = [&] { return 1 + static_cast<int>(random() % (i % 2 ? 40 : 500)); };
    const int width = side(), height = side(), input_size = side();
    const ColourLayout& layout = test::colour_layouts()[random() % test::colour_layouts().size()];
    const test::TestFrame frame = test::make_frame(layout, width, height, random);
    auto scaler = cuda::BgrScaler::create(width, height, input_size);
    ASSERT_TRUE(scaler.ok()) << scaler.status().message();
    const Rows rows(scaler.value().size(), 0);
    GuardedBytes in(frame.bytes), out(rows.bytes(), kGuard);
    ASSERT_TRUE(scaler.value()
                    .enqueue(moved(frame.view, frame.bytes.data(), in.data()), ColorMatrix::kBt601,
                             nullptr, rows.at(out.data()), stream)
                    .ok());
    ASSERT_EQ(out.get(), reference(frame.view, ColorMatrix::kBt601, input_size, rows))
        << layout.name << " " << width << "x" << height << " to " << input_size;
    compared += static_cast<long>(rows.size.width) * rows.size.height;
  }
  test::compared("pixels", compared, 3'000'000);
}

TEST_F(ColourCuda, ReadsAndWritesNothingWhereThereIsNoSearch) {
  const test::Stream stream;
  std::mt19937 random(26);
  const test::TestFrame frame = test::make_frame(layout_named("NV12, AV12"), 161, 93, random);
  auto scaler = cuda::BgrScaler::create(161, 93, 64);
  ASSERT_TRUE(scaler.ok()) << scaler.status().message();
  const Rows rows(scaler.value().size(), 0);
  GuardedBytes in(frame.bytes), out(rows.bytes(), kGuard), run(sizeof(std::int32_t), 0);
  const FrameView view = moved(frame.view, frame.bytes.data(), in.data());
  for (const bool runs : {false, true}) {
    run.set(std::vector<std::uint8_t>(sizeof(std::int32_t), runs));
    // A frame whose memory is gone.
    const FrameView gone =
        moved(frame.view, frame.bytes.data(), reinterpret_cast<std::uint8_t*>(4096));
    ASSERT_TRUE(scaler.value()
                    .enqueue(runs ? view : gone, ColorMatrix::kBt709,
                             reinterpret_cast<const std::int32_t*>(run.data()), rows.at(out.data()),
                             stream)
                    .ok());
    CUFACE_CUDA_OK(cudaStreamSynchronize(stream));
    EXPECT_EQ(out.get(), runs ? reference(frame.view, ColorMatrix::kBt709, 64, rows)
                              : std::vector<std::uint8_t>(rows.bytes(), kGuard));
  }
}

// More rows of blocks than a grid has.
TEST_F(ColourCuda, AVeryHighPicture) {
  const test::Stream stream;
  std::mt19937 random(23);
  const int height = 8 * 65535 + 100;
  const test::TestFrame frame = test::make_frame(layout_named("RGB"), 3, height, random);
  auto scaler = cuda::BgrScaler::create(3, height, 0);
  ASSERT_TRUE(scaler.ok()) << scaler.status().message();
  const Rows rows(scaler.value().size(), 0);
  GuardedBytes in(frame.bytes), out(rows.bytes(), kGuard);
  ASSERT_TRUE(scaler.value()
                  .enqueue(moved(frame.view, frame.bytes.data(), in.data()), ColorMatrix::kBt601,
                           nullptr, rows.at(out.data()), stream)
                  .ok());
  EXPECT_EQ(out.get(), reference(frame.view, ColorMatrix::kBt601, 0, rows));
}

TEST_F(ColourCuda, OneGraphOverDifferentPictures) {
  const test::Stream stream;
  std::mt19937 random(24);
  test::TestFrame frame = test::make_frame(layout_named("NV12, AV12"), 640, 361, random, 0, 64);
  frame.view.full_range = false;
  auto scaler = cuda::BgrScaler::create(640, 361, 320);
  ASSERT_TRUE(scaler.ok()) << scaler.status().message();
  const Rows rows(scaler.value().size(), 0);
  GuardedBytes in(frame.bytes), out(rows.bytes(), kGuard);
  const FrameView view = moved(frame.view, frame.bytes.data(), in.data());
  const cudaGraphExec_t graph = test::capture(stream, [&] {
    EXPECT_TRUE(scaler.value()
                    .enqueue(view, ColorMatrix::kBt709, nullptr, rows.at(out.data()), stream)
                    .ok());
  });
  std::vector<std::uint8_t> last;
  for (int round = 0; round < 6; ++round) {
    if (round % 2 == 0)
      for (std::uint8_t& b : frame.bytes) b = static_cast<std::uint8_t>(random());
    in.set(frame.bytes);
    out.set(std::vector<std::uint8_t>(out.size(), kGuard));
    CUFACE_CUDA_OK(cudaGraphLaunch(graph, stream));
    const auto got = out.get();
    ASSERT_EQ(got, reference(frame.view, ColorMatrix::kBt709, 320, rows));
    EXPECT_EQ(got == last, round % 2 == 1);  // another picture, then the same once more
    last = got;
  }
  CUFACE_CUDA_OK(cudaGraphExecDestroy(graph));
}

TEST_F(ColourCuda, TimeOfOneFrame) {
  const test::Stream stream;
  std::mt19937 random(25);
  struct Case {
    const char* layout;
    int width, height, input_size;
  };
  for (const Case& c : {Case{"NV12, AV12", 1280, 720, 640},
                        {"NV12, AV12", 1280, 720, 0},
                        {"NV12, AV12", 1920, 1080, 640},
                        {"P010_10LE", 1920, 1080, 640},
                        {"RGBx, RGBA", 1280, 720, 640}}) {
    const test::TestFrame frame =
        test::make_frame(layout_named(c.layout), c.width, c.height, random, 0, 0);
    auto scaler = cuda::BgrScaler::create(c.width, c.height, c.input_size);
    ASSERT_TRUE(scaler.ok()) << scaler.status().message();
    const Rows rows(scaler.value().size(), 0);
    GuardedBytes in(frame.bytes), out(rows.bytes(), kGuard);
    const FrameView view = moved(frame.view, frame.bytes.data(), in.data());
    const auto enqueue = [&] {
      EXPECT_TRUE(scaler.value()
                      .enqueue(view, ColorMatrix::kBt709, nullptr, rows.at(out.data()), stream)
                      .ok());
    };
    enqueue();
    ASSERT_EQ(out.get(), reference(frame.view, ColorMatrix::kBt709, c.input_size, rows));
    const std::string size = std::to_string(c.width) + "x" + std::to_string(c.height) + " to " +
                             std::to_string(rows.size.width) + "x" +
                             std::to_string(rows.size.height);
    const std::string what = std::string("colour ") + c.layout;
    test::report_time(what.c_str(), size.c_str(), test::median_us(stream, enqueue));
    auto cpu = BgrScaler::create(c.width, c.height, c.input_size);
    std::vector<std::uint8_t> bytes(rows.bytes());
    test::report_cpu_time(what.c_str(), size.c_str(), [&] {
      EXPECT_TRUE(cpu.value().run(frame.view, ColorMatrix::kBt709, rows.at(bytes.data())).ok());
    });
  }
}

TEST(ColourCudaArguments, AreCheckedBeforeAnyGpuIsNeeded) {
  for (const auto& [width, height, input_size] : {std::array{0, 5, 5}, {5, 0, 5}, {5, 5, -1}})
    EXPECT_EQ(cuda::BgrScaler::create(width, height, input_size).status().code(),
              StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace cuface
