// Learning shapes and textures, beside OpenCV's eigenvectors and inverses.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <opencv2/core.hpp>
#include <random>

#include "kernels/shape_training/confidence.h"
#include "kernels/shape_training/eigen.h"
#include "kernels/shape_training/face_on_level.h"
#include "kernels/shape_training/regression.h"
#include "kernels/shape_training/shape_training.h"

namespace cuface {
namespace {

TEST(ShapeTraining, EigenvectorsAreOpenCvs) {
  std::mt19937 random(1);
  std::normal_distribution<double> normal;
  int compared = 0;
  for (const int n : {1, 2, 5, 40, 169}) {
    cv::Mat_<double> half(n, n);
    for (double& v : half) v = normal(random);
    cv::Mat_<double> matrix = half * half.t();
    if (n == 40)
      matrix = matrix(cv::Range::all(), cv::Range::all()).mul(0) + cv::Mat::eye(n, n, CV_64F);
    const shape::Eigen found = shape::eigen({matrix[0], static_cast<std::size_t>(n * n)}, n);
    cv::Mat_<double> values;
    cv::eigen(matrix, values);
    const cv::Mat_<double> vectors(n, n, const_cast<double*>(found.vectors.data()));
    for (int k = 0; k < n; ++k, ++compared) {
      ASSERT_NEAR(found.values[static_cast<std::size_t>(k)], values(k), 1e-9 * (1 + values(0)));
      const cv::Mat_<double> v = vectors.col(k);
      ASSERT_LT(cv::norm(matrix * v - found.values[static_cast<std::size_t>(k)] * v),
                1e-8 * (1 + values(0)));
    }
    EXPECT_LT(cv::norm(vectors.t() * vectors - cv::Mat::eye(n, n, CV_64F)), 1e-9);
  }
  EXPECT_EQ(compared, 217);
}

TEST(ShapeTraining, AlignmentFindsModesBehindPoses) {
  std::mt19937 random(2);
  std::normal_distribution<double> normal;
  const std::size_t points = 20, count = 60;
  std::vector<double> mean(2 * points), modes[2], shapes;
  for (double& v : mean) v = 40 * normal(random);
  for (auto& mode : modes) {
    mode.resize(2 * points);
    for (double& v : mode) v = normal(random);
  }
  for (std::size_t i = 0; i < count; ++i) {
    const double a = 1.5 + 0.2 * normal(random), b = 0.4 * normal(random);
    const double u = 2 * normal(random), v = normal(random);
    for (std::size_t p = 0; p < points; ++p) {
      const double x = mean[2 * p] + u * modes[0][2 * p] + v * modes[1][2 * p];
      const double y = mean[2 * p + 1] + u * modes[0][2 * p + 1] + v * modes[1][2 * p + 1];
      shapes.push_back(a * x - b * y + 100 * static_cast<double>(i));
      shapes.push_back(b * x + a * y - 7);
    }
  }
  const shape::AlignedShapes found = shape::align_shapes(shapes, points);
  EXPECT_NEAR(cv::norm(found.mean), 1, 1e-9);
  // Two modes have nearly all; what is left is that a tangent is no circle.
  EXPECT_EQ(shape::kept_modes(found.eigenvalues, 0.99), 2u);
  EXPECT_EQ(shape::kept_modes(found.eigenvalues, 1e-6), 1u);
  // Modes neither shift nor scale nor turn.
  for (std::size_t k = 0; k < 2; ++k) {
    double x = 0, y = 0, along = 0, across = 0;
    for (std::size_t p = 0; p < points; ++p) {
      const double mx = found.eigenvectors[2 * p * 2 * points + k];
      const double my = found.eigenvectors[(2 * p + 1) * 2 * points + k];
      x += mx, y += my;
      along += mx * found.mean[2 * p] + my * found.mean[2 * p + 1];
      across += my * found.mean[2 * p] - mx * found.mean[2 * p + 1];
    }
    for (const double v : {x, y, along}) EXPECT_NEAR(v, 0, 1e-6);
    EXPECT_NEAR(across, 0, 0.05);
  }
}

TEST(ShapeTraining, ALinesMatrixIsTheInverse) {
  std::mt19937 random(4);
  std::normal_distribution<float> normal;
  std::vector<float> samples(7 * 90);
  for (float& v : samples) v = normal(random);
  const shape::Texture found = shape::learn_line(samples, 7, 1e-6);
  cv::Mat_<double> all(90, 7), covariance, mean;
  std::copy(samples.begin(), samples.end(), all.begin());
  cv::calcCovarMatrix(all, covariance, mean, cv::COVAR_NORMAL | cv::COVAR_ROWS, CV_64F);
  covariance /= 89;
  const cv::Mat_<double> inverse(7, 7, const_cast<double*>(found.matrix.data()));
  EXPECT_LT(cv::norm(inverse * covariance - cv::Mat::eye(7, 7, CV_64F)), 1e-6);
}

/// Beside least squares with a row for each penalty.
TEST(ShapeTraining, ARegressionIsLeastSquaresWithAPenalty) {
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  const int size = 12, count = 90;
  const double ridge = 0.3;
  cv::Mat_<double> x(count, size), y(count, 1);
  shape::RidgeRegression regression(size);
  for (int i = 0; i < count; ++i) {
    std::vector<float> sample(size);
    for (int k = 0; k < size; ++k) {
      sample[static_cast<std::size_t>(k)] = 3 + static_cast<float>(k) * normal(random);
      x(i, k) = static_cast<double>(sample[static_cast<std::size_t>(k)]);
    }
    const float target = sample[2] - 0.5f * sample[7] + normal(random);
    y(i) = static_cast<double>(target);
    regression.add(sample, {&target, 1});
  }
  cv::Mat_<double> means;
  cv::reduce(x, means, 0, cv::REDUCE_AVG);
  const double mean = cv::mean(y)[0];
  cv::Mat_<double> a(count + size, size, 0.0), b(count + size, 1, 0.0), found;
  double variance = 0;
  for (int i = 0; i < count; ++i) {
    a.row(i) = x.row(i) - means;
    b(i) = y(i) - mean;
    variance += a.row(i).dot(a.row(i)) / count / size;
  }
  for (int k = 0; k < size; ++k) a(count + k, k) = std::sqrt(ridge * variance * count);
  cv::solve(a, b, found, cv::DECOMP_SVD);
  const std::vector<double> ours = regression.solve(ridge);
  ASSERT_EQ(ours.size(), size + 1u);
  EXPECT_EQ(regression.count(), 90u);
  for (int k = 0; k < size; ++k)
    EXPECT_NEAR(ours[static_cast<std::size_t>(k) + 1], found(k), 1e-6 * (1 + cv::norm(found)));
  EXPECT_NEAR(ours[0], mean - means.dot(found.t()), 1e-5);
}

TEST(ShapeTraining, ARegressionOfEqualSamplesIsTheirMean) {
  shape::RidgeRegression regression(3);
  const std::vector<float> samples(3 * 4, 2.0f), targets = {0, 1, 1, 0};
  regression.add(samples, targets);
  const std::vector<double> found = regression.solve(0.02);
  for (std::size_t k = 1; k < 4; ++k) EXPECT_NEAR(found[k], 0, 1e-9);
  EXPECT_NEAR(found[0], 0.5, 1e-9);
}

/// Of three points.
constexpr double kCorners[] = {0, 0, 1, 0, 0, 1};

std::vector<double> scores_of(const shape::SearchedFace& face, const shape::Calibration& found,
                              std::span<const double> mean_shape) {
  const std::vector<double> matrix = shape::score_matrix(found.parts, mean_shape);
  std::vector<double> by, out;
  for (std::size_t k = 0; k < found.usual.size(); ++k)
    by.push_back(unusual(face.costs[k], found.usual[k], found.parts));
  const auto points = static_cast<int>(face.off.size()), costs = static_cast<int>(by.size());
  for (int k = 0; k < points; ++k)
    out.push_back(shape::score_of_costs(matrix.data(), by.data(), costs, points, k,
                                        found.offsets[static_cast<std::size_t>(k)]));
  return out;
}

/// Points whose cost says how far they are off.
TEST(ShapeTraining, ConfidencesAreSharesOfGoodPoints) {
  std::mt19937 random(6);
  std::uniform_real_distribution<double> uniform;
  std::vector<shape::SearchedFace> faces;
  for (int i = 0; i < 400; ++i) {
    shape::SearchedFace face{i % 4 == 0, {}, {}, {}};
    for (int k = 0; k < 3; ++k) {
      const double off = uniform(random) * (face.is_plain ? 0.08 : 0.4);
      face.costs.push_back((k + 1) * off - 5);
      face.off.push_back(off);
    }
    face.costs.push_back(i % 7);
    faces.push_back(face);
  }
  const shape::Calibration found = shape::calibrate(faces, kCorners);
  ASSERT_EQ(found.usual.size(), 3u);
  for (std::size_t k = 0; k < 3; ++k) {
    const auto by = static_cast<double>(k + 1);
    EXPECT_NEAR(found.usual[k].middle, by * 0.04 - 5, 0.06 * by);  // shares of 400 are noisy
    EXPECT_NEAR(found.usual[k].spread, by * 0.02, 0.006 * by);
  }
  ASSERT_TRUE(is_sound(found.table));
  EXPECT_GT(found.table.at[0], 0.9f);
  EXPECT_LT(found.table.at[found.table.steps - 1], 0.2f);
  // Of points so made the shares in bins of confidence are the confidences.
  double sum = 0, good = 0;
  for (const shape::SearchedFace& face : faces) {
    const std::vector<double> scores = scores_of(face, found, kCorners);
    for (std::size_t k = 0; k < 3; ++k) {
      const double score = scores[k];
      sum += static_cast<double>(confidence_of_logarithm(found.table, score));
      good += face.off[k] <= 0.1 ? 1 : 0;
    }
  }
  EXPECT_NEAR(sum, good, 0.05 * good);
  EXPECT_FALSE(shape::calibrate({}, kCorners).table.is_known());
}

/// Of equal costs, but the last is twice as far off as its cost says.
TEST(ShapeTraining, APointThatIsWorseThanItsCostIsTrustedLess) {
  std::mt19937 random(6);
  std::uniform_real_distribution<double> uniform;
  std::vector<shape::SearchedFace> faces;
  for (int i = 0; i < 400; ++i) {
    shape::SearchedFace face{i % 4 == 0, {}, {}, {}};
    for (int k = 0; k < 3; ++k) {
      const double cost = uniform(random) * (face.is_plain ? 0.08 : 0.2);
      face.costs.push_back(cost);
      face.off.push_back(k == 2 ? 2 * cost : cost);
    }
    face.costs.push_back(1);
    faces.push_back(face);
  }
  const shape::Calibration found = shape::calibrate(faces, kCorners);
  double sum[3] = {}, good[3] = {};
  for (const shape::SearchedFace& face : faces) {
    const std::vector<double> scores = scores_of(face, found, kCorners);
    for (std::size_t k = 0; k < 3; ++k) {
      const double score = scores[k];
      sum[k] += static_cast<double>(confidence_of_logarithm(found.table, score));
      good[k] += face.off[k] <= 0.1 ? 1 : 0;
    }
  }
  ASSERT_LT(good[2], 0.8 * good[0]);
  for (std::size_t k = 0; k < 3; ++k) EXPECT_NEAR(sum[k], good[k], 0.03 * good[k]) << k;
}

constexpr std::size_t kOnCircle = 12;
std::vector<double> circle() {
  std::vector<double> out;
  for (std::size_t k = 0; k < kOnCircle; ++k) {
    const double angle = 2 * std::numbers::pi * static_cast<double>(k) / kOnCircle;
    out.insert(out.end(), {std::cos(angle), std::sin(angle)});
  }
  return out;
}

/// What is off in a face: each point for itself, a third of the circle, or all. `of_shape`: of what
/// the shape's cost says.
shape::ScoreParts chosen_parts(int together, double noise, double of_shape = 0) {
  std::mt19937 random(7);
  std::normal_distribution<double> normal;
  std::vector<shape::SearchedFace> faces;
  for (int i = 0; i < 600; ++i) {
    shape::SearchedFace face{i % 4 == 0, {}, {}, {}};
    bool is_off = false;
    for (std::size_t k = 0; k < kOnCircle; ++k) {
      if (k % static_cast<std::size_t>(together) == 0) is_off = random() % 3 == 0;
      const bool is_bad = is_off && !face.is_plain;
      face.off.push_back(is_bad ? 0.3 : 0.02);
      face.costs.push_back((is_bad ? 2 : 0) + noise * normal(random));
    }
    face.costs.push_back((is_off && !face.is_plain ? of_shape : 0) + normal(random));
    faces.push_back(face);
  }
  return shape::calibrate(faces, circle()).parts;
}

TEST(ShapeTraining, ScoresAreMadeOfWhatTellsBadPoints) {
  const shape::ScoreParts alone = chosen_parts(1, 1), third = chosen_parts(4, 1.5),
                          all = chosen_parts(12, 2);
  EXPECT_EQ(alone.own, 1);
  EXPECT_LE(alone.face, 1);
  EXPECT_LT(alone.reach, 0.5);
  EXPECT_EQ(third.own, 0);
  EXPECT_LE(third.face, 1);
  EXPECT_GE(all.face + (all.reach == 1 ? all.around : 0), 3);
  EXPECT_LE(all.shape, 1);
  EXPECT_GE(chosen_parts(12, 6, 6).shape, 2);
}

/// A third of the points is covered and costs more, but is where it should be. Of a lost face the
/// shape tells.
TEST(ShapeTraining, ScoresTellCoveredPoints) {
  std::mt19937 random(8);
  std::normal_distribution<double> normal;
  std::vector<shape::SearchedFace> faces;
  for (int i = 0; i < 600; ++i) {
    shape::SearchedFace face{i % 4 == 0, {}, {}, {}};
    const bool is_lost = !face.is_plain && random() % 3 == 0;
    const std::size_t first = random() % kOnCircle;
    for (std::size_t k = 0; k < kOnCircle; ++k) {
      const bool is_covered = !face.is_plain && (k + kOnCircle - first) % kOnCircle < 4;
      face.covered.push_back(is_covered);
      face.off.push_back(is_lost ? 0.3 : 0.02);
      face.costs.push_back((is_covered ? 3 : 0) + (is_lost ? 1 : 0) + normal(random));
    }
    face.costs.push_back((is_lost ? 2 : 0) + normal(random));
    faces.push_back(face);
  }
  const shape::ScoreParts told = shape::calibrate(faces, circle()).parts;
  for (shape::SearchedFace& face : faces) face.covered.clear();
  const shape::ScoreParts untold = shape::calibrate(faces, circle()).parts;
  EXPECT_GE(told.own + told.around, untold.own + untold.around + 2);
}

/// Squares of 20 pixels at level 0, of 40 at level 1, of pictures of 100.
TEST(ShapeTraining, SamplesBeyondThePictureAreLeftOut) {
  Image<std::uint8_t> picture(100, 100);
  const std::vector<ImageView<const std::uint8_t>> pictures = {picture.view()};
  const auto used = [&](std::size_t count, int level, double share) {
    std::vector<Point> points;
    std::vector<std::uint8_t> present;
    for (std::size_t i = 0; i < count; ++i) {
      // Of every other face the first point lies 7 pixels from the edge, in the last one beyond it.
      const float x = i + 1 == count ? -30.0f : i % 2 ? 6.5f : 40;
      points.insert(points.end(), {{x, 30}, {70, 30}, {50, 80}});
      present.insert(present.end(), {1, 1, static_cast<std::uint8_t>(i > 0)});
    }
    const std::vector<std::uint32_t> of(count, 0);
    const std::vector<Box> boxes(count, Box{20, 20, 60, 60});
    ShapeModel model;
    model.size_left = model.size_right = 1, model.size_below = 2;
    model.size = static_cast<double>(std::hypot(20.0f, 50.0f));
    return shape::used_landmarks({3, pictures, of, boxes, points, present, {}, 0}, model, level, 20,
                                 share);
  };
  const auto faces_of = [&](const std::vector<std::uint8_t>& all, std::size_t landmark) {
    std::size_t sum = 0;
    for (std::size_t i = landmark; i < all.size(); i += 3) sum += all[i];
    return sum;
  };
  constexpr std::size_t kFaces = 101, kWhole = kFaces / 2;
  const auto strict = used(kFaces, 0, 0.9);
  EXPECT_EQ(faces_of(strict, 0), kWhole) << "17 of 20 columns are in the picture";
  EXPECT_EQ(faces_of(strict, 1), kFaces);
  EXPECT_EQ(faces_of(strict, 2), kFaces - 1) << "one is missing";
  EXPECT_EQ(faces_of(used(kFaces, 0, 0.8), 0), kFaces - 1);
  EXPECT_EQ(faces_of(used(kFaces, 1, 0.75), 0), kWhole) << "27 of 40";
  // Of few faces all count that are not wholly beyond the picture.
  EXPECT_EQ(faces_of(used(60, 0, 0.9), 0), 59u);
}

TEST(ShapeTraining, FlatSamplesHaveAFloor) {
  const std::vector<float> samples(9 * 50, 0.25f);
  const shape::Texture found = shape::learn_patch(samples, 9, {});
  for (const double v : found.matrix) EXPECT_LT(std::abs(v), kMaxShapeNumber);
}

/// Inverses of what does not vary are still numbers that a model may have.
TEST(ShapeTraining, LinesThatAreAllAlikeHaveAFloor) {
  const std::vector<float> samples(9 * 50, 0.25f);
  const shape::Texture found = shape::learn_line(samples, 9, 1e-6);
  ASSERT_EQ(found.matrix.size(), 81u);
  for (const double v : found.matrix) EXPECT_LE(std::abs(v), kMaxShapeNumber);
}

}  // namespace
}  // namespace cuface
