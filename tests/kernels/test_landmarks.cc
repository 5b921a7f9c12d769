// The forest against dlib, compiled here without fused multiply-add: every float, bit for bit.
#include <dlib/rand.h>
#include <gtest/gtest.h>

#include <bit>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <random>
#include <sstream>

#include "kernels/landmarks/landmarks.h"
#include "models/dlib_dat.h"
#include "models/forest_file.h"
#include "models/models.h"
#include "tests/data.h"
#include "tests/fewer.h"
#include "tests/kernels/pictures.h"
#include "tests/kernels/versions.h"
#include "tests/models/dlib_forest.h"
#include "tests/models/landmark_rows.h"
#include "tests/models/synthetic_forest.h"

namespace cuface {
namespace {

using test::DlibForest;
using test::Turn;

/// Rows of the pictures' landmarks, and those of them that people made.
constexpr std::size_t kRows = 209, kHumanRows = 166;

/// How a set of points compares with dlib's.
///
/// A point in pixels is size * s + offset in double, cast to float. Size and offset are integers
/// and s is a float, so that double is exact, and about one in 2^8 lies halfway between two floats.
/// dlib gets size and offset from a pseudo-inverse (LAPACK), which is off by some 1e-14: it breaks
/// such ties one way or the other. They are counted apart; nothing else may differ. (A difference
/// of one bit in s would be 1e5 times larger than kDlibNoise.)
struct Agreement {
  static constexpr double kDlibNoise = 1e-11;
  std::size_t coordinates = 0, equal = 0, ties = 0;
  double worst = 0;

