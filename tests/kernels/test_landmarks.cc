// The forest against dlib, compiled here without fused multiply-add: every float, bit for bit.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>

#include "models/dlib_dat.h"
#include "models/forest_file.h"
#include "models/models.h"
#include "tests/data.h"
#include "tests/fewer.h"
#include "tests/kernels/forests.h"
#include "tests/models/dlib_forest.h"
#include "tests/models/landmark_rows.h"
#include "tests/models/synthetic_forest.h"

namespace cuface {
namespace {

using test::DlibForest;
using test::ForestSize;
using test::kHumanRows;
using test::kLandmarkRows;
using test::landmarker_of;
using test::noise_picture;
using test::Turn;

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

std::vector<Point> run(Landmarker& landmarker, const cv::Mat& grey, const Box& box, int landmarks) {
  std::vector<Point> out(static_cast<std::size_t>(landmarks));
  const Status status = landmarker.enqueue(test::view(grey), {&box, 1}, out);
  EXPECT_TRUE(status.ok()) << status.message();
  return out;
}

Box on_whole_pixels(const Box& box) {
  return {std::round(box.x), std::round(box.y), std::round(box.w), std::round(box.h)};
}

// ---- needs nothing ----

class SyntheticForest : public testing::TestWithParam<ForestSize> {};

TEST_P(SyntheticForest, EqualsDlib) {
  const ForestSize s = GetParam();
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

  const auto landmarker = landmarker_of(model.value());
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
                         testing::Values(ForestSize{68, 4, 50, 4, 60}, ForestSize{5, 3, 9, 2, 20},
                                         ForestSize{1, 2, 3, 1, 4}, ForestSize{2, 2, 1, 3, 2},
                                         ForestSize{97, 2, 7, 5, 33}, ForestSize{194, 1, 4, 6, 1}));

TEST(Forest, SeveralBoxesAtOnceGiveWhatEachGivesAlone) {
  const auto model = test::synthetic_forest(68, 3, 40, 4, 50, 11);
  const auto landmarker = landmarker_of(model);
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
    agreement.count(run(*landmarker_of(model, iterations), picture, {10, 10, 70, 70}, 20),
                    dlibs(test::to_dlib(picture), test::to_dlib(Box{10, 10, 70, 70}),
                          static_cast<std::size_t>(iterations)));
    EXPECT_EQ(agreement.equal + agreement.ties, 40u) << iterations;
  }
}

TEST(Forest, MoreIterationsThanTheModelHasAreAll) {
  const auto model = test::synthetic_forest(20, 5, 30, 4, 40, 13);
  const cv::Mat picture = noise_picture(100, 100, 1);
  for (const auto& forest : {model, compact_forest(*model)}) {
    const auto all = run(*landmarker_of(forest), picture, {10, 10, 70, 70}, 20);
    EXPECT_NE(all, run(*landmarker_of(forest, 4), picture, {10, 10, 70, 70}, 20));
    for (const int iterations : {5, 6, 16, 1000, std::numeric_limits<int>::max()})
      EXPECT_EQ(all, run(*landmarker_of(forest, iterations), picture, {10, 10, 70, 70}, 20))
          << iterations;
  }
}

TEST(Forest, RowStrideAndPaddingDoNotMatter) {
  const auto model = test::synthetic_forest(30, 3, 20, 4, 50, 17);
  const auto landmarker = landmarker_of(model);
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
  const auto landmarker = landmarker_of(model);
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
  const auto landmarker = landmarker_of(model);
  const cv::Mat picture = noise_picture(20, 20, 1);
  const float big = std::numeric_limits<float>::max();
  for (const Box& box : {Box{0, 0, big, big}, Box{-big, big, 10, 10}, Box{3e9f, -3e9f, 5e9f, 1}}) {
    EXPECT_EQ(run(*landmarker, picture, box, 5).size(), 5u);
  }
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
    const auto landmarker = landmarker_of(model.value());
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
  EXPECT_EQ(r.faces, Turn::of(kLandmarkRows));
  expect_equal(r);
  std::printf("mean error on human rows: ours %.4f %%, dlib's %.4f %%\n", r.our_nme, r.dlib_nme);
  EXPECT_NEAR(r.our_nme, r.dlib_nme, 0.01);
  if (test::every() > 1) return;  // other rows have another mean
  EXPECT_EQ(r.human, kHumanRows);
  EXPECT_NEAR(r.our_nme, 2.73, 0.02);
}

// A forest answers any rounding by other leaves in some faces, so single faces differ in both
// directions and only a mean over many says something.
TEST_F(RealForest, ACompactModelIsAsGood) {
  CUFACE_NEEDS_DATA();
  NEEDS_MODEL("shape_predictor_68_face_landmarks.dat");
  const auto model = load_forest(path_of("shape_predictor_68_face_landmarks.dat"));
  ASSERT_TRUE(model.ok()) << model.status().message();
  const auto exact = landmarker_of(model.value()),
             compact = landmarker_of(compact_forest(*model.value()));
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
  EXPECT_EQ(r.faces, 3 * Turn::of(kLandmarkRows));
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
  EXPECT_EQ(r.faces, Turn::of(kLandmarkRows));
  expect_equal(r);
}

}  // namespace
}  // namespace cuface
