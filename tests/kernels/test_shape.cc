// The parts of a shape search against OpenCV, and what a search does at the edges of its input.
// tests/full/stasm holds the whole of it against Stasm.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <opencv2/imgproc.hpp>
#include <random>
#include <set>
#include <utility>

#include "kernels/shape/search.h"
#include "tests/kernels/pictures.h"
#include "tests/kernels/shape_models.h"

namespace cuface {
namespace {

int resize_differences(const cv::Mat& picture, double factor) {
  Image<std::uint8_t> ours;
  shape::resize_linear(test::view_of(picture), factor, ours);
  cv::Mat theirs;
  cv::resize(picture, theirs, {}, factor, factor, cv::INTER_LINEAR);
  if (theirs.cols != ours.width() || theirs.rows != ours.height()) return -1;
  return cv::countNonZero(theirs != test::mat_of(ours.view()));
}

TEST(Shape, ResizingIsOpenCvs) {
  std::mt19937 random(3);
  int compared = 0;
  for (int i = 0; i < 120; ++i) {
    const int width = 9 + static_cast<int>(random() % 120),
              height = 9 + static_cast<int>(random() % 90);
    const cv::Mat picture = test::noise(width, height, static_cast<unsigned>(i));
    const double any = 0.2 + 0.01 * static_cast<double>(random() % 200) + 1e-4;
    for (const double factor : {0.5, 0.25, 0.125, 1.0, 1.001, 0.9995, 2.0, any}) {
      EXPECT_EQ(resize_differences(picture, factor), 0)
          << width << "x" << height << " * " << factor;
      ++compared;
    }
  }
  EXPECT_EQ(compared, 960);
}

TEST(Shape, GaussianLevelsAreOpenCvs) {
  int compared = 0;
  for (const auto& [width, height] : {std::pair{61, 47}, {64, 48}, {63, 50}, {33, 97}}) {
    const cv::Mat picture = test::noise(width, height, 7);
    shape::Pyramid pyramid;
    ASSERT_TRUE(pyramid.make(test::view_of(picture), 1, 5, ShapePyramid::kGaussian).ok());
    cv::Mat expected = picture;
    for (int level = 0; level < 5; ++level, ++compared) {
      if (level > 0) cv::pyrDown(expected, expected);
      const cv::Mat found = test::mat_of(pyramid.level(level));
      ASSERT_EQ(found.size(), expected.size()) << width << "x" << height << ", level " << level;
      EXPECT_EQ(cv::countNonZero(found != expected), 0) << level;
    }
  }
  EXPECT_EQ(compared, 20);
}

TEST(Shape, EveryBoxGivesPoints) {
  const auto model = test::random_shape_model(11);
  const cv::Mat picture = test::noise(160, 120, 2);
  std::vector<Point> points(8), again(8);
  for (const ShapeArithmetic arithmetic : {ShapeArithmetic::kFloat, ShapeArithmetic::kDouble}) {
    auto searcher = ShapeSearcher::create(Backend::kCpu, model, arithmetic);
    ASSERT_TRUE(searcher.ok()) << searcher.status().message();
    for (const Box& box :
         {Box{40, 20, 70, 70}, Box{-500, 20, 70, 70}, Box{150, 110, 60, 40},
          Box{80, 60, 1e-3f, 1e-3f}, Box{-1e5f, -1e5f, 9e5f, 9e5f}, Box{159, 0, 1, 400}}) {
      ASSERT_TRUE(searcher.value()->enqueue(test::view_of(picture), {&box, 1}, points).ok())
          << box.x;
      for (const Point& p : points) EXPECT_TRUE(std::isfinite(p.x) && std::isfinite(p.y)) << box.x;
      ASSERT_TRUE(searcher.value()->enqueue(test::view_of(picture), {&box, 1}, again).ok());
      EXPECT_EQ(points, again);
    }
    const Box beyond{-500, 20, 70, 70};
    ASSERT_TRUE(searcher.value()->enqueue(test::view_of(picture), {&beyond, 1}, points).ok());
    EXPECT_NEAR(points[0].x, -465, 1e-3) << "the start";
  }
}

/// run() put together from its parts: from the coarsest level to the finest, each until it rests,
/// and points that cost too much once more.
struct SearchByHand {
  int iterations = 0, searched_again = 0;

