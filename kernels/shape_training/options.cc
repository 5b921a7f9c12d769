#include <algorithm>
#include <cstdio>
#include <limits>
#include <string>
#include <utility>

#include "kernels/common/try.h"
#include "kernels/faces/landmark_scheme.h"
#include "kernels/shape/search_work.h"
#include "kernels/shape_training/shape_training.h"

namespace cuface {
namespace {

Status invalid(std::string why) { return {StatusCode::kInvalidArgument, std::move(why)}; }

/// Of one landmark on one level, at least.
std::size_t least_numbers(const ShapeOptions& o) {
  const auto line = static_cast<std::size_t>(o.line.length);
  if (o.profiles == ProfileKind::kLine) return line * (1 + line);
  if (o.profiles == ProfileKind::kHat) return 1 + static_cast<std::size_t>(o.hat.size());
  return PatchModel::numbers(shape::patch_rule(o), o.rows == PatchRows::kAll ? o.patch.size() : 1);
}

/// Of a patch that is learnt from so many faces, at least.
double least_rows(const ShapeOptions& o, std::size_t faces) {
  const auto size = static_cast<double>(o.patch.size());
  if (o.rows == PatchRows::kAll) return size;
  if (o.rows == PatchRows::kKept) return 1;
  // Fewer directions than faces vary, and a subspace keeps no others.
  return std::max(1.0, size + 1 - static_cast<double>(faces));
}

std::string rounded(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", number / 1e9);
  return text;
}

}  // namespace

PatchRule shape::patch_rule(const ShapeOptions& o) {
  // Any of 3 to 6 tells bad points about as well, in faces that were not learnt from.
  constexpr double kTold = 4;
  PatchRule out = o.patch;
  out.likelihood = o.pull > 0 ? kTold : 0;
  return out;
}

int iterations_of(const ShapeOptions& o) {
  if (o.iterations > 0) return o.iterations;
  // A fifth iteration finds patches no better in faces that were not learnt from.
  return o.profiles == ProfileKind::kPatch ? 4 : 5;
}

Status check_model_work(const ShapeOptions& o, int landmarks, std::size_t faces,
                        const LearntTextures& learnt) {
  const double all = shape::search_work(
      o.levels, landmarks, iterations_of(o), o.refits, [&](int level, int point) {
        const auto at = static_cast<std::size_t>(level * landmarks + point);
        const bool is_learnt =
            at < learnt.profiles.size() && learnt.profiles[at].first_number < learnt.numbers.size();
        return o.profiles == ProfileKind::kLine ? work_of(o.line)
               : o.profiles == ProfileKind::kHat
                   ? work_of(o.hat, level)
                   : work_of(o.patch, is_learnt ? learnt.numbers[learnt.profiles[at].first_number]
                                                : least_rows(o, faces));
      });
  if (all <= kMaxShapeWork) return {};
  return invalid("a search with a model of these options takes " + rounded(all) +
                 " billion additions or more, and cufacelandmark allows " + rounded(kMaxShapeWork) +
                 "; lower " +
                 (o.profiles == ProfileKind::kLine  ? "--line or --line-reach"
                  : o.profiles == ProfileKind::kHat ? "--hat or --hat-reach"
                                                    : "--patch or --reach") +
                 (o.refits > 0 ? ", --refits" : "") + " or --levels");
}

Status check_model_size(const ShapeOptions& o, int landmarks, std::size_t numbers,
                        int levels_to_come) {
  const auto profiles =
      static_cast<std::size_t>(landmarks) * static_cast<std::size_t>(levels_to_come);
  const std::size_t least = numbers + profiles * least_numbers(o);
  if (least <= kMaxShapeNumbers) return {};
  const auto mib = [](std::size_t n) { return std::to_string(n * sizeof(double) >> 20) + " MiB"; };
  return invalid("a model of these options has " + mib(least) +
                 " of numbers or more, and a file that can be read at most " +
                 mib(kMaxShapeNumbers) + "; lower " +
                 (o.profiles == ProfileKind::kLine ? "--line or --levels"
                  : o.rows == PatchRows::kAll      ? "--patch or --levels, or give --rows residual"
                                                   : "--patch or --levels"));
}

Status validate(const ShapeOptions& o, int landmarks) {
  const auto in = [](double v, double low, double high) { return v >= low && v <= high; };
  if (!in(landmarks, 3, kMaxShapePoints)) return invalid("a shape has 3 to 256 points");
  if (o.size_left < 0 && !known_scheme(landmarks).size.is_known())
    return invalid(
        "--size-points is needed: which three points measure a face is known for 68, 77 and 5");
  for (const int p : {o.size_left, o.size_right, o.size_below})
    if (o.size_left >= 0 && !in(p, 0, landmarks - 1))
      return invalid("--size-points names no point");
  if (!in(o.size, 16, 400)) return invalid("--size must be 16 to 400");
  if (!in(o.levels, 1, kMaxShapeLevels)) return invalid("--levels must be 1 to 6");
  if (!in(o.iterations, 0, kMaxShapeIterations)) return invalid("--iterations must be 0 to 20");
  if (!in(o.rest, 0, 100)) return invalid("--rest must be 0 to 100");
  if (!in(o.variance, 0.01, 1)) return invalid("--variance must be 0.01 to 1");
  if (!in(o.mode_limit, 0, 100)) return invalid("--mode-limit must be 0 to 100");
  if (o.noise != 0 && !in(o.noise, 1e-3, 100)) return invalid("--noise must be 0, or 0.001 to 100");
  if (!in(o.least_weight, kLeastShapeWeight, 1))
    return invalid("--least-weight must be 0.001 to 1");
  if (o.profiles != ProfileKind::kHat && o.least_weight < 1)
    return invalid("--least-weight needs hats: nothing else has likelihoods");
  if (!in(o.window, 0.25, 4)) return invalid("--window must be 0.25 to 4");
  if (!in(o.patch.side, 3, kMaxPatchSide) || o.patch.side % 2 == 0)
    return invalid("--patch must be odd, 3 to 31");
  if (!in(o.patch.reach, 0, kMaxPatchReach) || !in(o.line.reach, 0, kMaxLineReach))
    return invalid("--reach must be 0 to 16");
  if (!in(o.line.length, 3, kMaxLineLength) || o.line.length % 2 == 0)
    return invalid("--line must be odd, 3 to 63");
  if (o.hat.patch % 2 == 0) return invalid("--hat must be odd");
  if (!in(o.hat.patch_at(0), 3, kMaxHatPatch) || !in(o.hat.patch_at(o.levels - 1), 3, kMaxHatPatch))
    return invalid("--hat must be 3 to 63, and as many pixels as are left on the last level");
  if (!in(o.hat.reach, 0, kMaxHatReach)) return invalid("--hat-reach must be 0 to 32");
  if (!in(o.displaced, 1, 1000)) return invalid("--displaced must be 1 to 1000");
  if (!in(o.target, 0.1, 100)) return invalid("--target must be 0.1 to 100");
  if (!in(o.ridge, 1e-6, 1e3)) return invalid("--ridge must be 0.000001 to 1000");
  if (!in(o.patch.q, 1e-3, 1e6)) return invalid("--q must be 0.001 to 1000000");
  if (!in(o.pull, 0, 1e5)) return invalid("--pull must be 0 to 100000");
  if (!in(o.patch_variance, 0.01, 1)) return invalid("--patch-variance must be 0.01 to 1");
  if (!in(o.floor, 1e-6, 1)) return invalid("--floor must be 0.000001 to 1");
  if (o.edge != 0 && !in(o.edge, 1, 100)) return invalid("--edge must be 0, or 1 to 100");
  if (!in(o.inside, 0, 1)) return invalid("--inside must be 0 to 1");
  if (o.confidence_folds != 0 && !in(o.confidence_folds, 2, 20))
    return invalid("--confidence-folds must be 0, or 2 to 20");
  if (!in(o.refits, 0, kMaxShapeRefits)) return invalid("--refits must be 0 to 50");
  if (!in(o.refit_share, 0, 1)) return invalid("--refit-share must be 0 to 1");
  if (o.profiles != ProfileKind::kPatch && o.pull > 0)
    return invalid("--pull needs patches: other profiles have no distance to add it to");
  if (o.profiles != ProfileKind::kPatch && o.weigh)
    return invalid("--weigh needs patches: others are not searched for in training");
  if (o.profiles != ProfileKind::kPatch && o.refits > 0)
    return invalid("--refits need patches: nothing else has limits of costs");
  CUFACE_TRY(check_model_size(o, landmarks, 0, o.levels));
  return check_model_work(o, landmarks, std::numeric_limits<std::size_t>::max(), {});
}

}  // namespace cuface
