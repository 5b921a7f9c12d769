// The nearest legal shape by Algorithm 1 [S3.09], by lanes (lanes.h): the bits of one lane that
// does all in turn.
//
// A shape is the mean about its centre and the modes, each with its weight. So all that a round
// needs of the points are their products with these parts, which are added up once.
#pragma once

#include <cmath>

#include "kernels/shape/confidence.h"
#include "kernels/shape/constraint_tables.h"

namespace cuface::shape {

/// Of one face's points on one level. No point is missing.
template <typename Lanes>
struct Iterated {
  const Lanes& lanes;
  const ConstraintTables& model;
  ConstraintLevel level;
  const ConstraintMemory& memory;
  ShapePoint* points;

  CUFACE_HD Iterated(const Lanes& of_lanes, const ConstraintTables& of_model,
                     const ConstraintLevel& of_level, const ConstraintMemory& lent, ShapePoint* to)
      : lanes(of_lanes), model(of_model), level(of_level), memory(lent), points(to) {}

  /// A point of one part of a shape.
  CUFACE_HD ShapePoint part(int i, int k) const {
    return level.parts[i * ConstraintMemory::parts_of(model.modes) + k];
  }

  /// The products of parts k and j, added up, where weight(i) is what a point weighs beside the
  /// model's own weight; with j = 0 the moments of k, too. `rest` may be null.
  template <typename Weight>
  CUFACE_HD void multiply_parts(int k, int j, Weight weight, double* gram, double* moments,
                                double* rest) const {
    const int parts = ConstraintMemory::parts_of(model.modes);
    double sum[ConstraintLevel::kMoments] = {}, weighed = 0, lacking = 0;
    for (int i = 0; i < model.points; ++i) {
      const ShapePoint of = part(i, k), other = part(i, j);
      const double product = model.weights[i] * (of.x * other.x + of.y * other.y);
      const double w = weight(i), all = model.weights[i] * w;
      sum[ConstraintLevel::kX] += all * of.x;
      sum[ConstraintLevel::kY] += all * of.y;
      sum[ConstraintLevel::kByMean] += product;
      weighed += w * product;
      lacking += (1 - w) * product;
    }
    gram[k * parts + j] = weighed;
    if (rest) rest[k * parts + j] = lacking;
    for (int s = 0; j == 0 && s < ConstraintLevel::kMoments; ++s) moments[s * parts + k] = sum[s];
  }

  CUFACE_HD_GENERIC
  CUFACE_HD void run() {
    if (model.least_weight < 1) {
      const int parts = ConstraintMemory::parts_of(model.modes);
      double* const gram = memory.sums_of_face;
      double *const rest = gram + parts * parts, *const moments = rest + parts * parts;
      const auto weight = [&](int i) {
        return weight_of_cost(memory.costs[i], model.least_weight);
      };
      lanes.each(parts * parts,
                 [&](int i) { multiply_parts(i / parts, i % parts, weight, gram, moments, rest); });
      level.gram = gram;
      level.rest = rest;
      level.moments = moments;
      multiply_points(weight);
      if (lanes.is_of_few()) find_weights<true>(typename Lanes::Few{});
    } else {
      multiply_points([](int) { return 1.0; });
      multiply_span();
      if (lanes.is_of_few()) find_weights<false>(typename Lanes::Few{});
    }
    lanes.wait();
    const Affine there = *memory.there;
    lanes.each(model.points, [&](int i) {
      points[i] = there(plus(part(i, 0), sum_by_fours(model.modes, [&](int k) {
                               const ShapePoint mode = part(i, 1 + k);
                               const double weight = memory.weights[k];
                               return ShapePoint{mode.x * weight, mode.y * weight};
                             })));
    });
  }

 private:
  CUFACE_HD static double plus(double a, double b) { return a + b; }
  CUFACE_HD static ShapePoint plus(const ShapePoint& a, const ShapePoint& b) {
    return {a.x + b.x, a.y + b.y};
  }
  /// term(0) .. term(n - 1) added up: those of a remainder by four in turn, then these sums.
  CUFACE_HD_GENERIC
  template <typename Term>
  CUFACE_HD static auto sum_by_fours(int n, Term term) {
    // No array: CUDA's compiler keeps one in local memory, and loads wait for its stores.
    decltype(term(0)) a{}, b{}, c{}, d{};
    int k = 0;
    for (; k + 4 <= n; k += 4) {
      a = plus(a, term(k));
      b = plus(b, term(k + 1));
      c = plus(c, term(k + 2));
      d = plus(d, term(k + 3));
    }
    if (k < n) a = plus(a, term(k));
    if (k + 1 < n) b = plus(b, term(k + 1));
    if (k + 2 < n) c = plus(c, term(k + 2));
    return plus(plus(a, b), plus(c, d));
  }

