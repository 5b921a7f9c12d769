// cuda::EdgeDetector against EdgeDetector: every byte and bit of all results.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "kernels/edges/cuda/detector.h"
#include "kernels/edges/edges.h"
#include "tests/gpu/compare.h"
#include "tests/gpu/gpu.h"
#include "tests/gpu/kernels/edges_pair.h"
#include "tests/moving_faces.h"
#include "tests/winding_edges.h"

namespace cuface {
namespace {

using test::Device;
using test::Found;
using test::Grey;
using test::noisy_grey;
using test::random_config;
using test::reference;
using test::without_blur;

/// Edges faint but for one piece.
EdgeConfig linked() {
  EdgeConfig c = without_blur();
  c.high = 300;
  return c;
}

class EdgesCuda : public testing::Test {
 protected:
  void SetUp() override {
    CUFACE_NEEDS_GPU();
    stream_.emplace();
  }

  void compare(const Grey& picture, const EdgeConfig& config, int lead = 0, int padding = 0) {
    Device device(config, picture.width, picture.height, lead, padding);
    if (HasFailure()) return;
    device.set(picture);
    const Status enqueued = device.enqueue(device.views(), *stream_);
    ASSERT_TRUE(enqueued.ok()) << enqueued.message();
    compare_found(device.found(), picture, config);
  }
  void compare_found(const Found& got, const Grey& picture, const EdgeConfig& c) {
    const Found expected = reference(picture, c);
    const auto name = [&] {
      std::string all = "width, height, kernel, operator, aperture, norm, linking, thinning:";
      for (const int v :
           {picture.width, picture.height, c.kernel_size, static_cast<int>(c.op), c.aperture,
            static_cast<int>(c.norm), static_cast<int>(c.linking), static_cast<int>(c.thinning)})
        all.append(" ").append(std::to_string(v));
      return all;
    };
    ASSERT_TRUE(got.magnitude == expected.magnitude) << name();
    ASSERT_TRUE(got.angle == expected.angle) << name();
    ASSERT_TRUE(got.map == expected.map) << name();
    ASSERT_TRUE(got.bits == expected.bits) << name();
    ++pictures_;
    edges_ = std::count(expected.map.begin(), expected.map.end(), 255);
    all_edges_ += edges_;
  }

