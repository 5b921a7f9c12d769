// A search that is stopped: it ends soon, gives nothing, and leaves nothing behind.
#include <gtest/gtest.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "kernels/integral/integral.h"
#include "kernels/luma/luma.h"
#include "kernels/pyramid/pyramid.h"
#include "kernels/turn/turn.h"
#include "tests/fewer.h"
#include "tests/kernels/detections.h"
#include "tests/kernels/pictures.h"
#include "tests/kernels/versions.h"

namespace cuface {
namespace {

using test::view_of;
using Model = std::shared_ptr<const CascadeModel>;

/// Processor time of the process, which the load of the machine does not change; in ms.
double worked_ms() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return 1e3 * static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_nsec);
}

struct Case {
  const char* name;
  DetectConfig config;
  int width, height;
};

std::vector<Case> long_searches() {
  const auto window = ScaleMode::kWindow;
  return {
      {"pyramid", {.scale_factor = 1.005, .step = 1}, 1280, 720},
      {"three threads", {.scale_factor = 1.005, .step = 1, .threads = 3}, 1280, 720},
      {"angles", {.scale_factor = 1.01, .step = 1, .roll = 90}, 800, 600},
      {"half the size", {.scale_factor = 1.002, .step = 1, .detect_scale = 2}, 1600, 1200},
      {"verified", {.scale_factor = 1.005, .step = 1, .verify = true}, 1280, 720},
      {"active parts", {.scale_factor = 1.005, .step = 1, .active_parts = true}, 1280, 720},
      {"window", {.scale_factor = 1.005, .scale_mode = window, .step = 1}, 1280, 720},
      {"window, turned", {.scale_factor = 1.005, .scale_mode = window, .roll = 60}, 800, 600},
  };
}

Model frontal() { return test::cascade_of(test::cascade_path("frontalface_default")); }

void expect_soon(const Case& c) {
  StopFlag stop;
  const auto made = Detector::create(Backend::kCpu, frontal(), c.config, c.width, c.height, &stop);
  ASSERT_TRUE(made.ok()) << c.name << ": " << made.status().message();
  const cv::Mat picture = test::drawn_faces(c.width, c.height, 7);
  DetectResult result;
  double worst = 0;
  for (const int after_ms : {0, 20, 50}) {
    Status status;
    result.faces.resize(3);
    result.overflow = true;
    std::thread search([&] { status = made.value()->enqueue(view_of(picture), result); });
    std::this_thread::sleep_for(std::chrono::milliseconds(after_ms));
    const double begin = worked_ms();
    stop.raise();
    search.join();
    worst = std::max(worst, worked_ms() - begin);
    stop.lower();
    EXPECT_EQ(status.code(), StatusCode::kCancelled) << c.name;
    EXPECT_TRUE(result.faces.empty() && result.rolls.empty() && !result.overflow) << c.name;
  }
  std::printf("%s, %lld windows: at most %.2f ms of work after the flag\n", c.name,
              made.value()->windows(), worst);
  // 20 ms a thread. Whole searches take seconds.
  EXPECT_LT(worst, 20 * test::every() * std::max(c.config.threads, 1)) << c.name;
}

/// Windows that waited in lists, halves of pictures and of sums: none shows in the next search.
void expect_no_traces(const DetectConfig& config) {
  const cv::Mat picture = test::drawn_faces(240, 160, 3);
  StopFlag stop;
  const auto made = Detector::create(Backend::kCpu, frontal(), config, 240, 160, &stop);
  ASSERT_TRUE(made.ok()) << made.status().message();
  DetectResult expected, result;
  using Clock = std::chrono::steady_clock;
  Clock::duration whole = Clock::duration::max();
  for (int i = 0; i < 5; ++i) {
    const auto begin = Clock::now();
    ASSERT_TRUE(made.value()->enqueue(view_of(picture), expected).ok());
    whole = std::min(whole, Clock::now() - begin);
  }
  ASSERT_FALSE(expected.faces.empty());
  for (int i = 0, stopped = 0, missed = 0; stopped < 5; ++i) {
    ASSERT_LT(i, 2000);  // a busy machine lets many searches end before the flag is raised
    Status status;
    std::atomic<bool> begun = false;
    std::thread search([&] {
      begun = true;
      status = made.value()->enqueue(view_of(picture), result);
    });
    // At the begin, after a sixth of the search, and so on, however fast the machine is; sooner
    // where it is so busy that the search was over. A sleep would be longer than the search.
    while (!begun) std::this_thread::yield();
    const auto until = Clock::now() + whole * stopped / (6 << std::min(missed, 10));
    while (Clock::now() < until) std::this_thread::yield();
    stop.raise();
    search.join();
    stop.lower();
    if (status.ok()) {
      ++missed;
      continue;
    }
    missed = 0;
    ++stopped;
    if (config.active_parts) {
      // Nothing counts as searched, so that all is active.
      ASSERT_TRUE(made.value()->enqueue(view_of(picture), result, kActiveParts).ok());
      EXPECT_EQ(result.faces, expected.faces) << i;
    }
    ASSERT_TRUE(made.value()->enqueue(view_of(picture), result).ok());
    EXPECT_EQ(result.faces, expected.faces) << i;
  }
}