  void count(float ours, double dlibs) {
    ++coordinates;
    const float expected = static_cast<float>(dlibs);
    if (std::bit_cast<std::uint32_t>(ours) == std::bit_cast<std::uint32_t>(expected)) {
      ++equal;
    } else if (ours == static_cast<float>(dlibs - kDlibNoise) ||
               ours == static_cast<float>(dlibs + kDlibNoise)) {
      ++ties;
    }
    const double distance = std::abs(static_cast<double>(ours) - dlibs);
    worst = distance <= worst ? worst : distance;  // NaN becomes the worst
  }
  void count(std::span<const Point> ours, const std::vector<dlib::vector<double, 2>>& dlibs) {
    ASSERT_EQ(ours.size(), dlibs.size());
    for (std::size_t i = 0; i < ours.size(); ++i) {
      count(ours[i].x, dlibs[i].x());
      count(ours[i].y, dlibs[i].y());
    }
  }
};

std::unique_ptr<Landmarker> make(const std::shared_ptr<const ForestModel>& model,
                                 int iterations = 0) {
  auto landmarker = Landmarker::create(Backend::kCpu, model, iterations);
  EXPECT_TRUE(landmarker.ok()) << landmarker.status().message();
  return std::move(landmarker.value());
}

std::vector<Point> run(Landmarker& landmarker, const cv::Mat& grey, const Box& box, int landmarks) {
  std::vector<Point> out(static_cast<std::size_t>(landmarks));
  const Status status = landmarker.enqueue(test::view(grey), {&box, 1}, out);
  EXPECT_TRUE(status.ok()) << status.message();
  return out;
}

Box on_whole_pixels(const Box& box) {
  return {std::round(box.x), std::round(box.y), std::round(box.w), std::round(box.h)};
}

cv::Mat noise_picture(int width, int height, unsigned seed) {
  cv::Mat picture(height, width, CV_8UC1);
  cv::RNG rng(seed);
  rng.fill(picture, cv::RNG::UNIFORM, 0, 256);
  cv::GaussianBlur(picture, picture, cv::Size(5, 5), 2);
  return picture;
}

/// A model whose tables can be changed.
struct Copy : ForestModel {
  explicit Copy(const ForestModel& m)
      : ForestModel(m),
        shape(m.mean_shape.begin(), m.mean_shape.end()),
        offsets(m.deltas.begin(), m.deltas.end()),
        values(m.leaves.begin(), m.leaves.end()),
        landmarks_of(m.anchors.begin(), m.anchors.end()),
        nodes(m.splits.begin(), m.splits.end()) {
    mean_shape = shape;
    deltas = offsets;
    leaves = values;
    anchors = landmarks_of;
    splits = nodes;
  }
  std::vector<float> shape, offsets, values;
  std::vector<std::uint32_t> landmarks_of;
  std::vector<ForestSplit> nodes;
};

// ---- needs nothing ----

struct Shape {
  int landmarks, cascades, trees, depth, pool;
};

class SyntheticForest : public testing::TestWithParam<Shape> {};

TEST_P(SyntheticForest, EqualsDlib) {
  const Shape s = GetParam();
  const std::string bytes =
      test::synthetic_dat(s.landmarks, s.cascades, s.trees, s.depth, s.pool, 7);
  const auto model = parse_dlib_dat(
      {reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()}, "synthetic.dat");
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_EQ(model.value()->landmarks, s.landmarks);
  EXPECT_EQ(model.value()->stages, s.cascades);
  EXPECT_EQ(model.value()->trees, s.trees);
  EXPECT_EQ(model.value()->depth, s.depth);
  EXPECT_EQ(model.value()->pool, s.pool);

  std::istringstream stream(bytes);
  const DlibForest dlibs(stream);
  std::istringstream again(bytes);
  dlib::shape_predictor whole;
  deserialize(whole, again);

  const auto landmarker = make(model.value());
  const cv::Mat picture = noise_picture(160, 120, 3);
  const dlib::array2d<unsigned char> dlib_picture = test::to_dlib(picture);
  Agreement agreement;
  // Inside, over each edge, far outside, one pixel, long and flat.
  for (const Box& box : {Box{30, 20, 80, 80}, Box{-40, -30, 90, 90}, Box{100, 70, 90, 95},
                         Box{1000, 1000, 50, 50}, Box{60, 60, 1, 1}, Box{0, 50, 160, 10}}) {
    const std::vector<Point> ours = run(*landmarker, picture, box, s.landmarks);
    const auto expected = dlibs(dlib_picture, test::to_dlib(box));
    agreement.count(ours, expected);
    // The evaluator itself: rounded, it is dlib's public answer.
    const dlib::full_object_detection rounded = whole(dlib_picture, test::to_dlib(box));
    for (unsigned long i = 0; i < rounded.num_parts(); ++i) {
      EXPECT_EQ(rounded.part(i), dlib::point(expected[i]));
    }
  }
  EXPECT_EQ(agreement.coordinates, static_cast<std::size_t>(6 * 2 * s.landmarks));
  EXPECT_EQ(agreement.equal + agreement.ties, agreement.coordinates) << agreement.worst << " px";
  EXPECT_LE(agreement.ties, agreement.coordinates / 50);
}

INSTANTIATE_TEST_SUITE_P(Sizes, SyntheticForest,
                         testing::Values(Shape{68, 4, 50, 4, 60}, Shape{5, 3, 9, 2, 20},
                                         Shape{1, 2, 3, 1, 4}, Shape{2, 2, 1, 3, 2},
                                         Shape{97, 2, 7, 5, 33}, Shape{194, 1, 4, 6, 1}));

TEST(Forest, SeveralBoxesAtOnceGiveWhatEachGivesAlone) {
  const auto model = test::synthetic_forest(68, 3, 40, 4, 50, 11);
  const auto landmarker = make(model);
  const cv::Mat picture = noise_picture(200, 150, 5);
  const std::vector<Box> boxes = {{10, 10, 80.5f, 80.5f}, {60.25f, 30, 70, 70}, {-5, 60, 99, 99}};
  std::vector<Point> together(boxes.size() * 68);
  ASSERT_TRUE(landmarker->enqueue(test::view(picture), boxes, together).ok());
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    const std::vector<Point> alone = run(*landmarker, picture, boxes[i], 68);
    EXPECT_TRUE(
        std::equal(alone.begin(), alone.end(), together.begin() + static_cast<long>(i) * 68));
  }
}

TEST(Forest, FewerIterationsAreDlibsFirstCascades) {
  const std::string bytes = test::synthetic_dat(20, 5, 30, 4, 40, 13);
  std::istringstream stream(bytes);
  const DlibForest dlibs(stream);
  const auto model = test::synthetic_forest(20, 5, 30, 4, 40, 13);
  const cv::Mat picture = noise_picture(100, 100, 1);
  for (int iterations = 1; iterations <= 5; ++iterations) {
    Agreement agreement;
    agreement.count(run(*make(model, iterations), picture, {10, 10, 70, 70}, 20),
                    dlibs(test::to_dlib(picture), test::to_dlib(Box{10, 10, 70, 70}),
                          static_cast<std::size_t>(iterations)));
    EXPECT_EQ(agreement.equal + agreement.ties, 40u) << iterations;
  }
}

TEST(Forest, MoreIterationsThanTheModelHasAreAll) {
  const auto model = test::synthetic_forest(20, 5, 30, 4, 40, 13);
  const cv::Mat picture = noise_picture(100, 100, 1);
  for (const auto& forest : {model, compact_forest(*model)}) {
    const auto all = run(*make(forest), picture, {10, 10, 70, 70}, 20);
    EXPECT_NE(all, run(*make(forest, 4), picture, {10, 10, 70, 70}, 20));
    for (const int iterations : {5, 6, 16, 1000, std::numeric_limits<int>::max()})
      EXPECT_EQ(all, run(*make(forest, iterations), picture, {10, 10, 70, 70}, 20)) << iterations;
  }
}

TEST(Forest, RowStrideAndPaddingDoNotMatter) {
  const auto model = test::synthetic_forest(30, 3, 20, 4, 50, 17);
  const auto landmarker = make(model);
  const cv::Mat picture = noise_picture(101, 77, 2);
  cv::Mat wide(77, 160, CV_8UC1, cv::Scalar(255));
  picture.copyTo(wide(cv::Rect(0, 0, 101, 77)));
  EXPECT_EQ(run(*landmarker, picture, {40, 10, 90, 90}, 30),
            run(*landmarker, wide(cv::Rect(0, 0, 101, 77)), {40, 10, 90, 90}, 30));
}

TEST(Forest, RefusesWhatItCannotDo) {
  const auto model = test::synthetic_forest(5, 2, 3, 2, 4, 19);
  EXPECT_EQ(Landmarker::create(Backend::kCuda, model).status().code(), StatusCode::kUnsupported);
  EXPECT_EQ(Landmarker::create(Backend::kCpu, nullptr).status().code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(Landmarker::create(Backend::kCpu, model, -1).status().code(),
            StatusCode::kInvalidArgument);
  const auto landmarker = make(model);
  const cv::Mat picture = noise_picture(20, 20, 1);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<Point> untouched(5, Point{-7, -7});
  for (const Box& box : {Box{nan, 0, 9, 9}, Box{0, infinity, 9, 9}, Box{0, 0, nan, 9},
                         Box{0, 0, 9, 0}, Box{0, 0, -3, 9}}) {
    std::vector<Point> out = untouched;
    EXPECT_EQ(landmarker->enqueue(test::view(picture), {&box, 1}, out).code(),
              StatusCode::kInvalidArgument);
    EXPECT_EQ(out, untouched);
  }
  std::vector<Point> short_by_one(4);
  const Box box{1, 1, 9, 9};
  EXPECT_EQ(landmarker->enqueue(test::view(picture), {&box, 1}, short_by_one).code(),
            StatusCode::kInvalidArgument);
  EXPECT_TRUE(landmarker->enqueue(test::view(picture), {}, {}).ok());
}

TEST(Forest, HugeBoxesAreSafe) {
  const auto model = test::synthetic_forest(5, 2, 3, 2, 4, 19);
  const auto landmarker = make(model);
  const cv::Mat picture = noise_picture(20, 20, 1);
  const float big = std::numeric_limits<float>::max();
  for (const Box& box : {Box{0, 0, big, big}, Box{-big, big, 10, 10}, Box{3e9f, -3e9f, 5e9f, 1}}) {
    EXPECT_EQ(run(*landmarker, picture, box, 5).size(), 5u);
  }
}

TEST(ForestValidate, FindsEveryKindOfDamage) {
  const auto good = test::synthetic_forest(5, 2, 3, 2, 4, 23);
  ASSERT_TRUE(validate(*good).ok());
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<void (*)(Copy&, float)> damages = {
      [](Copy& m, float bad) { m.shape[3] = bad; },
      [](Copy& m, float bad) { m.offsets.back() = bad; },
      [](Copy& m, float bad) { m.values.back() = bad; },
      [](Copy& m, float bad) { m.nodes.back().threshold = bad; },
      [](Copy& m, float) { m.nodes.back().a = 4; },
      [](Copy& m, float) { m.nodes[0].b = 0xffffffffu; },
      [](Copy& m, float) { m.landmarks_of.back() = 5; },
      [](Copy& m, float) { m.landmarks = 0; },
      [](Copy& m, float) { m.landmarks = 6; },
      [](Copy& m, float) { m.depth = 31; },
      [](Copy& m, float) { m.depth = -1; },
      [](Copy& m, float) { m.trees = 4; },
      [](Copy& m, float) { m.stages = 0; },
      [](Copy& m, float) { m.pool = 3; },
      [](Copy& m, float) { m.leaves = m.leaves.first(m.leaves.size() - 1); },
      [](Copy& m, float bad) {
        m.box_maps = {{"x", {bad, 0, 0}}};
      },
      [](Copy& m, float) {
        m.box_maps = {{"x", {0, 0, 0}}};
      },
  };
  for (std::size_t i = 0; i < damages.size(); ++i) {
    for (const float bad : {nan, std::numeric_limits<float>::infinity()}) {
      Copy damaged(*good);
      ASSERT_TRUE(validate(damaged).ok());
      damages[i](damaged, bad);
      const Status status = validate(damaged);
      EXPECT_EQ(status.code(), StatusCode::kCorrupt) << "damage " << i;
      EXPECT_FALSE(status.message().empty());
    }
  }
}

TEST(ForestValidate, FindsDamageOfACompactModel) {
  const auto good = compact_forest(*test::synthetic_forest(5, 2, 3, 2, 4, 23));
  ASSERT_TRUE(validate(*good).ok());
  ASSERT_TRUE(good->is_compact());
  struct CompactCopy : ForestModel {
    explicit CompactCopy(const ForestModel& m)
        : ForestModel(m),
          values(m.compact_leaves.begin(), m.compact_leaves.end()),
          scales(m.leaf_scales.begin(), m.leaf_scales.end()) {
      compact_leaves = values;
      leaf_scales = scales;
    }
    std::vector<std::int16_t> values;
    std::vector<float> scales;
  };
  const float exact[1] = {0};
  const std::vector<std::function<void(CompactCopy&)>> damages = {
      [](CompactCopy& m) { m.values[7] = kCompactLimit + 1; },
      [](CompactCopy& m) { m.values.back() = -kCompactLimit - 1; },
      [](CompactCopy& m) { m.scales.back() = std::numeric_limits<float>::quiet_NaN(); },
      [](CompactCopy& m) { m.scales[0] = -std::numeric_limits<float>::infinity(); },
      [](CompactCopy& m) { m.leaf_scales = m.leaf_scales.first(m.leaf_scales.size() - 1); },
      [](CompactCopy& m) { m.compact_leaves = m.compact_leaves.subspan(1); },
      [](CompactCopy& m) { m.compact_leaves = {}; },
      [&](CompactCopy& m) { m.leaves = exact; },  // both at once
  };
  for (std::size_t i = 0; i < damages.size(); ++i) {
    CompactCopy damaged(*good);
    ASSERT_TRUE(validate(damaged).ok());
    damages[i](damaged);
    const Status status = validate(damaged);
    EXPECT_EQ(status.code(), StatusCode::kCorrupt) << "damage " << i;
    EXPECT_FALSE(status.message().empty());
  }
}

TEST(ForestCompact, LeavesAreRoundedToTheNearestStep) {
  const auto model = test::synthetic_forest(7, 3, 9, 3, 10, 47);
  const auto compact = compact_forest(*model);
  ASSERT_EQ(compact->compact_leaves.size(), model->leaves.size());
  const std::size_t size = 14, cascade = model->leaves.size() / 3;
  int largest = 0;
  for (std::size_t i = 0; i < model->leaves.size(); ++i) {
    const float scale = compact->leaf_scales[i / cascade * size + i % size];
    const int value = compact->compact_leaves[i];
    EXPECT_NEAR(static_cast<float>(value) * scale, model->leaves[i], 0.5001f * scale) << i;
    largest = std::max(largest, std::abs(value));
  }
  EXPECT_EQ(largest, kCompactLimit);
}

// ---- vector code against the plain reference ----

/// Bits, but for what a NaN carries.
bool same_bits(std::span<const Point> a, std::span<const Point> b) {
  const auto same = [](float x, float y) {
    return std::bit_cast<std::uint32_t>(x) == std::bit_cast<std::uint32_t>(y) ||
           (std::isnan(x) && std::isnan(y));
  };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](Point p, Point q) { return same(p.x, q.x) && same(p.y, q.y); });
}

