// Grouping on CUDA against group(): both rules over windows at random and in arrangements that are
// hard to unite.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "kernels/group/box_rules.h"
#include "kernels/group/group.h"
#include "tests/gpu/gpu.h"
#include "tests/gpu/kernels/detect_pair.h"
#include "tests/gpu/kernels/group_setting.h"

namespace cuface {
namespace {

using test::GuardedBytes;
using test::kCanary;
using Setting = test::GroupSetting;
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

/// Each of the last windows is related to several of the first ones, which are not related to one
/// another: sets that are united from the middle. In the order that takes most rounds.
Windows hubs(int count) {
  Windows windows;
  for (int i = 0; i < count; ++i) {
    const int place = i < count / 2 ? 2 * i : 2 * (count - i) - 1;
    windows.push_back({15 * place, 4, 90, 100});
  }
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
    for (Grouping rule : {Grouping::kOpenCv, Grouping::kOverlap})
      for (int neighbors : test::under_tool() ? std::vector{0, 1} : std::vector{0, 1, 2, 3, 8}) {
        settings_.push_back(std::make_unique<Setting>(rule, neighbors, kLimit));
      }
  }

  /// Both rules with several limits; the same groupers for all windows of a test, as every launch
  /// finds what the one before left.
  void compare(const Windows& windows) {
    Windows padded = windows;
    padded.resize(std::min<std::size_t>(std::max<std::size_t>(windows.size(), 1), kLimit));
    std::vector<std::uint8_t> bytes(padded.size() * sizeof(Rect)), number(4);
    std::memcpy(bytes.data(), padded.data(), bytes.size());
    const auto count = static_cast<std::uint32_t>(windows.size());
    std::memcpy(number.data(), &count, sizeof count);
    GuardedBytes boxes(bytes), counted(number);
    for (const auto& setting : settings_) {
      SCOPED_TRACE(std::to_string(count) + " windows, rule " +
                   std::to_string(static_cast<int>(setting->rule)) + ", min_neighbors " +
                   std::to_string(setting->neighbors));
      setting->groups.set(std::vector<std::uint8_t>(setting->groups.size(), kCanary));
      ASSERT_TRUE(setting->enqueue(boxes, counted, *stream_).ok());
      const std::vector<Detection> got = setting->found();
      std::vector<Detection> expected;
      GroupScratch scratch;
      if (count <= kLimit) group(windows, setting->rule, setting->neighbors, scratch, expected);
      ASSERT_EQ(got, expected);
      const std::vector<std::uint8_t> written = setting->groups.get();
      const auto end = static_cast<std::ptrdiff_t>(got.size() * sizeof(Detection));
      ASSERT_TRUE(std::all_of(written.begin() + end, written.end(), [](std::uint8_t b) {
        return b == kCanary;
      })) << "wrote behind the last group";
      ASSERT_EQ(boxes.get(), bytes) << "the windows were written to";
      groups_ += static_cast<long>(expected.size());
      for (const Detection& d : expected) grouped_ += d.neighbors;
    }
  }

  std::optional<test::Stream> stream_;
  std::vector<std::unique_ptr<Setting>> settings_;
  long groups_ = 0, grouped_ = 0;
};

TEST_F(GroupCuda, WindowsAtRandom) {
  std::mt19937 random(21);
  // Twice few windows behind many, so that what few said before must not count.
  for (int count : {0, 1, 2, 31, 33, 300, 3000, 1025, 0, 5000, 700, 2})
    ASSERT_NO_FATAL_FAILURE(compare(random_windows(count, random)));
  test::compared("groups", groups_, 5'000);
  test::compared("windows in groups of several", grouped_ - groups_, 10'000);
}

/// Few windows are grouped in another way than more.
TEST_F(GroupCuda, AtTheLimitOfFew) {
  std::mt19937 random(23);
  constexpr int kFew = cuda::Grouper::kFewWindows;
  for (int count : test::under_tool() ? std::vector{kFew + 1, kFew}
                                      : std::vector{kFew, kFew + 1, kFew - 1, kFew + 1, 40, kFew})
    ASSERT_NO_FATAL_FAILURE(compare(random_windows(count, random)));
  test::compared("groups", groups_, 5'000);
}

TEST_F(GroupCuda, HardArrangements) {
  std::mt19937 random(22);
  for (int count : test::under_tool() ? std::vector{400} : std::vector{5000, 1500}) {
    ASSERT_NO_FATAL_FAILURE(compare(Windows(static_cast<std::size_t>(count), Rect{7, 9, 30, 31})));
    ASSERT_NO_FATAL_FAILURE(compare(chain(count, random)));
    ASSERT_NO_FATAL_FAILURE(compare(hubs(count)));
  }
  constexpr int kStacks = 300;
  ASSERT_NO_FATAL_FAILURE(compare(stacks(kStacks)));
  GroupScratch scratch;
  std::vector<Detection> kept;
  group(stacks(kStacks), Grouping::kOpenCv, 1, scratch, kept);
  long enough = 0;
  for (int g = 0; g < kStacks; ++g) enough += stack_size(g) > 1;
  test::compared("inner boxes dropped", enough - static_cast<long>(kept.size()), 50);
  Windows apart;
  for (int i = 0; i < test::cases(5000); ++i)
    apart.push_back({i % 100 * 200, i / 100 * 200, 50, 50});
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

TEST_F(GroupCuda, Time) {
  std::mt19937 random(24);
  if (test::under_tool()) return;
  for (int count : {0, 100, 545, 1024, 2016, 2017, 5000}) {
    const Windows windows = random_windows(count, random);
    std::vector<std::uint8_t> bytes(std::max<std::size_t>(windows.size(), 1) * sizeof(Rect));
    std::memcpy(bytes.data(), windows.data(), windows.size() * sizeof(Rect));
    std::vector<std::uint8_t> number(4);
    std::memcpy(number.data(), &count, sizeof count);
    GuardedBytes boxes(bytes), counted(number);
    Setting& setting = *settings_[1];
    test::report_time("grouping", std::to_string(count), test::median_us(*stream_, [&] {
                        EXPECT_TRUE(setting.enqueue(boxes, counted, *stream_).ok());
                      }));
    GroupScratch scratch;
    std::vector<Detection> groups;
    test::report_cpu_time("grouping", std::to_string(count), [&] {
      group(windows, setting.rule, setting.neighbors, scratch, groups);
    });
  }
}

}  // namespace
}  // namespace cuface
