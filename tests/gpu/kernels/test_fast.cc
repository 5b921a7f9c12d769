// cuda::fast::find_corners() against FastDetector: every corner and score, of several pictures at
// once.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <vector>

#include "kernels/fast/cuda/corners.h"
#include "kernels/fast/fast.h"
#include "tests/gpu/compare.h"
#include "tests/gpu/gpu.h"
#include "tests/moving_faces.h"

namespace cuface {
namespace {

using cuda::fast::kScores;
using test::Grey;

/// Of few values, many or between.
Grey random_picture(int width, int height, std::mt19937& random) {
  Grey out = test::textured(width, height, static_cast<int>(random() % 9));
  const unsigned kind = random() % 4;
  for (auto& p : out.pixels) {
    const unsigned value = random();
    if (kind == 0) p = static_cast<std::uint8_t>(value);
    if (kind == 1) p = static_cast<std::uint8_t>(value % 8 ? 90 : 200);
    if (kind == 2) p = static_cast<std::uint8_t>(value % 8 ? 255 : 0);
  }
  return out;
}

std::vector<Corner> in_order(std::vector<Corner> corners) {
  std::sort(corners.begin(), corners.end(), [](const Corner& a, const Corner& b) {
    return std::pair(a.y, a.x) < std::pair(b.y, b.x);
  });
  return corners;
}

struct Case {
  Grey grey;
  Rect part;
  int lead, padding;
};

class FastCuda : public testing::Test {
 protected:
  void SetUp() override { CUFACE_NEEDS_GPU(); }

  void compare(const std::vector<Case>& cases, int threshold) {
    cuda::fast::Pictures pictures{};
    std::vector<test::DevicePicture> device;
    device.reserve(cases.size());
    std::size_t room = 0;
    for (const Case& c : cases) {
      device.emplace_back(c.grey.width, c.grey.height, c.lead, c.padding);
      device.back().set(c.grey.view());
      ASSERT_TRUE(cuda::fast::add_picture(pictures, device.back().view(), c.part,
                                          static_cast<std::uint32_t>(room)));
      room += most_corners(c.part.w, c.part.h);
    }
    test::GuardedBytes places(4 * room, test::kCanary), scores(room, test::kCanary);
    test::GuardedBytes counts(4 * cases.size(), 0), of_scores(4 * kScores * cases.size(), 0);
    const auto words = [](test::GuardedBytes& bytes) {
      return reinterpret_cast<std::uint32_t*>(bytes.data());
    };
    test::Stream stream;
    const Status status = cuda::fast::find_corners(
        pictures, threshold, {words(places), scores.data(), words(counts), words(of_scores)},
        stream);
    ASSERT_TRUE(status.ok()) << status.message();
    const auto got_places = test::values_of<std::uint32_t>(places.get());
    const std::vector<std::uint8_t> got_scores = scores.get();
    const auto got_counts = test::values_of<std::uint32_t>(counts.get());
    const auto got_of_scores = test::values_of<std::uint32_t>(of_scores.get());
    for (std::size_t i = 0; i < cases.size(); ++i) {
      const Case& c = cases[i];
      auto detector = FastDetector::create(c.grey.width, c.grey.height);
      ASSERT_TRUE(detector.ok());
      std::vector<Corner> expected, got;
      ASSERT_TRUE(detector.value().run(c.grey.view(), threshold, c.part, expected).ok());
      ASSERT_EQ(got_counts[i], expected.size());
      std::vector<std::uint32_t> expected_of_scores(kScores);
      for (const Corner& corner : expected)
        ++expected_of_scores[static_cast<std::size_t>(corner.score)];
      for (std::size_t k = 0; k < expected.size(); ++k) {
        const std::size_t at = pictures.all[i].first + k;
        got.push_back({static_cast<std::int16_t>(cuda::fast::x_of(got_places[at])),
                       static_cast<std::int16_t>(cuda::fast::y_of(got_places[at])),
                       got_scores[at]});
      }
      ASSERT_TRUE(in_order(got) == expected)
          << c.grey.width << " x " << c.grey.height << ", threshold " << threshold;
      ASSERT_TRUE(std::equal(expected_of_scores.begin(), expected_of_scores.end(),
                             got_of_scores.begin() + static_cast<std::ptrdiff_t>(i) * kScores));
      corners_ += static_cast<long>(expected.size());
      ++pictures_;
    }
  }

