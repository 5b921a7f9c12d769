// The map of active parts on CUDA against the CPU's.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <vector>

#include "kernels/activity/activity_cuda.h"
#include "tests/gpu/gpu.h"
#include "tests/gpu/kernels/changes.h"
#include "tests/gpu/kernels/detect_pair.h"

namespace cuface {
namespace {

using test::download;
using test::GuardedBytes;
using test::Picture;
using test::smooth;

class ActivityCuda : public testing::Test {
 protected:
  void SetUp() override { CUFACE_NEEDS_GPU(); }
  test::Changes changes_;
};

// What a search is told to look at, without the search: also of pictures whose rows lie anywhere.
TEST_F(ActivityCuda, MapsAreTheCpus) {
  struct Size {
    int width, height, full, lead, padding;
    bool no_parts = false;
    int largest_change = 60;
  };
  const test::Stream stream;
  long on = 0, off = 0, kept = 0, nothing = 0, unchanged = 0, only_new = 0, small = 0;
  for (const Size& size : {Size{640, 360, 1, 0, 0},
                           {1283, 717, 2, 1, 0},
                           {97, 61, 1, 3, 7},
                           {31, 300, 3, 2, 2},
                           {2200, 90, 1, 0, 8},
                           {3, 40, 1, 0, 0},
                           {64, 48, 16, 0, 1},
                           {640, 360, 1, 0, 0, true},
                           {97, 61, 1, 3, 7, true},
                           {31, 300, 3, 2, 2, true},
                           {64, 48, 16, 0, 1, true},
                           {4200, 2300, 1, 0, 0},
                           {200, 200, 1, 0, 0, true},
                           {960, 544, 1, 0, 0, true, 240}}) {
    if (test::under_tool() && size.width > 1000) continue;
    const int full_width = size.width * size.full + size.full / 2;
    const int full_height = size.height * size.full + size.full / 2;
    auto gpu =
        cuda::Activity::create(size.width, size.height, full_width, full_height, size.no_parts);
    ASSERT_TRUE(gpu.ok()) << gpu.status().message();
    Activity cpu(size.width, size.height, full_width, full_height, size.no_parts);
    Picture picture = smooth(size.width, size.height, 5, 3, size.lead, size.padding);
    GuardedBytes in(picture.bytes), flag(sizeof(std::int32_t), 0), band(sizeof(SearchRegion), 0);
    GuardedBytes told(sizeof(cuda::FollowedFaces), 0);
    for (int round = 0; round < 40; ++round) {
      SCOPED_TRACE(std::to_string(size.width) + "x" + std::to_string(size.height) + " round " +
                   std::to_string(round));
      constexpr SearchRegion kKinds[] = {kActiveParts,  kNewParts, kChangedParts,
                                         {1, 3},        kNewParts, kActiveParts,
                                         kWholePicture, kNewParts, kChangedParts};
      const SearchRegion what = kKinds[(round + size.width) % 9];
      const bool run = round % 5 != 3;
      const auto faces = changes_.followed(round % 4 == 1   ? 0
                                           : round % 4 == 2 ? 64
                                                            : changes_.below(5),
                                           full_width, full_height);
      std::vector<std::uint8_t> bytes(sizeof what);
      std::memcpy(bytes.data(), &what, sizeof what);
      band.set(bytes);
      flag.set({run, 0, 0, 0});
      bytes.assign(sizeof(cuda::FollowedFaces), test::kCanary);
      auto* list = reinterpret_cast<cuda::FollowedFaces*>(bytes.data());
      list->count = static_cast<std::int32_t>(faces.size());
      std::copy(faces.begin(), faces.end(), list->faces);
      told.set(bytes);
      in.set(picture.bytes);
      const auto before = download(gpu.value().state(), 1)[0];
      const bool whole = what == kWholePicture;
      const auto* run_flag = reinterpret_cast<const std::int32_t*>(flag.data());
      if (whole && round % 3 == 0)
        ASSERT_TRUE(gpu.value().take_all(picture.at(in.data()), run_flag, stream).ok());
      else
        ASSERT_TRUE(gpu.value()
                        .enqueue(picture.at(in.data()), run_flag,
                                 whole && round % 2 == 0
                                     ? nullptr
                                     : reinterpret_cast<const SearchRegion*>(band.data()),
                                 faces.empty()
                                     ? nullptr
                                     : reinterpret_cast<const cuda::FollowedFaces*>(told.data()),
                                 stream)
                        .ok());
      const auto got = download(gpu.value().state(), 1)[0];
      bool search = run;
      EXPECT_EQ(in.get(), picture.bytes) << "the picture was written to";
      if (run && what.active_only) {
        const ActivityMap& expected = cpu.look(picture.view(), faces, what);
        EXPECT_EQ(got.changed_cells, cpu.changed_cells());
        EXPECT_EQ(got.cells, cpu.cells());
        const bool differs =
            std::memcmp(got.changed, cpu.changed().data(), sizeof got.changed) != 0;
        EXPECT_TRUE(!differs || (size.no_parts && what.only_new() && got.changed_cells == 0));
        small += differs;
        ASSERT_EQ(std::memcmp(&got.map, &expected, sizeof expected), 0);
        search = std::ranges::any_of(expected.cells, [](const auto& rows) {
          return std::ranges::any_of(rows, [](std::uint64_t cells) { return cells != 0; });
        });
        if (what.only_if_changed() && cpu.changed_cells() == 0) {
          unchanged += search;
          search = false;
        }
        nothing += !search;
        only_new += what.only_new() && search;
        for (int row = 0; row < cpu.grid().rows; ++row) {
          on += std::popcount(got.changed[row]);
          off += cpu.grid().columns - std::popcount(got.changed[row]);
        }
      } else {
        EXPECT_EQ(std::memcmp(&got.map, &before.map, sizeof before.map), 0) << "it is no search's";
        ++kept;
        if (run && whole) cpu.take(picture.view());
      }
      EXPECT_EQ(download(gpu.value().search(), 1)[0], search);
      if (round % 4 != 0) changes_.change(picture, 1 + size.width / 200, size.largest_change);
    }
  }
  test::compared("cells that have changed", on, 300);
  test::compared("cells that have not", off, test::under_tool() ? 300 : 3'000);
  test::compared("rounds without a look", kept, 30);
  test::compared("looks that find nothing to search", nothing, 5);
  test::compared("looks at followed faces where nothing has changed", unchanged, 5);
  test::compared("looks that find something new", only_new, 10);
  test::compared("looks that find only what is too small", small, 5);
}

}  // namespace
}  // namespace cuface