  std::optional<test::Stream> stream_;
  long pictures_ = 0, edges_ = 0, all_edges_ = 0;
};

TEST_F(EdgesCuda, EverySmallSize) {
  std::mt19937 random(1);
  for (int h = 1; h <= 12; ++h) {
    for (int w = 1; w <= 70; w += test::under_tool() ? 23 : 1) {
      compare(noisy_grey(w, h, random()), random_config(random), static_cast<int>(random() % 4),
              static_cast<int>(random() % 9));
      if (HasFatalFailure()) return;
    }
  }
  test::compared("pictures", pictures_, 800);
  test::compared("edge pixels", all_edges_, 10'000);
}

TEST_F(EdgesCuda, EverySetting) {
  std::mt19937 random(2);
  for (int i = 0; i < test::cases(600); ++i) {
    // Also around whole tiles.
    const int w = i % 3 ? 1 + static_cast<int>(random() % 260) : 63 + 64 * (i % 4) + i % 7 % 3;
    const int h = i % 3 ? 1 + static_cast<int>(random() % 140) : 31 + 32 * (i % 5) + i % 5 % 3;
    const Grey picture = i % 4 ? noisy_grey(w, h, random()) : test::textured(w, h, i);
    compare(picture, random_config(random), static_cast<int>(random() % 4),
            static_cast<int>(random() % 9));
    if (HasFatalFailure()) return;
  }
  test::compared("pictures", pictures_, 600);
  test::compared("edge pixels", all_edges_, 150'000);
}

TEST_F(EdgesCuda, ThinAndExtremePictures) {
  const int sizes[][2] = {{1, 999}, {999, 1}, {2, 1000}, {1023, 5}, {64, 32}, {65, 33}, {4000, 40}};
  for (const auto& s : sizes) {
    for (const int value : {0, 255})
      compare(Grey(s[0], s[1], static_cast<std::uint8_t>(value)), {});
    compare(noisy_grey(s[0], s[1], 7), {}, 3, 5);
    compare(noisy_grey(s[0], s[1], 8), without_blur());
    if (HasFatalFailure()) return;
  }
  test::compared("pictures", pictures_, 28);
}

TEST_F(EdgesCuda, NaturalPictures) {
  const auto pictures = test::load_gray_pictures();
  if (pictures.empty()) GTEST_SKIP() << "no natural pictures: set CUFACE_GPU_DATA";
  std::mt19937 random(3);
  for (const auto& p : pictures) {
    Grey grey(p.width, p.height);
    grey.pixels = p.pixels;
    compare(grey, {});
    compare(grey, without_blur());
    compare(grey, random_config(random), 1, 3);
    if (HasFatalFailure()) return;
  }
  test::compared("pictures", pictures_, 3 * static_cast<long>(pictures.size()));
}

// One faint edge over the whole picture that only a piece of it makes one.
TEST_F(EdgesCuda, EdgesThatWind) {
  std::vector<Grey> faint = {test::up_and_down(331, 203), test::spiral(331, 203)};
  for (unsigned seed = 0; seed < 10; ++seed) faint.push_back(test::maze(331, 203, seed));
  if (!test::under_tool()) {
    faint.push_back(test::up_and_down(1920, 1080));
    faint.push_back(test::spiral(1920, 1080));
    faint.push_back(test::maze(1920, 1080, 10));
  }
  for (Grey& picture : faint) {
    Grey strong = test::with_strong_piece(picture);
    for (int quarter = 0; quarter < 4; ++quarter) {
      compare(picture, linked());
      ASSERT_EQ(edges_, 0);
      compare(strong, linked());
      if (HasFatalFailure()) return;
      ASSERT_GT(edges_, picture.width * picture.height / 16);
      picture = test::turned(picture);
      strong = test::turned(strong);
    }
  }
  test::compared("pictures", pictures_, 120);
}

// One step in a slope that is no edge: all that the apron takes in is beside it, in any word.
TEST_F(EdgesCuda, ApronsGoOnInTheNextWord) {
  EdgeConfig c = without_blur();
  c.linking = Linking::kApron;
  c.low = 5;
  for (int at = 10; at < 100; at += test::under_tool() ? 23 : 1) {
    Grey picture(110, 9);
    for (int i = 0; i < 110 * 9; ++i)
      picture.pixels[static_cast<std::size_t>(i)] =
          static_cast<std::uint8_t>(i % 110 + (i % 110 >= at ? 60 : 0));
    c.apron = at % (kMostApron + 1);
    compare(picture, c);
    if (HasFatalFailure()) return;
  }
  test::compared("edge pixels", all_edges_, 9'000);
}

TEST_F(EdgesCuda, SomeResultsAlone) {
  const Grey picture = noisy_grey(150, 90, 5);
  for (const Linking linking : {Linking::kHysteresis, Linking::kApron, Linking::kNone}) {
    EdgeConfig c;
    c.linking = linking;
    const Found expected = reference(picture, c);
    for (int wanted = 0; wanted < 16; ++wanted) {
      Device device(c, picture.width, picture.height);
      device.set(picture);
      EdgeViews out = device.views();
      if (!(wanted & 1)) out.map = {};
      if (!(wanted & 2)) out.magnitude = {};
      if (!(wanted & 4)) out.angle = {};
      if (!(wanted & 8)) out.bits = {};
      ASSERT_TRUE(device.enqueue(out, *stream_).ok());
      const Found got = device.found();
      const auto untouched = [](const auto& values) {
        const auto bytes = test::bytes_of(values);
        return std::all_of(bytes.begin(), bytes.end(), [](auto b) { return b == test::kCanary; });
      };
      EXPECT_TRUE(wanted & 1 ? got.map == expected.map : untouched(got.map)) << wanted;
      EXPECT_TRUE(wanted & 2 ? got.magnitude == expected.magnitude : untouched(got.magnitude));
      EXPECT_TRUE(wanted & 4 ? got.angle == expected.angle : untouched(got.angle)) << wanted;
      EXPECT_TRUE(wanted & 8 ? got.bits == expected.bits : untouched(got.bits)) << wanted;
    }
  }
}

TEST_F(EdgesCuda, OneGraphOverChangingPictures) {
  Device device({}, 301, 157);
  test::Submitter submit;
  for (unsigned round = 0; round < 12; ++round) {
    const Grey picture = round % 3 ? noisy_grey(301, 157, round) : test::textured(301, 157, 3);
    device.set(picture);
    const Status submitted = submit(
        *stream_, [&](cuda::Launcher launch) { return device.enqueue(device.views(), launch); });
    ASSERT_TRUE(submitted.ok()) << submitted.message();
    compare_found(device.found(), picture, {});
    if (HasFatalFailure()) return;
  }
  EXPECT_EQ(submit.built().graphs, 1);
  test::compared("pictures", pictures_, 12);
}

TEST_F(EdgesCuda, RefusesWhatItCannotDo) {
  cuda::ScratchLayout layout;
  EdgeConfig even;
  even.kernel_size = 4;
  const auto refuses = [&](const EdgeConfig& c, int w, int h) {
    return cuda::EdgeDetector::create(c, w, h, layout).status().code() ==
           StatusCode::kInvalidArgument;
  };
  EXPECT_TRUE(refuses(even, 5, 5) && refuses({}, 0, 5) && refuses({}, 5, kMostEdgeSide + 1));
  Device device({}, 20, 20), other({}, 20, 19);
  EXPECT_EQ(device.enqueue(other.views(), *stream_).code(), StatusCode::kInvalidArgument);
}

TEST_F(EdgesCuda, Time) {
  const auto time = [&](const std::string& what, const std::string& name, const Grey& picture,
                        const EdgeConfig& config, bool cpu) {
    Device device(config, picture.width, picture.height);
    device.set(picture);
    EdgeViews map;
    map.map = device.views().map;
    cuda::LaunchList list;
    ASSERT_TRUE(device.enqueue(map, cuda::Launcher(list)).ok());
    test::report_time(what, name, test::median_us(*stream_, list));
    test::report_parts(what, name, list, *stream_);
    if (!cpu) return;
    auto detector = EdgeDetector::create(config, picture.width, picture.height);
    ASSERT_TRUE(detector.ok());
    Image<std::uint8_t> out(picture.width, picture.height);
    test::report_cpu_time(what, name, [&] {
      EXPECT_TRUE(detector.value().run(picture.view(), {out.view(), {}, {}, {}}).ok());
    });
  };
  for (const auto& [name, picture, next] : test::timed_pictures()) {
    EdgeConfig c = without_blur();
    for (const int aperture : {3, 5, 7}) {
      c.aperture = aperture;
      c.low = aperture == 3 ? 50 : aperture == 5 ? 800 : 8000;
      c.high = 3 * c.low;
      time("edges, aperture " + std::to_string(aperture), name, picture, c, true);
    }
    time("edges, blur 5, aperture 3", name, picture, {}, true);
  }
  const int w = test::under_tool() ? 160 : 1920, h = test::under_tool() ? 120 : 1080;
  std::vector<std::pair<std::string, Grey>> winding = {
      {"up and down", test::up_and_down(w, h)},
      {"to and fro", test::turned(test::up_and_down(h, w))},
      {"spiral", test::spiral(w, h)}};
  for (unsigned seed = 0; seed < 10; ++seed)
    winding.emplace_back("maze " + std::to_string(seed), test::maze(w, h, seed));
  for (const auto& [name, faint] : winding)
    time("edges, winding", name, test::with_strong_piece(faint), linked(), false);
  EdgeConfig all = without_blur();
  all.low = 10;
  std::mt19937 random(4);
  Grey dense(w, h);
  for (auto& p : dense.pixels) p = static_cast<std::uint8_t>(random());
  const Found found = reference(dense, all);
  std::printf("dense: %.3f of all pixels are edges\n",
              static_cast<double>(std::count(found.map.begin(), found.map.end(), 255)) /
                  static_cast<double>(found.map.size()));
  time("edges, dense", "noise", dense, all, false);
}

}  // namespace
}  // namespace cuface
