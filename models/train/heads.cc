#include "models/train/heads.h"

#include <algorithm>
#include <utility>

#include "kernels/common/random.h"

namespace cuface::train {
namespace {

/// Even draws, one behind the other.
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : seed_(seed) {}
  float operator()(float low, float high) {
    return low + (high - low) * static_cast<float>(random_at(seed_, at_++) >> 40) / (1 << 24);
  }
  /// Around 0, most within half of `most`, none beyond it.
  float middling(float most) { return ((*this)(-most, most) + (*this)(-most, most)) / 2; }
  bool chance(float of) { return (*this)(0, 1) < of; }

 private:
  std::uint64_t seed_, at_ = 0;
};

Head::Bones draw_bones(Draws& draw) {
  Head::Bones b{};
  b.width = draw(0.43f, 0.5f);
  b.depth = draw(0.42f, 0.52f);
  b.top = draw(0.62f, 0.76f);
  b.chin = draw(0.66f, 0.78f);
  b.square = draw(0.05f, 0.6f);
  b.taper = draw(0.08f, 0.24f);
  b.eye_x = draw(0.185f, 0.215f);
  b.eye_width = draw(0.082f, 0.102f);
  b.eye_height = draw(0.026f, 0.042f);
  b.eye_tilt = draw(-0.008f, 0.016f);
  b.brow_y = draw(-0.135f, -0.09f);
  b.brow_width = draw(0.115f, 0.15f);
  b.brow_arch = draw(0.012f, 0.045f);
  b.brow_tilt = draw(-0.015f, 0.02f);
  b.brow_thick = draw(0.01f, 0.024f);
  b.nose_top = draw(-0.03f, 0.02f);
  b.nose_tip = draw(0.22f, 0.28f);
  b.nose_width = draw(0.075f, 0.11f);
  b.nose_height = draw(0.1f, 0.17f);
  b.mouth_y = b.nose_tip + 0.062f + draw(0.09f, 0.135f);
  b.mouth_width = draw(0.15f, 0.2f);
  b.lip_above = draw(0.022f, 0.045f);
  b.lip_below = draw(0.03f, 0.055f);
  return b;
}

Head::Expression draw_expression(Draws& draw) {
  Head::Expression e{};
  e.open = draw.chance(0.35f) ? draw(0.1f, 1) : 0;
  e.smile = draw.chance(0.5f) ? draw(0, 1) : draw(-0.4f, 0.2f);
  const float shut = draw.chance(0.12f) ? draw(0.7f, 1) : draw(0, 0.35f);
  e.shut[0] = e.shut[1] = shut;
  if (draw.chance(0.04f)) e.shut[draw.chance(0.5f)] = 1;  // a wink
  const float raised = draw.middling(1);
  for (float& brow : e.brow) brow = raised + draw.middling(0.3f);
  e.gaze_x = draw.middling(0.04f);
  e.gaze_y = draw.middling(0.015f);
  return e;
}

Head::Pose draw_pose(Draws& draw, const HeadOptions& options) {
  Head::Pose p{};
  p.yaw = draw.middling(options.yaw);
  p.pitch = draw.middling(options.pitch);
  p.roll = draw.middling(options.roll);
  const float width = static_cast<float>(options.width),
              height = static_cast<float>(options.height);
  p.scale = draw(0.38f, 0.5f) * std::min(width, height);
  p.x = width / 2 + draw.middling(0.08f) * width;
  p.y = height / 2 + draw.middling(0.05f) * height;
  p.distance = draw(3, 9);
  return p;
}

Head::Looks draw_looks(Draws& draw) {
  Head::Looks l{};
  l.skin = draw(0.3f, 0.85f);
  l.hair = draw.chance(0.2f) ? draw(0.4f, 0.8f) : draw(0.04f, 0.35f);
  l.lips = l.skin * draw(0.5f, 0.85f);
  l.iris = draw(0.06f, 0.35f);
  l.brows = std::min(l.hair * draw(0.7f, 1.3f), 0.65f * l.skin);
  l.cloth = draw(0.05f, 0.9f);
  l.hairline = draw(-0.5f, -0.3f);
  l.parting = draw.middling(0.35f);
  l.hair_end = draw.chance(0.4f) ? draw(0.5f, 1.1f) : draw(-0.1f, 0.25f);
  l.beard = draw.chance(0.2f) ? draw(0.2f, 0.9f) : 0;
  l.glasses = draw.chance(0.18f) ? draw(0.006f, 0.014f) : 0;
  return l;
}

Head::Camera draw_camera(Draws& draw, const HeadOptions& options) {
  Head::Camera c{};
  c.light_x = draw.middling(1.6f);
  c.light_y = draw(-1.2f, 0.2f);
  c.light_z = draw(0.5f, 1.4f);
  c.ambient = draw(0.25f, 0.7f);
  c.gain = draw(0.75f, 1.25f);
  c.offset = draw(-0.04f, 0.1f);
  c.noise = draw(0.01f, 0.06f);
  c.blur = static_cast<int>(draw(0, 3));
  c.width = options.width;
  c.height = options.height;
  return c;
}

}  // namespace

Head random_head(const HeadOptions& options, std::uint64_t number) {
  Head head{};
  head.seed = random_at(options.seed, number);
  Draws draw(head.seed);
  head.bones = draw_bones(draw);
  head.expression = draw_expression(draw);
  head.pose = draw_pose(draw, options);
  head.looks = draw_looks(draw);
  head.camera = draw_camera(draw, options);
  return head;
}

Head mirrored(const Head& head) {
  Head out = head;
  out.pose.x = static_cast<float>(head.camera.width - 1) - head.pose.x;
  for (float* turned : {&out.pose.yaw, &out.pose.roll, &out.expression.gaze_x, &out.looks.parting,
                        &out.camera.light_x}) {
    *turned = -*turned;
  }
  std::swap(out.expression.shut[0], out.expression.shut[1]);
  std::swap(out.expression.brow[0], out.expression.brow[1]);
  return out;
}

}  // namespace cuface::train
