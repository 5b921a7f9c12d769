// The map of active parts on CUDA against the CPU's, and searches by it: windows, faces, times.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "kernels/activity/activity_cuda.h"
#include "tests/gpu/gpu.h"
#include "tests/gpu/kernels/detect_pair.h"
#include "tests/gpu/kernels/random_cascade.h"

namespace cuface {
namespace {

using test::download;
using test::GuardedBytes;
using test::Model;
using test::padded;
using test::Pair;
using test::part_of;
using test::Picture;
using test::real_cascades;
using test::shared;
using test::smooth;

class ActivityCuda : public testing::Test {
 protected:
  void SetUp() override {
    CUFACE_NEEDS_GPU();
    Pair::restart();
  }
  int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  /// A few places get brighter, some so little that it takes several pictures to be seen.
  void change(Picture& picture, int places, int largest) {
    for (int i = 0; i < places; ++i) {
      const int left = below(picture.width), top = below(picture.height), side = 1 + below(largest);
      const int by = below(12);
      for (int y = top; y < std::min(top + side, picture.height); ++y)
        for (int x = left; x < std::min(left + side, picture.width); ++x) {
          std::uint8_t& pixel =
              picture.bytes[static_cast<std::size_t>(picture.lead + y * picture.stride + x)];
          pixel = static_cast<std::uint8_t>(pixel + by);
        }
    }
  }
  std::vector<Followed> followed(int count, int width, int height) {
    std::vector<Followed> faces;
    for (int i = 0; i < count; ++i) {
      const auto side = static_cast<float>(10 + below(2 * width / 3)) + 0.25f;
      const auto x = static_cast<float>(below(width)) - side / 2;
      const auto y = static_cast<float>(below(height)) - side / 2;
      faces.push_back({{x, y, side, side * 0.9f}, {}});
      if (i % 9 == 5) faces.back().box.x = std::numeric_limits<float>::quiet_NaN();
      if (i % 9 == 7) faces.back().box.w = 0;
      if (i % 9 == 8) faces.back().box = {-3e9f, 2e9f, 4e9f, 4e9f};
    }
    return faces;
  }
  std::mt19937 random_{3};
};

// What a search is told to look at, without the search: also of pictures whose rows lie anywhere.
TEST_F(ActivityCuda, MapsAreTheCpus) {
  struct Size {
    int width, height, full, lead, padding;
  };
  const test::Stream stream;
  long on = 0, off = 0, kept = 0, nothing = 0;
  for (const Size& size : {Size{640, 360, 1, 0, 0},
                           {1283, 717, 2, 1, 0},
                           {97, 61, 1, 3, 7},
                           {31, 300, 3, 2, 2},
                           {2200, 90, 1, 0, 8},
                           {3, 40, 1, 0, 0},
                           {64, 48, 16, 0, 1},
                           {4200, 2300, 1, 0, 0}}) {
    if (test::under_tool() && size.width > 1000) continue;
    const int full_width = size.width * size.full + size.full / 2;
    const int full_height = size.height * size.full + size.full / 2;
    auto gpu = cuda::Activity::create(size.width, size.height, full_width, full_height);
    ASSERT_TRUE(gpu.ok()) << gpu.status().message();
    Activity cpu(size.width, size.height, full_width, full_height);
    Picture picture = smooth(size.width, size.height, 5, 3, size.lead, size.padding);
    GuardedBytes in(picture.bytes), flag(sizeof(std::int32_t), 0), band(sizeof(SearchRegion), 0);
    GuardedBytes told(sizeof(cuda::FollowedFaces), 0);
    for (int round = 0; round < 24; ++round) {
      SCOPED_TRACE(std::to_string(size.width) + "x" + std::to_string(size.height) + " round " +
                   std::to_string(round));
      const SearchRegion what = round % 7 == 5   ? kWholePicture
                                : round % 7 == 2 ? SearchRegion{1, 3}
                                                 : kActiveParts;
      const bool run = round % 5 != 3;
      const auto faces = followed(round % 4 == 1   ? 0
                                  : round % 4 == 2 ? 64
                                                   : below(5),
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
      const bool null_band = what == kWholePicture && round % 2 == 0;
      ASSERT_TRUE(
          gpu.value()
              .enqueue(picture.at(in.data()), reinterpret_cast<const std::int32_t*>(flag.data()),
                       null_band ? nullptr : reinterpret_cast<const SearchRegion*>(band.data()),
                       faces.empty() ? nullptr
                                     : reinterpret_cast<const cuda::FollowedFaces*>(told.data()),
                       stream)
              .ok());
      const auto got = download(gpu.value().state(), 1)[0];
      bool search = run;
      EXPECT_EQ(in.get(), picture.bytes) << "the picture was written to";
      if (run && what == kActiveParts) {
        const ActivityMap& expected = cpu.look(picture.view(), faces);
        EXPECT_EQ(std::memcmp(got.changed, cpu.changed().data(), sizeof got.changed), 0);
        ASSERT_EQ(std::memcmp(&got.map, &expected, sizeof expected), 0);
        search = std::ranges::any_of(expected.cells, [](const auto& rows) {
          return std::ranges::any_of(rows, [](std::uint64_t cells) { return cells != 0; });
        });
        nothing += !search;
        for (int row = 0; row < cpu.grid().rows; ++row) {
          on += std::popcount(got.changed[row]);
          off += cpu.grid().columns - std::popcount(got.changed[row]);
        }
      } else {
        EXPECT_EQ(std::memcmp(&got.map, &before.map, sizeof before.map), 0) << "it is no search's";
        ++kept;
        if (run && what == kWholePicture) cpu.take(picture.view());
      }
      EXPECT_EQ(download(gpu.value().search(), 1)[0], search);
      if (round % 4 != 0) change(picture, 1 + size.width / 200, 60);
    }
  }
  test::compared("cells that have changed", on, 300);
  test::compared("cells that have not", off, test::under_tool() ? 300 : 3'000);
  test::compared("rounds without a look", kept, 30);
  test::compared("looks that find nothing to search", nothing, 5);
}

// Each picture differs from the one before in some places; faces that nobody has found are
// followed.
TEST_F(ActivityCuda, SearchesOfActivePartsAreTheCpus) {
  std::vector<std::pair<Model, DetectConfig>> searches;
  DetectConfig config;
  config.active_parts = true;
  config.min_neighbors = 1;
  searches.emplace_back(shared(test::random_cascade(11, 20, 20, 13, false)), config);
  searches.emplace_back(shared(test::random_cascade(36, 24, 16, 12, true)), config);
  config.step = 1;
  searches.emplace_back(shared(test::random_cascade(11, 20, 20, 13, false, 1)), config);
  config.step = 2;
  searches.emplace_back(shared(test::random_cascade(20, 18, 37, 5, true)), config);
  config.step = 0;
  config.detect_scale = 2;
  searches.emplace_back(shared(test::random_cascade(12, 24, 16, 12, false)), config);
  config.detect_scale = 1;
  config.verify = true;
  searches.emplace_back(shared(test::random_cascade(11, 20, 20, 13, false)), config);
  for (const Model& model : real_cascades())
    if (model->name == "haarcascade_frontalface_alt")
      for (const int neighbors : {0, 3}) {
        DetectConfig plain;
        plain.active_parts = true;
        plain.min_neighbors = neighbors;
        plain.verify = neighbors > 0;
        searches.emplace_back(model, plain);
      }
  std::vector<Picture> pictures = {smooth(400, 300, 4, 31), smooth(130, 90, 3, 32),
                                   smooth(60, 24, 3, 33), smooth(1201, 450, 5, 34, 3, 5)};
  const auto natural = test::load_gray_pictures();
  for (std::size_t i = 0; i < natural.size() && i < (test::under_tool() ? 1 : 4); ++i)
    pictures.push_back(part_of(natural[i], 960, 720));
  if (test::under_tool()) pictures.erase(pictures.begin() + 3);
  const int rounds = test::under_tool() ? 3 : 9;
  long parts = 0;
  for (const auto& [model, settings] : searches)
    for (const Picture& first : pictures) {
      Picture picture = first;
      Pair pair(model, settings, picture.width, picture.height);
      for (int round = 0; round < rounds; ++round) {
        SCOPED_TRACE(model->name + " " + std::to_string(picture.width) + "x" +
                     std::to_string(picture.height) + " scale " +
                     std::to_string(settings.detect_scale) + " round " + std::to_string(round));
        // The first one is of active parts, all of it being new.
        pair.search_band(round % 5 == 3 ? kWholePicture : kActiveParts);
        pair.follow(followed(round == 0 ? 0 : below(6), picture.width, picture.height));
        pair.check(picture);
        if (HasFatalFailure()) return;
        parts += round % 5 != 3;
        change(picture, 1 + below(4), 100);
      }
    }
  test::compared("searches of active parts", parts, test::under_tool() ? 50 : 200);
  test::compared("cells that are on", Pair::cells_on, 10'000);
  test::compared("cells that are off", Pair::cells_off, test::under_tool() ? 100 : 10'000);
  test::compared("raw windows", Pair::raw_compared, test::under_tool() ? 1'000 : 50'000);
  test::compared("faces", Pair::faces_compared, test::under_tool() ? 50 : 1'000);
}

// Nothing changes and nobody is followed. Then a face that fills half the height is.
TEST_F(ActivityCuda, Times) {
  const auto pictures = test::load_gray_pictures();
  const auto models = real_cascades();
  if (pictures.empty() || models.empty())
    GTEST_SKIP() << "no pictures or cascades: set CUFACE_GPU_DATA and CUFACE_MODEL_PATH";
  for (const test::GrayPicture& picture : pictures)
    for (const Model& model : models) {
      if (model->name != "haarcascade_frontalface_alt" ||
          (picture.name != "mosaic720" && picture.name != "mosaic1080"))
        continue;
      const Picture whole = padded(picture.pixels, picture.width, picture.height);
      GuardedBytes in(whole.bytes);
      const auto side = static_cast<float>(picture.height) / 2;
      const Followed face{{side, side / 2, side, side}, {}};
      for (const bool smart : {false, true}) {
        DetectConfig config;
        config.min_size = 24;
        config.active_parts = smart;
        Pair pair(model, config, picture.width, picture.height);
        const auto time = [&](const std::string& what) {
          pair.check(whole);
          const auto enqueue = [&] { EXPECT_TRUE(pair.enqueue(whole.at(in.data())).ok()); };
          const cudaGraphExec_t graph = test::capture(pair.stream(), enqueue);
          test::report_time("detect " + what, picture.name, test::median_us(pair.stream(), [&] {
                              EXPECT_EQ(cudaGraphLaunch(graph, pair.stream()), cudaSuccess);
                            }));
          CUFACE_CUDA_OK(cudaGraphExecDestroy(graph));
        };
        pair.search_band(kWholePicture);
        time(smart ? "whole, smart" : "whole");
        if (!smart) continue;
        pair.search_band(kActiveParts);
        time("active parts: none");
        test::report_parts("active parts: none", picture.name, pair.launches(whole.at(in.data())),
                           pair.stream());
        pair.search_band(kActiveParts);
        pair.follow({face});
        time("active parts: a large face");
      }
    }
}

}  // namespace
}  // namespace cuface
