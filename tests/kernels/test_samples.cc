// Samples of a face: where their boxes lie, that the result is their mean, and what it is worth.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>
#include <vector>

#include "kernels/landmark_samples/landmark_samples.h"
#include "models/box_map.h"
#include "models/models.h"
#include "tests/data.h"
#include "tests/drawn_heads.h"
#include "tests/kernels/pictures.h"
#include "tests/models/landmark_rows.h"

namespace cuface {
namespace {

constexpr BoxMap kMap{0.95f, 0.01f, 0.025f};

SampleMaps maps_of(const BoxMap& map, int samples) {
  const auto maps = make_sample_maps(map, samples);
  EXPECT_TRUE(maps.ok()) << maps.status().message();
  return maps.value();
}

cv::Mat noise(int width, int height) {
  cv::Mat picture(height, width, CV_8UC1);
  cv::RNG(4).fill(picture, cv::RNG::UNIFORM, 0, 256);
  return picture;
}

TEST(SampleMaps, LieInPairsAboutTheBoxAndWithinTheLimits) {
  const Box face{100, 50, 200, 200}, box = kMap.apply(face);
  for (int samples = 1; samples <= kMaxSamples; ++samples) {
    const SampleMaps maps = maps_of(kMap, samples);
    ASSERT_EQ(maps.count, samples);
    std::set<std::array<float, 3>> places;
    double x = 0, y = 0, side = 0, farthest = 0;
    for (int k = 0; k < samples; ++k) {
      const Box sample = maps.map[k].apply(face);
      const double dx = (sample.x + sample.w / 2 - box.x - box.w / 2) / box.w;
      const double dy = (sample.y + sample.h / 2 - box.y - box.h / 2) / box.h;
      const double ds = sample.w / box.w - 1;
      EXPECT_LE(std::abs(dx), kSampleShift);
      EXPECT_LE(std::abs(dy), kSampleShift);
      EXPECT_LE(std::abs(ds), kSampleScale);
      EXPECT_FLOAT_EQ(sample.w, sample.h);
      x += dx, y += dy, side += ds;
      farthest = std::max({farthest, std::abs(dx), std::abs(dy)});
      places.insert({sample.x, sample.y, sample.w});
    }
    EXPECT_NEAR(x, 0, 1e-5 * samples);
    EXPECT_NEAR(y, 0, 1e-5 * samples);
    EXPECT_NEAR(side, 0, 1e-5 * samples);
    EXPECT_EQ(places.size(), static_cast<std::size_t>(samples)) << "no box twice";
    if (samples > 3) {
      EXPECT_GT(farthest, 0.25 * kSampleShift);
    }
    if (samples % 2) {
      EXPECT_EQ(maps.map[0], kMap) << "of an odd number one is the box itself";
    }
  }
  for (const int samples : {-1, 0, kMaxSamples + 1}) {
    const Status status = make_sample_maps(kMap, samples).status();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_NE(status.message().find("32"), std::string::npos) << status.message();
  }
}

/// Three faces, one of them over the edge, and who looks for their landmarks.
class SamplesOfFaces : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(sampled.ok() && plain.ok()); }

  const std::shared_ptr<const ForestModel> model = test::drawn_heads_forest();
  const Result<std::unique_ptr<SampledLandmarker>> sampled =
      SampledLandmarker::create(Backend::kCpu, model);
  const Result<std::unique_ptr<Landmarker>> plain = Landmarker::create(Backend::kCpu, model);
  const cv::Mat picture = noise(320, 240);
  const std::vector<Box> faces{{20, 30, 90, 90}, {150, 60, 120, 118}, {-10, 100, 70.5f, 70.5f}};
};

