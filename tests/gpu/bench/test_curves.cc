// Time on CUDA against the size of the work: the curves of tests/eval/faces.cc, by the same names,
// so that docs/results/published.md has those of the CPU and the published figures beside them.
// What is timed is compared with the reference, at every size.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "kernels/detect/cuda/detector.h"
#include "models/models.h"
#include "tests/data.h"
#include "tests/gpu/bench/cub_tools.h"
#include "tests/gpu/bench/curve.h"
#include "tests/gpu/bench/streams.h"
#include "tests/gpu/compare.h"
#include "tests/gpu/gpu.h"
#include "tests/gpu/kernels/flow_points.h"
#include "tests/gpu/kernels/group_setting.h"
#include "tests/gpu/kernels/landmarks_pair.h"
#include "tests/rectangles.h"

namespace cuface {
namespace {

using test::Curve;
using test::Grey;
using test::natural;
using test::resized;
using test::Size;
using test::sizes;
using test::under_tool;

/// A third of a picture's width, as tests/eval/faces.cc takes it.
Grey portrait_of(const std::string& name, int left) {
  const Grey whole = natural(name);
  EXPECT_GT(whole.width, left) << "no picture " << name;
  if (whole.width == 0) return resized(Grey(9, 16), 720, 1280);
  Grey part(whole.height * 9 / 16, whole.height);
  for (int y = 0; y < part.height; ++y)
    std::copy_n(whole.pixels.begin() + y * whole.width + left, part.width,
                part.pixels.begin() + y * part.width);
  return resized(part, 720, 1280);
}

/// With what compares landmarks.
class CurvesCuda : public ForestPair {
 protected:
  void add_search(Curve& curve, double x, const Grey& picture, const std::string& cascade,
                  const DetectConfig& config) {
    const auto model = load_cascade(test::cascade_path(cascade));
    ASSERT_TRUE(model.ok()) << model.status().message();
    const auto ours = cuda::Detector::create(model.value(), config, picture.width, picture.height);
    ASSERT_TRUE(ours.ok()) << ours.status().message();
    test::DevicePicture luma(picture.width, picture.height);
    luma.set(picture.view());
    GuardedBytes out(device_faces_bytes(0), kCanary);
    cuda::LaunchList list;
    ASSERT_TRUE(
        ours.value()->enqueue(luma.view(), nullptr, faces_at(out), cuda::Launcher(list)).ok());
    curve.add(x, test::launch_us(*stream_, list));

    DetectConfig on_cpu = config;
    on_cpu.threads = 0;
    const auto reference =
        Detector::create(Backend::kCpu, model.value(), on_cpu, picture.width, picture.height);
    ASSERT_TRUE(reference.ok()) << reference.status().message();
    DetectResult expected;
    ASSERT_TRUE(reference.value()->enqueue(picture.view(), expected).ok());
    const Bytes bytes = out.get();
    DeviceFaces got;
    std::memcpy(static_cast<void*>(&got), bytes.data(), sizeof got);
    EXPECT_EQ(got.overflow, expected.overflow);
    ASSERT_EQ(got.count, static_cast<int>(expected.faces.size())) << picture.width;
    for (int i = 0; i < got.count; ++i) {
      const Detection& e = expected.faces[static_cast<std::size_t>(i)];
      EXPECT_EQ(got.faces[i].box, (Box{static_cast<float>(e.box.x), static_cast<float>(e.box.y),
                                       static_cast<float>(e.box.w), static_cast<float>(e.box.h)}));
      EXPECT_EQ(got.faces[i].neighbors, e.neighbors);
    }
    found_ += got.count;
  }

  /// The new frame's pyramid and the flow of some points.
  void add_flow(Curve& curve, double x, const Grey& a, const Grey& b, int count,
                const FlowConfig& config) {
    auto prev = cuda::GaussianPyramid::create(a.width, a.height, config.levels, config.window);
    auto next = cuda::GaussianPyramid::create(a.width, a.height, config.levels, config.window);
    ASSERT_TRUE(prev.ok() && next.ok());
    test::DevicePicture before(a.width, a.height), now(a.width, a.height);
    before.set(a.view());
    now.set(b.view());
    const auto points = test::random_points(count, -20, a.width, a.height, 1);
    test::DevicePoints device(points, count, count);
    device.arrays.back = nullptr;
    ASSERT_TRUE(prev.value()->enqueue(before.view(), *stream_).ok());
    cuda::LaunchList list;
    const cuda::Launcher launch(list);
    ASSERT_TRUE(next.value()->enqueue(now.view(), launch).ok());
    ASSERT_TRUE(
        cuda::enqueue_flow(*prev.value(), *next.value(), device.arrays, config, launch).ok());
    curve.add(x, test::launch_us(*stream_, list));

    const test::Answers answers = test::reference(a, b, points, config);
    const Bytes status = device.status.get();
    const auto to = test::values_of<Point>(device.to.get());
    EXPECT_EQ(status, answers.forward);
    for (std::size_t i = 0; i < points.size(); ++i) {
      EXPECT_TRUE(test::same_bits(to[i], answers.to[i])) << i;
      followed_ += answers.forward[i];
    }
  }

