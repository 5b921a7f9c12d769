// RANSAC (Fischler, Bolles 1981) scored as MSAC (Torr, Zisserman 2000), its best samples optimised
// (Chum, Matas, Kittler 2003), for host and device. Counts are integers, and sums of doubles have
// the order of the pairs, so all lanes give the same bits.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/common/host_device.h"
#include "kernels/common/random.h"
#include "kernels/homography/fit.h"
#include "kernels/homography/homography.h"

namespace cuface::homography {

/// Samples tried before it is asked whether they are enough.
inline constexpr int kTrialsAtOnce = 64;
/// A pair that a map carries exactly counts so much, one at the threshold 1.
inline constexpr int kFullScore = 256;
/// Fits of a sample's map, each to the pairs near the one before, and steps of each.
inline constexpr int kMostRounds = 5, kStepsOfRound = 2;
/// In thresholds, how far away a pair may be that counts in the first fit; one less a fit, down to
/// the last.
inline constexpr int kFirstReach = 4, kLastReach = 2;
/// Draws of a sample's second to fourth pair, until one is turned as the first is; degrees between
/// them.
inline constexpr std::uint64_t kMostDraws = 8;
inline constexpr float kMostTurn = 30;

/// What the lanes of one search share.
struct FindScratch {
  static constexpr int kMostParts = 4;
  std::int32_t score[kTrialsAtOnce * kMostParts];  // of each sample, in parts
  std::int32_t count[kTrialsAtOnce];
  Sums sums;
};

/// Twice the signed area of a triangle.
CUFACE_HD inline double turn(Point a, Point b, Point c) {
  return (static_cast<double>(b.x) - a.x) * (static_cast<double>(c.y) - a.y) -
         (static_cast<double>(b.y) - a.y) * (static_cast<double>(c.x) - a.x);
}

/// The map that carries four points exactly onto four others. False where three of either four lie
/// on a line, within a pixel, or where some of the plane between them would be behind the camera.
CUFACE_HD inline bool through_four(const Point* p, const Point* q, Homography& out) {
  constexpr double kLeastTurn = 1;
  constexpr int kOf[4][3] = {{3, 1, 2}, {0, 3, 2}, {0, 1, 3}, {0, 1, 2}};
  double from[4], to[4];
  int same = 0;
  for (int i = 0; i < 4; ++i) {
    from[i] = turn(p[kOf[i][0]], p[kOf[i][1]], p[kOf[i][2]]);
    to[i] = turn(q[kOf[i][0]], q[kOf[i][1]], q[kOf[i][2]]);
    // NaN is not above it.
    if (!(std::abs(from[i]) > kLeastTurn && std::abs(to[i]) > kLeastTurn)) return false;
    same += (from[i] > 0) == (to[i] > 0);
  }
  if (same != 0 && same != 4) return false;
  // Both fours have the same coordinates in the frames that their first three make: the turns of
  // the fourth. The map is the sum of the outer products of the targets and the duals of the
  // origins.
  Homography h;
  for (double& value : h.m) value = 0;
  for (int i = 0; i < 3; ++i) {
    const Point &a = p[(i + 1) % 3], &b = p[(i + 2) % 3];
    const double weight = to[i] / from[i];
    const double dual[3] = {static_cast<double>(a.y) - b.y, static_cast<double>(b.x) - a.x,
                            static_cast<double>(a.x) * b.y - static_cast<double>(a.y) * b.x};
    for (int k = 0; k < 3; ++k) {
      h.m[k] += weight * q[i].x * dual[k];
      h.m[3 + k] += weight * q[i].y * dual[k];
      h.m[6 + k] += weight * dual[k];
    }
  }
  const double sign = h.divisor(p[0]) > 0 ? 1 : -1;
  for (int k = 0; k < 9; ++k) out.m[k] = sign * h.m[k];
  return true;
}

/// Whether a camera can see a picture of the config's size so. The divisor of a point grows with
/// its distance from the camera.
CUFACE_HD inline bool is_seen(const Homography& h, const HomographyConfig& config) {
  constexpr double kMostDepth = 4;
  if (!(config.width > 0)) return true;
  const double at[4] = {h.m[8], h.divisor({config.width, 0}), h.divisor({0, config.height}),
                        h.divisor({config.width, config.height})};
  double least = at[0], most = at[0];
  for (const double w : at) {
    least = w < least ? w : least;
    most = w > most ? w : most;
  }
  const double* m = h.m;
  const double det = m[0] * (m[4] * m[8] - m[5] * m[7]) - m[1] * (m[3] * m[8] - m[5] * m[6]) +
                     m[2] * (m[3] * m[7] - m[4] * m[6]);
  return least > 0 && most <= kMostDepth * least && det > 0;
}

/// Whether two pairs are turned by about the same angle; each is above -360 and below 360 degrees.
CUFACE_HD inline bool is_turned_alike(float a, float b) {
  const float apart = std::abs(a - b);
  return apart <= kMostTurn || std::abs(apart - 360) <= kMostTurn || apart >= 720 - kMostTurn;
}

/// Sample number k of n >= 4 pairs, four that differ; false where these give no map, or none that
/// counts.
CUFACE_HD inline bool sample(std::span<const Point> from, std::span<const Point> to,
                             std::span<const float> turns, const HomographyConfig& config,
                             std::uint64_t seed, int k, Homography& out) {
  std::size_t chosen[4];  // ascending
  Point p[4], q[4];
  float turned = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    std::size_t one = 0, place = 0;
    for (std::uint64_t draw = 0; draw < kMostDraws; ++draw) {
      const std::uint64_t counter = (draw << 32) + 4 * static_cast<std::uint64_t>(k) + i;
      one = random_index(seed, counter, from.size() - i);
      for (place = 0; place < i && one >= chosen[place]; ++place) ++one;
      if (turns.empty()) break;
      if (i == 0) turned = turns[one];
      if (is_turned_alike(turns[one], turned)) break;
    }
    for (std::size_t j = i; j > place; --j) chosen[j] = chosen[j - 1];
    chosen[place] = one;
    p[i] = from[one];
    q[i] = to[one];
  }
  return through_four(p, q, out) && is_seen(out, config);
}

