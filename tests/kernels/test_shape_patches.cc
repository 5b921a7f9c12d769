// Learning the patches of a shape model, beside OpenCV's inverses.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <opencv2/core.hpp>
#include <random>

#include "kernels/shape_training/confidence.h"
#include "kernels/shape_training/face_on_level.h"
#include "kernels/shape_training/patches.h"
#include "kernels/shape_training/shape_training.h"
#include "kernels/shape_training/weights.h"

namespace cuface {
namespace {

/// MASM's distance as it is printed, with S's own inverse.
TEST(ShapePatches, APatchsMatrixIsTheResidualsDistance) {
  std::mt19937 random(3);
  std::normal_distribution<double> normal;
  const int size = 25, count = 200;
  cv::Mat_<double> mix(size, size);
  for (double& v : mix) v = normal(random);
  std::vector<float> samples;
  cv::Mat_<double> all(count, size);
  for (int i = 0; i < count; ++i) {
    cv::Mat_<double> draw(1, size);
    for (double& v : draw) v = normal(random);
    const cv::Mat_<double> sample = draw * mix;
    for (int k = 0; k < size; ++k) {
      samples.push_back(static_cast<float>(sample(k)));
      all(i, k) = static_cast<double>(samples.back());
    }
  }
  cv::Mat_<double> covariance, mean;
  cv::calcCovarMatrix(all, covariance, mean, cv::COVAR_NORMAL | cv::COVAR_ROWS, CV_64F);
  covariance /= count - 1;
  cv::Mat_<double> values, vectors;
  cv::eigen(covariance, values, vectors);
  ShapeOptions options;
  options.floor = 1e-6;
  options.patch_variance = 0.9;
  for (const PatchRows rows : {PatchRows::kResidual, PatchRows::kKept, PatchRows::kAll}) {
    options.rows = rows;
    const shape::Texture found = shape::learn_patch(samples, size, options);
    const auto kept = static_cast<int>(shape::kept_modes({values[0], size}, 0.9));
    ASSERT_GT(kept, 2);
    const int expected = rows == PatchRows::kAll    ? size
                         : rows == PatchRows::kKept ? kept
                                                    : size - kept;
    ASSERT_EQ(found.rows, static_cast<std::size_t>(expected));
    const cv::Mat_<double> matrix(expected, size, const_cast<double*>(found.matrix.data()));
    const cv::Mat_<double> leading = vectors.rowRange(0, kept);
    for (int i = 0; i < 20; ++i) {
      const cv::Mat_<double> g = (all.row(i) - mean).t() * (1 + 0.1 * i);
      const cv::Mat_<double> inside = leading.t() * (leading * g);
      const cv::Mat_<double> r = rows == PatchRows::kAll    ? g
                                 : rows == PatchRows::kKept ? inside
                                                            : cv::Mat_<double>(inside - g);
      const cv::Mat_<double> distance = r.t() * covariance.inv(cv::DECOMP_SVD) * r;
      const cv::Mat_<double> root = matrix * g;
      EXPECT_NEAR(root.dot(root), distance(0), 1e-4 * (1 + distance(0)));
    }
  }
}

TEST(ShapePatches, ALikelihoodsBaseIsTheLeastThatWillDo) {
  std::mt19937 random(4);
  std::normal_distribution<float> normal;
  const int size = 9;
  std::vector<float> samples(60 * size);
  for (float& v : samples) v = normal(random);
  std::vector<double> coefficients(size);
  for (double& v : coefficients) v = static_cast<double>(normal(random));
  ShapeOptions options;
  options.rows = PatchRows::kAll;
  shape::Texture texture = shape::learn_patch(samples, size, options);
  shape::add_likelihood(coefficients, 6, size, texture);
  ASSERT_EQ(texture.likelihood.size(), size + 1u);
  for (std::size_t k = 0; k < size; ++k)
    EXPECT_DOUBLE_EQ(texture.likelihood[k], 6 * coefficients[k]);

  // The cost is least where its gradient is 0.
  const cv::Mat_<double> matrix(size, size, texture.matrix.data());
  const cv::Mat_<double> likelihood(size, 1, texture.likelihood.data());
  const cv::Mat_<double> squares = matrix.t() * matrix;
  cv::Mat_<double> cheapest;
  ASSERT_TRUE(cv::solve(2 * squares, likelihood, cheapest));
  const double least =
      cv::Mat_<double>(cheapest.t() * squares * cheapest)(0) - cheapest.dot(likelihood);
  EXPECT_LT(least, -1);
  EXPECT_NEAR(texture.likelihood[size], -least, -1e-9 * least);
}

/// A face of three points in noise, and a model of it without numbers.
struct FaceInNoise {
  explicit FaceInNoise(int levels) {
    std::mt19937 random(5);
    for (int y = 0; y < 160; ++y)
      for (int x = 0; x < 160; ++x) picture.view().at(x, y) = static_cast<std::uint8_t>(random());
    model.points = 3;
    model.levels = levels;
    model.size_left = 0, model.size_right = 1, model.size_below = 2;
    model.size = 50;
    model.pyramid = ShapePyramid::kGaussian;
  }

