// Least squares of a homography, for host and device: Levenberg-Marquardt, in points normalised as
// Hartley (1997) does: to root mean square distance sqrt(2). Sums have the order of the pairs.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/common/host_device.h"
#include "kernels/common/ordered_sums.h"
#include "kernels/homography/homography.h"

namespace cuface::homography {

/// Steps of a fit that is to be exact, at most.
inline constexpr int kMostSteps = 12;
/// Entries of the normal equations that differ, their right sides, and the sum of squares.
inline constexpr int kSums = 6 + 6 + 6 + 3 + 8 + 1;
using Sums = OrderedSums<kSums>;

/// p becomes (p - centre) * scale.
struct Norm {
  double x = 0, y = 0, scale = 1;
};

/// A map between normalised points with m[8] = 1, and back.
CUFACE_HD inline bool normalise(const Homography& h, const Norm& from, const Norm& to,
                                double* out) {
  double n[9];
  for (int r = 0; r < 3; ++r) {
    const double* row = h.m + 3 * r;
    n[3 * r] = row[0] / from.scale;
    n[3 * r + 1] = row[1] / from.scale;
    n[3 * r + 2] = row[0] * from.x + row[1] * from.y + row[2];
  }
  for (int k = 0; k < 3; ++k) {
    n[k] = (n[k] - to.x * n[6 + k]) * to.scale;
    n[3 + k] = (n[3 + k] - to.y * n[6 + k]) * to.scale;
  }
  if (!(n[8] > 0)) return false;
  for (int k = 0; k < 8; ++k) out[k] = n[k] / n[8];
  return true;
}
CUFACE_HD inline Homography original(const double* n, const Norm& from, const Norm& to) {
  const double rows[9] = {n[0], n[1], n[2], n[3], n[4], n[5], n[6], n[7], 1};
  double h[9];
  for (int k = 0; k < 3; ++k) {
    h[k] = rows[k] / to.scale + to.x * rows[6 + k];
    h[3 + k] = rows[3 + k] / to.scale + to.y * rows[6 + k];
    h[6 + k] = rows[6 + k];
  }
  Homography out;
  for (int r = 0; r < 3; ++r) {
    out.m[3 * r] = h[3 * r] * from.scale;
    out.m[3 * r + 1] = h[3 * r + 1] * from.scale;
    out.m[3 * r + 2] = h[3 * r + 2] - out.m[3 * r] * from.x - out.m[3 * r + 1] * from.y;
  }
  return out;
}

/// The normal equations of a step: of the unknowns 0 to 2 (those of 3 to 5 are the same), of these
/// with 6 and 7, of 3 to 5 with 6 and 7, of 6 and 7; right sides; the sum of squares.
struct System {
  double sum[kSums];
  CUFACE_HD double squares() const { return sum[kSums - 1]; }
};

/// What a pair (x, y), (u, v) adds, kSums terms; squares are infinite behind the camera.
CUFACE_HD inline void add_pair(const double* n, double x, double y, double u, double v,
                               double* term) {
  const double w = n[6] * x + n[7] * y + 1, over = 1 / w;
  const double cx = (n[0] * x + n[1] * y + n[2]) * over, cy = (n[3] * x + n[4] * y + n[5]) * over;
  const double rx = u - cx, ry = v - cy;
  const double a[3] = {x * over, y * over, over};
  const double bx[2] = {-a[0] * cx, -a[1] * cx}, by[2] = {-a[0] * cy, -a[1] * cy};
  int k = 0;
  for (int i = 0; i < 3; ++i)
    for (int j = i; j < 3; ++j) term[k++] = a[i] * a[j];
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 2; ++j) term[k++] = a[i] * bx[j];
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 2; ++j) term[k++] = a[i] * by[j];
  for (int i = 0; i < 2; ++i)
    for (int j = i; j < 2; ++j) term[k++] = bx[i] * bx[j] + by[i] * by[j];
  for (int i = 0; i < 3; ++i) term[k++] = a[i] * rx;
  for (int i = 0; i < 3; ++i) term[k++] = a[i] * ry;
  for (int i = 0; i < 2; ++i) term[k++] = bx[i] * rx + by[i] * ry;
  term[k] = w > 0 ? rx * rx + ry * ry : INFINITY;
}