/// How well a pair agrees: 1 to kFullScore, or 0 where it is no inlier.
CUFACE_HD inline int score_of(const Homography& h, Point p, Point q, double threshold2) {
  const double w = h.divisor(p);
  const double dx = h.m[0] * p.x + h.m[1] * p.y + h.m[2] - q.x * w;
  const double dy = h.m[3] * p.x + h.m[4] * p.y + h.m[5] - q.y * w;
  const double square = dx * dx + dy * dy, limit = threshold2 * (w * w);
  if (!(w > 0 && square <= limit)) return 0;
  const double share = square / limit;
  // Where both overflow, or both are 0, it is NaN.
  return share <= 1 ? 1 + static_cast<int>((kFullScore - 1) * (1 - share)) : 0;
}

struct Total {
  std::int64_t score = 0;
  int count = 0;
};

/// Of all pairs. inlier[i] := whether pair i is one.
CUFACE_HD_GENERIC
template <typename Lanes>
CUFACE_HD Total mark(const Lanes& lanes, std::span<const Point> from, std::span<const Point> to,
                     const Homography& h, double threshold2, std::span<std::uint8_t> inlier,
                     FindScratch& scratch) {
  lanes.each(kTrialsAtOnce, [&](int part) {
    int score = 0, count = 0;
    for (auto i = static_cast<std::size_t>(part); i < from.size(); i += kTrialsAtOnce) {
      const int one = score_of(h, from[i], to[i], threshold2);
      inlier[i] = one > 0;
      score += one;
      count += one > 0;
    }
    scratch.score[part] = score;
    scratch.count[part] = count;
  });
  Total total;
  for (int part = 0; part < kTrialsAtOnce; ++part) {
    total.score += scratch.score[part];
    total.count += scratch.count[part];
  }
  lanes.once([] {});  // the next call writes what has been read
  return total;
}

