// Detection on CUDA against the CPU's on the same pictures, with every setting: raw windows and
// faces.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kernels/detect/cuda/detector.h"
#include "tests/gpu/gpu.h"
#include "tests/gpu/kernels/detect_pair.h"
#include "tests/gpu/kernels/random_cascade.h"

namespace cuface {
namespace {

using cuda::DeviceFaces;
using test::flat;
using test::GuardedBytes;
using test::Model;
using test::padded;
using test::Pair;
using test::part_of;
using test::Picture;
using test::real_cascades;
using test::shared;
using test::smooth;

std::vector<DetectConfig> configurations() {
  std::vector<DetectConfig> all;
  const auto add = [&](auto change) {
    DetectConfig c;
    change(c);
    all.push_back(c);
  };
  add([](DetectConfig&) {});
  add([](DetectConfig& c) { c.scale_factor = 1.2, c.min_neighbors = 0; });
  add([](DetectConfig& c) { c.min_neighbors = 1; });
  add([](DetectConfig& c) { c.min_size = 60, c.min_neighbors = 2; });
  add([](DetectConfig& c) { c.max_size = 45, c.min_size = 25, c.min_neighbors = 1; });
  add([](DetectConfig& c) { c.step = 1, c.min_neighbors = 5; });
  add([](DetectConfig& c) { c.step = 2, c.max_faces = 3, c.min_neighbors = 1; });
  add([](DetectConfig& c) { c.detect_scale = 2, c.min_size = 41, c.min_neighbors = 1; });
  add([](DetectConfig& c) { c.detect_scale = 3, c.min_neighbors = 0; });
  add([](DetectConfig& c) { c.grouping = Grouping::kOverlap, c.scale_factor = 1.3; });
  add([](DetectConfig& c) { c.grouping = Grouping::kOverlap, c.min_neighbors = 1; });
  add([](DetectConfig& c) { c.scale_factor = 3.7, c.max_faces = 1, c.min_neighbors = 0; });
  add([](DetectConfig& c) { c.scale_mode = ScaleMode::kWindow, c.min_neighbors = 1; });
  add([](DetectConfig& c) {  // the published way
    c.scale_mode = ScaleMode::kWindow, c.grouping = Grouping::kOverlap;
    c.scale_factor = 1.2, c.detect_scale = 2;
  });
  add([](DetectConfig& c) { c.scale_mode = ScaleMode::kWindow, c.step = 1, c.min_size = 30; });
  return all;
}

class DetectCuda : public testing::Test {
 protected:
  void SetUp() override {
    CUFACE_NEEDS_GPU();
    Pair::restart();
  }
};

TEST_F(DetectCuda, GeneratedCascadesAndPictures) {
  const std::vector<Model> models = {shared(test::random_cascade(11, 20, 20, 13, false)),
                                     shared(test::random_cascade(36, 24, 16, 12, true)),
                                     shared(test::random_cascade(20, 18, 37, 5, true)),
                                     shared(test::random_cascade(14, 7, 9, 1, false))};
  std::vector<Picture> pictures = {smooth(64, 48, 2, 1), smooth(161, 121, 5, 2, 3, 7),
                                   smooth(333, 97, 0, 3, 1, 0), smooth(257, 203, 9, 4, 0, 63)};
  if (test::under_tool()) pictures.resize(2);
  for (const Model& model : models) {
    const long before = Pair::raw_compared;
    for (const DetectConfig& config : configurations())
      for (const Picture& picture : pictures) {
        SCOPED_TRACE(model->name + " " + std::to_string(picture.width) + " scale factor " +
                     std::to_string(config.scale_factor));
        Pair pair(model, config, picture.width, picture.height);
        pair.check(picture);
        if (HasFatalFailure()) return;
      }
    test::compared(("raw windows of " + model->name).c_str(), Pair::raw_compared - before, 5'000);
  }
  test::compared("raw windows", Pair::raw_compared, 100'000);
  test::compared("faces", Pair::faces_compared, 1'000);
  test::compared("windows that leave behind the first stage", Pair::listed - Pair::raw_compared,
                 10'000);
}

TEST_F(DetectCuda, TurnedFaces) {
  const Model round = shared(test::random_cascade(11, 20, 20, 13, false));
  const Model tilted = shared(test::random_cascade(36, 24, 16, 12, true));
  std::vector<DetectConfig> all;
  for (const int roll : {1, 25, 45, 90})
    for (const DetectConfig& plain : configurations()) {
      all.push_back(plain);
      all.back().roll = roll;
    }
  if (test::under_tool()) all.resize(4);
  for (const Model& model : {round, tilted})
    for (std::size_t c = 0; c < all.size(); ++c)
      for (const Picture& picture :
           {smooth(161, 121, 5, 2, 3, 7), smooth(97, 133, 3, 3, 1, 0), flat(90, 40, 200)}) {
        SCOPED_TRACE(model->name + " configuration " + std::to_string(c) + " roll " +
                     std::to_string(all[c].roll) + " " + std::to_string(picture.width));
        Pair pair(model, all[c], picture.width, picture.height);
        pair.check(picture);
        pair.out().set(std::vector<std::uint8_t>(pair.out().size(), test::kCanary));
        pair.check(picture);
        if (HasFatalFailure()) return;
      }
  test::compared("faces", Pair::faces_compared, test::under_tool() ? 50 : 1'000);
  test::compared("faces found turned", Pair::turned, test::under_tool() ? 20 : 500);
}

// Those whose windows lie two pixels apart need more shared memory than a plan made after them.
TEST_F(DetectCuda, PlansOfOneProcessLeaveEachOtherAlone) {
  const Model model = shared(test::random_cascade(11, 20, 20, 13, false));
  const Picture picture = smooth(161, 121, 5, 2, 3, 7);
  DetectConfig wide, narrow;
  wide.step = 2;
  narrow.step = 1;
  Pair first(model, wide, picture.width, picture.height);
  Pair second(model, narrow, picture.width, picture.height);
  first.check(picture);
  if (HasFatalFailure()) return;
  second.check(picture);
}

TEST_F(DetectCuda, TooManyWindowsAtOneAngleAreNoneAtAll) {
  // Every window passes: they are few enough upright, and too many in the larger canvas.
  CascadeModel everything = *test::shared(test::random_cascade(11, 20, 20, 1, false));
  everything.stages[0].threshold = -1e6f;
  const Model model = shared(std::move(everything));
  DetectConfig config;
  config.min_neighbors = 0;
  config.roll = 45;
  int none = 0, some = 0;
  for (const int side : {60, 200, 260, 300}) {
    const Picture picture = smooth(side, side, 3, 9);
    Pair pair(model, config, side, side);
    pair.check(picture);
    if (HasFatalFailure()) return;
    DeviceFaces got;
    std::memcpy(static_cast<void*>(&got), pair.out().get().data(), sizeof got);
    (got.overflow ? none : some) += 1;
    EXPECT_EQ(got.count == 0, got.overflow != 0);
  }
  EXPECT_GT(none, 0);
  EXPECT_GT(some, 0);
}

TEST_F(DetectCuda, ExtremePictures) {
  const Model model = shared(test::random_cascade(36, 24, 16, 12, true));
  DetectConfig config;
  config.min_neighbors = 0;
  std::vector<Picture> pictures = {
      flat(100, 80, 0),        flat(100, 80, 255),       flat(1, 1, 9),
      smooth(23, 16, 1, 5),    smooth(24, 15, 1, 5),     smooth(24, 16, 1, 5),
      smooth(25, 17, 1, 5, 1), smooth(24, 300, 2, 6, 5), smooth(700, 17, 2, 7, 0, 1)};
  Picture half = flat(120, 90, 0);  // squares as large as they get
  for (int y = 0; y < 90; ++y)
    for (int x = 0; x < 120; ++x)
      half.bytes[static_cast<std::size_t>(y * half.stride + x)] = x / 5 % 2 ? 255 : 0;
  pictures.push_back(half);
  for (const Picture& picture : pictures) {
    SCOPED_TRACE(std::to_string(picture.width) + "x" + std::to_string(picture.height));
    Pair pair(model, config, picture.width, picture.height);
    pair.check(picture);
  }
  test::compared("raw windows", Pair::raw_compared, 100);
}

TEST_F(DetectCuda, TheRunFlagDecidesOnTheDevice) {
  const Picture picture = smooth(200, 150, 4, 31);
  const Model model = shared(test::random_cascade(11, 20, 20, 13, false));
  for (const int roll : {0, 40}) {
    DetectConfig config;
    config.min_neighbors = 1;
    config.roll = roll;
    Pair pair(model, config, picture.width, picture.height);
    GuardedBytes in(picture.bytes), flag(sizeof(std::int32_t), 0);
    const auto* run = reinterpret_cast<const std::int32_t*>(flag.data());
    for (std::uint8_t wanted : {0, 1, 0, 2, 0}) {
      flag.set({0, 0, wanted, 0});
      ASSERT_TRUE(pair.enqueue(picture.at(in.data()), run).ok());
      DeviceFaces got;
      std::memcpy(static_cast<void*>(&got), pair.out().get().data(), sizeof got);
      EXPECT_EQ(got.searched, wanted != 0);
      if (wanted) {
        EXPECT_GT(got.count, 0);
        pair.compare(picture);
      } else {
        EXPECT_EQ(got.count, 0);
        EXPECT_EQ(got.overflow, 0);
        pair.out().set(std::vector<std::uint8_t>(pair.out().size(), test::kCanary));
      }
    }
  }
}

// Every band of pictures, also of those too low to be cut in so many.
TEST_F(DetectCuda, Bands) {
  std::vector<Picture> pictures = {smooth(400, 300, 4, 31), smooth(130, 90, 3, 32),
                                   smooth(60, 24, 3, 33), smooth(801, 450, 5, 34, 3, 5)};
  std::vector<std::pair<Model, DetectConfig>> searches;
  for (const bool tilted : {false, true}) {
    DetectConfig config;
    config.min_neighbors = 1;
    searches.emplace_back(shared(test::random_cascade(11, 20, 20, 13, tilted)), config);
    config.min_neighbors = 0;
    config.detect_scale = 2;
    searches.emplace_back(shared(test::random_cascade(12, 24, 16, 12, tilted)), config);
  }
  // Trees of one node, which are searched in pairs of rows.
  DetectConfig every_window;
  every_window.min_neighbors = 0;
  every_window.step = 1;
  every_window.scale_factor = 1.2;
  searches.emplace_back(shared(test::random_cascade(11, 20, 20, 13, false, 1)), every_window);
  const auto natural = test::load_gray_pictures();
  for (const Model& model : real_cascades())
    if (model->name == "haarcascade_frontalface_alt") searches.emplace_back(model, DetectConfig{});
  if (test::under_tool()) pictures.erase(pictures.begin());
  pictures.resize(test::under_tool() ? 2 : pictures.size());
  for (std::size_t i = 0; i < natural.size() && i < (test::under_tool() ? 1 : 4); ++i)
    pictures.push_back(part_of(natural[i], 800, 600));
  const auto counts = test::under_tool() ? std::vector{3} : std::vector{2, 5, 10, 16};
  for (const auto& [model, config] : searches)
    for (const Picture& picture : pictures) {
      Pair pair(model, config, picture.width, picture.height);
      for (const int count : counts)
        for (int index = 0; index < count; ++index) {
          SCOPED_TRACE(std::to_string(picture.width) + "x" + std::to_string(picture.height) +
                       " band " + std::to_string(index) + " of " + std::to_string(count));
          pair.search_band({index, count});
          pair.check(picture);
          if (HasFatalFailure()) return;
        }
      pair.search_band(kWholePicture);
      pair.check(picture);
    }
  test::compared("raw windows", Pair::raw_compared, 1000);
  test::compared("faces", Pair::faces_compared, 100);
}

TEST_F(DetectCuda, OneGraphOverDifferentPictures) {
  const int width = 240, height = 180;
  for (const int roll : {0, 30}) {
    DetectConfig config;
    config.min_neighbors = 1;
    config.roll = roll;
    Pair::restart();
    Pair pair(shared(test::random_cascade(36, 24, 16, 12, true)), config, width, height);
    const std::vector<Picture> pictures = {
        smooth(width, height, 3, 41), flat(width, height, 0),   smooth(width, height, 6, 42),
        smooth(width, height, 3, 41), flat(width, height, 255), smooth(width, height, 0, 43)};
    GuardedBytes in(pictures[0].bytes);
    const cudaGraphExec_t graph = test::capture(
        pair.stream(), [&] { EXPECT_TRUE(pair.enqueue(pictures[0].at(in.data())).ok()); });
    std::map<std::size_t, std::vector<std::uint8_t>> results;
    for (std::size_t round = 0; round < 2 * pictures.size(); ++round) {
      const std::size_t i = round % pictures.size();
      in.set(pictures[i].bytes);
      pair.out().set(std::vector<std::uint8_t>(pair.out().size(), test::kCanary));
      CUFACE_CUDA_OK(cudaGraphLaunch(graph, pair.stream()));
      const auto got = pair.out().get();
      pair.compare(pictures[i]);
      EXPECT_EQ(got, results.try_emplace(i, got).first->second) << "two runs differ";
    }
    EXPECT_EQ(results[0], results[3]);
    EXPECT_NE(results[0], results[2]);
    test::compared("faces", Pair::faces_compared, 20);
    CUFACE_CUDA_OK(cudaGraphExecDestroy(graph));
  }
}

TEST_F(DetectCuda, EverySettingWithRealCascades) {
  const auto models = real_cascades();
  if (models.empty()) GTEST_SKIP() << "no cascades: set CUFACE_MODEL_PATH";
  std::vector<Picture> pictures = {smooth(200, 140, 4, 51, 3, 5)};
  const auto natural = test::load_gray_pictures();
  for (const test::GrayPicture& p : natural) pictures.push_back(part_of(p, 401, 303));
  pictures.resize(std::min<std::size_t>(pictures.size(), test::under_tool() ? 2 : 7));
  const auto all = configurations();
  int used = 0;
  for (const Model& model : models) {
    if (model->name.find("frontalface") == std::string::npos) continue;
    if (test::under_tool() && ++used > 1) break;
    for (std::size_t c = 0; c < all.size(); ++c)
      for (const Picture& picture : pictures) {
        SCOPED_TRACE(model->name + " configuration " + std::to_string(c) + " " +
                     std::to_string(picture.width));
        Pair pair(model, all[c], picture.width, picture.height);
        pair.check(picture);
        if (HasFatalFailure()) return;
      }
  }
  if (natural.empty()) return;
  test::compared("raw windows", Pair::raw_compared, 200);
  test::compared("faces", Pair::faces_compared, 50);
}

TEST_F(DetectCuda, WholeNaturalPicturesAndTimes) {
  const auto pictures = test::load_gray_pictures();
  const auto models = real_cascades();
  if (pictures.empty() || models.empty())
    GTEST_SKIP() << "no pictures or cascades: set CUFACE_GPU_DATA and CUFACE_MODEL_PATH";
  struct Run {
    const char *picture, *cascade;
    int min_size;
  };
  constexpr int kBands = 10;
  for (const Run& run :
       {Run{"mosaic720", "haarcascade_frontalface_alt", 24},
        {"mosaic720", "haarcascade_frontalface_alt", 60},
        {"mosaic1080", "haarcascade_frontalface_default", 24},
        // Those that are not searched in pairs: tilted features, and a wide window.
        {"mosaic720", "haarcascade_lefteye_2splits", 24},
        {"mosaic720", "haarcascade_upperbody", 24},
        {"mosaic720", "haarcascade_licence_plate_rus_16stages", 24}})
    for (const test::GrayPicture& picture : pictures)
      for (const Model& model : models) {
        if (picture.name != run.picture || model->name != run.cascade) continue;
        DetectConfig config;
        config.min_size = run.min_size;
        Pair pair(model, config, picture.width, picture.height);
        const Picture whole = padded(picture.pixels, picture.width, picture.height);
        pair.check(whole);
        GuardedBytes in(whole.bytes);
        const auto enqueue = [&] { EXPECT_TRUE(pair.enqueue(whole.at(in.data())).ok()); };
        const std::string what =
            "detect " + model->name + " 1.1 min " + std::to_string(run.min_size);
        test::report_time(what, picture.name, test::median_us(pair.stream(), enqueue));
        test::report_time(what + " graph", picture.name,
                          test::median_us(pair.stream(), pair.launches(whole.at(in.data()))));
        pair.compare(whole);
        for (const bool searched : {true, false}) {
          GuardedBytes flag(std::vector<std::uint8_t>{searched, 0, 0, 0});
          const auto* run = reinterpret_cast<const std::int32_t*>(flag.data());
          for (const bool ifs : {true, false})
            test::report_time(
                what + (searched ? " searched" : " not searched") +
                    (ifs ? " in a conditional node" : " without a conditional node"),
                picture.name,
                test::median_us(pair.stream(), pair.launches(whole.at(in.data()), run, ifs)));
        }
        test::report_parts(what, picture.name, pair.launches(whole.at(in.data())), pair.stream());
        pair.compare(whole);
        for (int index = 0; index < kBands; ++index) {
          pair.search_band({index, kBands});
          test::report_time(what + " band " + std::to_string(index), picture.name,
                            test::median_us(pair.stream(), enqueue));
          pair.compare(whole);
        }
      }
}

TEST(DetectCudaArguments, AreCheckedBeforeAnyGpuIsNeeded) {
  const Model model = shared(test::random_cascade(11, 20, 20, 3, false));
  const auto code = [&](Model m, auto change, int width = 100, int height = 100) {
    DetectConfig config;
    change(config);
    return cuda::Detector::create(m, config, width, height).status().code();
  };
  const auto as_is = [](DetectConfig&) {};
  EXPECT_EQ(code(nullptr, as_is), StatusCode::kInvalidArgument);
  EXPECT_EQ(code(std::make_shared<const CascadeModel>(), as_is), StatusCode::kCorrupt);
  EXPECT_EQ(code(model, as_is, 0), StatusCode::kInvalidArgument);
  EXPECT_EQ(code(model, as_is, 20000), StatusCode::kUnsupported);
  EXPECT_EQ(code(
                model, [](DetectConfig& c) { c.scale_mode = ScaleMode::kWindow; }, 8192, 4096),
            StatusCode::kUnsupported);
  EXPECT_EQ(code(model, [](DetectConfig& c) { c.max_faces = cuda::kMaxFaces + 1; }),
            StatusCode::kUnsupported);
  EXPECT_EQ(code(model, [](DetectConfig& c) { c.scale_factor = 1; }), StatusCode::kInvalidArgument);
}

TEST_F(DetectCuda, RefusesAPictureOfAnotherSize) {
  Pair pair(shared(test::random_cascade(11, 20, 20, 3, false)), {}, 100, 80);
  GuardedBytes in(std::vector<std::uint8_t>(10000, 0));
  EXPECT_EQ(pair.enqueue({in.data(), 99, 80, 99}).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(pair.enqueue({nullptr, 100, 80, 100}).code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace cuface
