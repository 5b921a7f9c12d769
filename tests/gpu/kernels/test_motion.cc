// cuda::MotionDetector against MotionDetector: each frame's result and mask, bit for bit.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "kernels/common/cuda/mailbox.h"
#include "kernels/common/draw_bits.h"
#include "kernels/edges/edges.h"
#include "kernels/motion/cuda/detector.h"
#include "tests/gpu/kernels/motion_pair.h"
#include "tests/gpu/launch_time.h"

namespace cuface {
namespace {

using test::below;
using test::Grey;
using test::kFrame;
using test::MovingScene;
using test::Random;
using test::rectangle;
using test::words_in;
using Pair = test::MotionPair;

class MotionCuda : public testing::Test {
 protected:
  void SetUp() override {
    CUFACE_NEEDS_GPU();
    stream_.emplace();
  }

  MotionConfig random_config(MotionMethod method, int width, int height) {
    MotionConfig c;
    c.method = method;
    c.interval = below(random_, 3) * 3 * kFrame;
    c.columns = 1 + below(random_, std::min(width, below(random_, 3) ? 12 : kMostMotionCells));
    c.rows = 1 + below(random_, std::min(height, below(random_, 3) ? 12 : kMostMotionCells));
    const int tolerances[] = {0, 1, 2, 3, 5, 31, 63, 64, 65, 130, 255};
    c.tolerance = tolerances[below(random_, below(random_, 3) ? 4 : 11)];
    c.symmetric = below(random_, 2) == 0;
    c.border = below(random_, 3) ? 0 : below(random_, 9);
    c.threshold = below(random_, 2) ? 10'000 : below(random_, 100'000);
    c.published_density = below(random_, 4) == 0;
    c.find_global_changes = below(random_, 2) == 0;
    c.min_frames = 1 + below(random_, 3);
    c.gap = below(random_, 8) * kFrame;
    return c;
  }

  /// Random things happen to both; `frame(pair, time)` has the next one.
  template <typename Frame>
  void follow(const MotionConfig& config, int width, int height, int frames, const Frame& frame) {
    SCOPED_TRACE("of " + std::to_string(width) + " x " + std::to_string(height) + ", tolerance " +
                 std::to_string(config.tolerance) + ", cells " + std::to_string(config.columns) +
                 " x " + std::to_string(config.rows));
    Pair pair(config, width, height);
    if (HasFailure()) return;
    if (below(random_, 3) == 0) {
      Grey ignored(width, height);
      rectangle(ignored, below(random_, width), below(random_, height), 1 + width / 3,
                1 + height / 2, 9);
      pair.ignore(ignored);
    }
    std::int64_t time = 0;
    for (int i = 0; i < frames; ++i) {
      SCOPED_TRACE("frame " + std::to_string(i));
      if (below(random_, 20) == 0) pair.finish();
      if (below(random_, config.method == MotionMethod::kBackground ? 150 : 20) == 0) pair.forget();
      time += kFrame * (below(random_, 9) == 0 ? 5 : 1);
      frame(pair, i, time);
      pair.compare();
      if (HasFatalFailure()) return;
      const MotionResult& result = pair.result();
      ++frames_;
      changed_ += result.changed;
      moving_ += result.moving_cells;
      boxes_ += result.count;
      global_ += result.global_change;
      events_ += result.began + result.ended;
    }
  }

  void told(long frames, long changed, long moving, long boxes, long global, long events) {
    test::compared("frames", frames_, frames);
    test::compared("changed pixels", changed_, changed);
    test::compared("moving cells", moving_, moving);
    test::compared("boxes", boxes_, boxes);
    if (!test::under_tool()) {
      test::compared("global changes", global_, global);
      test::compared("begins and ends", events_, events);
    }
  }

