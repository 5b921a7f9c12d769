// When the flow of a face's points ends its track, and where the face is if it does not:
// judge_motion() gives the Loss. The other two reasons are decided where their state is: kShape of
// landmarks fed back in age_track() (state.h), kMissed in apply_search() (detections.h).
//
// Plain arrays, no state, no allocation, and no libm beyond sqrt, so that the CPU and CUDA run the
// same code.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/common/geometry.h"
#include "kernels/common/host_device.h"
#include "kernels/common/lanes.h"
#include "kernels/faces/faces.h"
#include "kernels/similarity/fit.h"
#include "kernels/similarity/similarity.h"
#include "kernels/track/association.h"
#include "kernels/track/track.h"

namespace cuface::track {

/// Fixed points inside a box, for faces without landmarks: a kGridSide x kGridSide grid over the
/// part of a Haar box that is face and not background.
inline constexpr int kGridSide = 8;
inline constexpr int kGridPoints = kGridSide * kGridSide;
CUFACE_HD inline Point grid_point(const Box& box, int i) {
  constexpr float first = 0.2f, step = 0.6f / (kGridSide - 1);
  const int column = i % kGridSide, row = i / kGridSide;
  const float u = first + step * static_cast<float>(column);
  const float v = first + step * static_cast<float>(row);
  return {box.x + u * box.w - 0.5f, box.y + v * box.h - 0.5f};
}

/// A head's size changes by so much a second (standard deviation, relative): somebody seven metres
/// away walks up to the camera, or off.
inline constexpr double kGrowth = 0.2;

/// How much of a measured change of scale is believed: what is likeliest where heads change by
/// kGrowth and the scale has the error of a least-squares fit. Points count no more often than
/// windows of the flow fit into the box side by side: those that lie nearer see the same pixels,
/// and of a small face mostly what is around it. Without any residual all is believed.
CUFACE_HD inline double believed_scale(double scale, const Box& box,
                                       const similarity::Agreement& points, int window,
                                       double elapsed) {
  const double side = static_cast<double>(box.w) / window;
  const double apart = std::min(std::max(side * side, 1.0), static_cast<double>(points.count));
  const double growth2 = kGrowth * elapsed * (kGrowth * elapsed);
  const double known = 2 * apart * points.extent * growth2;
  const double all = known + points.residual;
  return all > 0 ? 1 + (scale - 1) * (known / all) : scale;
}

/// The box after a similarity of its points: shift and this scale, without the rotation. The
/// centroid of the points keeps its place relative to the box (dropping only the rotation from the
/// similarity would throw the box around the origin).
CUFACE_HD inline Box move_box(const Box& box, const Similarity& motion, double scale,
                              const similarity::Agreement& points) {
  // Points count from pixel centres, boxes from pixel edges: half a pixel between them.
  const double cx = box.x + box.w / 2.0 - 0.5, cy = box.y + box.h / 2.0 - 0.5;
  const double to_x = motion.a * points.x - motion.b * points.y + motion.tx;
  const double to_y = motion.b * points.x + motion.a * points.y + motion.ty;
  const double w = scale * box.w, h = scale * box.h;
  return {static_cast<float>(to_x + scale * (cx - points.x) + 0.5 - w / 2),
          static_cast<float>(to_y + scale * (cy - points.y) + 0.5 - h / 2), static_cast<float>(w),
          static_cast<float>(h)};
}

/// Root mean square distance between two shapes after the best similarity, in units of `to`.
/// Negative when there is none.
CUFACE_HD_GENERIC
template <typename Lanes>
CUFACE_HD float shape_distance(const Lanes& lanes, std::span<const Point> from,
                               std::span<const Point> to, similarity::SumScratch& scratch) {
  Similarity s;
  if (from.size() != to.size() || !similarity::fit(lanes, from, to, nullptr, s, nullptr, scratch))
    return -1;
  add_up<1>(
      lanes, static_cast<int>(from.size()),
      [&](int p, double* term) {
        const auto i = static_cast<std::size_t>(p);
        const double dx = s.a * from[i].x - s.b * from[i].y + s.tx - to[i].x;
        const double dy = s.b * from[i].x + s.a * from[i].y + s.ty - to[i].y;
        term[0] = dx * dx + dy * dy;
      },
      scratch);
  return static_cast<float>(std::sqrt(scratch.sum[0] / static_cast<double>(from.size())));
}

/// One face's points on two frames, and what became of them.
struct Motion {
  bool lost = false;
  Loss reason = Loss::kPoints;  ///< where lost
  Similarity similarity;
  Box box;            ///< where the face is now
  float check = 0;    ///< fraction of the points asked that passed
  bool weak = false;  ///< of no point the confidence is enough
};

/// What the lanes that judge one motion share.
struct MotionScratch {
  Point from[kMaxTrackPoints];
  Point to[kMaxTrackPoints];
  bool passed[kMaxTrackPoints];          // of all points
  std::uint8_t inlier[kMaxTrackPoints];  // of those that passed
  similarity::RobustScratch robust;
};

CUFACE_HD inline void lose(Motion& m, Loss reason) {
  m.lost = true;
  m.reason = reason;
}

/// Is the similarity one of a head, and its face still there? Fills in the box.
CUFACE_HD inline void accept_motion(const Box& box, const similarity::Agreement& points,
                                    const TrackConfig& config, double elapsed, int width,
                                    int height, Motion& m) {
  // Upside down or mirrored within one frame is no head's motion.
  if (!(m.similarity.a > 0)) return lose(m, Loss::kShape);
  const double scale2 = m.similarity.a * m.similarity.a + m.similarity.b * m.similarity.b;
  const double step2 = static_cast<double>(config.max_scale_step) * config.max_scale_step;
  if (!(scale2 <= step2 && scale2 * step2 >= 1)) return lose(m, Loss::kScale);

  const double scale = believed_scale(std::sqrt(scale2), box, points, config.flow.window, elapsed);
  m.box = move_box(box, m.similarity, scale, points);
  if (!(m.box.w >= config.min_width &&
        visible_fraction(m.box, width, height) >= config.min_visible)) {
    lose(m, Loss::kFrame);
  }
}

/// `from` on the previous frame, `to` on this one, `back` = `to` flowed back; good[i] = both flows
/// succeeded; `confidences` of the points, or null. Where fewer points are sure than a motion
/// needs, all are asked. On return good[i] = 1 for points that agree with the motion, unless it is
/// lost. `good`, `m` and `scratch` are visible to all lanes.
CUFACE_HD_GENERIC
template <typename Lanes>
CUFACE_HD void judge_motion(const Lanes& lanes, const Box& box, std::span<const Point> from,
                            std::span<const Point> to, std::span<const Point> back,
                            std::span<std::uint8_t> good, const float* confidences,
                            const TrackConfig& config, std::uint64_t seed, double elapsed,
                            int width, int height, Motion& m, MotionScratch& scratch) {
  const float reach2 = config.forward_backward * config.forward_backward;
  const int all = static_cast<int>(from.size());
  const auto least_of = [&](int points) {
    return std::max(2.0f, config.min_points * static_cast<float>(points));
  };
  // NaN is weak too.
  const auto is_sure = [&](int p) {
    return !confidences || !(config.min_confidence > 0) || confidences[p] >= config.min_confidence;
  };
  const int sure = lanes.pick(all, is_sure, [](int, int) {});
  const bool asks_all = !(static_cast<float>(sure) >= least_of(all));
  const int asked = asks_all ? all : sure;
  lanes.each(all, [&](int p) {
    const auto i = static_cast<std::size_t>(p);
    good[i] = scratch.passed[i] =
        good[i] && (asks_all || is_sure(p)) && distance2(from[i], back[i]) <= reach2;
  });
  const auto passed = [&](int p) { return scratch.passed[p]; };
  const int count = lanes.pick(all, passed, [&](int p, int place) {
    const auto i = static_cast<std::size_t>(p);
    scratch.from[place] = from[i];
    scratch.to[place] = to[i];
  });
  lanes.once([&] {
    m = Motion{};
    m.weak = sure == 0;
  });
  const float needed = least_of(asked);
  if (!(static_cast<float>(count) >= needed)) {
    lanes.once([&] { lose(m, Loss::kPoints); });
    return;
  }
  const auto followed = static_cast<std::size_t>(count);
  const std::span<const Point> f(scratch.from, followed), t(scratch.to, followed);
  const std::span<std::uint8_t> inlier(scratch.inlier, followed);
  const int agreeing =
      similarity::fit_robust(lanes, f, t, std::max(0.5f, config.max_residual * box.w), seed, inlier,
                             m.similarity, scratch.robust);
  if (!(static_cast<float>(agreeing) >= needed)) {
    lanes.once([&] { lose(m, Loss::kResidual); });
    return;
  }
  lanes.pick(all, passed,
             [&](int p, int place) { good[static_cast<std::size_t>(p)] = scratch.inlier[place]; });
  lanes.once([&] {
    m.check = static_cast<float>(agreeing) / static_cast<float>(asked);
    accept_motion(box, scratch.robust.agreement, config, elapsed, width, height, m);
  });
}

}  // namespace cuface::track