class ForestVersions : public test::EveryVersion {
 protected:
  /// Faces whose points are not those of the plain reference; all boxes in one call.
  static std::size_t differences(Landmarker& landmarker, const cv::Mat& picture,
                                 std::span<const Box> boxes, int landmarks) {
    const auto points = boxes.size() * static_cast<std::size_t>(landmarks);
    std::vector<Point> ours(points), plain(points);
    EXPECT_TRUE(landmarker.enqueue(test::view(picture), boxes, ours).ok());
    EXPECT_TRUE(simd::force("scalar").ok());
    EXPECT_TRUE(landmarker.enqueue(test::view(picture), boxes, plain).ok());
    EXPECT_TRUE(simd::force(GetParam()).ok());
    std::size_t count = 0;
    for (std::size_t i = 0; i < points; i += static_cast<std::size_t>(landmarks)) {
      const auto face = [&](const std::vector<Point>& all) {
        return std::span(all).subspan(i, static_cast<std::size_t>(landmarks));
      };
      count += !same_bits(face(ours), face(plain));
    }
    return count;
  }

  static std::vector<Box> random_boxes(const cv::Mat& picture, int count, unsigned seed) {
    std::mt19937 random(seed);
    const auto uniform = [&](float low, float high) {
      return std::uniform_real_distribution<float>(low, high)(random);
    };
    std::vector<Box> boxes;
    for (int i = 0; i < count; ++i) {
      const auto w = static_cast<float>(picture.cols), h = static_cast<float>(picture.rows);
      boxes.push_back({uniform(-w, w), uniform(-h, h), uniform(0.5f, 2 * w), uniform(0.5f, 2 * h)});
    }
    return boxes;
  }
};
CUFACE_EVERY_VERSION(ForestVersions);