  long pictures_ = 0, corners_ = 0;
};

TEST_F(FastCuda, EverySmallPart) {
  std::mt19937 random(1);
  for (int h = 1; h <= 8; ++h) {
    std::vector<Case> cases;
    for (int w = 1; w <= (test::under_tool() ? 12 : 32); ++w)
      cases.push_back({random_picture(w + 8, h + 8, random),
                       {4, 4, w, h},
                       static_cast<int>(random() % 4),
                       static_cast<int>(random() % 9)});
    compare(cases, static_cast<int>(random() % 30));
    if (HasFatalFailure()) return;
  }
  test::compared("pictures", pictures_, 256);
  test::compared("corners", corners_, 500);
}

TEST_F(FastCuda, EveryThresholdAndPart) {
  std::mt19937 random(2);
  for (int i = 0; i < test::cases(150); ++i) {
    std::vector<Case> cases;
    for (unsigned k = 0; k < 1 + random() % 4; ++k) {
      const int w = 20 + static_cast<int>(random() % 300),
                h = 20 + static_cast<int>(random() % 180);
      const int left = 4 + static_cast<int>(random() % 6), top = 4 + static_cast<int>(random() % 6);
      cases.push_back({random_picture(w, h, random),
                       {left, top, w - left - 4 - static_cast<int>(random() % 5),
                        h - top - 4 - static_cast<int>(random() % 5)},
                       static_cast<int>(random() % 4),
                       static_cast<int>(random() % 9)});
    }
    compare(cases, i % 3 ? static_cast<int>(random() % 60) : static_cast<int>(random() % 256));
    if (HasFatalFailure()) return;
  }
  test::compared("corners", corners_, 100'000);
}

TEST_F(FastCuda, FlatPicturesAndTheDensest) {
  for (const int value : {0, 255})
    compare({{Grey(200, 100, static_cast<std::uint8_t>(value)), {4, 4, 192, 92}, 0, 0}}, 0);
  EXPECT_EQ(corners_, 0);
  // A dot in each second pixel of each second row cannot be; these lie as near as corners can.
  Grey dots(200, 100, 40);
  for (int y = 6; y < 94; y += 4)
    for (int x = 6; x < 194; x += 4) dots.view().at(x, y) = 200;
  compare({{dots, {4, 4, 192, 92}, 1, 2}}, 20);
  test::compared("corners", corners_, 1'000);
}

TEST_F(FastCuda, NaturalPictures) {
  const auto pictures = test::load_gray_pictures();
  if (pictures.empty()) GTEST_SKIP() << "no natural pictures: set CUFACE_GPU_DATA";
  for (const auto& p : pictures) {
    Grey grey(p.width, p.height);
    grey.pixels = p.pixels;
    for (const int threshold : {0, 20})
      compare({{grey, {31, 31, p.width - 62, p.height - 62}, 0, 0}}, threshold);
    if (HasFatalFailure()) return;
  }
  test::compared("pictures", pictures_, 2 * static_cast<long>(pictures.size()));
}

TEST_F(FastCuda, RefusesMorePicturesThanItTakes) {
  cuda::fast::Pictures pictures{};
  for (int i = 0; i < cuda::fast::kMostPictures; ++i)
    EXPECT_TRUE(cuda::fast::add_picture(pictures, {}, {4, 4, 9, 9}, 0));
  EXPECT_FALSE(cuda::fast::add_picture(pictures, {}, {4, 4, 9, 9}, 0));
}

}  // namespace
}  // namespace cuface
