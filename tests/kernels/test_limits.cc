// What lies at the edge of what a contract admits: the largest sums, the largest and the emptiest
// pictures, models that nobody has validated.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/detect/detect.h"
#include "kernels/landmark_samples/landmark_samples.h"
#include "kernels/levels/levels.h"
#include "tests/kernels/one_node_cascade.h"
#include "tests/models/synthetic_forest.h"

namespace cuface::test {
namespace {

constexpr int kSide = 4096;  // squared, the most pixels of ScaleMode::kWindow
constexpr std::uint64_t kWhite = 255;

TEST(Limits, SumsOfRectanglesUpTo2To24WhitePixels) {
  constexpr int kStride = kSide + 1;
  std::vector<std::uint32_t> sums(std::size_t{kStride} * kStride);
  for (std::size_t y = 0; y <= kSide; ++y)
    for (std::size_t x = 0; x <= kSide; ++x)
      sums[y * kStride + x] = static_cast<std::uint32_t>(kWhite * x * y);
  // 2^31 lies between 2,056 and 2,057 columns.
  for (const int width : {1, 2055, 2056, 2057, 2058, 3000, 4095, 4096}) {
    const auto model = one_node_cascade(0, 1.5f);
    model->features[0].rects[0] = {0, 0, width, kSide, -1};
    BoundCascade bound(*model);
    bound.bind({kStride});
    const auto exact = static_cast<float>(kWhite * static_cast<std::uint64_t>(width) * kSide);
    EXPECT_EQ(bound.stages()[0].trees[0].nodes[0].feature.sum(0, sums.data()), exact) << width;
  }
}

/// The windows that pass, computed in 64 bits: of a picture that is white in front of a column.
std::vector<Rect> passing(const CascadeModel& model, const std::vector<float>& scales, int white) {
  std::vector<Rect> out;
  const float threshold = model.nodes[0].threshold;
  for (const float s : scales) {
    const int w = scaled_side(20, s), half = scaled_side(10, s);
    const int step = std::max(2, static_cast<int>(std::lrintf(s)));
    for (int y = 0; y + w <= kSide; y += step)
      for (int x = 0; x + w <= kSide; x += step) {
        const auto sum = [&](int columns) {
          const int lit = std::clamp(white - x, 0, columns);
          return kWhite * static_cast<std::uint64_t>(lit) * static_cast<std::uint64_t>(w);
        };
        const std::uint64_t pixels = static_cast<std::uint64_t>(w) * static_cast<std::uint64_t>(w);
        const std::uint64_t all = sum(w), spread = pixels * kWhite * all - all * all;
        if (spread == 0) continue;
        const auto norm = static_cast<float>(1.0 / std::sqrt(static_cast<double>(spread)));
        const float area[2] = {static_cast<float>(w * w), static_cast<float>(half * w)};
        const float whole = -(2 * area[1]) / area[0];
        const float value = whole * static_cast<float>(all) + 2 * static_cast<float>(sum(half));
        if (value * norm >= threshold) out.push_back({x, y, w, w});
      }
  }
  return out;
}

TEST(Limits, ScaledWindowsOfTheLargestPicture) {
  DetectConfig config;
  config.scale_mode = ScaleMode::kWindow;
  config.min_neighbors = 0;
  config.max_faces = kMaxRawWindows;
  config.min_size = 2600;
  const std::vector<float> scales =
      search_scales({20, 20, kSide, kSide, config.scale_factor, config.min_size, 0});
  ASSERT_GE(scales.size(), 3u);
  std::size_t found = 0;
  for (const int white : {kSide - 1, kSide - 200, kSide / 2}) {
    std::vector<std::uint8_t> pixels(std::size_t{kSide} * kSide);
    for (std::size_t y = 0; y < kSide; ++y)
      std::fill_n(pixels.begin() + static_cast<std::ptrdiff_t>(y * kSide), white, kWhite);
    for (const float threshold : {0.02f, 0.5f}) {
      const auto model = one_node_cascade(threshold, 1.5f);
      auto detector = Detector::create(Backend::kCpu, model, config, kSide, kSide);
      ASSERT_TRUE(detector.ok()) << detector.status().message();
      DetectResult result;
      ASSERT_TRUE(detector.value()->enqueue({pixels.data(), kSide, kSide, kSide}, result).ok());
      const std::vector<Rect> expected = passing(*model, scales, white);
      found += expected.size();
      ASSERT_EQ(result.faces.size(), expected.size()) << white << " " << threshold;
      for (const Rect& r : expected)
        EXPECT_TRUE(std::any_of(result.faces.begin(), result.faces.end(),
                                [&](const Detection& d) { return d.box == r; }))
            << r.x << " " << r.y << " " << r.w;
    }
  }
  EXPECT_GT(found, 20u);
}

TEST(Limits, LandmarksOfAnEmptyPicture) {
  const auto model = synthetic_forest(5, 2, 3, 2, 4, 23);
  auto plain = Landmarker::create(Backend::kCpu, model);
  auto sampled = SampledLandmarker::create(Backend::kCpu, model);
  ASSERT_TRUE(plain.ok() && sampled.ok());
  const Box box{1, 1, 10, 10};
  const std::uint8_t pixel = 0, twice = 1;
  std::vector<Point> points(5, Point{7, 7});
  for (const ImageView<const std::uint8_t>& view :
       {ImageView<const std::uint8_t>{}, ImageView<const std::uint8_t>{nullptr, 64, 64, 64},
        ImageView<const std::uint8_t>{&pixel, 0, 0, 0},
        ImageView<const std::uint8_t>{&pixel, 1, 0, 1},
        ImageView<const std::uint8_t>{&pixel, -1, 1, 1}}) {
    EXPECT_EQ(plain.value()->enqueue(view, {&box, 1}, points).code(), StatusCode::kInvalidArgument);
    for (const int samples : {1, 5})
      EXPECT_EQ(
          sampled.value()->enqueue(view, {&box, 1}, {}, samples, points, {}, {&twice, 1}).code(),
          StatusCode::kInvalidArgument);
    EXPECT_EQ(points, std::vector<Point>(5, Point{7, 7})) << "out is left as it was";
  }
}

TEST(Limits, ModelsMadeByHandAreValidated) {
  const auto good = synthetic_forest(5, 2, 3, 2, 4, 23);
  auto bad = std::make_shared<ForestModel>(*good);
  bad->splits = bad->splits.first(bad->splits.size() - 1);
  EXPECT_EQ(Landmarker::create(Backend::kCpu, bad).status().code(), StatusCode::kCorrupt);
  EXPECT_EQ(SampledLandmarker::create(Backend::kCpu, bad).status().code(), StatusCode::kCorrupt);
  EXPECT_EQ(Landmarker::create(Backend::kCpu, nullptr).status().code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(SampledLandmarker::create(Backend::kCpu, nullptr).status().code(),
            StatusCode::kInvalidArgument);
  auto cascade = one_node_cascade(0, 1.5f);
  cascade->nodes[0].feature = 1;
  for (const int roll : {0, 30})
    for (const bool verify : {false, true}) {
      DetectConfig config;
      config.roll = roll;
      config.verify = verify;
      EXPECT_EQ(Detector::create(Backend::kCpu, cascade, config, 64, 64).status().code(),
                StatusCode::kCorrupt);
    }
}

/// A cascade of this many stages, each of so many trees of one node.
CascadeModel cascade_of(std::size_t stages, std::size_t trees) {
  CascadeModel m = *one_node_cascade(0, 1.5f);
  m.stages.clear();
  m.trees.clear();
  m.nodes.clear();
  m.leaves.clear();
  for (std::size_t s = 0; s < stages; ++s) {
    m.stages.push_back({static_cast<int>(m.trees.size()), static_cast<int>(trees), 0});
    for (std::size_t t = 0; t < trees; ++t) {
      const auto at = static_cast<int>(m.trees.size());
      m.trees.push_back({at, 1, 2 * at, 2});
      m.nodes.push_back({0, 0, 0, -1});
      m.leaves.insert(m.leaves.end(), {0, 1});
    }
  }
  return m;
}

TEST(Limits, SizesOfACascade) {
  EXPECT_TRUE(validate(cascade_of(kMaxCascadeStages, 1)).ok());
  EXPECT_TRUE(validate(cascade_of(1, kMaxCascadeTrees)).ok());
  EXPECT_TRUE(validate(cascade_of(kMaxCascadeStages, kMaxCascadeTrees / kMaxCascadeStages)).ok());
  EXPECT_EQ(validate(cascade_of(kMaxCascadeStages + 1, 1)).code(), StatusCode::kCorrupt);
  EXPECT_EQ(validate(cascade_of(1, kMaxCascadeTrees + 1)).code(), StatusCode::kCorrupt);
  CascadeModel m = cascade_of(1, 1);
  m.features.resize(kMaxCascadeFeatures, m.features[0]);
  EXPECT_TRUE(validate(m).ok());
  m.features.push_back(m.features[0]);
  EXPECT_EQ(validate(m).code(), StatusCode::kCorrupt);
}

// CUDA counts bytes of the atlas in 32 bits: what has more is refused, and refused soon.
TEST(Limits, AtlasOfTheLevels) {
  const auto atlas = [](int side, double factor) {
    const LevelQuery query{20, 20, side, side, factor, 0, 0};
    return level_atlas(pyramid_levels(query, search_scales(query), 0));
  };
  const Result<Atlas> usual = atlas(2048, 1.1), largest = atlas(kMaxPictureSide, 1.1);
  ASSERT_TRUE(usual.ok() && largest.ok());
  EXPECT_LE(static_cast<std::uint64_t>(largest.value().width) *
                static_cast<std::uint64_t>(largest.value().height),
            kMaxAtlasBytes);
  EXPECT_EQ(atlas(kMaxPictureSide, 1.01).status().code(), StatusCode::kUnsupported);
  EXPECT_EQ(atlas(kMaxPictureSide, 1.001).status().code(), StatusCode::kUnsupported);
}

}  // namespace
}  // namespace cuface::test