TEST_P(ForestVersions, SyntheticModelsOnRandomAndExtremePictures) {
  // Trees, pools and leaves that fill no whole vector; depths and pools beyond those of vector
  // code.
  const Shape shapes[] = {{68, 3, 50, 4, 60}, {5, 3, 9, 2, 20},  {1, 2, 3, 1, 4},
                          {97, 2, 33, 5, 33}, {194, 1, 8, 3, 1}, {6, 2, 16, 4, 2048},
                          {6, 2, 5, 4, 2049}, {7, 2, 17, 6, 30}, {68, 2, 130, 4, 512},
                          {9, 2, 70, 5, 513}, {3, 2, 65, 1, 300}};
  const std::vector<cv::Mat> pictures = {
      noise_picture(160, 120, 3), test::noise(33, 17, 1), test::noise(1, 1, 2),
      cv::Mat(40, 50, CV_8UC1, cv::Scalar(255)), test::noise(900, 3, 5)(cv::Rect(7, 1, 800, 2))};
  std::size_t faces = 0;
  for (const Shape& s : shapes) {
    const auto model =
        test::synthetic_forest(s.landmarks, s.cascades, s.trees, s.depth, s.pool, 41);
    const auto landmarker = make(model);
    const auto compact = make(compact_forest(*model));
    for (const cv::Mat& picture : pictures) {
      for (const int count : {1, 7, 8, 21}) {
        const auto boxes = random_boxes(picture, count, static_cast<unsigned>(count));
        EXPECT_EQ(differences(*landmarker, picture, boxes, s.landmarks), 0u)
            << s.landmarks << " landmarks, picture " << picture.cols << "x" << picture.rows;
        EXPECT_EQ(differences(*compact, picture, boxes, s.landmarks), 0u)
            << s.landmarks << " landmarks, picture " << picture.cols << "x" << picture.rows;
        faces += boxes.size();
      }
    }
    const float big = std::numeric_limits<float>::max();
    const std::vector<Box> huge = {{0, 0, big, big}, {-big, big, 10, 10}, {3e9f, -3e9f, 5e9f, 1}};
    EXPECT_EQ(differences(*landmarker, pictures[0], huge, s.landmarks), 0u);
  }
  EXPECT_EQ(faces, std::size(shapes) * 5 * 37);
}

