// How a similarity is fitted, for the host and for a device alike.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/common/host_device.h"
#include "kernels/common/ordered_sums.h"
#include "kernels/common/random.h"
#include "kernels/similarity/similarity.h"

namespace cuface::similarity {

/// Two-point samples of the robust fit: with 40 % outliers all of them are bad once in 10^12 times.
inline constexpr int kSamples = 64;

/// Means of both point sets.
struct Means {
  double fx = 0, fy = 0, tx = 0, ty = 0;
};

/// Centred products: of one pair, or summed over all in the order of the points.
struct Moments {
  double extent = 0, dot = 0, cross = 0, to_extent = 0;
};

/// How the pairs lie that a similarity is fitted to, and how well they agree with it.
struct Agreement {
  int count = 0;
  double x = 0, y = 0;  ///< px: the centroid of `from`
  double extent = 0;    ///< px^2: the sum of their squared distances from it
  double residual = 0;  ///< px^2: and of those of `to` from where they are carried
};

CUFACE_HD inline Moments moments_of(Point from, Point to, const Means& mean) {
  const double x = from.x - mean.fx, y = from.y - mean.fy;
  const double u = to.x - mean.tx, v = to.y - mean.ty;
  return {x * x + y * y, x * u + y * v, x * v - y * u, u * u + v * v};
}

/// The similarity of this turn between these means. False, and `out` untouched, when a value is not
/// finite.
CUFACE_HD inline bool complete(const Means& mean, double a, double b, Similarity& out) {
  const double tx = mean.tx - (a * mean.fx - b * mean.fy);
  const double ty = mean.ty - (b * mean.fx + a * mean.fy);
  // Any NaN or infinity among the points ends up in one of these.
  if (!(a - a == 0 && b - b == 0 && tx - tx == 0 && ty - ty == 0)) return false;
  out = {a, b, tx, ty};
  return true;
}

/// The same without extent.
CUFACE_HD inline bool solve(const Means& mean, const Moments& sum, Similarity& out) {
  return sum.extent > 0 && complete(mean, sum.dot / sum.extent, sum.cross / sum.extent, out);
}

/// What is known of pairs by their sums, or nothing where there is no similarity.
CUFACE_HD inline bool conclude(int n, const Means& mean, const Moments& sum, Similarity& out,
                               Agreement* agreement) {
  if (!solve(mean, sum, out)) return false;
  if (agreement) {
    const double carried = out.a * sum.dot + out.b * sum.cross;
    *agreement = {n, mean.fx, mean.fy, sum.extent, std::max(0.0, sum.to_extent - carried)};
  }
  return true;
}

/// Pairs with inlier[i] != 0 (all, where `inlier` is null); sums in index order. `agreement` of the
/// fit, where it is not null and there is one. By one lane.
CUFACE_HD inline bool fit(std::span<const Point> from, std::span<const Point> to,
                          const std::uint8_t* inlier, Similarity& out,
                          Agreement* agreement = nullptr) {
  int n = 0;
  Means mean;
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (inlier && !inlier[i]) continue;
    mean.fx += from[i].x;
    mean.fy += from[i].y;
    mean.tx += to[i].x;
    mean.ty += to[i].y;
    ++n;
  }
  if (n < 2) return false;
  mean.fx /= n;
  mean.fy /= n;
  mean.tx /= n;
  mean.ty /= n;
  Moments sum;
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (inlier && !inlier[i]) continue;
    const Moments pair = moments_of(from[i], to[i], mean);
    sum.extent += pair.extent;
    sum.dot += pair.dot;
    sum.cross += pair.cross;
    sum.to_extent += pair.to_extent;
  }
  return conclude(n, mean, sum, out, agreement);
}

using SumScratch = OrderedSums<5>;

/// The same by any lanes, each of which gets an answer of its own.
CUFACE_HD_GENERIC
template <typename Lanes>
CUFACE_HD bool fit(const Lanes& lanes, std::span<const Point> from, std::span<const Point> to,
                   const std::uint8_t* inlier, Similarity& out, Agreement* agreement,
                   SumScratch& scratch) {
  const int all = static_cast<int>(from.size());
  if (all < 2) return false;
  // Adding 0 for those that do not count changes no sum that began with 0.
  add_up<5>(
      lanes, all,
      [&](int p, double* term) {
        const auto i = static_cast<std::size_t>(p);
        const bool counts = !inlier || inlier[i];
        term[0] = counts ? from[i].x : 0;
        term[1] = counts ? from[i].y : 0;
        term[2] = counts ? to[i].x : 0;
        term[3] = counts ? to[i].y : 0;
        term[4] = counts;
      },
      scratch);
  const int n = static_cast<int>(scratch.sum[4]);
  if (n < 2) return false;
  const Means mean{scratch.sum[0] / n, scratch.sum[1] / n, scratch.sum[2] / n, scratch.sum[3] / n};
  add_up<4>(
      lanes, all,
      [&](int p, double* term) {
        const auto i = static_cast<std::size_t>(p);
        const bool counts = !inlier || inlier[i];
        const Moments pair = counts ? moments_of(from[i], to[i], mean) : Moments{};
        term[0] = pair.extent;
        term[1] = pair.dot;
        term[2] = pair.cross;
        term[3] = pair.to_extent;
      },
      scratch);
  const Moments sum{scratch.sum[0], scratch.sum[1], scratch.sum[2], scratch.sum[3]};
  return conclude(n, mean, sum, out, agreement);
}

