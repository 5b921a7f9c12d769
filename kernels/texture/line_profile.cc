#include "kernels/texture/line_rules.h"
#include "kernels/texture/texture.h"

namespace cuface {

ShapePoint whisker_step(const ShapePoint& previous, const ShapePoint& point,
                        const ShapePoint& next) {
  return texture::step_of(previous, point, next);
}

void line_gradients(ImageView<const std::uint8_t> picture, const ShapePoint& point,
                    const ShapePoint& step, int first, std::span<double> out) {
  int before = texture::line_pixel(picture, point, step, first - 1);
  for (double& gradient : out) {
    const int here = texture::line_pixel(picture, point, step, first++);
    gradient = here - before;
    before = here;
  }
}

void scale_line(std::span<double> profile) {
  const double factor = texture::line_factor(profile.data(), static_cast<int>(profile.size()));
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
    const double cost =
        texture::line_cost(gradients + (offset + rule.reach), rule.length, mean, inverse);
    if (cost < best.cost) best = {offset, 0, cost};
  }
  return best;
}

}  // namespace cuface