  void add_landmarks(Curve& curve, double x, const ModelRef& model,
                     const std::shared_ptr<const cuda::DeviceForest>& forest, const Grey& picture,
                     int faces, int iterations) {
    const auto ours = cuda::Landmarker::create(forest, iterations);
    ASSERT_TRUE(ours.ok()) << ours.status().message();
    const auto boxes = test::usable_boxes(faces, picture.width, picture.height);
    test::DevicePicture luma(picture.width, picture.height);
    luma.set(picture.view());
    GuardedBytes in(block_of(boxes, 68)), out(device_faces_bytes(68), kCanary);
    cuda::LaunchList list;
    ASSERT_TRUE(ours.value()
                    ->enqueue(luma.view(), faces_at(in), kMap, faces_at(out), cuda::Launcher(list))
                    .ok());
    curve.add(x, test::launch_us(*stream_, list));
    const PaddedPicture same{picture.pixels, picture.width, picture.height, picture.width, 0};
    compare(*ours.value(), *make_reference(model, iterations), *model, same, boxes, kMap);
  }

  long found_ = 0, followed_ = 0;
};

TEST_F(CurvesCuda, DetectAgainstThePictureSize) {
  const Grey mosaic = natural("mosaic1080");
  if (mosaic.width == 0) GTEST_SKIP() << "no natural pictures: set CUFACE_GPU_DATA";
  DetectConfig config;
  config.min_neighbors = 5;
  config.min_size = 30;
  Curve curve("detect", "pixels of the picture");
  for (const Size& s : sizes<Size>({{100, 100},
                                    {500, 500},
                                    {640, 480},
                                    {1280, 720},
                                    {1000, 1000},
                                    {1472, 1000},
                                    {1920, 1080},
                                    {2000, 2000},
                                    {3840, 2160},
                                    {4096, 2160},
                                    {3000, 3000},
                                    {4000, 4000}},
                                   {{64, 60}}))
    ASSERT_NO_FATAL_FAILURE(add_search(curve, s.area(), resized(mosaic, s.width, s.height),
                                       "frontalface_default", config));
  curve.expect_no_faster_than_the_work();
  if (under_tool()) return;
  // S0.E6: a portrait searched at fractions of its size.
  const std::pair<const char*, Grey> portraits[] = {{"", resized(mosaic, 720, 1280)},
                                                    {", one face", portrait_of("franck_00", 115)},
                                                    {", no face", portrait_of("negatives", 200)}};
  for (const auto& [mode, what] :
       {std::pair{ScaleMode::kPyramid, "detect"}, {ScaleMode::kWindow, "scaled windows"}})
    for (const auto& [which, portrait] : portraits)
      for (int step : {1, 2}) {
        Curve fractions(what + (which + (", step " + std::to_string(step))),
                        "the picture is divided by");
        for (int divided : {1, 2, 4, 8}) {
          DetectConfig part;
          part.scale_mode = mode;
          part.scale_factor = 1.2;
          part.min_size = 24 * divided;
          part.step = step;
          part.detect_scale = divided;
          ASSERT_NO_FATAL_FAILURE(
              add_search(fractions, divided, portrait, "frontalface_alt", part));
        }
      }
  test::compared("faces", found_, 120);
}

TEST_F(CurvesCuda, FlowAgainstPicturePointsLevelsAndWindow) {
  const Grey a = natural("pexels_00"), b = natural("pexels_01");
  if (a.width == 0) GTEST_SKIP() << "no natural pictures: set CUFACE_GPU_DATA";
  const auto add = [&](Curve& curve, double x, Size s, int count, const FlowConfig& config = {}) {
    const Grey before = resized(a, s.width, s.height), now = resized(b, s.width, s.height);
    add_flow(curve, x, before, now, count, config);
  };
  Curve by_size("flow, 68 points", "pixels of the picture");
  for (const Size& s :
       sizes<Size>({{640, 480}, {1280, 720}, {1920, 1080}, {3840, 2160}}, {{100, 80}}))
    ASSERT_NO_FATAL_FAILURE(add(by_size, s.area(), s, 68));
  by_size.expect_no_faster_than_the_work();
  const Size hd = under_tool() ? Size{100, 80} : Size{1280, 720};
  Curve by_points("flow, 720p", "points");
  for (int n : sizes<int>({68, 100, 250, 500, 1000, 2500, 5000}, {30}))
    ASSERT_NO_FATAL_FAILURE(add(by_points, n, hd, n));
  by_points.expect_no_faster_than_the_work();
  const int many = under_tool() ? 30 : 1000;
  Curve by_levels("flow, 720p, 1,000 points, levels", "levels");
  for (int levels : sizes<int>({1, 2, 3, 4}, {2})) {
    FlowConfig config;
    config.levels = levels;
    ASSERT_NO_FATAL_FAILURE(add(by_levels, levels, hd, many, config));
  }
  Curve by_window("flow, 720p, 1,000 points, window", "side of the window");
  for (int window : sizes<int>({9, 15, 21, 31}, {9})) {
    FlowConfig config;
    config.window = window;
    ASSERT_NO_FATAL_FAILURE(add(by_window, window, hd, many, config));
  }
  Curve by_iterations("flow, 720p, 1,000 points, iterations", "iterations, at most");
  for (int iterations : sizes<int>({5, 10, 20, 30}, {5})) {
    FlowConfig config;
    config.max_iterations = iterations;
    ASSERT_NO_FATAL_FAILURE(add(by_iterations, iterations, hd, many, config));
  }
  test::compared("points followed", followed_, under_tool() ? 300 : 10'000);
}

TEST_F(CurvesCuda, LandmarksAgainstFacesAndCascades) {
  const Grey picture = natural("mosaic720");
  if (picture.width == 0) GTEST_SKIP() << "no natural pictures: set CUFACE_GPU_DATA";
  const auto [model, real] = test::model_of_68_points();
  const auto forest = cuda::DeviceForest::create(*model);
  ASSERT_TRUE(forest.ok()) << forest.status().message();
  const std::string which = real ? "" : ", random model";
  Curve by_faces("landmarks" + which, "faces");
  for (int faces : sizes<int>({1, 2, 4, 8, 16, 32, 64}, {2}))
    ASSERT_NO_FATAL_FAILURE(
        add_landmarks(by_faces, faces, model, forest.value(), picture, faces, 0));
  by_faces.expect_no_faster_than_the_work();
  Curve by_cascades("landmarks, 1 face" + which, "cascades of trees");
  for (int cascades : sizes<int>({3, 6, 9, 12, 15}, {1}))
    ASSERT_NO_FATAL_FAILURE(
        add_landmarks(by_cascades, cascades, model, forest.value(), picture, 1, cascades));
  by_cascades.expect_no_faster_than_the_work();
  test::compared("points", seen_.points, 68 * (under_tool() ? 3 * test::kUnderTool : 130));
}

TEST_F(CurvesCuda, StreamsOfOneFace) {
  const auto pictures = test::timed_pictures();
  const auto picture = std::find_if(pictures.begin(), pictures.end(), [](const auto& p) {
    return under_tool() || p.name == "mosaic720";
  });
  if (picture == pictures.end()) GTEST_SKIP() << "no natural pictures: set CUFACE_GPU_DATA";
  const auto [model, real] = test::model_of_68_points();
  const auto forest = cuda::DeviceForest::create(*model);
  ASSERT_TRUE(forest.ok()) << forest.status().message();
  Curve curve(std::string("flow and landmarks") + (real ? "" : ", random model"),
              "streams of 720p, a face each");
  Bytes alone;
  long equal = 0;
  for (int count : sizes<int>({1, 2, 4, 8, 16, 32, 64}, {1, 2})) {
    test::Streams streams(static_cast<std::size_t>(count), forest.value(), *picture);
    curve.add(count, streams.median_us(false));
    for (const Bytes& bytes : streams.results()) {
      if (alone.empty()) alone = bytes;
      EXPECT_TRUE(bytes == alone) << count << " streams";
      equal += bytes == alone;
    }
  }
  EXPECT_EQ(reinterpret_cast<const DeviceFaces*>(alone.data())->count, 1) << "the face was lost";
  curve.expect_no_faster_than_the_work();
  test::compared("streams with the bytes of one alone", equal, under_tool() ? 3 : 127);
}

TEST_F(CurvesCuda, GroupingAgainstRectangles) {
  constexpr int kMinNeighbors = 3;
  long groups = 0;
  for (const char* which : test::kRectangleCases)
    for (const Grouping rule : {Grouping::kOpenCv, Grouping::kOverlap}) {
      Curve curve(
          (rule == Grouping::kOpenCv ? "group, " : "group by overlap, ") + std::string(which),
          "rectangles");
      for (int count : sizes<int>({100, 300, 1000, 1024, 1500, 2500, 3500, 4000}, {100})) {
        const std::vector<Rect> windows = test::rectangles(which, count);
        GuardedBytes boxes(test::bytes_of(windows)),
            counted(test::bytes_of(std::vector<std::int32_t>{count}));
        test::GroupSetting setting(rule, kMinNeighbors, static_cast<std::uint32_t>(count));
        cuda::LaunchList list;
        ASSERT_TRUE(setting.enqueue(boxes, counted, cuda::Launcher(list)).ok());
        curve.add(count, test::launch_us(*stream_, list));
        GroupScratch scratch;
        std::vector<Detection> expected;
        group(windows, rule, kMinNeighbors, scratch, expected);
        EXPECT_EQ(setting.found(), expected) << which << ", " << count;
        groups += static_cast<long>(expected.size());
      }
    }
  test::compared("groups", groups, 20);
}

/// S0.E1 and S0.E2, for which a GPU has CUB; the stages' own kernels sum and compact in passing.
TEST_F(CurvesCuda, ReductionAndCompaction) {
  Curve reduction("reduction", "floats"), compaction("compaction", "floats");
  long kept_in_all = 0;
  for (int count :
       sizes<int>({250'000, 500'000, 1'000'000, 2'500'000, 5'000'000, 10'000'000}, {5000})) {
    std::mt19937 random(17);
    std::vector<float> values(static_cast<std::size_t>(count)), positive;
    // Whole numbers so small that any order of adding them is exact.
    for (float& v : values) v = static_cast<float>(random() % 4) - 1;
    std::copy_if(values.begin(), values.end(), std::back_inserter(positive),
                 [](float v) { return v > 0; });
    const double sum = std::accumulate(values.begin(), values.end(), 0.0);
    GuardedBytes in(test::bytes_of(values)), total(4, kCanary), kept(4, kCanary),
        out(values.size() * sizeof(float), kCanary);
    const auto* from = reinterpret_cast<const float*>(in.data());
    const auto sum_up = [&](void* temporary, std::size_t& bytes) {
      return test::cub_sum(temporary, bytes, from, reinterpret_cast<float*>(total.data()), count,
                           *stream_);
    };
    const auto compact = [&](void* temporary, std::size_t& bytes) {
      return test::cub_keep_positive(temporary, bytes, from, reinterpret_cast<float*>(out.data()),
                                     reinterpret_cast<int*>(kept.data()), count, *stream_);
    };
    const auto graph_us_of = [&](const auto& tool) {
      std::size_t bytes = 0;
      EXPECT_EQ(tool(nullptr, bytes), cudaSuccess);
      GuardedBytes temporary(bytes, kCanary);
      const cudaGraphExec_t graph =
          test::capture(*stream_, [&] { EXPECT_EQ(tool(temporary.data(), bytes), cudaSuccess); });
      const double us = test::launch_us(
          *stream_, [&] { EXPECT_EQ(cudaGraphLaunch(graph, *stream_), cudaSuccess); });
      EXPECT_EQ(cudaGraphExecDestroy(graph), cudaSuccess);
      (void)temporary.get();  // wrote outside of it?
      return us;
    };
    reduction.add(count, graph_us_of(sum_up));
    compaction.add(count, graph_us_of(compact));
    EXPECT_EQ(static_cast<double>(test::values_of<float>(total.get())[0]), sum);
    ASSERT_EQ(static_cast<std::size_t>(test::values_of<std::int32_t>(kept.get())[0]),
              positive.size());
    const auto written = test::values_of<float>(out.get());
    EXPECT_TRUE(std::equal(positive.begin(), positive.end(), written.begin())) << count;
    kept_in_all += static_cast<long>(positive.size());
  }
  reduction.expect_no_faster_than_the_work();
  compaction.expect_no_faster_than_the_work();
  test::compared("values kept", kept_in_all, 60'000);
}

}  // namespace
}  // namespace cuface