TEST_P(ForestVersions, ExtremeThresholdsAndLeaves) {
  const auto model = test::synthetic_forest(68, 3, 40, 4, 50, 43);
  const cv::Mat picture = test::noise(120, 100, 4);
  const auto boxes = random_boxes(picture, 40, 9);
  const float big = std::numeric_limits<float>::max();
  const float thresholds[] = {0,   -0.0f, 1e-30f,  -1e-30f, 1,    -1,  254.5f, 255,
                              256, -255,  -255.5f, -256,    -257, big, -big};
  for (const float bias : {0.0f, 1.0f}) {  // all trees with the same thresholds, and mixed
    Copy changed(*model);
    for (std::size_t i = 0; i < changed.nodes.size(); ++i) {
      changed.nodes[i].threshold =
          bias > 0 ? std::floor(changed.nodes[i].threshold) : thresholds[i % std::size(thresholds)];
    }
    EXPECT_EQ(differences(*make(std::make_shared<Copy>(changed)), picture, boxes, 68), 0u);
  }
  // Eight times the largest integers a compact model may have.
  Copy flat(*model);
  std::fill(flat.values.begin(), flat.values.end(), 0.01f);
  const auto largest = compact_forest(flat);
  EXPECT_EQ(largest->compact_leaves.front(), kCompactLimit);
  EXPECT_EQ(differences(*make(largest), picture, boxes, 68), 0u);
  // Shapes that run away until they are infinite and NaN.
  Copy wild(*model);
  for (std::size_t i = 0; i < wild.values.size(); i += 7) wild.values[i] = i % 2 ? big : -big;
  ASSERT_TRUE(validate(wild).ok());
  EXPECT_EQ(differences(*make(std::make_shared<Copy>(wild)), picture, boxes, 68), 0u);
}

