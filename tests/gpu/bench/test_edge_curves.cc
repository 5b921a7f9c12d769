// Time of edges and motion on CUDA against the size of a square picture, as tests/eval/edges.cc has
// it, by the same names [S1.05 - S1.10]. What is timed is compared with the CPU's, at every size.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <vector>

#include "kernels/common/bits.h"
#include "kernels/edges/cuda/detector.h"
#include "kernels/motion/cuda/detector.h"
#include "tests/gpu/bench/curve.h"
#include "tests/moving_faces.h"
#include "tests/published_edges.h"

namespace cuface {
namespace {

/// Under a tool any picture will do.
test::Grey natural_or_drawn() {
  const test::Grey natural = test::natural("mosaic1080");
  return natural.width == 0 && test::under_tool() ? test::textured(192, 108, 1) : natural;
}

double once(cudaStream_t stream, cuda::LaunchList list) {
  cuda::GraphSet graphs;
  EXPECT_TRUE(graphs.submit(list, stream).ok());
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  return 0;
}

TEST(EdgeCurvesCuda, EdgesAsPublished) {
  CUFACE_NEEDS_GPU();
  const test::Grey mosaic = natural_or_drawn();
  if (mosaic.width == 0) GTEST_SKIP() << "no natural pictures: set CUFACE_GPU_DATA";
  const EdgeConfig config = test::published_edges_without_blur();
  test::Stream stream;
  test::Curve curve("edges as published", "pixels of the picture");
  long edges = 0;
  for (const int side :
       test::sizes<int>({100, 500, 1000, 2000, 3000, 4000, 5000, 6000}, {64, 100})) {
    const test::Grey picture = test::resized(mosaic, side, side);
    cuda::ScratchLayout layout;
    auto made = cuda::EdgeDetector::create(config, side, side, layout);
    ASSERT_TRUE(made.ok()) << made.status().message();
    test::GuardedBytes scratch(layout.bytes(), test::kCanary);
    made.value().bind(reinterpret_cast<std::byte*>(scratch.data()));
    test::DevicePicture grey(side, side);
    grey.set(picture.view());
    const auto pixels = static_cast<std::size_t>(side) * static_cast<std::size_t>(side);
    test::GuardedBytes map(pixels, test::kCanary);
    cuda::LaunchList list;
    ASSERT_TRUE(made.value()
                    .enqueue(grey.view(), {{map.data(), side, side, side}, {}, {}, {}},
                             cuda::Launcher(list))
                    .ok());
    curve.add(static_cast<double>(pixels), test::launch_us(stream, list));

    auto reference = EdgeDetector::create(config, side, side);
    ASSERT_TRUE(reference.ok()) << reference.status().message();
    Image<std::uint8_t> expected(side, side);
    ASSERT_TRUE(reference.value().run(picture.view(), {expected.view(), {}, {}, {}}).ok());
    const std::vector<std::uint8_t> found = map.get();
    for (int y = 0; y < side; ++y)
      ASSERT_TRUE(std::equal(expected.view().row(y), expected.view().row(y) + side,
                             found.begin() + static_cast<std::ptrdiff_t>(y) * side))
          << side << ", row " << y;
    edges += std::count(found.begin(), found.end(), 255);
  }
  curve.expect_no_faster_than_the_work();
  test::compared("edge pixels", edges, 100'000);
}

TEST(EdgeCurvesCuda, MotionAsPublished) {
  CUFACE_NEEDS_GPU();
  const test::Grey mosaic = natural_or_drawn();
  if (mosaic.width == 0) GTEST_SKIP() << "no natural pictures: set CUFACE_GPU_DATA";
  MotionConfig config = published_motion();
  config.tolerance = test::under_tool() ? 1 : 12;  // small pictures have an edge nearby everywhere
  test::Stream stream;
  test::Curve curve("motion of bit maps, as published", "pixels of the picture");
  long changed = 0;
  for (const int side :
       test::sizes<int>({100, 500, 1000, 2000, 3000, 4000, 5000, 6000, 7500}, {64, 100})) {
    SCOPED_TRACE(side);
    test::Grey picture = test::resized(mosaic, side, side);
    auto edges = EdgeDetector::create(test::published_edges_without_blur(), side, side);
    auto ours = cuda::MotionDetector::create(config, side, side);
    auto reference = MotionDetector::create(config, side, side);
    ASSERT_TRUE(edges.ok() && ours.ok() && reference.ok());
    const int words = words_of(side), third = side / 3;
    Image<std::uint64_t> map(words, side);
    const auto bytes = static_cast<std::size_t>(words * 8) * static_cast<std::size_t>(side);
    test::GuardedBytes device(bytes, test::kCanary), out(sizeof(MotionResult), test::kCanary);
    const ImageView<const std::uint64_t> view{reinterpret_cast<std::uint64_t*>(device.data()),
                                              words, side, words * 8};
    MotionResult expected;
    cuda::LaunchList list;
    for (const int frame : {0, 1}) {
      // What was a third of the way to the right is in the middle.
      for (int y = third; y < 2 * third && frame == 1; ++y)
        std::copy_n(picture.view().row(y), third, picture.view().row(y) + third);
      ASSERT_TRUE(edges.value().run(picture.view(), {{}, {}, {}, map.view()}).ok());
      std::vector<std::uint8_t> content;
      for (int y = 0; y < side; ++y) {
        const auto* row = reinterpret_cast<const std::uint8_t*>(map.view().row(y));
        content.insert(content.end(), row, row + words * 8);
      }
      device.set(content);
      list = {};
      ASSERT_TRUE(ours.value()
                      .enqueue(view, frame, reinterpret_cast<MotionResult*>(out.data()),
                               cuda::Launcher(list))
                      .ok());
      expected = *reference.value().look(map.view(), frame).value();
      // The second frame again and again: what it is compared with stays where it is.
      const double us = frame == 1 ? test::launch_us(stream, list) : once(stream, list);
      if (frame == 1) curve.add(static_cast<double>(side) * side, us);
    }
    const std::vector<std::uint8_t> found = out.get();
    MotionResult got;
    std::memcpy(static_cast<void*>(&got), found.data(), sizeof got);
    EXPECT_EQ(got.compared, 1);
    EXPECT_EQ(got.changed, expected.changed);
    EXPECT_EQ(got.moving_cells, expected.moving_cells);
    EXPECT_TRUE(std::ranges::equal(got.cell_changed, expected.cell_changed));
    changed += got.changed;
  }
  curve.expect_no_faster_than_the_work();
  test::compared("changed pixels", changed, 4'000);
}

}  // namespace
}  // namespace cuface
