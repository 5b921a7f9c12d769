#include "models/train/head_skin.h"

#include "kernels/common/random.h"

namespace cuface::train {
namespace {

/// How much of a line of this half thickness covers what is `away` from its middle.
float line(float away, float half) {
  return 1 - smooth_step(0.5f * half, 1.5f * half, std::fabs(away));
}
/// How much of what begins at 0 covers `inside`; the edge is soft.
float edge(float inside, float soft = 0.005f) { return smooth_step(-soft, soft, inside); }

void cover(Paint& paint, float albedo, float amount, float gloss = 0) {
  paint.albedo = mix(paint.albedo, albedo, amount);
  paint.gloss = mix(paint.gloss, gloss, amount);
}
void shade(Paint& paint, float by, float amount) {
  cover(paint, paint.albedo * by, amount, paint.gloss);
}

}  // namespace

float smooth_noise(std::uint64_t seed, float x, float y) {
  const float fx = std::floor(x), fy = std::floor(y);
  const auto corner = [&](float cx, float cy) {
    const auto column = static_cast<std::uint64_t>(static_cast<std::int64_t>(cx) + (1 << 20));
    const auto row = static_cast<std::uint64_t>(static_cast<std::int64_t>(cy) + (1 << 20));
    return static_cast<float>(random_at(seed, column << 32 | row) >> 40) / (1 << 23) - 1;
  };
  const float tx = smooth_step(0, 1, x - fx), ty = smooth_step(0, 1, y - fy);
  return mix(mix(corner(fx, fy), corner(fx + 1, fy), tx),
             mix(corner(fx, fy + 1), corner(fx + 1, fy + 1), tx), ty);
}

float HeadSkin::hair(float x, float y) const {
  // Strands fall away from the parting.
  const float strand = (x - head_.looks.parting) / (0.5f + std::fabs(y + 0.2f));
  return head_.looks.hair * (1 + 0.25f * smooth_noise(head_.seed ^ 1, 60 * strand, 3 * y) +
                             0.2f * smooth_noise(head_.seed ^ 2, 9 * strand, 5 * y));
}

Paint HeadSkin::back(float x, float y) const {
  const Head::Looks& l = head_.looks;
  Paint paint{0.8f * l.skin, 0};
  if (l.beard > 0) shade(paint, 1 - 0.7f * l.beard, edge(y - 0.2f, 0.1f));
  cover(paint, 0.8f * hair(x, y), edge(l.hair_end - y, 0.04f));
  return paint;
}

Paint HeadSkin::face(float x, float y) const {
  const Head::Looks& l = head_.looks;
  const Head::Bones& b = head_.bones;
  Paint paint{l.skin, 0.25f};
  paint.albedo *= 1 + 0.05f * smooth_noise(head_.seed ^ 3, 6 * x, 6 * y) +
                  0.03f * smooth_noise(head_.seed ^ 4, 40 * x, 40 * y);
  // The fold from the nose to the corners of the mouth, deeper in a smile.
  const float fold = (y - features_.nose_base()) / (b.mouth_y - features_.nose_base());
  const float at = b.nose_width * 1.15f + 0.08f * fold;
  shade(paint, 0.8f,
        line(std::fabs(x) - at, 0.012f) * bump(fold - 0.4f) *
            std::clamp(0.4f + head_.expression.smile, 0.0f, 1.0f));
  if (l.beard > 0) {
    const float low = edge(y - (0.3f - 0.25f * smooth_step(0.3f, 0.45f, std::fabs(x))), 0.05f);
    const float grain = 1 - l.beard * (0.7f + 0.2f * smooth_noise(head_.seed ^ 5, 90 * x, 90 * y));
    shade(paint, grain, low * (1 - 0.7f * bump((y - 0.02f - b.mouth_y) / 0.05f) * bump(x / 0.2f)));
  }
  paint_nose(x, y, paint);
  paint_mouth(x, y, paint);
  for (int side = 0; side < 2; ++side) {
    paint_eye(side, x, y, paint);
    paint_brow(side, x, y, paint);
  }
  if (l.glasses > 0) paint_glasses(x, y, paint);
  const float side_parting = x - 0.5f * l.parting;
  const float line_y = l.hairline + 1.3f * side_parting * side_parting +
                       0.02f * smooth_noise(head_.seed ^ 6, 14 * x, 0);
  const float covered = edge(std::min(line_y, 0.05f) - y, 0.012f);
  if (covered > 0) cover(paint, hair(x, y), covered, 0.15f);
  return paint;
}

void HeadSkin::paint_nose(float x, float y, Paint& paint) const {
  const Head::Bones& b = head_.bones;
  const float base = features_.nose_base();
  for (int side = 0; side < 2; ++side) {
    const float sx = HeadFeatures::sign(side) * x;
    shade(paint, 0.3f,
          edge(1 - (sx - features_.nostril_x()) * (sx - features_.nostril_x()) / (0.026f * 0.026f) -
                   (y - base + 0.012f) * (y - base + 0.012f) / (0.013f * 0.013f),
               0.4f));
    // The wing's crease.
    const float up = (y - base + 0.03f) / 0.05f;
    shade(paint, 0.6f, line(sx - b.nose_width * (1.08f - 0.1f * up * up), 0.007f) * bump(up));
  }
  shade(paint, 0.7f, line(y - base - 0.008f, 0.014f) * bump(x / (1.3f * b.nose_width)));
}

void HeadSkin::paint_mouth(float x, float y, Paint& paint) const {
  const float s = x / features_.mouth_half();
  if (std::fabs(s) >= 1.06f) return;
  const float t = std::clamp(s, -1.0f, 1.0f);
  const float top = features_.lip_top(t), bottom = features_.lip_bottom(t);
  const float gap_top = features_.gap_top(t), gap_bottom = features_.gap_bottom(t);
  const float within = 1 - smooth_step(0.97f, 1.05f, std::fabs(s));
  shade(paint, 0.75f, line(y - bottom - 0.025f, 0.02f) * bump(s / 0.7f));
  const float lips = head_.looks.lips * (1 + 0.1f * smooth_noise(head_.seed ^ 7, 80 * x, 4 * y));
  cover(paint, 0.85f * lips, edge(y - top) * edge(gap_top - y) * within, 0.3f);
  cover(paint, lips, edge(y - gap_bottom) * edge(bottom - y) * within, 0.6f);
  const float inside = edge(y - gap_top, 0.004f) * edge(gap_bottom - y, 0.004f) * within;
  cover(paint, 0.06f, inside);
  const float teeth = edge(gap_top + 0.03f * (1 - s * s) - y, 0.004f);
  cover(paint, 0.75f, inside * teeth * (1 - smooth_step(0.6f, 0.9f, std::fabs(s))), 0.5f);
  cover(paint, 0.3f * lips, line(y - gap_top, 0.006f) * within);
}

void HeadSkin::paint_eye(int side, float x, float y, Paint& paint) const {
  const Head::Bones& b = head_.bones;
  const Head::Expression& e = head_.expression;
  const float s = features_.eye_s(side, x);
  if (std::fabs(s) > 1.5f) return;
  const float t = std::clamp(s, -1.0f, 1.0f);
  const float upper = features_.upper_lid(side, t), lower = features_.lower_lid(t);
  const float within = 1 - smooth_step(0.98f, 1.08f, std::fabs(s));
  // Shadow of the socket, then the crease of the lid.
  shade(paint, 0.8f, bump(s / 1.5f) * bump((y - features_.open_lid(t) + 0.02f) / 0.07f));
  shade(paint, 0.6f, line(y - features_.open_lid(t) + 0.028f, 0.007f) * bump(s / 1.2f));
  shade(paint, 0.8f, line(y - lower - 0.035f, 0.012f) * bump(s / 1.2f));
  const float open = edge(y - upper, 0.004f) * edge(lower - y, 0.004f) * within;
  Paint ball{0.82f * (1 - 0.35f * bump((y - upper) / 0.03f)) * (1 - 0.2f * s * s), 0.6f};
  const float ix = features_.eye_at(side, 0) + e.gaze_x - x, iy = -0.003f + e.gaze_y - y;
  const float r = std::sqrt(ix * ix + iy * iy), radius = 0.52f * b.eye_width;
  cover(ball, head_.looks.iris, edge(radius - r), 0.6f);
  cover(ball, 0.4f * head_.looks.iris, line(radius - r, 0.006f), 0.6f);
  cover(ball, 0.02f, edge(0.42f * radius - r), 0.6f);
  const float gx = ix + 0.35f * radius, gy = iy - 0.35f * radius;
  cover(ball, 1.0f, edge(0.2f * radius - std::sqrt(gx * gx + gy * gy), 0.004f));
  cover(paint, ball.albedo, open, ball.gloss);
  cover(paint, 0.1f, line(y - upper, 0.009f) * within);
  shade(paint, 0.55f, line(y - lower, 0.005f) * within);
}

void HeadSkin::paint_brow(int side, float x, float y, Paint& paint) const {
  const float s = features_.brow_s(side, x);
  if (std::fabs(s) > 1.15f) return;
  const float t = std::clamp(s, -1.0f, 1.0f);
  const float away = y - features_.brow_y(side, t);
  const float hairs = 0.12f * smooth_noise(head_.seed ^ 8, 70 * x + 25 * y, 20 * y);
  const float ends = 1 - smooth_step(0.96f, 1.1f, std::fabs(s));
  cover(paint, head_.looks.brows * (1 + hairs),
        line(away, features_.brow_thick(t)) * ends * (0.85f + hairs));
}

void HeadSkin::paint_glasses(float x, float y, Paint& paint) const {
  const Head::Bones& b = head_.bones;
  const float thick = head_.looks.glasses;
  for (int side = 0; side < 2; ++side) {
    const float sx = HeadFeatures::sign(side) * x;
    const float dx = (sx - b.eye_x) / 0.16f, dy = (y - 0.015f) / 0.115f;
    // Between an ellipse and a box.
    const float r = std::sqrt(std::sqrt(dx * dx * dx * dx + dy * dy * dy * dy));
    cover(paint, 0.1f, line(0.13f * (r - 1), thick));
    cover(paint, 0.1f, line(y + 0.03f, thick) * edge(sx - b.eye_x - 0.16f));
  }
  cover(paint, 0.1f, line(y + 0.005f, thick) * edge(b.eye_x - 0.16f - std::fabs(x)));
}

}  // namespace cuface::train
