// Matches beside cv::BFMatcher: every distance and place for bytes and for floats with exact sums;
// ratio, cross check and signs by it or by a program that stands here.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <opencv2/features2d.hpp>
#include <random>

#include "kernels/match/match.h"
#include "kernels/match/reference.h"
#include "kernels/match/rows.h"
#include "tests/kernels/versions.h"

namespace cuface {
namespace {

/// `count` descriptors near to one of a few, so that there are good matches, bad ones and ties.
cv::Mat bytes(int count, unsigned seed) {
  std::mt19937 random(seed), kinds(1);
  cv::Mat of_kind(40, kBinaryBytes, CV_8U), out(count, kBinaryBytes, CV_8U);
  for (int i = 0; i < 40 * kBinaryBytes; ++i) of_kind.data[i] = static_cast<std::uint8_t>(kinds());
  for (int i = 0; i < count; ++i) {
    of_kind.row(static_cast<int>(random() % 40)).copyTo(out.row(i));
    for (unsigned flips = random() % 60; flips > 0; --flips) {
      std::uint8_t& byte = out.at<std::uint8_t>(i, static_cast<int>(random() % kBinaryBytes));
      byte = static_cast<std::uint8_t>(byte ^ 1u << random() % 8);
    }
  }
  return out;
}

/// Likewise, of whole numbers, whose sums of squares are exact, or of unit length.
cv::Mat floats(int count, int size, bool whole, unsigned seed) {
  std::mt19937 random(seed), kinds(1);
  std::normal_distribution<float> normal;
  cv::Mat of_kind(40, size, CV_32F), out(count, size, CV_32F);
  for (int i = 0; i < 40 * size; ++i) of_kind.ptr<float>()[i] = 40 * normal(kinds);
  for (int i = 0; i < count; ++i) {
    of_kind.row(static_cast<int>(random() % 40)).copyTo(out.row(i));
    const auto spread = static_cast<float>(random() % 20);
    for (int k = 0; k < size; ++k) {
      float& value = out.at<float>(i, k);
      value += spread * normal(random);
      if (whole) value = std::nearbyint(value);
    }
    if (!whole) out.row(i) /= cv::norm(out.row(i));
  }
  return out;
}

template <typename T>
DescriptorSet<T> set_of(const cv::Mat& m, const std::int8_t* signs = nullptr) {
  return {m.ptr<T>(), m.rows, m.cols, signs};
}

template <typename T>
std::vector<Match> ours(const MatchConfig& config, const DescriptorSet<T>& query,
                        const DescriptorSet<T>& train) {
  Result<Matcher> matcher = Matcher::create(config);
  std::vector<Match> out(3);  // what was there goes
  EXPECT_TRUE(matcher.ok());
  const Status status = matcher.value().run(query, train, out);
  EXPECT_TRUE(status.ok()) << status.message();
  return out;
}

/// Those of the two nearest that pass, as users of OpenCV do it.
std::vector<Match> opencv(const MatchConfig& config, int norm, const cv::Mat& query,
                          const cv::Mat& train) {
  std::vector<std::vector<cv::DMatch>> pairs;
  cv::BFMatcher(norm).knnMatch(query, train, pairs, 2);
  std::vector<Match> out;
  for (const std::vector<cv::DMatch>& pair : pairs) {
    const cv::DMatch& first = pair[0];
    if (config.max_distance > 0 && first.distance > config.max_distance) continue;
    if (config.ratio < 1 && pair.size() > 1 && first.distance >= config.ratio * pair[1].distance)
      continue;
    out.push_back({first.queryIdx, first.trainIdx, first.distance});
  }
  return out;
}

class Matching : public test::EveryVersion {};
CUFACE_EVERY_VERSION(Matching);

TEST_P(Matching, OfBytesEqualsOpenCv) {
  std::size_t matches = 0, all = 0;
  for (int round = 0; round < 30; ++round) {
    const cv::Mat query = bytes(1 + 7 * round, 100u + round), train = bytes(1 + 9 * round, round);
    for (const float ratio : {1.0f, 0.9f, 0.75f}) {
      MatchConfig c;
      c.ratio = ratio;
      c.max_distance = round % 3 ? 0.0f : 20.0f;
      const auto theirs = opencv(c, cv::NORM_HAMMING, query, train);
      ASSERT_EQ(ours(c, set_of<std::uint8_t>(query), set_of<std::uint8_t>(train)), theirs);
      matches += theirs.size();
      all += static_cast<std::size_t>(query.rows);
    }
  }
  EXPECT_GT(matches, 1'000u);
  EXPECT_LT(matches, all - 1'000) << "some are refused";
}

TEST_P(Matching, OfFloatsEqualsOpenCv) {
  std::size_t matches = 0;
  for (int round = 0; round < 30; ++round) {
    const int size = round % 2 ? 64 : 36;
    const cv::Mat query = floats(1 + 7 * round, size, true, 100u + round),
                  train = floats(1 + 9 * round, size, true, round);
    for (const float ratio : {1.0f, 0.75f}) {
      MatchConfig c;
      c.ratio = ratio;
      c.max_distance = round % 3 ? 0.0f : 100.0f;
      const auto theirs = opencv(c, cv::NORM_L2, query, train);
      ASSERT_EQ(ours(c, set_of<float>(query), set_of<float>(train)), theirs);
      matches += theirs.size();
    }
  }
  EXPECT_GT(matches, 1'000u);
}

TEST_P(Matching, OfUnitVectorsHasOpenCvsDistances) {
  const cv::Mat query = floats(300, 64, false, 5), train = floats(400, 64, false, 6);
  MatchConfig c;
  c.ratio = 1;
  const auto theirs = opencv(c, cv::NORM_L2, query, train);
  const auto mine = ours(c, set_of<float>(query), set_of<float>(train));
  ASSERT_EQ(mine.size(), 300u);
  for (std::size_t i = 0; i < mine.size(); ++i) {
    EXPECT_EQ(mine[i].train, theirs[i].train);
    EXPECT_NEAR(mine[i].distance, theirs[i].distance, 1e-6);
  }
}

TEST_P(Matching, CrossCheckIsOpenCvs) {
  MatchConfig c;
  c.ratio = 1;
  c.cross_check = true;
  for (int round = 0; round < 10; ++round) {
    const cv::Mat query = bytes(200, 50u + round), train = bytes(170 + round, round);
    std::vector<cv::DMatch> found;
    cv::BFMatcher(cv::NORM_HAMMING, true).match(query, train, found);
    std::vector<Match> theirs;
    for (const cv::DMatch& m : found) theirs.push_back({m.queryIdx, m.trainIdx, m.distance});
    const auto mine = ours(c, set_of<std::uint8_t>(query), set_of<std::uint8_t>(train));
    EXPECT_EQ(mine, theirs);
    EXPECT_GT(mine.size(), 20u);
    EXPECT_LT(mine.size(), 190u);
  }
}

TEST_P(Matching, OtherSignsAreLeftOut) {
  const cv::Mat query = bytes(150, 3), train = bytes(160, 4);
  std::vector<std::int8_t> query_signs, train_signs;
  std::mt19937 random(8);
  const auto sign = [&] { return static_cast<std::int8_t>(random() % 2 ? 1 : -1); };
  for (int i = 0; i < query.rows; ++i) query_signs.push_back(sign());
  for (int i = 0; i < train.rows; ++i) train_signs.push_back(sign());
  MatchConfig c;
  c.ratio = 1;
  c.sign_check = true;
  const auto mine = ours(c, set_of<std::uint8_t>(query, query_signs.data()),
                         set_of<std::uint8_t>(train, train_signs.data()));
  // The same by a mask of OpenCV's.
  cv::Mat mask(query.rows, train.rows, CV_8U);
  for (int i = 0; i < query.rows; ++i) {
    for (int k = 0; k < train.rows; ++k) {
      mask.at<std::uint8_t>(i, k) =
          query_signs[static_cast<std::size_t>(i)] == train_signs[static_cast<std::size_t>(k)];
    }
  }
  std::vector<cv::DMatch> found;
  cv::BFMatcher(cv::NORM_HAMMING).match(query, train, found, mask);
  std::vector<Match> theirs;
  for (const cv::DMatch& m : found) theirs.push_back({m.queryIdx, m.trainIdx, m.distance});
  EXPECT_EQ(mine, theirs);
  c.sign_check = false;
  EXPECT_NE(ours(c, set_of<std::uint8_t>(query), set_of<std::uint8_t>(train)), theirs);
}

// The published shortcut, by its formula in doubles; what it leaves out that is the nearest is its
// error.
TEST_P(Matching, EarlyOutLeavesOutPairsWhoseCentresDiffer) {
  for (const int size : {64, 36}) {
    const cv::Mat query = floats(200, size, false, 5), train = floats(300, size, false, 6);
    MatchConfig c;
    c.ratio = 1;
    const auto exact = ours(c, set_of<float>(query), set_of<float>(train));
    c.early_out = 0.15f;
    const auto mine = ours(c, set_of<float>(query), set_of<float>(train));
    std::size_t at = 0, lost = 0, pairs = 0;
    for (int i = 0; i < query.rows; ++i) {
      int best = -1;
      double least = 1e9;
      for (int k = 0; k < train.rows; ++k) {
        double centre = 0;
        const int cells = size == 64 ? 4 : 3;
        for (int y = 1; y < cells - 1; ++y) {
          for (int x = 1; x < cells - 1; ++x) {
            for (int v = 0; v < 4; ++v) {
              const int j = (y * cells + x) * 4 + v;
              centre += double{query.at<float>(i, j)} * train.at<float>(k, j);
            }
          }
        }
        ASSERT_GT(std::abs(centre - c.early_out), 1e-7);
        if (centre <= c.early_out) continue;
        ++pairs;
        const double distance = cv::norm(query.row(i), train.row(k));
        if (distance < least) {
          least = distance;
          best = k;
        }
      }
      lost += best != exact[static_cast<std::size_t>(i)].train;
      if (best < 0) continue;
      ASSERT_LT(at, mine.size());
      EXPECT_EQ(mine[at].query, i);
      EXPECT_EQ(mine[at].train, best);
      EXPECT_NEAR(mine[at++].distance, least, 1e-6);
    }
    EXPECT_EQ(at, mine.size());
    EXPECT_LT(pairs, 200u * 300 / 2);
    std::printf("%d values: %zu of 60000 pairs compared, %zu of 200 have another nearest\n", size,
                pairs, lost);
  }
}

TEST(MatchDistances, OfFloatsHaveTheStatedOrder) {
  const auto sum = [](std::initializer_list<int> ones) {
    float a[64] = {4096}, b[64] = {};  // one more than its square is no float, two more is one
    for (const int i : ones) a[i] = 1;
    return match::squared_distance(a, b, 64) - 4096 * 4096;
  };
  EXPECT_EQ(sum({16, 32}), 0) << "both are added to part 0, one after the other";
  EXPECT_EQ(sum({1, 17}), 2) << "both are in part 1";
  EXPECT_EQ(sum({1, 9}), 2) << "parts 8 apart come first";
  EXPECT_EQ(sum({8, 4}), 0) << "and each other one is added to part 0";
}

class MatchVectors : public test::EveryVersion {};
CUFACE_EVERY_VECTOR_VERSION(MatchVectors);

TEST_P(MatchVectors, HaveTheReferencesBits) {
  for (const int size : {64, 36}) {
    const cv::Mat query = floats(20, size, false, 1), train = floats(301, size, false, 2);
    std::vector<float> row(301);
    for (int i = 0; i < query.rows; ++i) {
      match::squared_row(query.ptr<float>(i), set_of<float>(train), row.data());
      for (int k = 0; k < train.rows; ++k) {
        ASSERT_EQ(row[static_cast<std::size_t>(k)],
                  match::squared_distance(query.ptr<float>(i), train.ptr<float>(k), size));
      }
    }
  }
}

TEST_P(MatchVectors, SkipWhatTheReferenceSkips) {
  std::size_t skipped = 0, compared = 0;
  for (const int size : {64, 36}) {
    for (const int count : {1, 7, 16, 17, 301}) {
      const cv::Mat query = floats(20, size, false, 1), train = floats(count, size, false, 2);
      const FloatSet set = set_of<float>(train);
      std::vector<float> row(static_cast<std::size_t>(count)), centres(match::centre_floats(set));
      match::centre_lanes(set, centres.data());
      for (int i = 0; i < query.rows; ++i) {
        const float* ours = query.ptr<float>(i);
        // One of the products is the limit itself: what is not above it is left out.
        const float least = std::max(0.0f, match::centre_product(ours, set.at(count / 2), size));
        match::squared_row_near(ours, set, centres.data(), least, row.data());
        for (int k = 0; k < count; ++k) {
          const bool near = match::centre_product(ours, set.at(k), size) > least;
          ASSERT_EQ(row[static_cast<std::size_t>(k)],
                    near ? match::squared_distance(ours, set.at(k), size)
                         : std::numeric_limits<float>::infinity());
          (near ? compared : skipped) += 1;
        }
      }
    }
  }
  EXPECT_GT(compared, 3'000u);
  EXPECT_GT(skipped, 3'000u);
}

TEST(MatchSettings, ThatMakeNoSenseAreRefused) {
  const auto code = [](auto change) {
    MatchConfig c;
    change(c);
    return Matcher::create(c).status().code();
  };
  EXPECT_EQ(code([](MatchConfig&) {}), StatusCode::kOk);
  EXPECT_EQ(code([](MatchConfig& c) { c.ratio = 0; }), StatusCode::kInvalidArgument);
  EXPECT_EQ(code([](MatchConfig& c) { c.ratio = 1.01f; }), StatusCode::kInvalidArgument);
  EXPECT_EQ(code([](MatchConfig& c) { c.max_distance = -1; }), StatusCode::kInvalidArgument);
  EXPECT_EQ(code([](MatchConfig& c) { c.early_out = std::nanf(""); }),
            StatusCode::kInvalidArgument);

  const auto run = [](const MatchConfig& c, auto query, auto train,
                      const StopFlag* stop = nullptr) {
    std::vector<Match> out(1);
    const StatusCode result = Matcher::create(c).value().run(query, train, out, stop).code();
    EXPECT_TRUE(out.empty());
    return result;
  };
  const cv::Mat some = bytes(5, 1), values = floats(5, 64, true, 1), fewer = floats(5, 36, true, 1);
  const BinarySet good = set_of<std::uint8_t>(some);
  BinarySet bad = good;
  EXPECT_EQ(run({}, BinarySet{}, good), StatusCode::kOk);
  EXPECT_EQ(run({}, good, BinarySet{}), StatusCode::kOk);
  bad.size = 31;
  EXPECT_EQ(run({}, good, bad), StatusCode::kInvalidArgument);
  bad = good;
  bad.count = kMostKeypoints + 1;
  EXPECT_EQ(run({}, bad, good), StatusCode::kInvalidArgument);
  EXPECT_EQ(run({}, set_of<float>(values), set_of<float>(fewer)), StatusCode::kInvalidArgument);
  MatchConfig c;
  c.sign_check = true;
  EXPECT_EQ(run(c, good, good), StatusCode::kInvalidArgument);
  c = {};
  c.early_out = 0.1f;
  Result<Matcher> matcher = Matcher::create(c);
  std::vector<Match> out;
  EXPECT_EQ(matcher.value().run(good, good, out).code(), StatusCode::kInvalidArgument);
  StopFlag stop;
  stop.raise();
  EXPECT_EQ(run({}, good, good, &stop), StatusCode::kCancelled);
}

}  // namespace
}  // namespace cuface
