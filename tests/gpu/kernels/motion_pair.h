// Motion on both processors, and scenes for it, without an image library.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "kernels/common/bits.h"
#include "kernels/motion/cuda/detector.h"
#include "kernels/motion/motion.h"
#include "tests/gpu/compare.h"
#include "tests/gpu/gpu.h"
#include "tests/moving_faces.h"

namespace cuface::test {

using Random = std::mt19937;

inline constexpr std::int64_t kFrame = 40'000'000;

inline int below(Random& random, int n) {
  return static_cast<int>(random() % static_cast<unsigned>(n));
}

inline void rectangle(Grey& picture, int x, int y, int w, int h, std::uint8_t value) {
  for (int v = std::max(y, 0); v < std::min(y + h, picture.height); ++v)
    for (int u = std::max(x, 0); u < std::min(x + w, picture.width); ++u)
      picture.view().at(u, v) = value;
}

/// A still scene with noise, in which squares move, it rains, the light changes, and another scene
/// comes.
class MovingScene {
 public:
  MovingScene(int width, int height, unsigned seed)
      : random_(seed), still_(textured(width, height, static_cast<int>(seed))) {}

  /// Each of them from here on.
  int light = 0;
  bool squares = false, rain = false;
  void cut() {
    for (auto& p : still_.pixels) p = static_cast<std::uint8_t>(p * 7 + 90);
  }

  Grey next() {
    Grey out = still_;
    const int w = out.width, h = out.height, side = std::max(3, std::min(w, h) / 5);
    ++frame_;
    for (int i = 0; i < 3 && squares; ++i)
      rectangle(out, (frame_ * (i + 1) + i * w / 3) % (w + side) - side, i * h / 3, side, side,
                static_cast<std::uint8_t>(80 * i + 10));
    for (int i = 0; i < w * h / 60 && rain; ++i)
      rectangle(out, below(random_, w), below(random_, h), 1, 3, 250);
    for (auto& p : out.pixels)
      p = static_cast<std::uint8_t>(std::clamp(p + light + below(random_, 5) - 2, 0, 255));
    return out;
  }

 private:
  Random random_;
  Grey still_;
  int frame_ = 0;
};

inline std::vector<std::uint64_t> words_in(ImageView<const std::uint64_t> map) {
  std::vector<std::uint64_t> out;
  for (int y = 0; y < map.height; ++y) out.insert(out.end(), map.row(y), map.row(y) + map.width);
  return out;
}

/// What of two results differs; empty where nothing does.
inline std::string difference(const MotionResult& a, const MotionResult& b) {
#define SAME(member) \
  if (std::memcmp(&a.member, &b.member, sizeof a.member) != 0) return #member
  SAME(compared);
  SAME(learning);
  SAME(global_change);
  SAME(began);
  SAME(ended);
  SAME(in_event);
  SAME(begin);
  SAME(last);
  SAME(changed);
  SAME(pixels);
  SAME(moving_cells);
  SAME(count);
  SAME(beyond);
  SAME(boxes);
  SAME(active);
  SAME(moving);
  SAME(cell_changed);
  SAME(cell_pixels);
  SAME(cell_stirred);
#undef SAME
  return {};
}

/// Both processors, of one video.
class MotionPair {
 public:
  MotionPair(const MotionConfig& config, int width, int height)
      : picture_(width, height, 1, 3),
        map_(static_cast<std::size_t>(words_of(width) * height) * 8, kCanary),
        out_(sizeof(MotionResult), kCanary) {
    auto cpu = MotionDetector::create(config, width, height);
    auto gpu = cuda::MotionDetector::create(config, width, height);
    EXPECT_TRUE(cpu.ok() && gpu.ok()) << cpu.status().message() << gpu.status().message();
    if (!cpu.ok() || !gpu.ok()) return;
    cpu_.emplace(std::move(cpu.value()));
    gpu_.emplace(std::move(gpu.value()));
  }

  void ignore(const Grey& pixels) {
    EXPECT_TRUE(cpu_->ignore(pixels.view()).ok());
    EXPECT_TRUE(gpu_->ignore(pixels.view()).ok());
  }
  void forget() {
    cpu_->forget();
    gpu_->forget();
  }
  void finish() {
    cpu_->finish();
    gpu_->finish();
  }

  void look(const Grey& picture, std::int64_t time, cuda::Launcher launch) {
    picture_.set(picture.view());
    const Status enqueued = gpu_->enqueue(picture_.view(), time, out(), launch);
    ASSERT_TRUE(enqueued.ok()) << enqueued.message();
    expected_ = *cpu_->look(picture.view(), time).value();
  }
  void look(ImageView<const std::uint64_t> edges, std::int64_t time, cuda::Launcher launch) {
    map_.set(bytes_of(words_in(edges)));
    const ImageView<const std::uint64_t> view{reinterpret_cast<std::uint64_t*>(map_.data()),
                                              edges.width, edges.height, edges.width * 8};
    const Status enqueued = gpu_->enqueue(view, time, out(), launch);
    ASSERT_TRUE(enqueued.ok()) << enqueued.message();
    expected_ = *cpu_->look(edges, time).value();
  }
  void compare() {
    const std::vector<std::uint8_t> bytes = out_.get();
    MotionResult got;
    std::memcpy(&got, bytes.data(), sizeof got);
    ASSERT_EQ(difference(got, expected_), "");
    const auto mask = gpu_->mask();
    const auto* begin = reinterpret_cast<const std::uint8_t*>(mask.data);
    const auto rows = download({begin, mask.width * 8, mask.height, mask.stride});
    ASSERT_TRUE(values_of<std::uint64_t>(rows) == words_in(cpu_->mask()));
  }

  const MotionResult& result() const { return expected_; }
  MotionResult* out() { return reinterpret_cast<MotionResult*>(out_.data()); }
  cuda::MotionDetector& gpu() { return *gpu_; }
  MotionDetector& cpu() { return *cpu_; }

 private:
  std::optional<MotionDetector> cpu_;
  std::optional<cuda::MotionDetector> gpu_;
  DevicePicture picture_;
  GuardedBytes map_, out_;
  MotionResult expected_;
};

}  // namespace cuface::test