TEST_F(SamplesOfFaces, MoreIterationsThanTheModelHasAreAll) {
  const auto more = SampledLandmarker::create(Backend::kCpu, model, model->stages + 1);
  ASSERT_TRUE(more.ok()) << more.status().message();
  const std::size_t points = faces.size() * static_cast<std::size_t>(model->landmarks);
  std::vector<Point> all(points), got(points);
  ASSERT_TRUE(sampled.value()->enqueue(test::view(picture), faces, kMap, 4, all).ok());
  ASSERT_TRUE(more.value()->enqueue(test::view(picture), faces, kMap, 4, got).ok());
  EXPECT_EQ(all, got);
}

TEST_F(SamplesOfFaces, OneIsTheLandmarkerAndMoreAreItsMean) {
  const auto landmarks = static_cast<std::size_t>(model->landmarks);
  long compared = 0, moved = 0;
  for (const int samples : {1, 2, 3, 8, 13, kMaxSamples, 1}) {
    std::vector<Point> got(faces.size() * landmarks), one(landmarks);
    const Status status = sampled.value()->enqueue(test::view(picture), faces, kMap, samples, got);
    ASSERT_TRUE(status.ok()) << status.message();
    const SampleMaps maps = maps_of(kMap, samples);
    for (std::size_t f = 0; f < faces.size(); ++f) {
      std::vector<double> x(landmarks), y(landmarks);
      for (int k = 0; k < samples; ++k) {
        const Box box = maps.map[k].apply(faces[f]);
        ASSERT_TRUE(plain.value()->enqueue(test::view(picture), {&box, 1}, one).ok());
        for (std::size_t i = 0; i < landmarks; ++i) x[i] += one[i].x, y[i] += one[i].y;
      }
      const Box box = kMap.apply(faces[f]);
      ASSERT_TRUE(plain.value()->enqueue(test::view(picture), {&box, 1}, one).ok());
      for (std::size_t i = 0; i < landmarks; ++i) {
        const Point expected{static_cast<float>(x[i] / samples),
                             static_cast<float>(y[i] / samples)};
        EXPECT_EQ(got[f * landmarks + i], expected) << samples << " samples";
        moved += got[f * landmarks + i] != one[i];
        ++compared;
      }
    }
  }
  EXPECT_EQ(compared, 7 * 3 * test::kDrawnHeadPoints);
  EXPECT_GE(moved, 4 * 3 * test::kDrawnHeadPoints) << "points that are not those of the box alone";
}

/// The look whose two samples lie closest together, in parts of the head found there.
forest::HeadBox first_look(Landmarker& plain, const ForestModel& model, const cv::Mat& picture,
                           const Box& face, const Roll& roll) {
  const SampleMaps maps = make_start_maps(kMap);
  std::vector<Point> a(static_cast<std::size_t>(model.landmarks)), b(a.size()), middle(a.size());
  forest::HeadBox best;
  double least = std::numeric_limits<double>::infinity();
  for (int row = 0; row < maps.count; row += 2) {
    const Box boxes[] = {maps.map[row].apply(face, roll), maps.map[row + 1].apply(face, roll)};
    EXPECT_TRUE(plain.enqueue(test::view(picture), {&boxes[0], 1}, a, {&roll, 1}).ok());
    EXPECT_TRUE(plain.enqueue(test::view(picture), {&boxes[1], 1}, b, {&roll, 1}).ok());
    double apart = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      middle[i] = {static_cast<float>((double{a[i].x} + b[i].x) / 2),
                   static_cast<float>((double{a[i].y} + b[i].y) / 2)};
      apart += std::hypot(a[i].x - b[i].x, a[i].y - b[i].y);
    }
    forest::HeadBox head;
    EXPECT_TRUE(forest::fit_head(mean_points(model), middle, head));
    if (apart / head.box.w < least) least = apart / head.box.w, best = head;
  }
  return best;
}