  void run(const ShapeModel& m, const cv::Mat& picture, std::vector<ShapePoint>& points) {
    shape::FaceSearch search(m, ShapeArithmetic::kDouble);
    std::vector<TextureMatch> matches(points.size()), found(points.size());
    // A search is chaotic, so what is rounded must be the same.
    const auto scaled = [&](double by) {
      for (ShapePoint& p : points) p = {p.x * by, p.y * by};
    };
    const double scale = search.factor(points);
    ASSERT_TRUE(search.set_picture(test::view_of(picture), scale).ok());
    scaled(scale);
    scaled(std::ldexp(1.0, 1 - m.levels));
    for (int level = m.levels - 1; level >= 0; --level) {
      search.start_level(level);
      double moved = HUGE_VAL;
      for (int i = 0; i < m.iterations && moved > m.rest; ++i, ++iterations) {
        const std::vector<ShapePoint> before = points;
        search.suggest(points, matches);
        search.constraint().run(points);
        moved = 0;
        for (std::size_t k = 0; k < points.size(); ++k)
          moved = std::max(
              {moved, std::abs(points[k].x - before[k].x), std::abs(points[k].y - before[k].y)});
      }
      for (int round = 0; level == 0 && round < m.refits; ++round) {
        std::vector<ShapePoint> again = points;
        search.suggest(again, found);
        int bad = 0;
        for (std::size_t k = 0; k < points.size(); ++k) {
          if (matches[k].cost <= m.refit_limits[k]) continue;
          points[k] = again[k];
          matches[k] = found[k];
          ++bad;
        }
        if (bad == 0) break;
        searched_again += bad;
        search.constraint().run(points);
      }
      scaled(level > 0 ? 2 : 1 / scale);
    }
  }
};

TEST(Shape, ThreadsChangeNoBit) {
  for (const unsigned seed : {3u, 4u}) {
    const auto model = test::random_patches(seed, 21, 3);
    ASSERT_TRUE(validate(*model).ok()) << validate(*model).message();
    const cv::Mat picture = test::noise(220, 180, seed);
    const std::vector<Box> boxes = {{40, 30, 80, 80}, {90, 60, 90, 90}, {-20, 10, 70, 70}};
    std::vector<Point> alone(boxes.size() * 21), together(alone.size());
    for (const int threads : {1, 4, 64}) {
      auto searcher =
          ShapeSearcher::create(Backend::kCpu, model, ShapeArithmetic::kFloat, nullptr, threads);
      ASSERT_TRUE(searcher.ok());
      for (int round = 0; round < 5; ++round) {
        std::vector<Point>& to = threads == 1 ? alone : together;
        ASSERT_TRUE(searcher.value()->enqueue(test::view_of(picture), boxes, to).ok());
        ASSERT_TRUE(threads == 1 || together == alone) << threads;
      }
    }
  }
}

TEST(Shape, ASearchGoesFromCoarseToFineAndOnceMoreForBadPoints) {
  SearchByHand by_hand;
  int refitted = 0, iterations = 0;
  constexpr int kSeeds = 12;
  for (unsigned seed = 0; seed < kSeeds; ++seed) {
    ShapeModel m;
    test::ShapeTables tables;
    test::random_shape(m, tables, seed, 8, 3);
    m.iterations = 4;
    m.rest = 0.7;
    m.refits = 3;
    const cv::Mat picture = test::noise(160, 140, seed);
    std::vector<ShapePoint> start(8), points, expected;
    shape::start_shape(m, {40, 30, 80, 80}, start);
    shape::FaceSearch search(m, ShapeArithmetic::kDouble);
    // About half of the points cost more than their limits.
    tables.refit_limits.assign(8, 1e300);
    tables.show(m);
    ASSERT_TRUE(search.run(test::view_of(picture), points = start).ok());
    EXPECT_EQ(search.refitted(), 0);
    std::vector<double> costs;
    for (const TextureMatch& match : search.matches()) costs.push_back(match.cost);
    std::ranges::nth_element(costs, costs.begin() + 4);
    tables.refit_limits.assign(8, std::max(costs[4], 0.0));
    ASSERT_TRUE(validate(m).ok());
    ASSERT_TRUE(search.run(test::view_of(picture), points = start).ok());
    by_hand.run(m, picture, expected = start);
    for (std::size_t k = 0; k < 8; ++k) {
      EXPECT_EQ(points[k].x, expected[k].x) << seed;
      EXPECT_EQ(points[k].y, expected[k].y) << seed;
    }
    refitted += search.refitted();
    iterations += search.iterations();
  }
  EXPECT_EQ(refitted, by_hand.searched_again);
  EXPECT_GT(refitted, kSeeds);
  EXPECT_LT(refitted, kSeeds * 8 * 3);
  EXPECT_EQ(iterations, by_hand.iterations);
  EXPECT_LT(iterations, kSeeds * 3 * 4) << "some levels end at rest";
}

TEST(Shape, StartsAnywhere) {
  const auto model = test::random_shape_model(11);
  const auto points = static_cast<std::size_t>(model->points);
  const cv::Mat noise = test::noise(300, 240, 5);
  const auto picture = test::view_of(noise);
  const std::vector<Box> boxes = {{60, 50, 100, 100}, {90, 80, 120, 110}};
  auto searcher = ShapeSearcher::create(Backend::kCpu, model, ShapeArithmetic::kDouble);
  ASSERT_TRUE(searcher.ok());
  std::vector<Point> from_boxes(2 * points), out(2 * points), starts(2 * points);
  ASSERT_TRUE(searcher.value()->enqueue(picture, boxes, from_boxes).ok());
  // The first face turned and smaller, the second one in its box, as a point is none.
  std::vector<ShapePoint> start(points);
  shape::start_shape(*model, boxes[0], start);
  for (std::size_t i = 0; i < points; ++i) {
    const double x = start[i].x - 110, y = start[i].y - 100;
    start[i] = {115 + 0.7 * x - 0.3 * y, 98 + 0.3 * x + 0.7 * y};
    starts[i] = {static_cast<float>(start[i].x), static_cast<float>(start[i].y)};
    start[i] = {static_cast<double>(starts[i].x), static_cast<double>(starts[i].y)};
  }
  starts[points + 3].y = std::numeric_limits<float>::quiet_NaN();
  ASSERT_TRUE(searcher.value()->enqueue(picture, boxes, out, starts).ok());
  const Rect window = shape::window_of(model->window, boxes[0], 300, 240);
  for (ShapePoint& p : start) p = {p.x - window.x, p.y - window.y};
  shape::FaceSearch search(*model, ShapeArithmetic::kDouble);
  ASSERT_TRUE(
      search.run({picture.row(window.y) + window.x, window.w, window.h, picture.stride}, start)
          .ok());
  int moved = 0;
  for (std::size_t i = 0; i < points; ++i) {
    EXPECT_EQ(out[i], (Point{static_cast<float>(start[i].x + window.x),
                             static_cast<float>(start[i].y + window.y)}));
    EXPECT_EQ(out[points + i], from_boxes[points + i]);
    moved += out[i] != from_boxes[i];
  }
  EXPECT_GT(moved, 5);
  for (const float far : {1e9f, -HUGE_VALF}) {
    starts[2].x = far;
    ASSERT_TRUE(searcher.value()->enqueue(picture, boxes, out, starts).ok());
    EXPECT_EQ(out, from_boxes) << far;
  }
  std::fill(starts.begin(), starts.end(), Point{50, 50});  // no face: as it is
  ASSERT_TRUE(searcher.value()->enqueue(picture, boxes, out, starts).ok());
  EXPECT_EQ(out, starts);
  starts.pop_back();
  EXPECT_EQ(searcher.value()->enqueue(picture, boxes, out, starts).code(),
            StatusCode::kInvalidArgument);
}

TEST(Shape, PointsHaveConfidencesByTheCostsAroundThem) {
  auto model = std::make_shared<ShapeModel>(*test::random_shape_model(11));
  const auto points = static_cast<std::size_t>(model->points);
  std::vector<shape::UsualCost> usual;
  for (std::size_t i = 0; i < points; ++i)
    usual.push_back({0.1 * static_cast<double>(i), 0.5 + static_cast<double>(i)});
  usual.push_back({0.25, 0.5});  // of the shape
  model->usual_costs = usual;
  std::vector<double> offsets;
  for (std::size_t i = 0; i < points; ++i) offsets.push_back(i % 2 ? 0.75 : -1.5);
  model->score_offsets = offsets;
  const shape::ScoreParts parts{0.5, 3, 1.25, 0.7, 0.75, -2, 4};
  model->score_parts = parts;
  model->confidence = {-16, 32, {}};
  for (int i = 0; i < 32; ++i) model->confidence.at[i] = 1 - static_cast<float>(i) / 40;
  const cv::Mat noise = test::noise(300, 240, 5);
  const auto picture = test::view_of(noise);
  const std::vector<Box> boxes = {{60, 50, 100, 100}, {-5000, 0, 9, 9}, {90, 80, 120, 110}};
  auto searcher = ShapeSearcher::create(Backend::kCpu, model, ShapeArithmetic::kDouble);
  ASSERT_TRUE(searcher.ok()) << searcher.status().message();
  ASSERT_TRUE(searcher.value()->has_confidences());
  std::vector<Point> out(3 * points), alone(3 * points);
  std::vector<float> confidences(3 * points, 7);
  ASSERT_TRUE(searcher.value()->enqueue(picture, boxes, out, {}, confidences).ok());
  ASSERT_TRUE(searcher.value()->enqueue(picture, boxes, alone).ok());
  EXPECT_EQ(out, alone) << "confidences change no point";
  shape::FaceSearch search(*model, ShapeArithmetic::kDouble);
  const std::vector<Point> mean_shape = mean_points(*model);
  Point centre{};
  for (const Point& p : mean_shape) {
    centre.x += p.x / static_cast<float>(points);
    centre.y += p.y / static_cast<float>(points);
  }
  const auto distance = [](const Point& a, const Point& b) {
    return std::hypot(static_cast<double>(a.x - b.x), static_cast<double>(a.y - b.y));
  };
  double far = 0;
  for (const Point& p : mean_shape) far += distance(p, centre) / static_cast<double>(points);
  std::set<float> different;
  for (const std::size_t face : {0u, 2u}) {
    std::vector<ShapePoint> start(points);
    const Rect window = shape::start_in_window(*model, boxes[face], 300, 240, start);
    ASSERT_TRUE(
        search.run({picture.row(window.y) + window.x, window.w, window.h, picture.stride}, start)
            .ok());
    std::vector<double> by;
    double mean = 0;
    for (std::size_t i = 0; i < points; ++i) {
      by.push_back(std::clamp((search.matches()[i].cost - usual[i].middle) / usual[i].spread,
                              parts.least, parts.most));
      mean += by[i] / static_cast<double>(points);
    }
    double of_shape = 0;
    for (std::size_t k = 0; k < model->eigenvalues.size(); ++k) {
      const double weight = search.constraint().weights()[k] / model->mode_limit;
      of_shape += weight * weight / model->eigenvalues[k] / model->modes;
    }
    of_shape = std::clamp((of_shape - usual[points].middle) / usual[points].spread, parts.least,
                          parts.most);
    for (std::size_t i = 0; i < points; ++i) {
      double around = 0, weights = 0;
      for (std::size_t j = 0; j < points; ++j) {
        const double away = distance(mean_shape[i], mean_shape[j]) / (parts.reach * far);
        around += std::exp(-away * away / 2) * by[j];
        weights += std::exp(-away * away / 2);
      }
      const double score = parts.own * by[i] + parts.around * around / weights + parts.face * mean +
                           parts.shape * of_shape + offsets[i];
      const double place = std::clamp(score + 16, 0.0, 31.0);
      EXPECT_NEAR(confidences[face * points + i], 1 - place / 40, 1e-5) << face << " " << i;
      different.insert(confidences[face * points + i]);
    }
  }
  EXPECT_GT(different.size(), 8u);
  for (std::size_t i = 0; i < points; ++i) EXPECT_EQ(confidences[points + i], 0) << "beyond";
  confidences.pop_back();
  EXPECT_EQ(searcher.value()->enqueue(picture, boxes, out, {}, confidences).code(),
            StatusCode::kInvalidArgument);
  auto plain = ShapeSearcher::create(Backend::kCpu, test::random_shape_model(11));
  ASSERT_TRUE(plain.ok());
  EXPECT_FALSE(plain.value()->has_confidences());
  confidences.resize(3 * points);
  EXPECT_EQ(plain.value()->enqueue(picture, boxes, out, {}, confidences).code(),
            StatusCode::kInvalidArgument);
}

TEST(Shape, WhatIsRefused) {
  const auto model = test::random_shape_model(11);
  EXPECT_EQ(ShapeSearcher::create(Backend::kCpu, nullptr).status().code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(ShapeSearcher::create(Backend::kCuda, model).status().code(), StatusCode::kUnsupported);
  auto bad = std::make_shared<ShapeModel>(*model);
  bad->points = 0;
  EXPECT_EQ(ShapeSearcher::create(Backend::kCpu, bad).status().code(), StatusCode::kCorrupt);
  // A patch within another one, where its numbers happen to be a header: many of them would
  // take far more memory than the file.
  auto tables = std::make_shared<test::ShapeTables>();
  bad = std::make_shared<ShapeModel>();
  test::random_shape(*bad, *tables, 11);
  std::vector<ShapeProfile*> patches;
  for (ShapeProfile& p : tables->profiles)
    if (p.kind == ProfileKind::kPatch) patches.push_back(&p);
  ASSERT_GE(patches.size(), 2u);
  const std::uint32_t first = patches[0]->first_number;
  patches[1]->first_number = first;
  EXPECT_TRUE(ShapeSearcher::create(Backend::kCpu, bad).ok()) << "the same one";
  tables->numbers[first + 5] = 3;
  tables->numbers[first + 6] = 0;
  patches[1]->first_number = first + 5;
  EXPECT_EQ(ShapeSearcher::create(Backend::kCpu, bad).status().code(), StatusCode::kCorrupt);
  StopFlag stop;
  auto searcher = ShapeSearcher::create(Backend::kCpu, model, ShapeArithmetic::kDouble, &stop);
  ASSERT_TRUE(searcher.ok());
  const cv::Mat picture = test::noise(160, 120, 2);
  std::vector<Point> points(8, Point{-7, -7});
  const std::vector<Point> untouched = points;
  const auto code = [&](const ImageView<const std::uint8_t>& view, const Box& box,
                        std::size_t room) {
    return searcher.value()->enqueue(view, {&box, 1}, std::span(points).first(room)).code();
  };
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  const Box good{40, 20, 70, 70};
  EXPECT_EQ(code({}, good, 8), StatusCode::kInvalidArgument);
  EXPECT_EQ(code(test::view_of(picture), good, 7), StatusCode::kInvalidArgument);
  for (const Box& box : {Box{0, 0, 0, 5}, Box{0, 0, 5, -1}, Box{kNan, 0, 5, 5}, Box{0, 0, kNan, 5},
                         Box{0, 0, HUGE_VALF, 5}}) {
    EXPECT_EQ(code(test::view_of(picture), box, 8), StatusCode::kInvalidArgument);
  }
  EXPECT_EQ(points, untouched);
  stop.raise();
  EXPECT_EQ(code(test::view_of(picture), good, 8), StatusCode::kCancelled);
  EXPECT_TRUE(searcher.value()->enqueue(test::view_of(picture), {}, {}).ok()) << "no face";
}

}  // namespace
}  // namespace cuface