  /// The modes' weights of the nearest legal shape, and its pose, memory.there. `kWeighed`: with
  /// level.rest. Apart, as CUDA's compiler knows then in which memory the level's tables are.
  CUFACE_HD_GENERIC
  template <bool kWeighed, typename Few>
  CUFACE_HD void find_weights(const Few& few) const {
    // A handful of rounds where points have equal weights; of few points, many.
    constexpr int kMostRounds = 100;
    constexpr double kRest = 1e-3;  // pixels
    const double weight = total_weight(), by_weight = weight > 0 ? 1 / weight : 0;
    double *now = memory.weights, *next = memory.parts;
    few.each(model.modes, [&](int k) { now[k] = 0; });
    double of_span[ConstraintMemory::kSpan] = {0, 0, 0, 0, 1};
    bool moves = true;
    for (int round = 0; moves && round < kMostRounds; ++round) {
      const Fit fit = kWeighed     ? fit_to(few, now)
                      : round == 0 ? fit_to_mean()
                                   : fit_in_span(few, of_span);
      const Affine back = scaled_back(fit, by_weight);
      const double scale = fit.along * fit.along + fit.across * fit.across;
      const auto taken_back = [&](int k) {
        const double sum =
            (back.xx * product(ConstraintMemory::kAlong, k) +
             back.xy * product(ConstraintMemory::kAcross, k)) +
            (back.x * moment(ConstraintLevel::kX, k) + back.y * moment(ConstraintLevel::kY, k));
        if constexpr (!kWeighed) return sum;
        // A point of weight w asks for w of its way from where the modes have put it: they rest
        // where the weighted squares are least.
        return sum + scale * multiplied(level.rest, now, k);
      };
      // The tangent projection y / (y . mean) presumes a mean of length 1.
      const double along = taken_back(0), factor = along > 0 ? level.mean_square / along : 0;
      of_span[ConstraintMemory::kOfAlong] = factor * back.xx;
      of_span[ConstraintMemory::kOfAcross] = factor * back.xy;
      of_span[ConstraintMemory::kOfX] = factor * back.x;
      of_span[ConstraintMemory::kOfY] = factor * back.y;
      moves = few.any(model.modes, [&](int k) {
        next[k] = factor * taken_back(1 + k) - moment(ConstraintLevel::kByMean, 1 + k);
        return std::abs(next[k] - now[k]) > kRest;
      });
      double* const before = now;
      now = next;
      next = before;
    }
    const bool cuts = few.any(model.modes, [&](int k) {
      const double legal = level.cut(now[k], k);
      const bool is_cut = legal != now[k];
      memory.weights[k] = legal;
      return is_cut;
    });
    // The pose of the legal shape.
    const bool is_spanned = !kWeighed && !cuts;
    const Fit legal = is_spanned ? fit_in_span(few, of_span) : fit_to(few, memory.weights);
    const Affine there = forward(pose_of(legal, weight));
    few.each(1, [&](int) { *memory.there = there; });
  }

  CUFACE_HD double product(ConstraintMemory::Product which, int k) const {
    return products_with(which)[k];
  }
  CUFACE_HD double moment(ConstraintLevel::Moment which, int k) const {
    return level.moments[which * ConstraintMemory::parts_of(model.modes) + k];
  }

  /// Column k of sums of parts by parts, times the shape that so weighed modes give.
  CUFACE_HD double multiplied(const double* sums, const double* weights, int k) const {
    const int parts = ConstraintMemory::parts_of(model.modes);
    return sums[k] +
           sum_by_fours(model.modes, [&](int j) { return sums[(1 + j) * parts + k] * weights[j]; });
  }

  /// Part p of a sum is of points p, p + kPointParts ... in turn.
  CUFACE_HD_GENERIC
  template <typename Weight>
  CUFACE_HD void multiply_points(Weight weight) const {
    constexpr int kPointParts = ConstraintMemory::kPointParts;
    constexpr int kProducts = ConstraintMemory::kProducts;
    const int parts = ConstraintMemory::parts_of(model.modes);
    lanes.each(kPointParts * parts, [&](int j) {
      const int k = j % parts;
      double sum[kProducts] = {};
      for (int i = j / parts; i < model.points; i += kPointParts) {
        const ShapePoint of = part(i, k), p = points[i];
        const double along = of.x * p.x + of.y * p.y, across = of.x * p.y - of.y * p.x;
        const double w = model.weights[i] * weight(i);
        sum[ConstraintMemory::kAlong] += w * along;
        sum[ConstraintMemory::kAcross] += w * across;
      }
      for (int s = 0; s < kProducts; ++s) memory.products[s * kPointParts * parts + j] = sum[s];
    });
    lanes.each(kProducts * parts, [&](int j) {
      double* const of = memory.products + j / parts * kPointParts * parts + j % parts;
      of[0] = sum_by_fours(kPointParts, [&](int p) { return of[p * parts]; });
    });
  }

