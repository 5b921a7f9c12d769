// Line profiles and HAT descriptors against the formulas written out in another way.
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <opencv2/core.hpp>
#include <random>

#include "kernels/texture/float_hat.h"
#include "kernels/texture/integer_patch.h"
#include "kernels/texture/texture.h"
#include "tests/kernels/pictures.h"
#include "tests/kernels/versions.h"

namespace cuface {
namespace {

double triangle(double v) { return std::max(0.0, 1 - std::abs(v)); }

/// Bin by bin: what each pixel adds to it, by the distances in row, column and direction.
std::vector<double> direct_hat(const cv::Mat& picture, const HatRule& rule, int patch, int x,
                               int y) {
  std::vector<double> out;
  const int half = patch / 2;
  for (int row = 0; row < rule.rows; ++row) {
    for (int column = 0; column < rule.columns; ++column) {
      for (int bin = 0; bin < rule.bins; ++bin) {
        double sum = 0;
        for (int v = -half; v <= half; ++v) {
          for (int u = -half; u <= half; ++u) {
            const int px = x + u, py = y + v;
            if (px < 0 || py < 0 || px >= picture.cols - 1 || py >= picture.rows - 1) continue;
            const double here = picture.at<std::uint8_t>(py, px);
            const double dx = picture.at<std::uint8_t>(py, px + 1) - here;
            const double dy = picture.at<std::uint8_t>(py + 1, px) - here;
            const double down = 1.0 * v * rule.rows / (patch - 1);
            const double right = 1.0 * u * rule.columns / (patch - 1);
            double turn = std::atan2(dy, dx) * rule.bins / (2 * std::numbers::pi) - bin;
            turn -= rule.bins * std::round(turn / rule.bins);
            const double far =
                (down * down + right * right) / (rule.sigma * rule.rows * rule.columns);
            sum += std::exp(-far) * std::hypot(dx, dy) * triangle(turn) *
                   triangle(down + (rule.rows - 1) / 2.0 - row) *
                   triangle(right + (rule.columns - 1) / 2.0 - column);
          }
        }
        out.push_back(std::sqrt(sum));
      }
    }
  }
  const double norm = cv::norm(out);
  for (double& v : out) v *= norm > 0 ? rule.length / norm : 0;
  return out;
}

TEST(Texture, HatIsTheFormula) {
  double largest = 0;
  int compared = 0;
  for (const HatRule& rule :
       {HatRule{4, 5, 8, 19, -6, 4, 2, 0.5, 10}, HatRule{3, 2, 5, 9, 0, 4, 1, 0.7, 3}}) {
    HatReference hat(rule, {});
    std::vector<double> found(static_cast<std::size_t>(rule.size()));
    for (const int patch : {rule.patch, 7, 13}) {
      const cv::Mat picture = test::noise(41, 33, static_cast<unsigned>(patch));
      hat.set_picture(test::view_of(picture), patch);
      for (const auto& [x, y] :
           {std::pair{20, 16}, {0, 0}, {40, 32}, {-3, 12}, {39, 35}, {12, 25}}) {
        hat.describe(x, y, found);
        const std::vector<double> expected = direct_hat(picture, rule, patch, x, y);
        for (std::size_t i = 0; i < found.size(); ++i, ++compared) {
          largest = std::max(largest, std::abs(found[i] - expected[i]));
        }
      }
    }
  }
  EXPECT_GT(compared, 3000);
  EXPECT_LT(largest, 1e-9);
}

TEST(Texture, HatBeyondThePictureIsNothing) {
  const HatRule rule{4, 5, 8, 19, -6, 4, 2, 0.5, 10};
  HatReference hat(rule, {});
  hat.set_picture(test::view_of(test::noise(30, 30, 4)), 19);
  std::vector<double> found(160, 1.0);
  hat.describe(-1000, 5'000'000, found);
  EXPECT_EQ(cv::norm(found), 0);
}

TEST(Texture, HatPatchesAndGrids) {
  const HatRule rule{4, 5, 8, 19, -6, 4, 2, 0.5, 10};
  EXPECT_EQ(rule.patch_at(0), 19);
  EXPECT_EQ(rule.patch_at(1), 13);
  EXPECT_EQ(rule.patch_at(2), 7);
  EXPECT_EQ(grid_pixel(4.9, 2), 4);
  EXPECT_EQ(grid_pixel(5.0, 2), 4) << "2.5 goes to 2";
  EXPECT_EQ(grid_pixel(7.0, 2), 8) << "3.5 goes to 4";
  EXPECT_EQ(grid_pixel(-5.2, 2), -6);
}

TEST(Texture, TheFirstOfTheLeastCostsWins) {
  const HatRule rule{4, 5, 8, 19, -6, 4, 2, 0.5, 10};
  std::vector<std::pair<int, int>> asked;
  const TextureMatch best = match_hat({11.2, 6.9}, rule, [&](int x, int y) {
    asked.emplace_back(x, y);
    return (x == 12 && y == 8) || (x == 14 && y == 8) ? -1.0 : 1.0;
  });
  ASSERT_EQ(asked.size(), 25u);
  EXPECT_EQ(asked.front(), std::pair(8, 2));
  EXPECT_EQ(asked.back(), std::pair(16, 10));
  EXPECT_EQ(best.dx, 0);
  EXPECT_EQ(best.dy, 2);
  EXPECT_EQ(match_hat({5, 5}, rule, [](int, int) { return std::nan(""); }).dx, 0);
}

TEST(Texture, WhiskersAreNormals) {
  // On a circle the normal is the radius.
  for (int i = 0; i < 360; i += 7) {
    const auto at = [](double degrees) {
      const double a = degrees * std::numbers::pi / 180;
      return ShapePoint{100 + 40 * std::cos(a), 90 + 40 * std::sin(a)};
    };
    const ShapePoint step = whisker_step(at(i - 10), at(i), at(i + 10)), p = at(i);
    EXPECT_NEAR(std::max(std::abs(step.x), std::abs(step.y)), 1, 1e-12);
    EXPECT_NEAR(step.x * (p.y - 90) - step.y * (p.x - 100), 0, 1e-9) << i;
  }
  EXPECT_EQ(whisker_step({5, 5}, {5, 5}, {9, 1}), (ShapePoint{1, 0}));
  const ShapePoint back = whisker_step({0, 0}, {5, 0}, {0, 0});
  EXPECT_EQ(std::abs(back.x), 1) << "there and back: along the line";
}

TEST(Texture, LineCostsAreMahalanobisDistances) {
  std::mt19937 random(9);
  std::uniform_real_distribution<double> uniform(-1, 1);
  int moved = 0;
  for (int round = 0; round < 200; ++round) {
    const LineRule rule{9, 2, 2};
    const cv::Mat picture = test::noise(37, 29, static_cast<unsigned>(round));
    cv::Mat_<double> half(9, 9), mean(9, 1);
    for (double& v : half) v = uniform(random);
    for (double& v : mean) v = uniform(random);
    const cv::Mat_<double> inverse = half * half.t();
    const ShapePoint point{37 * (0.5 + uniform(random)), 29 * (0.5 + uniform(random))};
    const ShapePoint step{1, uniform(random)};
    const TextureMatch found =
        match_line(test::view_of(picture), point, step, rule, mean[0], inverse[0]);
    const auto pixel = [&](int i) {
      const int x = cvRound(point.x + i * step.x), y = cvRound(point.y + i * step.y);
      return static_cast<double>(
          picture.at<std::uint8_t>(std::clamp(y, 0, 28), std::clamp(x, 0, 36)));
    };
    double least = 1e300;
    int where = 0;
    for (const int offset : {-2, 0, 2}) {
      cv::Mat_<double> profile(9, 1);
      for (int i = 0; i < 9; ++i) profile(i) = pixel(offset + i - 4) - pixel(offset + i - 5);
      const double sum = cv::norm(profile, cv::NORM_L1);
      if (sum > 0) profile *= 9 / sum;
      const cv::Mat_<double> cost = (profile - mean).t() * inverse * (profile - mean);
      if (cost(0) < least) least = cost(0), where = offset;
    }
    EXPECT_NEAR(found.cost, least, 1e-9);
    EXPECT_EQ(found.dx, where);
    moved += where != 0;
  }
  EXPECT_GT(moved, 80);
}

TEST(Texture, LinearCosts) {
  std::vector<double> model{0.5}, d;
  double expected = 0.5;
  for (int i = 1; i <= 13; ++i) {
    model.push_back(i);
    d.push_back(1.0 / i + i);
    expected += 1 + i * i;
  }
  EXPECT_NEAR(linear_cost(model.data(), d), expected, 1e-9);
  // All in a row give 1, two groups of four give 3.
  const double order[] = {1, 1e16, 1, -1e16, 1, 1e16, 1, -1e16, 1};
  EXPECT_EQ(linear_cost(order, std::vector<double>(8, 1.0)), 5);
}

/// What a few descriptors cost by the version that is chosen: of a rule, patches, places within the
/// picture, at its edges and beyond.
std::vector<double> float_costs(const HatRule& rule, std::span<const double> numbers) {
  FloatHat hat(rule, numbers);
  std::vector<double> costs;
  for (const int patch : {rule.patch, 7, 13}) {
    const cv::Mat picture = test::noise(61, 47, static_cast<unsigned>(patch));
    hat.set_picture(test::view_of(picture), patch);
    for (int y = -8; y < 56; y += 3) {
      for (int x = -9; x < 70; x += 3) costs.push_back(hat.cost(x, y, 0));
    }
  }
  return costs;
}

std::vector<double> random_numbers(int count) {
  std::mt19937 random(8);
  std::vector<double> numbers(static_cast<std::size_t>(count));
  for (double& n : numbers) n = static_cast<double>(random()) / 4294967296.0 - 0.5;
  return numbers;
}

const HatRule kStasm{4, 5, 8, 19, -6, 4, 2, 0.5, 10}, kOther{3, 2, 5, 9, 0, 4, 1, 0.7, 3};

TEST(Texture, FloatIsNearDouble) {
  int compared = 0;
  for (const HatRule& rule : {kStasm, kOther}) {
    const std::vector<double> numbers = random_numbers(rule.size() + 1);
    HatReference reference(rule, numbers);
    const std::vector<double> found = float_costs(rule, numbers);
    std::size_t i = 0;
    for (const int patch : {rule.patch, 7, 13}) {
      const cv::Mat picture = test::noise(61, 47, static_cast<unsigned>(patch));
      reference.set_picture(test::view_of(picture), patch);
      for (int y = -8; y < 56; y += 3) {
        for (int x = -9; x < 70; x += 3, ++i, ++compared) {
          ASSERT_NEAR(found[i], reference.cost(x, y, 0), 3e-5) << x << ", " << y;
        }
      }
    }
  }
  EXPECT_GT(compared, 3000);
}

TEST(Texture, WhatIsRememberedIsWhatIsComputed) {
  const std::vector<double> numbers = random_numbers(kStasm.size() + 1);
  const cv::Mat picture = test::noise(300, 280, 6);
  FloatHat remembers(kStasm, numbers);
  remembers.set_picture(test::view_of(picture), 19);
  // Places of one slot, the same again, and the other picture's.
  for (const auto& [x, y] :
       {std::pair{10, 20}, {138, 20}, {10, 20}, {10, 148}, {138, 148}, {9, 20}, {-118, 20}}) {
    FloatHat fresh(kStasm, numbers);
    fresh.set_picture(test::view_of(picture), 19);
    EXPECT_EQ(remembers.cost(x, y, 0), fresh.cost(x, y, 0)) << x << ", " << y;
  }
  const cv::Mat other = test::noise(300, 280, 7);
  FloatHat fresh(kStasm, numbers);
  fresh.set_picture(test::view_of(other), 13);
  remembers.set_picture(test::view_of(other), 13);
  EXPECT_EQ(remembers.cost(-118, 20, 0), fresh.cost(-118, 20, 0));
  EXPECT_EQ(remembers.cost(10, 20, 0), fresh.cost(10, 20, 0));
}

/// A model of a patch at either end of the numbers, with edges, as validate() would take them.
struct Patches {
  PatchRule rule;
  std::vector<double> numbers;
  std::vector<std::uint32_t> first_numbers;

