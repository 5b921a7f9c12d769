// OpenCV's row rule, many windows at a time, against window by window.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "kernels/cascade/row_rule.h"

namespace cuface {
namespace {

/// Which windows of a row are skipped: `failed` has those that fail the first stage if visited.
std::vector<bool> one_by_one(const std::vector<bool>& failed) {
  std::vector<bool> skipped(failed.size());
  for (std::size_t x = 0; x < failed.size(); ++x) {
    const std::size_t failed_stage = failed[x] ? 0 : 1;
    if (skips_next(failed_stage) && ++x < failed.size()) skipped[x] = true;
  }
  return skipped;
}

TEST(RowRule, PartsOfARowOfAnyWidthAreAsWindowByWindow) {
  std::mt19937 random(3);
  int skips = 0, carries = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    const int width = 1 + static_cast<int>(random() % 300), rate = 1 + trial % 9;
    std::vector<bool> failed;
    for (int x = 0; x < width; ++x) failed.push_back(static_cast<int>(random() % 10) < rate);
    const std::vector<bool> want = one_by_one(failed);
    for (const int part : {1, 8, 16, 31, 32, 63, 64}) {
      bool carry = false;
      for (int first = 0; first < width; first += part) {
        const int count = std::min(part, width - first);
        std::uint64_t word = 0;
        for (int i = 0; i < count; ++i)
          word |= std::uint64_t{failed[static_cast<std::size_t>(first + i)]} << i;
        carries += carry;
        const std::uint64_t skipped = skipped_windows(word, count, carry);
        for (int i = 0; i < count; ++i) {
          ASSERT_EQ(skipped >> i & 1, want[static_cast<std::size_t>(first + i)])
              << "window " << first + i << " of " << width << " in parts of " << part;
          skips += skipped >> i & 1;
        }
      }
    }
  }
  EXPECT_GT(skips, 100'000);
  EXPECT_GT(carries, 10'000);
}

}  // namespace
}  // namespace cuface