  Random random_{11};
  std::optional<test::Stream> stream_;
  long frames_ = 0, changed_ = 0, moving_ = 0, boxes_ = 0, global_ = 0, events_ = 0;
};

TEST_F(MotionCuda, EdgesOfEverySetting) {
  for (int n = 0; n < test::cases(450); ++n) {
    const int w = 1 + below(random_, n % 3 ? 300 : 70), h = 1 + below(random_, n % 4 ? 120 : 9);
    const MotionConfig config = random_config(MotionMethod::kEdges, w, h);
    Image<std::uint64_t> map(words_of(w), h);
    Grey edges(w, h);
    const int dense = below(random_, 3);
    follow(config, w, h, 14, [&](Pair& pair, int i, std::int64_t time) {
      // Much stays, a bar moves, and sometimes everything is new.
      const bool anew = i == 0 || below(random_, 7) == 0;
      for (auto& p : edges.pixels)
        if (anew || below(random_, 500) == 0)
          p = dense == 2 ? below(random_, 9) > 0 : below(random_, dense == 1 ? 4 : 400) == 0;
      Grey now = edges;
      rectangle(now, i * 9 % w, h / 3, 2, 1 + h / 3, 1);
      for (int y = 0; y < h; ++y) pack_row(now.view().row(y), w, map.view().row(y));
      pair.look(std::as_const(map).view(), time, *stream_);
    });
    if (HasFatalFailure()) return;
  }
  told(6300, 40'000, 5'000, 1'000, 20, 200);
}

TEST_F(MotionCuda, DifferencesOfEverySetting) {
  for (int n = 0; n < test::cases(450); ++n) {
    const int w = 1 + below(random_, n % 3 ? 300 : 70), h = 1 + below(random_, n % 4 ? 120 : 9);
    MovingScene scene(w, h, random_());
    follow(random_config(MotionMethod::kDifference, w, h), w, h, 14,
           [&](Pair& pair, int i, std::int64_t time) {
             scene.squares = i % 9 > 2;
             scene.rain = below(random_, 3) == 0;
             if (below(random_, 8) == 0) scene.light = below(random_, 90) - 45;
             pair.look(scene.next(), time, *stream_);
           });
    if (HasFatalFailure()) return;
  }
  told(6300, 500'000, 2'000, 500, 100, 100);
}

// Learning, motion, rain, other light twice, another scene; random things between.
TEST_F(MotionCuda, BackgroundsOfEverySetting) {
  for (int n = 0; n < test::cases(60); ++n) {
    const int w = 20 + below(random_, 260), h = 20 + below(random_, 110);
    MovingScene scene(w, h, random_());
    follow(random_config(MotionMethod::kBackground, w, h), w, h, 185,
           [&](Pair& pair, int i, std::int64_t time) {
             scene.squares = i > 20;
             scene.rain = i > 35 && (i < 65 || i > 100) && i < 127;
             if (i == 45) scene.light = 50;
             if (i == 122) scene.light = -30;
             if (i == 126) scene.cut();
             pair.look(scene.next(), time, *stream_);
           });
    if (HasFatalFailure()) return;
  }
  told(11'100, 500'000, 2'000, 500, 30, 60);
}

// Also more than one block of words beside another.
TEST_F(MotionCuda, EdgesFarApart) {
  for (const int tolerance : {2, 4, 8, 16, 17, 63, 64, 65, 127, 128, 200, 255}) {
    for (const bool symmetric : {true, false}) {
      MotionConfig config;
      config.method = MotionMethod::kEdges;
      config.interval = 0;
      config.tolerance = tolerance;
      config.symmetric = symmetric;
      config.columns = kMostMotionCells;
      const int width = tolerance % 2 == 0 ? 1100 : 2200, height = 24;  // a warp has 2048 pixels
      Image<std::uint64_t> map(words_of(width), height);
      follow(config, width, height, 8, [&](Pair& pair, int, std::int64_t time) {
        Grey edges(width, height, symmetric ? 0 : 1);
        for (int n = 0; n < 6; ++n)
          edges.view().at(below(random_, width), below(random_, height)) = symmetric ? 1 : 0;
        for (int y = 0; y < height; ++y) pack_row(edges.view().row(y), width, map.view().row(y));
        pair.look(std::as_const(map).view(), time, *stream_);
      });
      if (HasFatalFailure()) return;
    }
  }
  test::compared("frames", frames_, 128);
  test::compared("changed pixels", changed_, 120);
}

// One box though its arms are joined at their ends alone, and one goes up from row 32 to row 31.
TEST_F(MotionCuda, ABoxThatTurnsBack) {
  MotionConfig config = published_motion();
  config.method = MotionMethod::kDifference;
  config.published_density = false;
  config.columns = config.rows = kMostMotionCells;
  Pair pair(config, 512, 512);
  Grey still(512, 512, 40), moved = still;
  rectangle(moved, 80, 160, 16, 200, 200);   // from row 20 on
  rectangle(moved, 80, 344, 120, 16, 200);   // to the right, in rows 43 and 44
  rectangle(moved, 184, 208, 16, 152, 200);  // and up to row 26
  pair.look(still, 0, *stream_);
  pair.look(moved, kFrame, *stream_);
  pair.compare();
  EXPECT_EQ(pair.result().count, 1);
}

// What was hidden as the light changed is believed sooner, for a while only: an object halts there
// before and behind the while.
TEST_F(MotionCuda, WhatOtherLightHid) {
  constexpr int kWidth = 120, kHeight = 60;
  Pair pair({}, kWidth, kHeight);
  MovingScene scene(kWidth, kHeight, 4);
  long early = 0, late = 0;
  for (int i = 0; i < 170; ++i) {
    SCOPED_TRACE("frame " + std::to_string(i));
    if (i == 45) scene.light = 50;
    Grey picture = scene.next();
    if (i >= 36 && i < 50) rectangle(picture, 30 + i % 7, 20, 30, 24, 10);
    if (i >= 55 && i < 85) rectangle(picture, 32, 20, 26, 24, 240);
    if (i >= 112) rectangle(picture, 32, 20, 26, 24, 110);
    pair.look(picture, i * kFrame, *stream_);
    pair.compare();
    if (HasFatalFailure()) return;
    early += i >= 55 && i < 85 && pair.result().changed > 0;
    late += i >= 112 && pair.result().changed > 0;
  }
  EXPECT_LE(early, 20);
  EXPECT_GE(late, 30);
}

TEST_F(MotionCuda, SmallestPictures) {
  for (const auto& [w, h] : {std::pair{1, 1}, {2, 3}, {1, 300}, {300, 1}, {65, 2}, {3, 64}}) {
    for (const MotionMethod method : {MotionMethod::kDifference, MotionMethod::kBackground}) {
      MovingScene scene(w, h, 3);
      follow(random_config(method, w, h), w, h, 12, [&](Pair& pair, int i, std::int64_t time) {
        scene.light = i % 3 * 40;
        pair.look(scene.next(), time, *stream_);
      });
      if (HasFatalFailure()) return;
    }
  }
  test::compared("frames", frames_, 144);
}

/// As an element does it: what is another on each frame is told by a message.
TEST_F(MotionCuda, OneGraphOverAllFrames) {
  for (const MotionMethod method :
       {MotionMethod::kEdges, MotionMethod::kDifference, MotionMethod::kBackground}) {
    MotionConfig config;
    config.method = method;
    Pair pair(config, 200, 90);
    MovingScene scene(200, 90, 5);
    auto edges = EdgeDetector::create({}, 200, 90);
    ASSERT_TRUE(edges.ok());
    Image<std::uint64_t> map(words_of(200), 90);
    auto post = cuda::Mailbox::create();
    ASSERT_TRUE(post.ok()) << post.status().message();
    cuda::LaunchList list;
    cuda::GraphSet graphs;
    long changed = 0;
    test::GuardedBytes counters(sizeof(cuda::motion::MotionCounters), 0);
    pair.gpu().count_in(reinterpret_cast<cuda::motion::MotionCounters*>(counters.data()));
    std::vector<std::uint64_t> counted(3);
    for (int i = 0; i < 80; ++i) {
      SCOPED_TRACE("frame " + std::to_string(i));
      scene.squares = i > 5;
      const Grey picture = scene.next();
      list.clear();
      list.use(post.value().get());
      if (i == 65) pair.forget();
      if (method == MotionMethod::kEdges) {
        ASSERT_TRUE(edges.value().run(picture.view(), {.bits = map.view()}).ok());
        pair.look(std::as_const(map).view(), i * kFrame, cuda::Launcher(list));
      } else {
        pair.look(picture, i * kFrame, cuda::Launcher(list));
      }
      ASSERT_TRUE(graphs.submit(list, *stream_).ok());
      pair.compare();
      if (HasFatalFailure()) return;
      changed += pair.result().changed;
      counted[0] += pair.result().moving_cells > 0;
      counted[1] += static_cast<std::uint64_t>(pair.result().global_change);
      counted[2] += static_cast<std::uint64_t>(pair.result().began);
    }
    EXPECT_EQ(test::values_of<std::uint64_t>(counters.get()), counted);
    EXPECT_GT(counted[0], 0u);
    EXPECT_EQ(graphs.built().graphs, 1);
    EXPECT_EQ(graphs.built().set, 0u) << "an argument that is another on each frame";
    EXPECT_GT(changed, 1000);
  }
}

TEST_F(MotionCuda, DrawsMasksAndCells) {
  MotionConfig config;
  config.method = MotionMethod::kDifference;
  config.min_frames = 1;
  Pair pair(config, 131, 77);
  MovingScene scene(131, 77, 6);
  test::GuardedBytes drawn(131 * 77, test::kCanary);
  const ImageView<std::uint8_t> view{drawn.data(), 131, 77, 131};
  long white = 0;
  for (int i = 0; i < 20; ++i) {
    scene.squares = true;
    pair.look(scene.next(), i * kFrame, *stream_);
    Grey expected(131, 77);
    draw_bits(pair.cpu().mask(), expected.view());
    ASSERT_TRUE(cuda::motion::unpack(pair.gpu().mask(), view, *stream_).ok());
    ASSERT_TRUE(drawn.get() == expected.pixels);
    white += std::count(expected.pixels.begin(), expected.pixels.end(), 255);
    draw_cells(pair.cpu().plan(), pair.result(), expected.view());
    ASSERT_TRUE(cuda::motion::draw_cells(pair.gpu().plan(), pair.out(), view, *stream_).ok());
    ASSERT_TRUE(drawn.get() == expected.pixels);
    white += std::count(expected.pixels.begin(), expected.pixels.end(), 255);
  }
  test::compared("white pixels", white, 2000);
}

TEST_F(MotionCuda, RefusesWhatItCannotDo) {
  MotionConfig config;
  config.columns = 30;
  EXPECT_EQ(cuda::MotionDetector::create(config, 20, 20).status().message(),
            MotionDetector::create(config, 20, 20).status().message());
  Pair pair({}, 20, 20);
  const Grey other(20, 19);
  EXPECT_EQ(pair.gpu().ignore(other.view()).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(pair.gpu().enqueue(other.view(), 0, pair.out(), *stream_).code(),
            StatusCode::kInvalidArgument);
  const ImageView<const std::uint64_t> map{nullptr, 1, 20, 8};
  EXPECT_EQ(pair.gpu().enqueue(map, 0, pair.out(), *stream_).code(), StatusCode::kInvalidArgument);
}

TEST_F(MotionCuda, Time) {
  const int w = test::under_tool() ? 160 : 1920, h = test::under_tool() ? 120 : 1080;
  const auto measure = [&](MotionMethod method, const char* name, bool rain) {
    MotionConfig config;
    config.method = method;
    auto cpu = MotionDetector::create(config, w, h);
    auto gpu = cuda::MotionDetector::create(config, w, h);
    ASSERT_TRUE(cpu.ok() && gpu.ok());
    MovingScene scene(w, h, 7);
    scene.squares = true;
    scene.rain = rain;
    auto edges = EdgeDetector::create({}, w, h);
    ASSERT_TRUE(edges.ok());
    constexpr int kFrames = 8;
    std::vector<Grey> frames;
    std::vector<test::GuardedBytes> pictures;
    std::vector<Image<std::uint64_t>> maps;
    for (int i = 0; i < kFrames; ++i) {
      frames.push_back(scene.next());
      maps.emplace_back(words_of(w), h);
      ASSERT_TRUE(edges.value().run(frames.back().view(), {.bits = maps.back().view()}).ok());
      const auto words = words_in(std::as_const(maps.back()).view());
      pictures.emplace_back(method == MotionMethod::kEdges ? test::bytes_of(words)
                                                           : frames.back().pixels);
    }
    test::GuardedBytes out(sizeof(MotionResult), 0);
    auto* result = reinterpret_cast<MotionResult*>(out.data());
    auto post = cuda::Mailbox::create();
    ASSERT_TRUE(post.ok());
    cuda::LaunchList list;
    cuda::GraphSet graphs;
    std::int64_t number = 0;
    const auto enqueue = [&](cuda::Launcher launch) {
      test::GuardedBytes& bytes = pictures[static_cast<std::size_t>(number % kFrames)];
      const std::int64_t time = number++ * kFrame;
      if (method != MotionMethod::kEdges)
        return gpu.value().enqueue({bytes.data(), w, h, w}, time, result, launch);
      return gpu.value().enqueue(
          ImageView<const std::uint64_t>{reinterpret_cast<const std::uint64_t*>(bytes.data()),
                                         words_of(w), h, words_of(w) * 8},
          time, result, launch);
    };
    const std::string size = std::to_string(w) + "x" + std::to_string(h);
    const auto submit = [&] {
      list.clear();
      list.use(post.value().get());
      EXPECT_TRUE(enqueue(cuda::Launcher(list)).ok());
      EXPECT_TRUE(graphs.submit(list, *stream_).ok());
    };
    // With what the host takes to submit it, and without.
    test::report_time(name, size, test::median_us(*stream_, submit));
    test::report_time(std::string(name) + ", pictures in turns", size,
                      test::launch_us(*stream_, submit));
    cuda::LaunchList plain;
    ASSERT_TRUE(enqueue(cuda::Launcher(plain)).ok());
    test::report_time(std::string(name) + ", one graph again", size,
                      test::median_us(*stream_, plain));
    test::report_parts(name, size, plain, *stream_);
    std::int64_t at = 0;
    test::report_cpu_time(name, size, [&] {
      const auto i = static_cast<std::size_t>(at % kFrames);
      if (method == MotionMethod::kEdges)
        EXPECT_TRUE(cpu.value().look(std::as_const(maps[i]).view(), at++ * kFrame).ok());
      else
        EXPECT_TRUE(cpu.value().look(std::as_const(frames[i]).view(), at++ * kFrame).ok());
    });
  };
  measure(MotionMethod::kEdges, "motion, edges at hand", false);
  measure(MotionMethod::kDifference, "motion, difference", false);
  measure(MotionMethod::kBackground, "motion, background", false);
  measure(MotionMethod::kBackground, "motion, background in rain", true);
}

}  // namespace
}  // namespace cuface