  Patches(const PatchRule& of, int rows) : rule(of) {
    for (const int more : {0, 3}) {
      first_numbers.push_back(static_cast<std::uint32_t>(numbers.size()));
      numbers.push_back(rows + more);
      numbers.push_back(more ? 2 : 0);
      const auto all = static_cast<int>(PatchModel::numbers(rule, rows + more));
      for (const double n : random_numbers(all - 2)) numbers.push_back(n);
    }
    std::reverse(first_numbers.begin(), first_numbers.end());
  }
  std::vector<TextureMatch> matches(PatchMatcher& matcher) const {
    std::vector<TextureMatch> found;
    const cv::Mat picture = test::noise(61, 47, 9);
    matcher.set_picture(test::view_of(picture),
                        texture::strongest_sobel_square({test::view_of(picture)}));
    for (double y = -8; y < 56; y += 3.3) {
      for (double x = -9; x < 70; x += 3.7) {
        for (const std::uint32_t first : first_numbers)
          found.push_back(matcher.match({x, y}, first));
      }
    }
    return found;
  }
  std::vector<TextureMatch> in_integers() const {
    IntegerPatch matcher(rule, std::make_shared<texture::PatchTable>(rule, numbers, first_numbers));
    return matches(matcher);
  }
};

const std::vector<Patches> kPatches{{{13, 2, 1, PatchRule::kForward, true, 20}, 92},
                                    {{7, 3, 2, PatchRule::kMagnitude, true, 5}, 17},
                                    {{13, 2, 1, PatchRule::kTurns, true, 20}, 92},
                                    {{7, 3, 2, PatchRule::kTurns, true, 5}, 17},
                                    {{13, 2, 1, PatchRule::kTurns, true, 20, 4}, 92},
                                    {{7, 3, 2, PatchRule::kForward, true, 5, 0.5}, 17},
                                    {{5, 3, 1, PatchRule::kForward, false, 1}, 3},
                                    {{1, 1, 1, PatchRule::kForward, true, 1}, 1}};

TEST(Texture, IntegerPatchesGoWhereDoublesGo) {
  int compared = 0, other = 0;
  for (const Patches& patches : kPatches) {
    PatchReference reference(patches.rule, patches.numbers);
    const std::vector<TextureMatch> expected = patches.matches(reference);
    const std::vector<TextureMatch> found = patches.in_integers();
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i, ++compared) {
      // A patch of equal pixels costs the same everywhere but for rounding.
      other += found[i].dx != expected[i].dx || found[i].dy != expected[i].dy;
      EXPECT_NEAR(found[i].cost, expected[i].cost, 1e-3 * (1 + std::abs(expected[i].cost))) << i;
    }
  }
  EXPECT_GT(compared, 3000);
  std::printf("%d of %d go elsewhere\n", other, compared);
  EXPECT_LE(other, compared / 1000);
}

class TextureVersions : public test::EveryVersion {};
CUFACE_EVERY_VECTOR_VERSION(TextureVersions);

/// A model whose points share a patch takes no more memory than one point's.
TEST(Texture, IntegerPatchesAreKeptOnce) {
  const Patches& patches = kPatches[0];
  const std::vector<std::uint32_t> same(1000, 0);
  const std::size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;
  const texture::PatchTable table(patches.rule, patches.numbers, same);
  EXPECT_LT(mallinfo2().uordblks + mallinfo2().hblkhd - before, std::size_t{10} << 20);
}

TEST_P(TextureVersions, EqualThePlainVersion) {
  for (const HatRule& rule : {kStasm, kOther}) {
    const std::vector<double> numbers = random_numbers(rule.size() + 1);
    const std::vector<double> vectors = float_costs(rule, numbers);
    EXPECT_EQ(test::plainly([&] { return float_costs(rule, numbers); }), vectors);
  }
}

TEST_P(TextureVersions, PatchesEqualThePlainVersion) {
  for (const Patches& patches : kPatches) {
    const std::vector<TextureMatch> vectors = patches.in_integers();
    const std::vector<TextureMatch> plain = test::plainly([&] { return patches.in_integers(); });
    for (std::size_t i = 0; i < plain.size(); ++i) {
      EXPECT_EQ(vectors[i].cost, plain[i].cost);
      EXPECT_EQ(vectors[i].dx, plain[i].dx);
      EXPECT_EQ(vectors[i].dy, plain[i].dy);
    }
  }
}

}  // namespace
}  // namespace cuface