  Image<std::uint8_t> picture{160, 160};
  const std::vector<Point> points = {{50, 60}, {110, 60}, {80, 110}};
  const std::vector<std::uint8_t> present = std::vector<std::uint8_t>(3, 1);
  const std::vector<ImageView<const std::uint8_t>> pictures = {picture.view()};
  const std::uint32_t of = 0;
  const Box box{30, 30, 100, 100};
  const ShapeFaces faces{3, pictures, {&of, 1}, {&box, 1}, points, present, {}, 0};
  ShapeModel model;
};

TEST(ShapePatches, PointsWeighByHowNearASearchFindsThem) {
  FaceInNoise face(1);
  ShapeModel& model = face.model;
  model.patch = {5, 2, 1, PatchRule::kTurns, true, 20};
  // The first landmark's own patch, in which nothing else is alike, and twice a flat one.
  shape::FaceOnLevel on_level;
  ASSERT_TRUE(on_level.make(face.faces, 0, model, 0));
  PatchReference patches(model.patch, {});
  patches.set_picture(on_level.picture(), 0);
  const std::size_t size = 25;
  std::vector<double> numbers, mean(size);
  std::vector<ShapeProfile> profiles;
  patches.patch(on_level.points()[0], 0, 0, mean);
  for (int i = 0; i < 3; ++i) {
    profiles.push_back({ProfileKind::kPatch, static_cast<std::uint32_t>(numbers.size())});
    numbers.insert(numbers.end(), {static_cast<double>(size), 0});
    numbers.insert(numbers.end(), mean.begin(), mean.end());
    for (std::size_t k = 0; k < size * size; ++k) numbers.push_back(k % (size + 1) == 0);
    std::ranges::fill(mean, 0);
  }
  model.profiles = profiles;
  model.numbers = numbers;
  const auto one_by_one = [](std::size_t count, const auto& task) {
    for (std::size_t i = 0; i < count; ++i) task(i, 0);
    return Status();
  };
  const auto weights = shape::point_weights(face.faces, model, 0.9, 1, one_by_one);
  ASSERT_TRUE(weights.ok());
  EXPECT_EQ(weights.value()[0], 1);
  EXPECT_LT(weights.value()[1], 0.5);
  EXPECT_LT(weights.value()[2], 0.5);
}

TEST(ShapePatches, TurnedModesHaveTheSameLikelyShapes) {
  constexpr std::size_t kRows = 12, kModes = 3;
  std::mt19937 random(6);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<double> vectors(kRows * kModes), weights(kRows / 2), values = {9, 4, 1};
  for (double& v : vectors) v = uniform(random);
  for (double& w : weights) w = 1.2 + uniform(random);
  const auto covariance = [&](std::size_t r, std::size_t c) {
    double sum = 0;
    for (std::size_t k = 0; k < kModes; ++k)
      sum += values[k] * vectors[r * kModes + k] * vectors[c * kModes + k];
    return sum;
  };
  std::vector<double> before;
  for (std::size_t i = 0; i < kRows * kRows; ++i)
    before.push_back(covariance(i / kRows, i % kRows));
  shape::turn_modes(weights, values, vectors);
  for (std::size_t i = 0; i < kRows * kRows; ++i)
    EXPECT_NEAR(covariance(i / kRows, i % kRows), before[i], 1e-12);
  for (std::size_t a = 0; a < kModes; ++a) {
    for (std::size_t b = 0; b < kModes; ++b) {
      double product = 0;
      for (std::size_t r = 0; r < kRows; ++r)
        product += weights[r / 2] * vectors[r * kModes + a] * vectors[r * kModes + b];
      EXPECT_NEAR(product, a == b, 1e-12);
    }
  }
}

/// On all levels alike: the mean of a Gaussian of one pixel over a square of 12.
TEST(ShapePatches, PatchesAreDisplacedBySixPixelsOnEachLevel) {
  const FaceInNoise face(4);
  ShapeOptions options;
  options.displaced = 1000;
  options.patch.side = 3;
  const double expected = 2 * M_PI / (12 * 12);
  for (const int level : {0, 3}) {
    const shape::DisplacedSamples found =
        shape::PatchSampler(options).sample(face.faces, 0, face.model, level);
    ASSERT_EQ(found.targets.size(), 3u * 1001);
    for (std::size_t i = 0; i < 3; ++i) {
      // All are less their mean, so the landmark's own likelihood, 1, says what that is.
      const double mean = 1 - static_cast<double>(found.targets[1001 * i]);
      EXPECT_NEAR((1001 * mean - 1) / 1000, expected, 0.02) << level;
    }
  }
}

TEST(ShapePatches, DisplacedPatchesAreCentredInEachFace) {
  const FaceInNoise face(2);
  ShapeOptions options;
  options.displaced = 7;
  const shape::DisplacedSamples found =
      shape::PatchSampler(options).sample(face.faces, 0, face.model, 0);
  const auto size = static_cast<std::size_t>(options.patch.size());
  ASSERT_EQ(found.textures.size(), 3 * 8 * size);
  ASSERT_EQ(found.targets.size(), 3u * 8);
  for (std::size_t i = 0; i < 3; ++i) {
    // Nothing is as likely as the landmark itself, which comes first.
    for (std::size_t s = 1; s < 8; ++s) EXPECT_GT(found.targets[8 * i], found.targets[8 * i + s]);
    float sum = 0;
    for (std::size_t s = 0; s < 8; ++s) sum += found.targets[8 * i + s];
    EXPECT_NEAR(sum, 0, 1e-5f);
    for (std::size_t k = 0; k < size; ++k) {
      sum = 0;
      for (std::size_t s = 0; s < 8; ++s) sum += found.textures[(8 * i + s) * size + k];
      ASSERT_NEAR(sum, 0, 1e-5f);
    }
  }
}

/// Faces of three blobs in noise, a picture each.
struct FacesOfBlobs {
  explicit FacesOfBlobs(std::size_t count) {
    std::mt19937 random(9);
    std::uniform_real_distribution<float> off(-4, 4);
    std::uniform_int_distribution<int> noise(-25, 25);
    for (std::size_t face = 0; face < count; ++face) {
      for (const Point& p : {Point{50, 60}, Point{110, 60}, Point{80, 110}})
        points.push_back({p.x + off(random), p.y + off(random)});
      Image<std::uint8_t>& picture = pictures.emplace_back(160, 160);
      for (int y = 0; y < 160; ++y) {
        for (int x = 0; x < 160; ++x) {
          double light = 120 + noise(random);
          for (std::size_t i = 0; i < 3; ++i) {
            const Point& p = points[3 * face + i];
            const double dx = x - static_cast<double>(p.x), dy = y - static_cast<double>(p.y);
            light += (i % 2 ? -90 : 90) * std::exp(-(dx * dx + dy * dy) / 40);
          }
          picture.view().at(x, y) = static_cast<std::uint8_t>(std::clamp(light, 0.0, 255.0));
        }
      }
      of.push_back(static_cast<std::uint32_t>(face));
      boxes.push_back({30, 30, 100, 100});
    }
    for (Image<std::uint8_t>& picture : pictures) views.push_back(picture.view());
    present.assign(points.size(), 1);
  }
  ShapeFaces faces() const { return {3, views, of, boxes, points, present, {}, 0}; }
  /// All but those of a fold, as train_shape() has folds.
  FacesOfBlobs without(std::size_t fold, std::size_t folds) const {
    FacesOfBlobs out(0);
    out.views = views;
    for (std::size_t face = 0; face < of.size(); ++face) {
      if (of[face] % folds == fold) continue;
      out.of.push_back(of[face]);
      out.boxes.push_back(boxes[face]);
      out.points.insert(out.points.end(), points.begin() + static_cast<std::ptrdiff_t>(3 * face),
                        points.begin() + static_cast<std::ptrdiff_t>(3 * face + 3));
    }
    out.present.assign(out.points.size(), 1);
    return out;
  }