TEST(BoxFromLandmarks, FindsTheBoxOfAScaledMeanShape) {
  const auto model = test::synthetic_forest(68, 1, 1, 1, 2, 29);
  for (const Box& box : {Box{10, 20, 101, 101}, Box{-3.5f, 700.25f, 33.5f, 33.5f}}) {
    std::vector<Point> points;
    for (std::size_t i = 0; i < 68; ++i) {
      points.push_back({box.x + (box.w - 1) * model->mean_shape[2 * i],
                        box.y + (box.h - 1) * model->mean_shape[2 * i + 1]});
    }
    const Box found = box_from_landmarks(*model, points);
    EXPECT_NEAR(found.x, box.x, 1e-3);
    EXPECT_NEAR(found.y, box.y, 1e-3);
    EXPECT_NEAR(found.w, box.w, 1e-3);
    EXPECT_EQ(found.w, found.h);
  }
}

TEST(BoxFromLandmarks, IsTheLeastSquaresOptimum) {
  const auto model = test::synthetic_forest(68, 1, 1, 1, 2, 31);
  std::mt19937 random(1);
  std::normal_distribution<float> noise(0, 4);
  std::vector<Point> points;
  for (std::size_t i = 0; i < 68; ++i) {
    points.push_back({200 + 100 * model->mean_shape[2 * i] + noise(random),
                      100 + 100 * model->mean_shape[2 * i + 1] + noise(random)});
  }
  const auto error = [&](const Box& b) {
    double sum = 0;
    for (std::size_t i = 0; i < 68; ++i) {
      const double dx = b.x + (b.w - 1.0) * model->mean_shape[2 * i] - points[i].x;
      const double dy = b.y + (b.h - 1.0) * model->mean_shape[2 * i + 1] - points[i].y;
      sum += dx * dx + dy * dy;
    }
    return sum;
  };
  const Box best = box_from_landmarks(*model, points);
  for (const float step : {-0.5f, 0.5f}) {
    EXPECT_GT(error({best.x + step, best.y, best.w, best.h}), error(best));
    EXPECT_GT(error({best.x, best.y + step, best.w, best.h}), error(best));
    EXPECT_GT(error({best.x, best.y, best.w + step, best.h + step}), error(best));
  }
}

TEST(BoxFromLandmarks, GivesAnEmptyBoxWhereThereIsNone) {
  const auto model = test::synthetic_forest(68, 1, 1, 1, 2, 31);
  EXPECT_EQ(box_from_landmarks(*model, std::vector<Point>(67)), Box{});
  EXPECT_EQ(box_from_landmarks(*model, std::vector<Point>(68, Point{5, 5})), Box{});
  std::vector<Point> points(68, Point{5, 5});
  points[3].x = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(box_from_landmarks(*model, points), Box{});
}

// ---- needs the fetched models and the pictures ----

class RealForest : public testing::Test {
 protected:
  struct Result {
    Agreement agreement;
    std::size_t faces = 0, human = 0, rounded = 0, rounded_equal = 0;
    double our_nme = 0, dlib_nme = 0;  // means over human rows
  };

  static std::string path_of(const char* file) { return test::model_dir() + "/" + file; }