class StopVersions : public test::EveryVersion {
 protected:
  void SetUp() override {
    test::EveryVersion::SetUp();
    CUFACE_NEEDS_CASCADES();
  }
};
CUFACE_EVERY_VERSION(StopVersions);

TEST_P(StopVersions, ASearchEndsSoon) { expect_soon(long_searches()[0]); }
TEST_P(StopVersions, TheNextSearchIsAsIfNoneHadBeen) {
  expect_no_traces({.min_neighbors = 1, .threads = 2, .active_parts = true});
}

TEST(Stop, AnySearchEndsSoon) {
  CUFACE_NEEDS_CASCADES();
  for (const Case& c : long_searches()) expect_soon(c);
}

TEST(Stop, OfScaledWindowsTheNextSearchIsAsIfNoneHadBeen) {
  CUFACE_NEEDS_CASCADES();
  expect_no_traces({.min_neighbors = 1, .scale_mode = ScaleMode::kWindow});
}

TEST(Stop, ARaisedFlagMakesAndSearchesNothing) {
  CUFACE_NEEDS_CASCADES();
  const Model model = frontal();
  for (const Case& c : long_searches()) {
    StopFlag stop;
    stop.raise(StopFlag::kFlush);
    stop.raise(StopFlag::kEnd);
    stop.lower(StopFlag::kEnd);
    const double begin = worked_ms();
    // A hundred times the angles and levels, which take long to plan.
    DetectConfig config = c.config;
    config.scale_factor = 1.001;
    const auto made = Detector::create(Backend::kCpu, model, config, 3840, 2160, &stop);
    EXPECT_EQ(made.status().code(), StatusCode::kCancelled) << c.name;
    EXPECT_LT(worked_ms() - begin, 50 * test::every()) << c.name;
    stop.lower(StopFlag::kFlush);
    EXPECT_FALSE(stop.raised());
  }
}

TEST(Stop, GroupingEndsSoon) {
  // Windows of many sizes all over a picture: seconds of work.
  std::mt19937 random(1);
  const auto below = [&](unsigned n) { return static_cast<int>(random() % n); };
  std::vector<Rect> windows;
  for (int i = 0; i < kMaxRawWindows; ++i) {
    const int x = below(9000), y = below(9000), w = 30 + below(300), h = 30 + below(300);
    windows.push_back({x, y, w, h});
  }
  GroupScratch scratch;
  std::vector<Detection> out;
  StopFlag stop;
  bool done = true;
  std::thread work([&] { done = group(windows, Grouping::kOpenCv, 1, scratch, out, &stop); });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  const double begin = worked_ms();
  stop.raise();
  work.join();
  EXPECT_LT(worked_ms() - begin, 20 * test::every());
  EXPECT_FALSE(done);
  EXPECT_TRUE(out.empty());
}

// What a search is prepared by: the flag is seen after so many rows, whatever the picture.
TEST(Stop, PreparationsLookEverySoManyRows) {
  StopFlag stop;
  stop.raise();
  constexpr int kSide = 4 * kRowsPerLook;
  const cv::Mat picture = test::noise(kSide, kSide, 4);
  Image<std::uint8_t> grey(kSide, kSide);
  FrameView frame;
  frame.width = frame.height = kSide;
  frame.component[0] = {picture.data, static_cast<std::ptrdiff_t>(picture.step)};
  EXPECT_FALSE(luma(frame, grey.view(), &stop));
  const Turn turn = make_turn(30, kSide, kSide);
  Image<std::uint8_t> canvas(turn.canvas_width, turn.canvas_height);
  EXPECT_EQ(turn_picture(view_of(picture), turn, canvas.view(), &stop).code(),
            StatusCode::kCancelled);
  EXPECT_FALSE(LinearResize(kSide, kSide, 50, 50)
                   .run(view_of(picture), Image<std::uint8_t>(50, 50).view(), &stop));
  Image<std::uint32_t> sums(kSide + 1, kSide + 1);
  Image<std::uint64_t> squares(kSide + 1, kSide + 1);
  EXPECT_FALSE(integral_squared(view_of(picture), sums.view(), squares.view(), &stop));
  EXPECT_FALSE(integral_tilted(view_of(picture), sums.view(), &stop));

  // With the flag down, parts of a picture make the whole of it.
  stop.lower();
  Image<std::uint8_t> whole(kSide, kSide);
  EXPECT_TRUE(luma(frame, grey.view(), &stop));
  EXPECT_TRUE(luma(frame, whole.view()));
  for (int y = 0; y < kSide; ++y)
    EXPECT_TRUE(std::equal(grey.view().row(y), grey.view().row(y) + kSide, whole.view().row(y)));
}

}  // namespace
}  // namespace cuface