TEST(SampleMaps, SquareBoxesStaySquare) {
  BoxMap square = kMap;
  square.square = true;
  const Box narrow{110, 50, 150, 200}, face{85, 50, 200, 200};  // about one middle
  for (const SampleMaps& maps : {maps_of(square, 5), make_start_maps(square)}) {
    for (int k = 0; k < maps.count; ++k) {
      const Box a = maps.map[k].apply(narrow), b = maps.map[k].apply(face);
      EXPECT_FLOAT_EQ(a.w, a.h);
      EXPECT_NEAR(a.x, b.x, 1e-4);
      EXPECT_NEAR(a.y, b.y, 1e-4);
      EXPECT_EQ(a.w, b.w);
    }
  }
}

TEST(LookMaps, LieAboutTheBoxAndWithinTheLimits) {
  const Box face{100, 50, 200, 200}, box = kMap.apply(face);
  const SampleMaps maps = make_start_maps(kMap);
  ASSERT_EQ(maps.count, kStarts * kStartSamples);
  std::set<std::array<int, 3>> looks;
  for (int k = 0; k < maps.count; k += kStartSamples) {
    double x = 0, y = 0, side = 0;
    for (int s = k; s < k + kStartSamples; ++s) {
      const Box sample = maps.map[s].apply(face);
      x += (sample.x + sample.w / 2 - box.x - box.w / 2) / box.w / kStartSamples;
      y += (sample.y + sample.h / 2 - box.y - box.h / 2) / box.h / kStartSamples;
      side += (sample.w / box.w - 1) / kStartSamples;
    }
    const auto steps = [](double away, float step) {
      EXPECT_NEAR(away / step, std::round(away / step), 1e-4);
      return static_cast<int>(std::round(away / step));
    };
    looks.insert({steps(x, kStartShift), steps(y, kStartShift), steps(side, kStartScale)});
  }
  EXPECT_EQ(looks,
            (std::set<std::array<int, 3>>{
                {0, 0, 0}, {-1, 0, 0}, {1, 0, 0}, {0, -1, 0}, {0, 1, 0}, {0, 0, -1}, {0, 0, 1}}));
}

// The second look is in the box that fits what the first has found, turned with it.
TEST_F(SamplesOfFaces, LookTwiceWhereItIsAskedFor) {
  const std::vector<Roll> rolls{{}, {}, {0.6f, 0.8f}};
  const std::vector<std::uint8_t> twice{1, 0, 1};
  const auto n = static_cast<std::size_t>(model->landmarks);
  for (const int samples : {1, 3}) {
    std::vector<Point> got(faces.size() * n), once(got.size());
    ASSERT_TRUE(sampled.value()
                    ->enqueue(test::view(picture), faces, kMap, samples, got, rolls, twice)
                    .ok());
    ASSERT_TRUE(
        sampled.value()->enqueue(test::view(picture), faces, kMap, samples, once, rolls).ok());
    for (std::size_t f = 0; f < faces.size(); ++f) {
      const std::vector<Point> found(got.begin() + static_cast<std::ptrdiff_t>(f * n),
                                     got.begin() + static_cast<std::ptrdiff_t>((f + 1) * n));
      const std::vector<Point> before(once.begin() + static_cast<std::ptrdiff_t>(f * n),
                                      once.begin() + static_cast<std::ptrdiff_t>((f + 1) * n));
      if (!twice[f]) {
        EXPECT_EQ(found, before);
        continue;
      }
      const forest::HeadBox head = first_look(*plain.value(), *model, picture, faces[f], rolls[f]);
      std::vector<Point> want(n);
      ASSERT_TRUE(
          sampled.value()
              ->enqueue(test::view(picture), {&head.box, 1}, {}, samples, want, {&head.roll, 1})
              .ok());
      EXPECT_EQ(found, want) << "face " << f << ", " << samples << " samples";
      EXPECT_NE(found, before);
    }
  }
  std::vector<Point> out(faces.size() * n);
  EXPECT_EQ(sampled.value()
                ->enqueue(test::view(picture), faces, kMap, 1, out, {},
                          std::span(twice).first(faces.size() - 1))
                .code(),
            StatusCode::kInvalidArgument);
}

