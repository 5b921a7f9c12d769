// The solid of a drawn head: an egg with brow ridge, eye sockets, nose and lips, and where on it
// the features lie. Used by heads.h.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>

#include "models/train/heads.h"

namespace cuface::train {

struct SolidPoint {
  float x = 0, y = 0, z = 0;
};

/// 1 at 0, 0 from 1 on, smooth.
inline float bump(float x) {
  const float v = std::max(0.0f, 1 - x * x);
  return v * v;
}
/// 0 below `from`, 1 above `to`, smooth between.
inline float smooth_step(float from, float to, float x) {
  const float t = std::clamp((x - from) / (to - from), 0.0f, 1.0f);
  return t * t * (3 - 2 * t);
}
inline float mix(float a, float b, float t) { return a + (b - a) * t; }

/// The outlines of the features on the unrolled face, which the paint and the points share.
/// `side`: 0 is the left of the picture. `s` runs along a feature: of eyes and brows from -1 at the
/// inner end to 1 at the outer, of the mouth from -1 at the left to 1 at the right.
class HeadFeatures {
 public:
  explicit HeadFeatures(const Head& head);

  float eye_s(int side, float x) const { return (sign(side) * x - b_.eye_x) / b_.eye_width; }
  float eye_at(int side, float s) const { return sign(side) * (b_.eye_x + s * b_.eye_width); }
  float upper_lid(int side, float s) const;
  float lower_lid(float s) const;
  float open_lid(float s) const;  ///< the upper lid of an open eye

  float brow_s(int side, float x) const;
  float brow_at(int side, float s) const;
  float brow_y(int side, float s) const;
  float brow_thick(float s) const { return b_.brow_thick * (1 - 0.35f * (s + 1) / 2); }

  float mouth_half() const { return mouth_half_; }
  float mouth_line(float s) const;
  /// Outlines of both lips, from above: the upper lip's, the gap's above and below, the lower's.
  float lip_top(float s) const;
  float gap_top(float s) const;
  float gap_bottom(float s) const;
  float lip_bottom(float s) const;

  float nose_base() const { return b_.nose_tip + 0.062f; }
  float nostril_x() const { return 0.5f * b_.nose_width; }

  static float sign(int side) { return side == 0 ? -1.0f : 1.0f; }

 private:
  const Head::Bones& b_;
  const Head::Expression& e_;
  float mouth_half_;
};

class HeadShape {
 public:
  explicit HeadShape(const Head& head);

  /// On the egg: `u` from -1 at the top of the head to 1 at the chin, (s, c) the sine and cosine of
  /// the angle around it, c > 0 in the face.
  SolidPoint around(float u, float s, float c) const;
  /// On the face, where its picture from the front shows it.
  SolidPoint on_face(float x, float y) const;
  /// z: how near, for hidden surfaces.
  SolidPoint project(const SolidPoint& p) const;
  /// A direction, turned as the head is.
  SolidPoint turned(const SolidPoint& direction) const;

  std::array<Point, kHeadPoints> points() const;
  const HeadFeatures& features() const { return features_; }

 private:
  float half_width(float u) const;
  float relief(float x, float y) const;
  Point jaw_point(int i) const;
  Point seen(float x, float y) const {
    const SolidPoint p = project(on_face(x, y));
    return {p.x, p.y};
  }

  const Head head_;
  HeadFeatures features_;
  float chin_;
  float m_[3][3];  ///< the turn
};

}  // namespace cuface::train