/// Fits `map` to the pairs, the nearer the more, as long as they agree better and a camera can see
/// it so. Its total.
CUFACE_HD_GENERIC
template <typename Lanes>
CUFACE_HD Total optimise(const Lanes& lanes, std::span<const Point> from, std::span<const Point> to,
                         const HomographyConfig& config, double threshold2,
                         std::span<std::uint8_t> inlier, Homography& map, FindScratch& scratch) {
  Total total = mark(lanes, from, to, map, threshold2, inlier, scratch);
  for (int round = 0; round < kMostRounds; ++round) {
    const int less = kFirstReach - round, reach = less > kLastReach ? less : kLastReach;
    const auto weight = [&](std::size_t i) {
      const int score = score_of(map, from[i], to[i], reach * reach * threshold2);
      const double share = static_cast<double>(score) / kFullScore, square = share * share;
      return square * square;
    };
    Homography fit = map;
    if (!refine(lanes, from, to, weight, kStepsOfRound, fit, scratch.sums)) break;
    if (!is_seen(fit, config)) break;
    const Total there = mark(lanes, from, to, fit, threshold2, inlier, scratch);
    if (there.score <= total.score) break;
    map = fit;
    total = there;
  }
  return total;
}

/// Whether so many samples have held one of inliers alone with this confidence: of `count` of n
/// pairs.
CUFACE_HD inline bool is_enough(int blocks, int count, int n, double confidence) {
  const double share = static_cast<double>(count) / n, square = share * share;
  double bad = 1 - square * square, unseen = 1;  // of a sample, of all
  for (int doubled = 1; doubled < kTrialsAtOnce; doubled *= 2) bad *= bad;
  for (int block = 0; block < blocks; ++block) unseen *= bad;
  return unseen <= 1 - confidence;
}

/// find_homography() by any lanes; `inlier`, `out` and `scratch` are visible to all of them.
CUFACE_HD_GENERIC
template <typename Lanes>
CUFACE_HD int find(const Lanes& lanes, std::span<const Point> from, std::span<const Point> to,
                   std::span<const float> turns, const HomographyConfig& config, std::uint64_t seed,
                   std::span<std::uint8_t> inlier, Homography& out, FindScratch& scratch) {
  constexpr int kParts = Lanes::kParts;
  static_assert(kParts <= FindScratch::kMostParts);
  const int n = static_cast<int>(from.size());
  const auto none = [&] {
    lanes.each(n, [&](int i) { inlier[static_cast<std::size_t>(i)] = 0; });
    return 0;
  };
  if (n < 4) return none();
  const double threshold2 = static_cast<double>(config.threshold) * config.threshold;
  std::int64_t best_sample = 0;
  Total best;
  Homography map;
  for (int block = 0; block * kTrialsAtOnce < config.trials; ++block) {
    const int first = block * kTrialsAtOnce;
    lanes.each(kTrialsAtOnce * kParts, [&](int part) {
      Homography h;
      int score = 0;
      if (sample(from, to, turns, config, seed, first + part / kParts, h)) {
        for (auto i = static_cast<std::size_t>(part % kParts); i < from.size(); i += kParts)
          score += score_of(h, from[i], to[i], threshold2);
      }
      scratch.score[part] = score;
    });
    // Of equals the earlier one.
    const std::int64_t most = lanes.largest(kTrialsAtOnce, [&](int k) {
      std::int64_t score = 0;
      for (int part = 0; part < kParts; ++part) score += scratch.score[k * kParts + part];
      return score * kTrialsAtOnce + (kTrialsAtOnce - 1 - k);
    });
    if (most / kTrialsAtOnce > best_sample) {
      best_sample = most / kTrialsAtOnce;
      const int k = kTrialsAtOnce - 1 - static_cast<int>(most % kTrialsAtOnce);
      Homography here;
      sample(from, to, turns, config, seed, first + k, here);
      const Total total = optimise(lanes, from, to, config, threshold2, inlier, here, scratch);
      if (total.score > best.score) {
        best = total;
        map = here;
      }
    }
    if (best.count >= 4 && is_enough(block + 1, best.count, n, config.confidence)) break;
  }
  if (best.count < 4) return none();
  mark(lanes, from, to, map, threshold2, inlier, scratch);
  lanes.once([&] { out = map; });
  return best.count;
}

}  // namespace cuface::homography