TEST(Samples, FitsTheHeadInItsTurn) {
  const std::vector<Point> mean = mean_points(*test::drawn_heads_forest());
  const Roll roll{0.8f, 0.6f};
  // The unit box is 99 px, so the box 100, about (70, 60).
  std::vector<Point> landmarks;
  for (const Point& p : mean) {
    const float x = 99 * (p.x - 0.5f), y = 99 * (p.y - 0.5f);
    landmarks.push_back({70 + roll.cos * x - roll.sin * y, 60 + roll.sin * x + roll.cos * y});
  }
  forest::HeadBox head;
  ASSERT_TRUE(forest::fit_head(mean, landmarks, head));
  EXPECT_NEAR(head.box.w, 100, 1e-3);
  EXPECT_EQ(head.box.h, head.box.w);
  EXPECT_NEAR(head.box.x + (head.box.w - 1) / 2, 70, 1e-3);
  EXPECT_NEAR(head.box.y + (head.box.h - 1) / 2, 60, 1e-3);
  EXPECT_NEAR(head.roll.cos, 0.8, 1e-5);
  EXPECT_NEAR(head.roll.sin, 0.6, 1e-5);
  std::fill(landmarks.begin(), landmarks.end(), Point{7, 7});
  EXPECT_FALSE(forest::fit_head(mean, landmarks, head)) << "no extent";
}

TEST(Samples, RefuseWhatTheLandmarkerRefuses) {
  auto made = SampledLandmarker::create(Backend::kCpu, test::drawn_heads_forest());
  ASSERT_TRUE(made.ok());
  const cv::Mat picture = noise(100, 100);
  std::vector<Point> out(test::kDrawnHeadPoints, Point{7, 7});
  const auto code = [&](const Box& box, int samples, std::size_t room = test::kDrawnHeadPoints) {
    return made.value()
        ->enqueue(test::view(picture), {&box, 1}, kMap, samples, std::span(out).first(room))
        .code();
  };
  const Box good{10, 10, 50, 50};
  for (const int samples : {1, 8}) {
    EXPECT_EQ(code({10, 10, 0, 50}, samples), StatusCode::kInvalidArgument);
    EXPECT_EQ(code({std::numeric_limits<float>::quiet_NaN(), 10, 50, 50}, samples),
              StatusCode::kInvalidArgument);
    EXPECT_EQ(code(good, samples, 8), StatusCode::kInvalidArgument);
  }
  EXPECT_EQ(code(good, 0), StatusCode::kInvalidArgument);
  EXPECT_EQ(code(good, kMaxSamples + 1), StatusCode::kInvalidArgument);
  EXPECT_EQ(out, std::vector<Point>(test::kDrawnHeadPoints, Point{7, 7}));
  EXPECT_EQ(code(good, 8), StatusCode::kOk);
  EXPECT_EQ(SampledLandmarker::create(Backend::kCpu, nullptr).status().code(),
            StatusCode::kInvalidArgument);
}

