#include <algorithm>
#include <cmath>

#include "kernels/texture/texture.h"

namespace cuface {
namespace {

constexpr double kDearest = 3.4028234663852886e38;

bool is_zero(double v) { return std::abs(v) < 1e-7; }

/// To length 1, by the reciprocal as OpenCV divides a matrix.
void normalise(ShapePoint& v) {
  const double norm = std::sqrt(v.x * v.x + v.y * v.y);
  if (is_zero(norm)) return;
  const double factor = 1 / norm;
  v.x *= factor;
  v.y *= factor;
}

bool is_on(const ShapePoint& a, const ShapePoint& b) {
  return is_zero(a.x - b.x) && is_zero(a.y - b.y);
}

/// Unlike a cast of lrint()'s value, defined for every number.
int rounded(double v) { return static_cast<int>(std::lrint(std::clamp(v, -1e6, 1e6))); }

int pixel(ImageView<const std::uint8_t> picture, double x, double y) {
  return picture.at(std::clamp(rounded(x), 0, picture.width - 1),
                    std::clamp(rounded(y), 0, picture.height - 1));
}

/// x^T m x of a symmetric matrix, by its upper triangle, from the last row up.
double quadratic(const double* x, const double* m, int n) {
  double diagonal = 0, above = 0;
  for (int i = n; i-- > 0;) {
    const double* const row = m + static_cast<std::ptrdiff_t>(i) * n;
    diagonal += row[i] * (x[i] * x[i]);
    for (int j = i + 1; j < n; ++j) above += row[j] * x[i] * x[j];
  }
  return diagonal + 2 * above;
}

}  // namespace

ShapePoint whisker_step(const ShapePoint& previous, const ShapePoint& point,
                        const ShapePoint& next) {
  if (is_on(previous, point) || is_on(next, point)) return {1, 0};
  ShapePoint u{point.y - previous.y, previous.x - point.x};
  ShapePoint v{next.y - point.y, point.x - next.x};
  normalise(u);
  normalise(v);
  ShapePoint w{u.x + v.x, u.y + v.y};
  normalise(w);
  if (is_zero(w.x) && is_zero(w.y)) {
    w = {point.x - previous.x, point.y - previous.y};
    normalise(w);
  }
  const double larger = std::max(std::abs(w.x), std::abs(w.y));
  return {-w.x / larger, -w.y / larger};
}

void line_gradients(ImageView<const std::uint8_t> picture, const ShapePoint& point,
                    const ShapePoint& step, int first, std::span<double> out) {
  const auto at = [&](int i) { return pixel(picture, point.x + i * step.x, point.y + i * step.y); };
  int before = at(first - 1);
  for (double& gradient : out) {
    const int here = at(first++);
    gradient = here - before;
    before = here;
  }
}

void scale_line(std::span<double> profile) {
  double sum = 0;
  for (std::size_t i = profile.size(); i-- > 0;) sum += std::abs(profile[i]);
  const double factor = is_zero(sum) ? 1 : static_cast<double>(profile.size()) / sum;
  for (double& v : profile) v *= factor;
}

TextureMatch match_line(ImageView<const std::uint8_t> picture, const ShapePoint& point,
                        const ShapePoint& step, const LineRule& rule, const double* mean,
                        const double* inverse) {
  const int half = rule.length / 2 + rule.reach;
  double gradients[kMaxLineLength + 2 * kMaxLineReach];
  line_gradients(picture, point, step, -half,
                 std::span(gradients, static_cast<std::size_t>(2 * half + 1)));
  TextureMatch best{0, 0, kDearest};
  for (int offset = -rule.reach; offset <= rule.reach; offset += rule.step) {
    double profile[kMaxLineLength];
    std::copy_n(gradients + offset + rule.reach, rule.length, profile);
    scale_line(std::span(profile, static_cast<std::size_t>(rule.length)));
    for (int i = 0; i < rule.length; ++i) profile[i] -= mean[i];
    const double cost = quadratic(profile, inverse, rule.length);
    if (cost < best.cost) best = {offset, 0, cost};
  }
  return best;
}

}  // namespace cuface