  // Where points weigh the same in all rounds, a round needs no sums over modes: what it fits to is
  // ConstraintMemory::Span by a few numbers, so these sums are made once.

  /// [kSpan][parts]
  CUFACE_HD double* span() const {
    const int parts = ConstraintMemory::parts_of(model.modes);
    return memory.products + (ConstraintMemory::kProducts * ConstraintMemory::kPointParts +
                              ConstraintMemory::kTerms) *
                                 parts;
  }
  /// [kSpanTerms][kSpan], behind [kSpan][parts] of it times the gram.
  CUFACE_HD double* span_sums() const {
    return span() + 2 * ConstraintMemory::kSpan * ConstraintMemory::parts_of(model.modes);
  }
  CUFACE_HD_GENERIC
  CUFACE_HD void multiply_span() const {
    using Memory = ConstraintMemory;
    const int parts = Memory::parts_of(model.modes), shapes = 1 + model.modes;
    double *const span = this->span(), *const by_gram = span + Memory::kSpan * parts;
    lanes.each(Memory::kSpan * shapes, [&](int j) {
      const int s = j / shapes, k = j % shapes;
      double value = 0;
      if (s == Memory::kOfMean)
        value = k == 0 ? 1 : -moment(ConstraintLevel::kByMean, k);
      else if (k > 0)
        value = s == Memory::kOfAlong    ? product(Memory::kAlong, k)
                : s == Memory::kOfAcross ? product(Memory::kAcross, k)
                : s == Memory::kOfX      ? moment(ConstraintLevel::kX, k)
                                         : moment(ConstraintLevel::kY, k);
      span[s * parts + k] = value;
    });
    lanes.each(Memory::kSpan * shapes, [&](int j) {
      const double* const of = span + j / shapes * parts;
      const double* const gram = level.gram + j % shapes;
      by_gram[j / shapes * parts + j % shapes] =
          sum_by_fours(shapes, [&](int k) { return gram[k * parts] * of[k]; });
    });
    lanes.each(Memory::kSpanTerms * Memory::kSpan, [&](int j) {
      const int term = j / Memory::kSpan;
      const double* const of = span + j % Memory::kSpan * parts;
      const double* const by =
          term == Memory::kModelX        ? level.moments + ConstraintLevel::kX * parts
          : term == Memory::kModelY      ? level.moments + ConstraintLevel::kY * parts
          : term == Memory::kAlongModel  ? products_with(Memory::kAlong)
          : term == Memory::kAcrossModel ? products_with(Memory::kAcross)
                                         : by_gram + (term - Memory::kModelSquare) * parts;
      span_sums()[j] = sum_by_fours(shapes, [&](int k) { return by[k] * of[k]; });
    });
  }
  CUFACE_HD const double* products_with(ConstraintMemory::Product which) const {
    return memory.products +
           which * ConstraintMemory::kPointParts * ConstraintMemory::parts_of(model.modes);
  }

