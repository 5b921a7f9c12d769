#include "kernels/track/rules.h"

#include <algorithm>
#include <cmath>

namespace cuface::track {
namespace {

float area(const Box& b) { return b.w * b.h; }

float intersection(const Box& a, const Box& b) {
  const float w = std::min(a.x + a.w, b.x + b.w) - std::max(a.x, b.x);
  const float h = std::min(a.y + a.h, b.y + b.h) - std::max(a.y, b.y);
  return w > 0 && h > 0 ? w * h : 0.0f;
}

float distance2(Point a, Point b) {
  const float dx = a.x - b.x, dy = a.y - b.y;
  return dx * dx + dy * dy;
}

/// The best free detection for a track, or -1.
int best_detection(const Box& track, std::span<const Box> detections, const bool* taken,
                   float min_overlap, float& best) {
  int found = -1;
  for (std::size_t d = 0; d < detections.size(); ++d) {
    if (taken[d]) continue;
    const float o = overlap(track, detections[d]);
    if (o >= min_overlap && (found < 0 || o > best)) {
      best = o;
      found = static_cast<int>(d);
    }
  }
  return found;
}

Motion lost(Loss reason) {
  return {.lost = true, .reason = reason, .similarity = {}, .box = {}, .check = 0};
}

}  // namespace

float overlap(const Box& a, const Box& b) {
  const float common = intersection(a, b);
  const float all = area(a) + area(b) - common;
  return common > 0 && all > 0 ? common / all : 0.0f;
}

float visible_fraction(const Box& box, int width, int height) {
  const Box frame{0, 0, static_cast<float>(width), static_cast<float>(height)};
  const float all = area(box);
  return all > 0 ? intersection(box, frame) / all : 0.0f;
}

void associate(std::span<const Box> tracks, std::span<const Box> detections, float min_overlap,
               std::span<int> match) {
  bool taken[kMaxTracks] = {};
  int best[kMaxTracks];
  float best_overlap[kMaxTracks] = {};
  for (std::size_t t = 0; t < tracks.size(); ++t) {
    match[t] = -1;
    best[t] = best_detection(tracks[t], detections, taken, min_overlap, best_overlap[t]);
  }
  for (;;) {
    int top = -1;
    for (int t = 0; t < static_cast<int>(tracks.size()); ++t) {
      if (best[t] >= 0 && (top < 0 || best_overlap[t] > best_overlap[top])) top = t;
    }
    if (top < 0) return;
    const int detection = best[top];
    match[static_cast<std::size_t>(top)] = detection;
    taken[detection] = true;
    best[top] = -1;
    for (std::size_t t = 0; t < tracks.size(); ++t) {
      if (best[t] != detection) continue;
      best[t] = best_detection(tracks[t], detections, taken, min_overlap, best_overlap[t]);
    }
  }
}

float revive_distance2(const Box& before, const Box& now, float revive_distance) {
  const float larger = std::max(before.w, now.w), smaller = std::min(before.w, now.w);
  const float d2 = distance2({before.x + before.w / 2, before.y + before.h / 2},
                             {now.x + now.w / 2, now.y + now.h / 2});
  const float reach = revive_distance * larger;
  return smaller * 2 >= larger && d2 <= reach * reach ? d2 : -1.0f;
}

void grid_points(const Box& box, std::span<Point> points) {
  constexpr float first = 0.2f, step = 0.6f / (kGridSide - 1);
  for (int i = 0; i < kGridSide * kGridSide; ++i) {
    const float u = first + step * static_cast<float>(i % kGridSide);
    const float v = first + step * static_cast<float>(i / kGridSide);
    points[static_cast<std::size_t>(i)] = {box.x + u * box.w - 0.5f, box.y + v * box.h - 0.5f};
  }
}

Box move_box(const Box& box, const Similarity& motion, std::span<const Point> from,
             std::span<const std::uint8_t> inlier) {
  double mx = 0, my = 0;
  int n = 0;
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (!inlier[i]) continue;
    mx += from[i].x;
    my += from[i].y;
    ++n;
  }
  mx /= n;
  my /= n;
  // Points count from pixel centres, boxes from pixel edges: half a pixel between them.
  const double cx = box.x + box.w / 2.0 - 0.5, cy = box.y + box.h / 2.0 - 0.5;
  const double scale = std::sqrt(motion.a * motion.a + motion.b * motion.b);
  const double to_x = motion.a * mx - motion.b * my + motion.tx;
  const double to_y = motion.b * mx + motion.a * my + motion.ty;
  const double w = scale * box.w, h = scale * box.h;
  return {static_cast<float>(to_x + scale * (cx - mx) + 0.5 - w / 2),
          static_cast<float>(to_y + scale * (cy - my) + 0.5 - h / 2), static_cast<float>(w),
          static_cast<float>(h)};
}

float shape_distance(std::span<const Point> from, std::span<const Point> to) {
  Similarity s;
  if (from.size() != to.size() || !fit_similarity(from, to, s)) return -1;
  double sum = 0;
  for (std::size_t i = 0; i < from.size(); ++i) {
    const double dx = s.a * from[i].x - s.b * from[i].y + s.tx - to[i].x;
    const double dy = s.b * from[i].x + s.a * from[i].y + s.ty - to[i].y;
    sum += dx * dx + dy * dy;
  }
  return static_cast<float>(std::sqrt(sum / static_cast<double>(from.size())));
}

Motion judge_motion(const Box& box, std::span<const Point> from, std::span<const Point> to,
                    std::span<const Point> back, std::span<std::uint8_t> good,
                    const TrackConfig& config, std::uint64_t seed, int width, int height,
                    MotionScratch& scratch) {
  const float reach2 = config.forward_backward * config.forward_backward;
  std::size_t followed = 0;
  for (std::size_t i = 0; i < from.size(); ++i) {
    good[i] = good[i] && distance2(from[i], back[i]) <= reach2;
    if (!good[i]) continue;
    scratch.from[followed] = from[i];
    scratch.to[followed] = to[i];
    ++followed;
  }
  const float needed = std::max(2.0f, config.min_points * static_cast<float>(from.size()));
  if (!(static_cast<float>(followed) >= needed)) return lost(Loss::kPoints);

  Motion m;
  const std::span<const Point> f(scratch.from, followed), t(scratch.to, followed);
  const std::span<std::uint8_t> inlier(scratch.inlier, followed);
  const int agreeing = fit_similarity_robust(f, t, std::max(0.5f, config.max_residual * box.w),
                                             seed, inlier, m.similarity);
  if (!(static_cast<float>(agreeing) >= needed)) return lost(Loss::kResidual);
  for (std::size_t i = 0, k = 0; i < good.size(); ++i) {
    if (good[i]) good[i] = inlier[k++];
  }
  m.check = static_cast<float>(agreeing) / static_cast<float>(from.size());

  // Upside down or mirrored within one frame is no head's motion.
  if (!(m.similarity.a > 0)) return lost(Loss::kShape);
  const double scale2 = m.similarity.a * m.similarity.a + m.similarity.b * m.similarity.b;
  const double step2 = static_cast<double>(config.max_scale_step) * config.max_scale_step;
  if (!(scale2 <= step2 && scale2 * step2 >= 1)) return lost(Loss::kScale);

  m.box = move_box(box, m.similarity, f, inlier);
  if (!(m.box.w >= config.min_width &&
        visible_fraction(m.box, width, height) >= config.min_visible)) {
    return lost(Loss::kFrame);
  }
  return m;
}

}  // namespace cuface::track
