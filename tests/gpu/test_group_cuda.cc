// Grouping on CUDA against group(): both rules over windows at random and in arrangements that are
// hard to unite.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <random>
#include <vector>

#include "kernels/group/group.h"
#include "kernels/group/group_cuda.h"
#include "kernels/group/rules.h"
#include "tests/gpu/detect_pair.h"
#include "tests/gpu/gpu.h"

namespace cuface {
namespace {

using test::download;
using test::GuardedBytes;
using test::kCanary;
using Windows = std::vector<Rect>;

constexpr std::uint32_t kLimit = 5000;

Windows random_windows(int count, std::mt19937& random) {
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  Windows windows;
  for (int i = 0; i < count; ++i) {
    const int side = 20 + below(100);
    windows.push_back({below(2000), below(1000), side, side + below(3)});
    if (i % 3 > 0) {  // near another
      windows.back() = windows[static_cast<std::size_t>(below(i))];
      windows.back().x += below(5);
    }
  }
  return windows;
}

/// Each is related to its neighbours only, so that all of them are one group; in random order.
Windows chain(int count, std::mt19937& random) {
  Windows windows;
  for (int i = 0; i < count; ++i) windows.push_back({10 * i, 3 * i, 100, 100});
  std::shuffle(windows.begin(), windows.end(), random);
  return windows;
}

int stack_size(int g) { return g % 2 ? g % 9 + 1 : 6; }

/// Stacks of windows, every second one inside the one before: inner boxes with fewer and with more
/// windows than the outer ones.
Windows stacks(int count) {
  Windows windows;
  for (int g = 0; g < count; ++g)
    for (int i = 0; i < stack_size(g); ++i)
      windows.push_back(g % 2 ? Rect{(g - 1) * 300 + 50 + i % 2, 60, 80, 80 + i % 3}
                              : Rect{g * 300 + i % 3, 7, 200 + i % 2, 200});
  return windows;
}

class GroupCuda : public testing::Test {
 protected:
  void SetUp() override {
    CUFACE_NEEDS_GPU();
    stream_.emplace();
  }

  /// Both rules with several limits.
  void compare(const Windows& windows) {
    Windows padded = windows;
    padded.resize(std::min<std::size_t>(std::max<std::size_t>(windows.size(), 1), kLimit));
    std::vector<std::uint8_t> bytes(padded.size() * sizeof(Rect)), number(4);
    std::memcpy(bytes.data(), padded.data(), bytes.size());
    const auto count = static_cast<std::uint32_t>(windows.size());
    std::memcpy(number.data(), &count, sizeof count);
    GuardedBytes boxes(bytes), counted(number);
    for (Grouping rule : {Grouping::kOpenCv, Grouping::kOverlap})
      for (int neighbors : {0, 1, 2, 3, 8}) {
        SCOPED_TRACE(std::to_string(count) + " windows, rule " +
                     std::to_string(static_cast<int>(rule)) + ", min_neighbors " +
                     std::to_string(neighbors));
        cuda::ScratchLayout layout;
        cuda::Grouper grouper(rule, neighbors, kLimit, layout);
        const auto memory = cuda::Scratch::create(layout.bytes());
        ASSERT_TRUE(memory.ok()) << memory.status().message();
        grouper.bind(memory.value()->data());
        const Detection* groups = grouper.groups();
        test::Pair::fill(groups, kLimit);
        ASSERT_TRUE(grouper
                        .enqueue(reinterpret_cast<const Rect*>(boxes.data()),
                                 reinterpret_cast<const std::uint32_t*>(counted.data()), *stream_)
                        .ok());
        const std::uint32_t found = download(grouper.group_count(), 1)[0];
        ASSERT_LE(found, kLimit);
        auto all = download(groups, kLimit);
        const auto end = all.begin() + found;
        std::sort(all.begin(), end, comes_before);
        std::vector<Detection> expected;
        GroupScratch scratch;
        if (count <= kLimit) group(windows, rule, neighbors, scratch, expected);
        ASSERT_EQ(std::vector<Detection>(all.begin(), end), expected);
        const auto* behind = reinterpret_cast<const std::uint8_t*>(all.data() + found);
        ASSERT_TRUE(std::all_of(behind, reinterpret_cast<const std::uint8_t*>(all.data() + kLimit),
                                [](std::uint8_t b) { return b == kCanary; }))
            << "wrote behind the last group";
        ASSERT_EQ(boxes.get(), bytes) << "the windows were written to";
        groups_ += static_cast<long>(expected.size());
        for (const Detection& d : expected) grouped_ += d.neighbors;
      }
  }

  std::optional<test::Stream> stream_;
  long groups_ = 0, grouped_ = 0;
};

TEST_F(GroupCuda, WindowsAtRandom) {
  std::mt19937 random(21);
  for (int count : {0, 1, 2, 31, 300, 3000, 5000})
    ASSERT_NO_FATAL_FAILURE(compare(random_windows(count, random)));
  test::compared("groups", groups_, 5'000);
  test::compared("windows in groups of several", grouped_ - groups_, 10'000);
}

TEST_F(GroupCuda, HardArrangements) {
  std::mt19937 random(22);
  ASSERT_NO_FATAL_FAILURE(compare(Windows(5000, Rect{7, 9, 30, 31})));
  ASSERT_NO_FATAL_FAILURE(compare(chain(5000, random)));
  constexpr int kStacks = 300;
  ASSERT_NO_FATAL_FAILURE(compare(stacks(kStacks)));
  GroupScratch scratch;
  std::vector<Detection> kept;
  group(stacks(kStacks), Grouping::kOpenCv, 1, scratch, kept);
  long enough = 0;
  for (int g = 0; g < kStacks; ++g) enough += stack_size(g) > 1;
  test::compared("inner boxes dropped", enough - static_cast<long>(kept.size()), 50);
  Windows apart;
  for (int i = 0; i < 5000; ++i) apart.push_back({i % 100 * 200, i / 100 * 200, 50, 50});
  ASSERT_NO_FATAL_FAILURE(compare(apart));
  // Means that lie in the middle of two numbers, below and above 0.
  Windows ties;
  for (int i = 0; i < 400; ++i)
    ties.push_back({i / 2 * 500 - 50'000 + i % 2, -20 + i % 2, 41 - i % 2, 60});
  ASSERT_NO_FATAL_FAILURE(compare(ties));
  test::compared("groups", groups_, 10'000);
  test::compared("windows in groups of several", grouped_ - groups_, 50'000);
}

TEST_F(GroupCuda, MoreWindowsThanTheLimitAreNone) {
  ASSERT_NO_FATAL_FAILURE(compare(Windows(kLimit + 1, Rect{1, 2, 30, 30})));
  EXPECT_EQ(groups_, 0);
}

}  // namespace
}  // namespace cuface
