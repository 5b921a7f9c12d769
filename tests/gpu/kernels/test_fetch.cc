// What searches of several pictures found: counts, boxes and pixels of windows, to the host.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "kernels/cascade/cuda/fetch.h"
#include "kernels/common/random.h"
#include "kernels/levels/levels.h"
#include "tests/gpu/gpu.h"

namespace cuface {
namespace {

constexpr int kWidth = 7, kHeight = 5;  // of a window
constexpr std::size_t kWindowBytes = kWidth * kHeight;
constexpr int kAtlasWidth = 96, kLevelHeight = 40;
constexpr std::uint32_t kMostBoxes = 20, kMostWindows = 21;
// None, some, as many as there is room for then, one more than that, more than have their boxes
// fetched.
constexpr std::uint32_t kCounts[] = {0, 5, 12, 4, 1, kMostBoxes + 1};
constexpr std::size_t kPictures = std::size(kCounts);

/// A level in two parts, as a search may have it, and a larger one whose windows are scaled more.
std::vector<cuda::WindowLevel> levels() {
  std::vector<cuda::WindowLevel> out;
  for (const float scale : {4.59497f, 1.331f, 1.331f, 1.0f}) {
    cuda::WindowLevel level = {};
    level.scale = scale;
    level.x = scale > 2 ? 16 : 0;
    level.y = scale > 2 ? 0 : scale > 1 ? kLevelHeight : 2 * kLevelHeight;
    out.push_back(level);
  }
  return out;
}

template <typename T>
void put(const T& value, std::size_t at, std::vector<std::uint8_t>& bytes) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}
template <typename T>
T got(const std::vector<std::uint8_t>& bytes, std::size_t number) {
  T value;
  std::memcpy(&value, bytes.data() + number * sizeof value, sizeof value);
  return value;
}

TEST(FetchCuda, GivesCountsBoxesAndPixels) {
  CUFACE_NEEDS_GPU();
  const std::vector<cuda::WindowLevel> table = levels();
  constexpr std::size_t kCountsAt = 0, kBoxesAt = 256, kAtlasAt = 1024;
  constexpr std::size_t kApart = kAtlasAt + std::size_t{kAtlasWidth} * kLevelHeight * 3;
  std::vector<std::uint8_t> memory(kPictures * kApart);
  for (std::size_t i = 0; i < memory.size(); ++i)
    memory[i] = static_cast<std::uint8_t>(random_at(38, i) >> 56);
  std::vector<std::uint8_t> expected(kMostWindows * kWindowBytes, test::kCanary);
  std::vector<Rect> boxes;
  for (std::size_t picture = 0; picture < kPictures; ++picture) {
    const std::size_t first = picture * kApart;
    cuda::SearchCounts of_picture = {};
    of_picture.raw = kCounts[picture];
    of_picture.done = static_cast<std::uint32_t>(picture);
    put(of_picture, first + kCountsAt, memory);
    for (std::uint32_t i = 0; i < kCounts[picture]; ++i) {
      const auto draw = [&](std::size_t what, std::size_t count) {
        return static_cast<int>(random_index(picture * 100 + i, what, count));
      };
      const cuda::WindowLevel& level = table[static_cast<std::size_t>(draw(0, table.size()))];
      const int x = draw(1, kAtlasWidth - 16 - kWidth + 1), y = draw(2, kLevelHeight - kHeight + 1);
      boxes.push_back(window_box(x, y, kWidth, kHeight, level.scale));
      put(boxes.back(), first + kBoxesAt + i * sizeof(Rect), memory);
      if (boxes.size() > kMostWindows) continue;
      for (int row = 0; row < kHeight; ++row)
        std::copy_n(memory.data() + first + kAtlasAt +
                        static_cast<std::size_t>((level.y + y + row) * kAtlasWidth + level.x + x),
                    kWidth,
                    expected.data() + (boxes.size() - 1) * kWindowBytes +
                        static_cast<std::size_t>(row * kWidth));
    }
  }
  std::vector<std::uint8_t> table_bytes(table.size() * sizeof table[0]);
  std::memcpy(table_bytes.data(), table.data(), table_bytes.size());
  test::GuardedBytes on_gpu(memory), levels_on_gpu(table_bytes);
  test::GuardedBytes counts(kPictures * sizeof(cuda::SearchCounts), test::kCanary),
      found(kPictures * kMostBoxes * sizeof(Rect), test::kCanary),
      pixels(expected.size(), test::kCanary);
  const test::Stream stream;
  ASSERT_TRUE(cuda::fetch_windows(
                  {reinterpret_cast<const Rect*>(on_gpu.data() + kBoxesAt),
                   reinterpret_cast<const cuda::SearchCounts*>(on_gpu.data()),
                   reinterpret_cast<const cuda::WindowLevel*>(levels_on_gpu.data()),
                   static_cast<std::int32_t>(table.size()), kWidth, kHeight},
                  {on_gpu.data() + kAtlasAt, kAtlasWidth, 3 * kLevelHeight, kAtlasWidth}, kPictures,
                  kApart,
                  {reinterpret_cast<cuda::SearchCounts*>(counts.data()),
                   reinterpret_cast<Rect*>(found.data()), pixels.data(), kMostBoxes, kMostWindows},
                  cuda::Launcher(stream))
                  .ok());
  EXPECT_EQ(pixels.get(), expected);
  const std::vector<std::uint8_t> got_counts = counts.get(), got_boxes = found.get();
  std::vector<std::uint8_t> canary(sizeof(Rect), test::kCanary);
  std::size_t box = 0;
  for (std::size_t picture = 0; picture < kPictures; ++picture) {
    const auto count = got<cuda::SearchCounts>(got_counts, picture);
    EXPECT_EQ(count.raw, kCounts[picture]);
    EXPECT_EQ(count.done, picture);
    for (std::uint32_t i = 0; i < kMostBoxes; ++i) {
      const Rect here = got<Rect>(got_boxes, picture * kMostBoxes + i);
      EXPECT_EQ(here, i < kCounts[picture] ? boxes[box + i] : got<Rect>(canary, 0))
          << picture << ' ' << i;
    }
    box += kCounts[picture];
  }
}

}  // namespace
}  // namespace cuface