  /// Runs both on every row, in boxes made by `boxes_of`.
  template <typename BoxesOf>
  static Result compare(const std::string& path, BoxesOf boxes_of) {
    std::ifstream stream(path, std::ios::binary);
    const DlibForest dlibs(stream);
    dlib::shape_predictor whole;
    dlib::deserialize(path) >> whole;
    const auto model = load_forest(path);
    EXPECT_TRUE(model.ok()) << model.status().message();
    const auto landmarker = make(model.value());
    const int landmarks = model.value()->landmarks;
    Result result;
    Turn turn;
    for (const test::LandmarkRow& row : test::landmark_rows()) {
      if (!turn()) continue;
      const cv::Mat picture = row.picture();
      EXPECT_FALSE(picture.empty()) << row.path;
      const dlib::array2d<unsigned char> dlib_picture = test::to_dlib(picture);
      for (const Box& box : boxes_of(row)) {
        const std::vector<Point> ours = run(*landmarker, picture, box, landmarks);
        const auto expected = dlibs(dlib_picture, test::to_dlib(box));
        result.agreement.count(ours, expected);
        const dlib::full_object_detection rounded = whole(dlib_picture, test::to_dlib(box));
        for (unsigned long i = 0; i < rounded.num_parts(); ++i) {
          ++result.rounded;
          result.rounded_equal += rounded.part(i) == dlib::point(expected[i]);
        }
        ++result.faces;
        if (!row.human || landmarks != 68) continue;
        std::vector<Point> dlib_points;
        for (const auto& p : expected) {
          dlib_points.push_back({static_cast<float>(p.x()), static_cast<float>(p.y())});
        }
        ++result.human;
        result.our_nme += test::nme_percent(ours, row.truth);
        result.dlib_nme += test::nme_percent(dlib_points, row.truth);
      }
    }
    result.our_nme /= static_cast<double>(result.human);
    result.dlib_nme /= static_cast<double>(result.human);
    return result;
  }

  static void expect_equal(const Result& r) {
    const Agreement& a = r.agreement;
    std::printf("%zu faces, %zu coordinates: %zu bit-equal, %zu ties, worst difference %g px\n",
                r.faces, a.coordinates, a.equal, a.ties, a.worst);
    EXPECT_EQ(r.rounded_equal, r.rounded) << "the evaluator is not dlib";
    EXPECT_EQ(a.equal + a.ties, a.coordinates);
    EXPECT_LE(a.ties, a.coordinates / 100);
    EXPECT_LE(a.worst, 1e-3);
  }
};

#define NEEDS_MODEL(file)                                                    \
  if (!std::filesystem::exists(path_of(file))) {                             \
    GTEST_SKIP() << "no " << path_of(file) << ": run models/fetch --models"; \
  }

TEST_F(RealForest, SixtyEightPointsEqualDlib) {
  CUFACE_NEEDS_DATA();
  NEEDS_MODEL("shape_predictor_68_face_landmarks.dat");
  const auto model = load_forest(path_of("shape_predictor_68_face_landmarks.dat"));
  ASSERT_TRUE(model.ok()) << model.status().message();
  const Result r = compare(path_of("shape_predictor_68_face_landmarks.dat"), [&](const auto& row) {
    return std::vector<Box>{on_whole_pixels(box_from_landmarks(*model.value(), row.truth))};
  });
  EXPECT_EQ(r.faces, Turn::of(kRows));
  expect_equal(r);
  std::printf("mean error on human rows: ours %.4f %%, dlib's %.4f %%\n", r.our_nme, r.dlib_nme);
  EXPECT_NEAR(r.our_nme, r.dlib_nme, 0.01);
  if (test::every() > 1) return;  // other rows have another mean
  EXPECT_EQ(r.human, kHumanRows);
  EXPECT_NEAR(r.our_nme, 2.73, 0.02);
}

TEST_P(ForestVersions, RealFacesAndBoxesAroundThem) {
  CUFACE_NEEDS_DATA();
  const std::string path = test::model_dir() + "/shape_predictor_68_face_landmarks.dat";
  if (!std::filesystem::exists(path))
    GTEST_SKIP() << "no " << path << ": run models/fetch --models";
  const auto model = load_forest(path);
  ASSERT_TRUE(model.ok()) << model.status().message();
  const auto landmarker = make(model.value()), compact = make(compact_forest(*model.value()));
  std::size_t rows = 0, faces = 0;
  Turn turn;
  for (const test::LandmarkRow& row : test::landmark_rows()) {
    if (!row.human || ++rows % 5 != 0 || !turn()) continue;
    const Box box = box_from_landmarks(*model.value(), row.truth);
    std::vector<Box> boxes;
    for (const float shift : {0.0f, 0.04f, -0.09f, 0.33f, -1.0f}) {
      boxes.push_back(
          {box.x + shift * box.w, box.y - shift * box.h, box.w * (1 + shift / 2), box.h});
    }
    boxes.erase(boxes.begin() + static_cast<long>(faces % 5));  // fewer than go together
    boxes.insert(boxes.end(), 6, box);                          // and more
    EXPECT_EQ(differences(*landmarker, row.picture(), boxes, 68), 0u) << row.path;
    EXPECT_EQ(differences(*compact, row.picture(), boxes, 68), 0u) << row.path;
    faces += boxes.size();
  }
  EXPECT_EQ(faces, Turn::of(kHumanRows / 5) * 10);
}