  /// Sums of weighted least squares between the modelled shape and the points.
  struct Fit {
    double model[2], points[2], along, across, determinant;
  };
  /// Of the shape that so weighed modes give; for all lanes.
  CUFACE_HD_GENERIC
  template <typename Few>
  CUFACE_HD Fit fit_to(const Few& few, const double* weights) const {
    constexpr int kParts = ConstraintMemory::kParts, kTerms = ConstraintMemory::kTerms;
    const int parts = ConstraintMemory::parts_of(model.modes), shapes = 1 + model.modes;
    double* const terms =
        memory.products + ConstraintMemory::kProducts * ConstraintMemory::kPointParts * parts;
    few.each(shapes, [&](int k) {
      const double by_shape = multiplied(level.gram, weights, k);
      const double weight = k > 0 ? weights[k - 1] : 1;
      terms[ConstraintMemory::kModelX * parts + k] = weight * moment(ConstraintLevel::kX, k);
      terms[ConstraintMemory::kModelY * parts + k] = weight * moment(ConstraintLevel::kY, k);
      terms[ConstraintMemory::kAlongModel * parts + k] =
          weight * product(ConstraintMemory::kAlong, k);
      terms[ConstraintMemory::kAcrossModel * parts + k] =
          weight * product(ConstraintMemory::kAcross, k);
      terms[ConstraintMemory::kModelSquare * parts + k] = weight * by_shape;
    });
    few.each(kTerms * kParts, [&](int j) {
      double sum = 0;
      for (int k = j % kParts; k < shapes; k += kParts) sum += terms[j / kParts * parts + k];
      memory.sum_parts[j] = sum;
    });
    double sum[kTerms];
    for (int s = 0; s < kTerms; ++s) {
      const double* const of = memory.sum_parts + s * kParts;
      sum[s] = (of[0] + of[1]) + (of[2] + of[3]);
    }
    return fit_of(sum);
  }
  /// Of the mean shape.
  CUFACE_HD Fit fit_to_mean() const {
    return fit_of({moment(ConstraintLevel::kX, 0), moment(ConstraintLevel::kY, 0),
                   product(ConstraintMemory::kAlong, 0), product(ConstraintMemory::kAcross, 0),
                   level.gram[0]});
  }
  CUFACE_HD static double multiplied_by(const double (&times)[ConstraintMemory::kSpan],
                                        const double* of) {
    return ((times[0] * of[0] + times[1] * of[1]) + (times[2] * of[2] + times[3] * of[3])) +
           times[4] * of[4];
  }
  /// Of the shape that so many times the span gives; for all lanes, of which each adds up a term.
  CUFACE_HD_GENERIC
  template <typename Few>
  CUFACE_HD Fit fit_in_span(const Few& few, const double (&times)[ConstraintMemory::kSpan]) const {
    static_assert(ConstraintMemory::kSpanTerms <=
                  ConstraintMemory::kSums * ConstraintMemory::kParts);
    double* const sum = memory.sum_parts;
    few.each(ConstraintMemory::kSpanTerms, [&](int term) {
      sum[term] = multiplied_by(times, span_sums() + term * ConstraintMemory::kSpan);
    });
    const double square = multiplied_by(times, sum + ConstraintMemory::kModelSquare);
    return fit_of({sum[ConstraintMemory::kModelX], sum[ConstraintMemory::kModelY],
                   sum[ConstraintMemory::kAlongModel], sum[ConstraintMemory::kAcrossModel],
                   square});
  }
  CUFACE_HD Fit fit_of(const double (&sum)[ConstraintMemory::kTerms]) const {
    const int shapes = 1 + model.modes;
    const double w = total_weight(), sx = sum[ConstraintMemory::kModelX],
                 sy = sum[ConstraintMemory::kModelY];
    const double px = product(ConstraintMemory::kAlong, shapes);
    const double py = product(ConstraintMemory::kAcross, shapes);
    return {{sx, sy},
            {px, py},
            w * sum[ConstraintMemory::kAlongModel] - (sx * px + sy * py),
            w * sum[ConstraintMemory::kAcrossModel] - (sx * py - sy * px),
            w * sum[ConstraintMemory::kModelSquare] - (sx * sx + sy * sy)};
  }
  CUFACE_HD double total_weight() const {
    return level.gram[(1 + model.modes) * (1 + ConstraintMemory::parts_of(model.modes))];
  }
  CUFACE_HD static Pose pose_of(const Fit& f, double weight) {
    if (!(weight >= kSmallestPivot && f.determinant >= kSmallestPivot)) return {};
    const double by_determinant = 1 / f.determinant, by_weight = 1 / weight;
    const double a = f.along * by_determinant, b = f.across * by_determinant;
    return {a, b, (f.points[0] - (f.model[0] * a - f.model[1] * b)) * by_weight,
            (f.points[1] - (f.model[1] * a + f.model[0] * b)) * by_weight};
  }
  /// The points, taken back by the pose, times a number that is left out where they are scaled:
  /// back(p) is the real part of p times {xx, xy}, so that no quotient is needed.
  CUFACE_HD static Affine scaled_back(const Fit& f, double by_weight) {
    const double a = f.along, b = f.across, d = f.determinant;
    const double x = (d * f.points[0] - (f.model[0] * a - f.model[1] * b)) * by_weight;
    const double y = (d * f.points[1] - (f.model[1] * a + f.model[0] * b)) * by_weight;
    return {a * d, b * d, -(a * x + b * y), -b * d, a * d, b * x - a * y};
  }
};

}  // namespace cuface::shape
