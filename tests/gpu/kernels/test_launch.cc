// The lists of launches that become graphs: what they keep, and whether they know that they are
// what they were.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernels/luma/luma_cuda.h"
#include "tests/gpu/gpu.h"

namespace cuface::test {
namespace {

using cuda::Launcher;

struct Large {
  double values[7];
  char last;
};
void takes_all_kinds(int, Large, const char*, char) {}
void takes_numbers(double, float) {}

/// Needs no GPU: nothing is launched.
TEST(LaunchList, KeepsShapesAndConvertedArguments) {
  constexpr std::size_t kPairs = 50;
  cuda::LaunchList list;
  for (int round = 0; round < 2; ++round) {
    list.clear();
    const Launcher launch(list);
    Large large = {{1, 2, 3, 4, 5, 6, 7}, 'x'};
    for (std::size_t i = 0; i < kPairs; ++i) {
      large.values[3] = static_cast<double>(i);
      const auto n = static_cast<int>(i);
      ASSERT_TRUE(
          launch("all", takes_all_kinds, {n + 1, dim3(2, 3), 7}, n, large, "hey", 'q').ok());
      ASSERT_TRUE(launch("numbers", takes_numbers, {1, 1}, n, 2).ok());
    }
    ASSERT_EQ(list.entries().size(), 2 * kPairs);
    std::vector<void*> pointers;
    for (std::size_t i = 0; i < kPairs; ++i) {
      const cuda::LaunchList::Entry& all = list.entries()[2 * i];
      list.argument_pointers(all, pointers);
      ASSERT_EQ(pointers.size(), 4u);
      EXPECT_EQ(*static_cast<int*>(pointers[0]), static_cast<int>(i));
      EXPECT_EQ(static_cast<Large*>(pointers[1])->values[3], static_cast<double>(i));
      EXPECT_EQ(static_cast<Large*>(pointers[1])->last, 'x');
      EXPECT_STREQ(*static_cast<const char**>(pointers[2]), "hey");
      EXPECT_EQ(*static_cast<char*>(pointers[3]), 'q');
      EXPECT_EQ(all.shape.grid.x, i + 1);
      EXPECT_EQ(all.shape.block.y, 3u);
      EXPECT_EQ(all.shape.shared, 7u);
      list.argument_pointers(list.entries()[2 * i + 1], pointers);
      EXPECT_EQ(*static_cast<double*>(pointers[0]), static_cast<double>(i));
      EXPECT_EQ(*static_cast<float*>(pointers[1]), 2.0f);
    }
  }
}

TEST(LaunchList, IfsCanBeLeftOut) {
  cuda::LaunchList list;
  const std::int32_t run = 0;
  for (const bool ifs : {true, false}) {
    list.clear();
    const Launcher launch = ifs ? Launcher(list) : Launcher(list).without_ifs();
    launch.begin_if(&run);
    ASSERT_TRUE(launch("numbers", takes_numbers, {1, 1}, 1.0, 2).ok());
    launch.end_if();
    ASSERT_EQ(list.entries().size(), ifs ? 3u : 1u);
    EXPECT_EQ(list.entries()[ifs ? 1 : 0].inside, ifs);
    ASSERT_TRUE(launch("numbers", takes_numbers, {1, 1}, 1.0, 2).ok());
    EXPECT_FALSE(list.entries().back().inside);
  }
}

/// What a list says of itself after it was filled again. Needs no GPU either.
TEST(LaunchList, KnowsWhetherItIsWhatItWas) {
  using cuda::LaunchList;
  struct Work {
    double number = 1;
    unsigned blocks = 1;
    const char* event = "a";  // as a handle: only compared
    std::int32_t run = 0;
    std::shared_ptr<const LaunchList> part = std::make_shared<LaunchList>();
    int variant = 1, last = 1;
  };
  const auto fill = [](LaunchList& list, const Work& work, const std::int32_t* run) {
    list.clear();
    const Launcher launch(list);
    launch.set_variant(work.variant);
    EXPECT_TRUE(launch.record(reinterpret_cast<cudaEvent_t>(const_cast<char*>(work.event))).ok());
    EXPECT_TRUE(launch("numbers", takes_numbers, {work.blocks, 1}, work.number, 2).ok());
    launch.begin_if(run);
    EXPECT_TRUE(launch("numbers", takes_numbers, {1, 1}, 5, 2).ok());
    launch.end_if();
    list.add_part(work.part);
    for (int i = 0; i < work.last; ++i)
      EXPECT_TRUE(launch("numbers", takes_numbers, {1, 1}, i, 2).ok());
  };
  const Work same;
  const std::int32_t here = 0, there = 0;
  std::vector<std::pair<const char*, Work>> others(6, {"", same});
  others[0].first = "an argument", others[0].second.number = 2;
  others[1].first = "a shape", others[1].second.blocks = 2;
  others[2].first = "an event", others[2].second.event = "b";
  others[3].first = "a variant", others[3].second.variant = 0;
  others[4].first = "one entry more", others[4].second.last = 2;
  others[5].first = "one entry less", others[5].second.last = 0;
  others.push_back({"a part", same});
  others.back().second.part = std::make_shared<LaunchList>();
  others.push_back({"a condition", same});
  for (const auto& [what, other] : others) {
    SCOPED_TRACE(what);
    const bool condition = std::string(what) == "a condition";
    LaunchList list;
    fill(list, same, &here);
    EXPECT_EQ(list.launched_as(), 0u);
    list.set_launched_as(7);
    EXPECT_EQ(list.launched_as(), 7u);
    fill(list, same, &here);
    EXPECT_EQ(list.launched_as(), 7u);
    fill(list, other, condition ? &there : &here);
    EXPECT_EQ(list.launched_as(), 0u);
    LaunchList fresh;
    fill(fresh, other, condition ? &there : &here);
    ASSERT_EQ(list.entries().size(), fresh.entries().size());
    for (std::size_t i = 0; i < fresh.entries().size(); ++i) {
      const auto &a = list.entries()[i], &b = fresh.entries()[i];
      EXPECT_EQ(a.kind, b.kind);
      EXPECT_EQ(a.inside, b.inside);
      EXPECT_EQ(a.event, b.event);
      EXPECT_EQ(a.run, b.run);
      EXPECT_EQ(a.part, b.part);
      EXPECT_TRUE(a.shape == b.shape);
      ASSERT_EQ(a.bytes, b.bytes);
      EXPECT_TRUE(a.bytes == 0 ||
                  std::memcmp(list.argument_bytes(a), fresh.argument_bytes(b), a.bytes) == 0);
    }
    // Neither what was never submitted nor the way back to what was.
    fill(list, same, &here);
    EXPECT_EQ(list.launched_as(), std::string(what) == "a variant" ? 7u : 0u);
  }
}

/// One that is what it was when it was launched, though its graph has done another's work since.
TEST(LaunchListCuda, ListsTakeTurnsInOneGraph) {
  CUFACE_NEEDS_GPU();
  constexpr int kLists = 3;
  struct Work {
    cuda::DeviceImage<std::uint8_t> from, to;
    cuda::LaunchList list;
  };
  const Stream stream;
  cuda::GraphSet graphs;
  std::array<Work, kLists> works;
  for (int i = 0; i < kLists; ++i) {
    Work& work = works[static_cast<std::size_t>(i)];
    for (auto* image : {&work.from, &work.to}) {
      auto made = cuda::DeviceImage<std::uint8_t>::create(1, 1);
      ASSERT_TRUE(made.ok());
      *image = std::move(made.value());
    }
    CUFACE_CUDA_OK(cudaMemset(work.from.view().data, 10 + i, 1));
  }
  for (const std::size_t i : {0, 0, 1, 0, 1, 1, 2, 2, 0, 0, 1, 2, 2, 2}) {
    for (Work& work : works) CUFACE_CUDA_OK(cudaMemset(work.to.view().data, 0, 1));
    CUFACE_CUDA_OK(cudaDeviceSynchronize());
    FrameView frame;
    frame.width = frame.height = 1;
    frame.full_range = true;
    frame.component[0].data = works[i].from.view().data;
    frame.component[0].stride = works[i].from.view().stride;
    works[i].list.clear();
    ASSERT_TRUE(cuda::luma(frame, works[i].to.view(), Launcher(works[i].list)).ok());
    ASSERT_TRUE(graphs.submit(works[i].list, stream).ok());
    CUFACE_CUDA_OK(cudaStreamSynchronize(stream));
    for (std::size_t k = 0; k < kLists; ++k) {
      std::uint8_t got = 0;
      CUFACE_CUDA_OK(cudaMemcpy(&got, works[k].to.view().data, 1, cudaMemcpyDeviceToHost));
      ASSERT_EQ(got, k == i ? 10 + i : 0) << "list " << k;
    }
  }
  EXPECT_EQ(graphs.built().graphs, 1);
  EXPECT_EQ(graphs.built().set, 7u);  // where it is not the list of the time before
}

}  // namespace
}  // namespace cuface::test