// A forest answers any rounding by other leaves in some faces, so single faces differ in both
// directions and only a mean over many says something.
TEST_F(RealForest, ACompactModelIsAsGood) {
  CUFACE_NEEDS_DATA();
  NEEDS_MODEL("shape_predictor_68_face_landmarks.dat");
  const auto model = load_forest(path_of("shape_predictor_68_face_landmarks.dat"));
  ASSERT_TRUE(model.ok()) << model.status().message();
  const auto exact = make(model.value()), compact = make(compact_forest(*model.value()));
  double exact_sum = 0, compact_sum = 0, exact_true = 0, compact_true = 0;
  std::size_t faces = 0, rows = 0;
  Turn turn;
  for (const test::LandmarkRow& row : test::landmark_rows()) {
    if (!row.human || !turn()) continue;
    const cv::Mat picture = row.picture();
    const Box box = box_from_landmarks(*model.value(), row.truth);
    ++rows;
    for (int i = 0; i < 9; ++i) {
      const float dx = static_cast<float>((i + 4) % 9 % 3 - 1) * 0.03f * box.w;
      const float dy = static_cast<float>((i + 4) % 9 / 3 - 1) * 0.03f * box.h;
      const Box moved{box.x + dx, box.y + dy, box.w, box.h};
      const double e = test::nme_percent(run(*exact, picture, moved, 68), row.truth);
      const double c = test::nme_percent(run(*compact, picture, moved, 68), row.truth);
      exact_sum += e;
      compact_sum += c;
      if (i == 0) exact_true += e, compact_true += c;
      ++faces;
    }
  }
  ASSERT_EQ(rows, Turn::of(kHumanRows));
  const auto n = static_cast<double>(faces), r = static_cast<double>(rows);
  std::printf(
      "mean error of %zu boxes: exact %.4f %%, compact %.4f %%; of the %zu true ones: %.4f %%, "
      "%.4f %%\n",
      faces, exact_sum / n, compact_sum / n, rows, exact_true / r, compact_true / r);
  if (test::every() > 1) return;  // too few for a mean
  EXPECT_LE(compact_sum / n, exact_sum / n + 0.02);
  EXPECT_LE(compact_true / r, exact_true / r + 0.02);
}

TEST_F(RealForest, BadBoxesEqualDlibToo) {
  CUFACE_NEEDS_DATA();
  NEEDS_MODEL("shape_predictor_68_face_landmarks.dat");
  const Result r = compare(path_of("shape_predictor_68_face_landmarks.dat"), [](const auto& row) {
    const Point a = row.truth[0], b = row.truth[16];
    const float side = std::max(20.0f, std::abs(b.x - a.x));
    return std::vector<Box>{on_whole_pixels({a.x, a.y - side / 2, side, side}),
                            on_whole_pixels({a.x + side, a.y, side * 2, side / 2}),
                            on_whole_pixels({a.x - side * 2, a.y - side * 2, side * 4, side * 4})};
  });
  EXPECT_EQ(r.faces, 3 * Turn::of(kRows));
  expect_equal(r);
}

TEST_F(RealForest, FivePointsEqualDlib) {
  CUFACE_NEEDS_DATA();
  NEEDS_MODEL("shape_predictor_5_face_landmarks.dat");
  const Result r = compare(path_of("shape_predictor_5_face_landmarks.dat"), [](const auto& row) {
    const Point a = row.truth[0], b = row.truth[16];
    const float side = std::max(20.0f, std::abs(b.x - a.x));
    return std::vector<Box>{on_whole_pixels({a.x, a.y - side / 3, side, side})};
  });
  EXPECT_EQ(r.faces, Turn::of(kRows));
  expect_equal(r);
}

}  // namespace
}  // namespace cuface