  std::vector<Image<std::uint8_t>> pictures;
  std::vector<ImageView<const std::uint8_t>> views;
  std::vector<std::uint32_t> of;
  std::vector<Box> boxes;
  std::vector<Point> points;
  std::vector<std::uint8_t> present;
};

TEST(ShapePatches, UsualCostsAreThoseOfModelsOfOtherFaces) {
  constexpr std::size_t kFolds = 3;
  const FacesOfBlobs all(24);
  ShapeOptions options;
  options.profiles = ProfileKind::kPatch;
  options.size_left = 0, options.size_right = 1, options.size_below = 2;
  options.size = 50;
  options.levels = 1;
  options.patch = {5, 2, 1, PatchRule::kTurns, true, 20};
  options.rows = PatchRows::kAll;
  options.edge = 0;
  options.pull = 400;
  options.confidence_folds = static_cast<int>(kFolds);
  const auto trained = train_shape(all.faces(), options);
  ASSERT_TRUE(trained.ok()) << trained.status().message();
  ASSERT_GE(trained.value()->usual_costs.size(), 3u);
  EXPECT_EQ(trained.value()->patch.likelihood, 4);

  options.confidence_folds = 0;
  std::vector<double> costs[3];
  for (std::size_t fold = 0; fold < kFolds; ++fold) {
    const auto model = train_shape(all.without(fold, kFolds).faces(), options);
    ASSERT_TRUE(model.ok()) << model.status().message();
    shape::FaceSearch search(*model.value(), ShapeArithmetic::kFloat);
    for (std::size_t face = fold; face < all.of.size(); face += kFolds)
      for (std::size_t i = 0; i < 3; ++i)
        costs[i].push_back(
            shape::search_hard(search, *model.value(), all.faces(), face).at(0).costs[i]);
  }
  for (std::size_t i = 0; i < 3; ++i) {
    ASSERT_EQ(costs[i].size(), 24u);
    std::ranges::sort(costs[i]);
    const shape::UsualCost& usual = trained.value()->usual_costs[i];
    EXPECT_EQ(usual.middle, costs[i][12]);
    EXPECT_EQ(usual.spread, costs[i][18] - costs[i][12]);
  }
}

}  // namespace
}  // namespace cuface