/// The step with this damping (Levenberg and Marquardt). False where a pivot vanishes.
CUFACE_HD inline bool solve(const System& system, double damping, double* step) {
  double a[8][8] = {};  // the lower half
  double b[8];
  int k = 0;
  for (int i = 0; i < 3; ++i)
    for (int j = i; j < 3; ++j, ++k) a[j][i] = a[3 + j][3 + i] = system.sum[k];
  for (int half = 0; half < 6; half += 3)
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 2; ++j, ++k) a[6 + j][half + i] = system.sum[k];
  for (int i = 0; i < 2; ++i)
    for (int j = i; j < 2; ++j, ++k) a[6 + j][6 + i] = system.sum[k];
  for (int i = 0; i < 8; ++i, ++k) b[i] = system.sum[k];
  for (int i = 0; i < 8; ++i) a[i][i] *= 1 + damping;
  // L D L^T in place.
  for (int j = 0; j < 8; ++j) {
    const double whole = a[j][j];
    for (int m = 0; m < j; ++m) a[j][j] -= a[j][m] * a[j][m] * a[m][m];
    if (!(a[j][j] > 1e-13 * whole)) return false;
    for (int i = j + 1; i < 8; ++i) {
      for (int m = 0; m < j; ++m) a[i][j] -= a[i][m] * a[j][m] * a[m][m];
      a[i][j] /= a[j][j];
    }
  }
  for (int i = 0; i < 8; ++i)
    for (int m = 0; m < i; ++m) b[i] -= a[i][m] * b[m];
  for (int i = 7; i >= 0; --i) {
    b[i] /= a[i][i];
    for (int m = i + 1; m < 8; ++m) b[i] -= a[m][i] * b[m];
  }
  for (int i = 0; i < 8; ++i) step[i] = b[i];
  return true;
}

/// refine_homography() by any lanes, each with its own answer and `map`; `scratch` is shared. Pair
/// i counts weight(i) times, 0 or more; at most so many steps are tried.
CUFACE_HD_GENERIC
template <typename Lanes, typename Weight>
CUFACE_HD bool refine(const Lanes& lanes, std::span<const Point> from, std::span<const Point> to,
                      Weight weight, int steps, Homography& map, Sums& scratch) {
  const int all = static_cast<int>(from.size());
  if (all < 4) return false;
  add_up<6>(
      lanes, all,
      [&](int p, double* term) {
        const auto i = static_cast<std::size_t>(p);
        const double one = weight(i);
        const bool counts = one > 0;  // else the points may be no numbers
        term[0] = counts ? one * from[i].x : 0;
        term[1] = counts ? one * from[i].y : 0;
        term[2] = counts ? one * to[i].x : 0;
        term[3] = counts ? one * to[i].y : 0;
        term[4] = one;
        term[5] = counts;
      },
      scratch);
  const double* sum = scratch.sum;
  const double count = sum[4];
  if (sum[5] < 4) return false;
  Norm p{sum[0] / count, sum[1] / count}, q{sum[2] / count, sum[3] / count};
  add_up<2>(
      lanes, all,
      [&](int k, double* term) {
        const auto i = static_cast<std::size_t>(k);
        const double x = from[i].x - p.x, y = from[i].y - p.y, u = to[i].x - q.x, v = to[i].y - q.y;
        const double one = weight(i);
        term[0] = one > 0 ? one * (x * x + y * y) : 0;
        term[1] = one > 0 ? one * (u * u + v * v) : 0;
      },
      scratch);
  if (!(sum[0] > 0 && sum[1] > 0)) return false;
  p.scale = std::sqrt(2 * count / sum[0]);
  q.scale = std::sqrt(2 * count / sum[1]);

  const auto equations = [&](const double* n) {
    add_up<kSums>(
        lanes, all,
        [&](int k, double* term) {
          const auto i = static_cast<std::size_t>(k);
          const double one = weight(i);
          if (one > 0)
            add_pair(n, (from[i].x - p.x) * p.scale, (from[i].y - p.y) * p.scale,
                     (to[i].x - q.x) * q.scale, (to[i].y - q.y) * q.scale, term);
          for (int s = 0; s < kSums; ++s) term[s] = one > 0 ? one * term[s] : 0;
        },
        scratch);
    System system;
    for (int s = 0; s < kSums; ++s) system.sum[s] = sum[s];
    return system;
  };
  double n[8];
  if (!normalise(map, p, q, n)) return false;
  System system = equations(n);
  if (!(system.squares() < INFINITY)) return false;
  double damping = 1e-3;
  bool solved = false;
  for (int tried = 0; tried < steps && system.squares() > 0; ++tried) {
    double step[8], next[8];
    if (solve(system, damping, step)) {
      solved = true;
      for (int k = 0; k < 8; ++k) next[k] = n[k] + step[k];
      const System there = equations(next);
      if (there.squares() < system.squares()) {
        const bool done = there.squares() > system.squares() * (1 - 1e-9);
        for (int k = 0; k < 8; ++k) n[k] = next[k];
        system = there;
        if (done) break;
        damping *= 0.1;
        continue;
      }
    }
    damping *= 10;
  }
  if (!solved && system.squares() > 0) return false;
  map = original(n, p, q);
  return true;
}

}  // namespace cuface::homography
