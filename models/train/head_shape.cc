#include "models/train/head_shape.h"

namespace cuface::train {
namespace {

constexpr float kNeck = 0.15f;  ///< what the head turns about lies so far below the eyes

/// Sine and cosine of the angle whose half has this tangent.
struct Angle {
  explicit Angle(float half)
      : sin(2 * half / (1 + half * half)), cos((1 - half * half) / (1 + half * half)) {}
  float sin, cos;
};

}  // namespace

HeadFeatures::HeadFeatures(const Head& head)
    : b_(head.bones),
      e_(head.expression),
      mouth_half_(b_.mouth_width * (1 + 0.16f * e_.smile - 0.12f * e_.open)) {}

float HeadFeatures::open_lid(float s) const {
  return -b_.eye_tilt * s - b_.eye_height * (1 - s * s) * (1 - 0.25f * s);
}
float HeadFeatures::lower_lid(float s) const {
  return -b_.eye_tilt * s + 0.62f * b_.eye_height * (1 - s * s) * (1 + 0.2f * s);
}
float HeadFeatures::upper_lid(int side, float s) const {
  return mix(open_lid(s), lower_lid(s), e_.shut[side]);
}

float HeadFeatures::brow_s(int side, float x) const {
  return (sign(side) * x - b_.eye_x * 0.98f) / b_.brow_width;
}
float HeadFeatures::brow_at(int side, float s) const {
  return sign(side) * (b_.eye_x * 0.98f + s * b_.brow_width);
}
float HeadFeatures::brow_y(int side, float s) const {
  const float skewed = s - 0.25f * (1 - s * s);
  return b_.brow_y - 0.045f * e_.brow[side] - b_.brow_arch * (1 - skewed * skewed) -
         b_.brow_tilt * s;
}

float HeadFeatures::mouth_line(float s) const {
  return b_.mouth_y - 0.055f * e_.smile * s * s + 0.012f * e_.smile;
}
float HeadFeatures::gap_top(float s) const {
  return mouth_line(s) - 0.025f * e_.open * (1 - s * s);
}
float HeadFeatures::gap_bottom(float s) const {
  return mouth_line(s) + 0.13f * e_.open * (1 - s * s);
}
float HeadFeatures::lip_top(float s) const {
  return gap_top(s) - b_.lip_above * (1 - s * s) * (1 - 0.24f * bump(s / 0.3f));
}
float HeadFeatures::lip_bottom(float s) const {
  return gap_bottom(s) + b_.lip_below * (1 - s * s * s * s);
}

HeadShape::HeadShape(const Head& head)
    : head_(head), features_(head_), chin_(head.bones.chin + 0.09f * head.expression.open) {
  const Angle yaw(head.pose.yaw), pitch(head.pose.pitch), roll(head.pose.roll);
  // First about the neck (yaw), then up or down, then in the picture.
  const float a[3][3] = {{yaw.cos, 0, yaw.sin},
                         {pitch.sin * yaw.sin, pitch.cos, -pitch.sin * yaw.cos},
                         {-pitch.cos * yaw.sin, pitch.sin, pitch.cos * yaw.cos}};
  for (int i = 0; i < 3; ++i) {
    m_[0][i] = roll.cos * a[0][i] - roll.sin * a[1][i];
    m_[1][i] = roll.sin * a[0][i] + roll.cos * a[1][i];
    m_[2][i] = a[2][i];
  }
}

float HeadShape::half_width(float u) const {
  const float v = u * u;
  const float round = std::sqrt(std::max(0.0f, 1 - v));
  const float square = std::sqrt(std::max(0.0f, 1 - v * v));
  const float jaw = u > 0 ? head_.bones.square : 0.3f;
  return head_.bones.width * mix(round, square, jaw) * (u > 0 ? 1 - head_.bones.taper * v : 1);
}

float HeadShape::relief(float x, float y) const {
  const Head::Bones& b = head_.bones;
  float z = 0;
  // The nose: a ridge that grows down to the tip, then ends at the lip.
  const float base = features_.nose_base();
  const float t = (y - b.nose_top) / (b.nose_tip - b.nose_top);
  const float down = y < b.nose_tip ? smooth_step(-0.25f, 1.1f, t) * std::max(0.0f, t * 0.6f + 0.4f)
                                    : 1 - smooth_step(b.nose_tip + 0.01f, base + 0.02f, y);
  const float wide = mix(0.07f, b.nose_width * 0.95f, smooth_step(0.2f, 1, t));
  z += b.nose_height * down * bump(x / wide);
  for (int side = 0; side < 2; ++side) {
    const float sign = HeadFeatures::sign(side);
    z += 0.045f * bump((x - sign * 0.8f * b.nose_width) / 0.055f) *
         bump((y - (b.nose_tip + 0.02f)) / 0.06f);
    z -= 0.05f * bump((sign * x - b.eye_x * 0.9f) / 0.15f) * bump((y - 0.01f) / 0.12f);
    z += 0.015f * bump((sign * x - b.eye_x) / 0.08f) * bump(y / 0.06f);
    z += 0.02f * bump((sign * x - 0.26f) / 0.16f) * bump((y - 0.2f) / 0.16f);
  }
  z += 0.025f * bump(x / 0.34f) * bump((y - (b.brow_y + 0.01f)) / 0.09f);
  const float lips = (y - b.mouth_y) / 0.11f;
  z += 0.03f * bump(x / (features_.mouth_half() * 1.2f)) * bump(lips);
  z += 0.03f * bump(x / 0.13f) * bump((y - (chin_ - 0.09f)) / 0.1f);
  return z;
}

SolidPoint HeadShape::around(float u, float s, float c) const {
  const float v = u * u;
  const float x = half_width(u) * s;
  const float y = u * (u > 0 ? chin_ : head_.bones.top);
  const float middle = u > 0 ? 0.26f * v : -0.1f * v;
  const float blunt = std::sqrt(std::sqrt(std::max(0.0f, 1 - v * v)));
  const float round = std::sqrt(std::max(0.0f, 1 - v));
  if (c >= 0) {
    const float z =
        middle + (head_.bones.depth - middle) * (u > 0 ? blunt : mix(round, blunt, 0.6f)) * c;
    return {x, y, z + relief(x, y) * std::min(1.0f, 2 * c)};
  }
  return {x, y, middle + (head_.bones.depth + middle) * round * c};
}

SolidPoint HeadShape::on_face(float x, float y) const {
  const float u = std::clamp(y / (y > 0 ? chin_ : head_.bones.top), -1.0f, 1.0f);
  const float w = half_width(u);
  const float s = w > 0 ? std::clamp(x / w, -1.0f, 1.0f) : 0.0f;
  return around(u, s, std::sqrt(1 - s * s));
}

SolidPoint HeadShape::turned(const SolidPoint& d) const {
  return {m_[0][0] * d.x + m_[0][1] * d.y + m_[0][2] * d.z,
          m_[1][0] * d.x + m_[1][1] * d.y + m_[1][2] * d.z,
          m_[2][0] * d.x + m_[2][1] * d.y + m_[2][2] * d.z};
}

SolidPoint HeadShape::project(const SolidPoint& p) const {
  const SolidPoint t = turned({p.x, p.y - kNeck, p.z});
  const float k = head_.pose.scale / (1 - t.z / head_.pose.distance);
  return {head_.pose.x + k * t.x, head_.pose.y + k * t.y, t.z};
}

/// Of the curve around the head at the point's height, what reaches farthest to the outside.
Point HeadShape::jaw_point(int i) const {
  // Sines of a right angle's eighths: the points are as far from each other on a circle.
  constexpr float kSine[] = {0,        0.19509f, 0.38268f, 0.55557f, 0.70711f,
                             0.83147f, 0.92388f, 0.98079f, 1};
  const int from_chin = std::abs(i - 8);
  const float side = i < 8 ? -1.0f : 1.0f;
  const float u = kSine[8 - from_chin];
  const Angle roll(head_.pose.roll);
  const float out = side * kSine[from_chin], down = u;
  const float dx = roll.cos * out - roll.sin * down, dy = roll.sin * out + roll.cos * down;
  constexpr int kSteps = 64;
  Point best;
  float farthest = -1e30f;
  for (int step = 0; step <= kSteps; ++step) {
    const float t = static_cast<float>(step) / kSteps;  // of half the angle's tangent
    const SolidPoint p = from_chin == 0
                             ? around(1 - 0.2f * t, 0, 1)
                             : around(u, side * (1 - t * t) / (1 + t * t), 2 * t / (1 + t * t));
    const SolidPoint seen = project(p);
    const float reach = dx * seen.x + dy * seen.y;
    if (reach > farthest) {
      farthest = reach;
      best = {seen.x, seen.y};
    }
  }
  return best;
}

std::array<Point, kHeadPoints> HeadShape::points() const {
  const Head::Bones& b = head_.bones;
  std::array<Point, kHeadPoints> out;
  std::size_t n = 0;
  const auto add = [&](float x, float y) { out[n++] = seen(x, y); };
  for (int i = 0; i < 17; ++i) out[n++] = jaw_point(i);
  for (int i = 0; i < 10; ++i) {
    const int side = i / 5;
    const float s = static_cast<float>(side == 0 ? 4 - i : i - 5) / 2 - 1;
    add(features_.brow_at(side, s), features_.brow_y(side, s));
  }
  for (int i = 0; i < 4; ++i) {
    add(0, mix(b.nose_top, b.nose_tip, static_cast<float>(i) / 3));
  }
  for (int i = -2; i <= 2; ++i) {
    const float along = static_cast<float>(i) / 2;
    add(along * b.nose_width, features_.nose_base() - 0.02f * along * along);
  }
  constexpr float kLid = 0.36f;
  for (int side = 0; side < 2; ++side) {
    const float first = side == 0 ? 1.0f : -1.0f;  // the outer corner, the inner one
    const auto lid = [&](float s, bool upper) {
      add(features_.eye_at(side, s), upper ? features_.upper_lid(side, s) : features_.lower_lid(s));
    };
    lid(first, true);
    lid(first * kLid, true);
    lid(-first * kLid, true);
    lid(-first, true);
    lid(-first * kLid, false);
    lid(first * kLid, false);
  }
  const auto lip = [&](std::initializer_list<float> at, float (HeadFeatures::*line)(float) const) {
    for (const float s : at) add(s * features_.mouth_half(), (features_.*line)(s));
  };
  lip({-1, -0.6f, -0.25f, 0, 0.25f, 0.6f, 1}, &HeadFeatures::lip_top);
  lip({0.6f, 0.25f, 0, -0.25f, -0.6f}, &HeadFeatures::lip_bottom);
  lip({-0.85f, -0.3f, 0, 0.3f, 0.85f}, &HeadFeatures::gap_top);
  lip({0.3f, 0, -0.3f}, &HeadFeatures::gap_bottom);
  return out;
}

std::array<Point, kHeadPoints> points_of(const Head& head) { return HeadShape(head).points(); }

}  // namespace cuface::train