/// The similarity that carries exactly two points onto two others.
CUFACE_HD inline bool through_two(Point p, Point q, Point p2, Point q2, Similarity& out) {
  const double x = static_cast<double>(q.x) - p.x, y = static_cast<double>(q.y) - p.y;
  const double u = static_cast<double>(q2.x) - p2.x, v = static_cast<double>(q2.y) - p2.y;
  const double extent = x * x + y * y;
  if (!(extent > 0)) return false;
  const double a = (x * u + y * v) / extent, b = (x * v - y * u) / extent;
  out = {a, b, p2.x - (a * p.x - b * p.y), p2.y - (b * p.x + a * p.y)};
  return true;
}

CUFACE_HD inline bool within(const Similarity& s, Point p, Point q, double threshold2) {
  const double dx = s.a * p.x - s.b * p.y + s.tx - q.x;
  const double dy = s.b * p.x + s.a * p.y + s.ty - q.y;
  return dx * dx + dy * dy <= threshold2;
}

/// Sample number k of n >= 2 pairs; false when its two points are one.
CUFACE_HD inline bool sample(std::span<const Point> from, std::span<const Point> to,
                             std::uint64_t seed, int k, Similarity& out) {
  const std::size_t n = from.size();
  const auto counter = static_cast<std::uint64_t>(2 * k);
  const std::size_t i = random_index(seed, counter, n);
  const std::size_t other = random_index(seed, counter + 1, n - 1);
  const std::size_t j = other < i ? other : other + 1;
  return through_two(from[i], from[j], to[i], to[j], out);
}

/// What the lanes of one robust fit share.
struct RobustScratch {
  static constexpr int kMostParts = 4;
  int count[kSamples * kMostParts];  // pairs within reach of each sample, in parts
  Agreement agreement;               ///< of the fit, where there is one
  SumScratch sums;
};

/// fit_similarity_robust() by any lanes; `inlier`, `out` and `scratch` are visible to all of them.
CUFACE_HD_GENERIC
template <typename Lanes>
CUFACE_HD int fit_robust(const Lanes& lanes, std::span<const Point> from, std::span<const Point> to,
                         float threshold, std::uint64_t seed, std::span<std::uint8_t> inlier,
                         Similarity& out, RobustScratch& scratch) {
  constexpr int kParts = Lanes::kParts;
  static_assert(kParts <= RobustScratch::kMostParts);
  const int n = static_cast<int>(from.size());
  const auto none = [&] {
    lanes.each(n, [&](int i) { inlier[static_cast<std::size_t>(i)] = 0; });
    return 0;
  };
  if (n < 2) return none();
  const double threshold2 = static_cast<double>(threshold) * threshold;
  lanes.each(kSamples * kParts, [&](int part) {
    Similarity s;
    int count = 0;
    if (sample(from, to, seed, part / kParts, s)) {
      for (auto i = static_cast<std::size_t>(part % kParts); i < from.size(); i += kParts)
        count += within(s, from[i], to[i], threshold2);
    }
    scratch.count[part] = count;
  });
  // Of equals the earlier one.
  const std::int64_t most = lanes.largest(kSamples, [&](int k) {
    std::int64_t count = 0;
    for (int part = 0; part < kParts; ++part) count += scratch.count[k * kParts + part];
    return count * kSamples + (kSamples - 1 - k);
  });
  const auto agreeing = static_cast<int>(most / kSamples);
  const int best_sample = kSamples - 1 - static_cast<int>(most % kSamples);
  Similarity best;
  if (agreeing < 2 || !sample(from, to, seed, best_sample, best)) return none();
  lanes.each(n, [&](int p) {
    const auto i = static_cast<std::size_t>(p);
    inlier[i] = within(best, from[i], to[i], threshold2);
  });
  Similarity fitted;
  Agreement agreement;
  if (!fit(lanes, from, to, inlier.data(), fitted, &agreement, scratch.sums)) return none();
  lanes.once([&] {
    out = fitted;
    scratch.agreement = agreement;
  });
  return agreeing;
}

}  // namespace cuface::similarity