// What they are for: pictures that differ in their noise alone give points that differ less, and
// the mean lies nearer to what people have labelled.
TEST(Samples, SteadierAndNearerToPeoplesLabels) {
  CUFACE_NEEDS_DATA();
  const std::string path = test::model_dir() + "/shape_predictor_68_face_landmarks.dat";
  const auto model = load_forest(path);
  if (!model.ok()) GTEST_SKIP() << model.status().message();
  auto made = SampledLandmarker::create(Backend::kCpu, model.value());
  ASSERT_TRUE(made.ok());
  constexpr int kSteps = 3;
  const int counts[kSteps] = {1, 8, 24};
  double error[kSteps] = {}, tremor[kSteps] = {};
  int rows = 0;
  cv::RNG random(9);
  for (const test::LandmarkRow& row : test::landmark_rows()) {
    if (!row.human || ++rows % 3) continue;
    const cv::Mat picture = row.picture();
    // As a detector's box: the same place for all, not quite right.
    Box box = box_from_landmarks(*model.value(), row.truth);
    box.x += static_cast<float>(random.uniform(-0.05, 0.05)) * box.w;
    box.y += static_cast<float>(random.uniform(-0.05, 0.05)) * box.w;
    const double eyes =
        std::hypot(row.truth[36].x - row.truth[45].x, row.truth[36].y - row.truth[45].y);
    cv::Mat grain(picture.size(), CV_16SC1), noisy[2];
    for (cv::Mat& to : noisy) {
      random.fill(grain, cv::RNG::NORMAL, 0, 2);
      cv::add(picture, grain, to, cv::noArray(), CV_8U);
    }
    for (int s = 0; s < kSteps; ++s) {
      std::vector<Point> points[2] = {std::vector<Point>(68), std::vector<Point>(68)};
      for (int i = 0; i < 2; ++i) {
        const Status status =
            made.value()->enqueue(test::view(noisy[i]), {&box, 1}, BoxMap{}, counts[s], points[i]);
        ASSERT_TRUE(status.ok()) << status.message();
      }
      for (std::size_t k = 0; k < 68; ++k) {
        const Point &a = points[0][k], &b = points[1][k], &t = row.truth[k];
        tremor[s] += std::hypot(a.x - b.x, a.y - b.y) / eyes;
        error[s] += std::hypot(a.x - t.x, a.y - t.y) / eyes;
      }
    }
  }
  const int faces = rows / 3;
  ASSERT_GE(faces, 50);
  for (int s = 0; s < kSteps; ++s) {
    std::printf("%d samples: error %.3f %%, tremor %.3f %%\n", counts[s],
                100 * error[s] / faces / 68, 100 * tremor[s] / faces / 68);
  }
  EXPECT_LT(tremor[1], 0.6 * tremor[0]);
  EXPECT_LT(tremor[2], 0.85 * tremor[1]);
  EXPECT_LT(error[1], error[0]);
}

// Boxes that lie badly: 18 % of their side higher, lower, to the left, to the right.
TEST(Samples, AFirstLookMendsBoxesThatLieBadly) {
  CUFACE_NEEDS_DATA();
  const auto model = load_forest(test::model_dir() + "/shape_predictor_68_face_landmarks.dat");
  if (!model.ok()) GTEST_SKIP() << model.status().message();
  auto made = SampledLandmarker::create(Backend::kCpu, model.value());
  ASSERT_TRUE(made.ok());
  int rows = 0, faces = 0, failures[2] = {};
  double error[2] = {};
  for (const test::LandmarkRow& row : test::landmark_rows()) {
    if (!row.human) continue;
    const int way = ++rows % 4;
    const cv::Mat picture = row.picture();
    Box box = box_from_landmarks(*model.value(), row.truth);
    (way < 2 ? box.x : box.y) += (way % 2 ? 0.18f : -0.18f) * box.w;
    ++faces;
    for (const std::uint8_t twice : {0, 1}) {
      std::vector<Point> points(68);
      const Status status = made.value()->enqueue(test::view(picture), {&box, 1}, BoxMap{}, 4,
                                                  points, {}, {&twice, 1});
      ASSERT_TRUE(status.ok()) << status.message();
      const double nme = test::nme_percent(points, row.truth);
      error[twice] += nme;
      failures[twice] += nme > 10;
    }
  }
  ASSERT_GE(faces, 150);
  std::printf("%d faces: error %.3f %%, %d over 10 %%; with a first look %.3f %%, %d\n", faces,
              error[0] / faces, failures[0], error[1] / faces, failures[1]);
  EXPECT_GE(failures[0], 30);
  EXPECT_LE(failures[1], 2);
  EXPECT_LT(error[1], 0.5 * error[0]);
}

}  // namespace
}  // namespace cuface
