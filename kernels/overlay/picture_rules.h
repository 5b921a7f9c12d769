// Where a picture lies on a face, and what one pixel and one sample of a frame get of it: shared by
// the CPU and CUDA versions. From the affine map's coefficients on, all is integers.
//
// The map carries both eyes and the chin of the picture onto those of the face, so it turns, leans
// and narrows with the head. Pictures are premultiplied: transparent pixels have no colour, and
// edges blend without a rim. They have levels, each half as large as the one before, so that a
// small face does not skip pixels.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/common/host_device.h"
#include "kernels/faces/faces.h"
#include "kernels/faces/landmark_scheme.h"
#include "kernels/homography/find.h"
#include "kernels/homography/homography.h"
#include "kernels/overlay/primitives.h"
#include "kernels/overlay/strokes.h"

namespace cuface::raster {

/// A pixel of a picture in the samples of a frame, premultiplied. 65535 = opaque; a sample of a
/// frame of depth d is in the upper d bits.
struct PicturePixel {
  std::uint16_t alpha, value[3];
};

/// One size of a picture. Row after row, with a transparent pixel on every side, which the size
/// does not count.
struct PictureLevel {
  const PicturePixel* pixels = nullptr;
  int width = 0, height = 0;
};

/// For pictures up to 4096 pixels wide.
inline constexpr int kMostPictureLevels = 13;

struct PictureLevels {
  int count = 0;
  PictureLevel level[kMostPictureLevels];
};

// ---- where a picture lies ----------------------------------------------------------------------

/// Both eyes' middle, the way from the one that is left in the picture to the other, and the way
/// from the eyes' middle to the chin; in pixels.
struct FacePose {
  double x = 0, y = 0, eyes_x = 0, eyes_y = 0, chin_x = 0, chin_y = 0;

  CUFACE_HD double area() const { return eyes_x * chin_y - eyes_y * chin_x; }

  /// Not so for a face seen from the side, nor for points that belong to none: the map would make
  /// stripes of the picture. False for NaN, and where the map would leave 64 bits.
  CUFACE_HD bool is_usable() const {
    const double squares = eyes_x * eyes_x + eyes_y * eyes_y + chin_x * chin_x + chin_y * chin_y;
    constexpr double kMost = 4.0 * strokes::kFar;
    return area() >= 1 && area() * 64 >= squares && squares < kMost * kMost;
  }
};

/// From the eyes' middle to the chin, in ways to the middle of the mouth's corners and to the tip
/// or base of the nose: the medians of 166 faces whose landmarks were marked by people (HELEN,
/// LFPW, Menpo). A chin is off by 14 and 26 % of the eyes' distance in the median.
inline constexpr double kChinByMouth = 1.78, kChinByNose = 2.37;

/// Where eyes and chin are in an upright box of a cascade, from its middle, in its sides: the
/// medians of 55 such faces in boxes of haarcascade_frontalface_alt.
inline constexpr double kBoxEyes = 0.19, kBoxEyesY = -0.1, kBoxChinY = 0.57;

CUFACE_HD inline FacePose pose_of(Point left_eye, Point right_eye, double to_chin_x,
                                  double to_chin_y, double reach) {
  FacePose pose;
  pose.x = (static_cast<double>(left_eye.x) + static_cast<double>(right_eye.x)) / 2;
  pose.y = (static_cast<double>(left_eye.y) + static_cast<double>(right_eye.y)) / 2;
  pose.eyes_x = static_cast<double>(right_eye.x) - static_cast<double>(left_eye.x);
  pose.eyes_y = static_cast<double>(right_eye.y) - static_cast<double>(left_eye.y);
  pose.chin_x = reach * (to_chin_x - pose.x);
  pose.chin_y = reach * (to_chin_y - pose.y);
  return pose;
}

/// False where there are no such points, or one of them is too far away.
CUFACE_HD inline bool middle_of(const Point* points, PointRange range, Point& middle) {
  if (range.count == 0) return false;
  for (int i = range.first; i < range.first + range.count; ++i) {
    if (!strokes::is_near(points[i])) return false;
    middle.x += points[i].x;
    middle.y += points[i].y;
  }
  middle.x /= static_cast<float>(range.count);
  middle.y /= static_cast<float>(range.count);
  return true;
}

/// Not usable where the scheme has no eyes, nor what is below them, or a point of those needed is
/// too far away.
CUFACE_HD inline FacePose pose_of_landmarks(const Point* points, const LandmarkScheme& scheme) {
  const Eyes& eyes = scheme.eyes;
  Point left, right, low;
  double reach = scheme.low.kind == LowPoint::kChin ? 1 : kChinByNose;
  if (!middle_of(points, {eyes.left, eyes.count}, left) ||
      !middle_of(points, {eyes.right, eyes.count}, right))
    return {};
  if (scheme.low.kind != LowPoint::kUnknown) {
    if (!middle_of(points, {scheme.low.index, 1}, low)) return {};
  } else {
    if (!middle_of(points, scheme.mouth, low)) return {};
    reach = kChinByMouth;
  }
  return pose_of(left, right, static_cast<double>(low.x), static_cast<double>(low.y), reach);
}

CUFACE_HD inline FacePose pose_of_keypoints(const Face& face) {
  if (!face.has_keypoints) return {};
  for (const Point& p : face.keypoints)
    if (!strokes::is_near(p)) return {};
  const Point &right = face.keypoints[3], &left = face.keypoints[4];
  return pose_of(face.keypoints[0], face.keypoints[1],
                 (static_cast<double>(right.x) + static_cast<double>(left.x)) / 2,
                 (static_cast<double>(right.y) + static_cast<double>(left.y)) / 2, kChinByMouth);
}

/// The box does not give the head's roll, but its detector may.
CUFACE_HD inline FacePose pose_of_box(const Face& face) {
  if (!strokes::is_near(face.box)) return {};
  const auto cos = static_cast<double>(face.roll.cos), sin = static_cast<double>(face.roll.sin);
  const auto w = static_cast<double>(face.box.w), h = static_cast<double>(face.box.h);
  // Boxes count from edges, points from the centres of pixels.
  FacePose pose;
  pose.x = static_cast<double>(face.box.x) + w / 2 - 0.5 - sin * (kBoxEyesY * h);
  pose.y = static_cast<double>(face.box.y) + h / 2 - 0.5 + cos * (kBoxEyesY * h);
  pose.eyes_x = cos * (2 * kBoxEyes * w);
  pose.eyes_y = sin * (2 * kBoxEyes * w);
  pose.chin_x = -sin * ((kBoxChinY - kBoxEyesY) * h);
  pose.chin_y = cos * ((kBoxChinY - kBoxEyesY) * h);
  return pose;
}

/// The best that is known of a face. Not usable where nothing is.
CUFACE_HD inline FacePose pose_of(const Face& face, const Point* points,
                                  const LandmarkScheme& scheme) {
  FacePose pose = pose_of_landmarks(points, scheme);
  if (!pose.is_usable()) pose = pose_of_keypoints(face);
  if (!pose.is_usable()) pose = pose_of_box(face);
  return pose;
}

/// How a frame's pixels map to those of a level: u = (u0 + ux * (x - x0) + uy * (y - y0)) / 2^20,
/// and v alike. From a pixel of the frame on, not from its corner: so a face that moves by whole
/// pixels looks the same.
struct PicturePlace {
  Span2 area = {0, 0, 0, 0};  ///< pixels outside of it get nothing
  int level = 0;
  int x0 = 0, y0 = 0;
  std::int64_t u0 = 0, ux = 0, uy = 0, v0 = 0, vx = 0, vy = 0;
};

inline constexpr int kPlaceBits = 20;
inline constexpr int kWeightBits = 8;

CUFACE_HD inline std::int64_t rounded(double v) {
  return static_cast<std::int64_t>(std::floor(v + 0.5));
}

/// The map of a usable pose. The area is empty where nothing of the picture is in the frame.
CUFACE_HD inline PicturePlace place_picture(const PictureLevels& levels, const PictureFace& in,
                                            const FacePose& pose, int frame_width,
                                            int frame_height) {
  const double width = levels.level[0].width, height = levels.level[0].height;
  const double across = static_cast<double>(in.eye_distance) * width;
  const double eyes_row = static_cast<double>(in.eyes_y) * height;
  const double down = static_cast<double>(in.chin_y) * height - eyes_row;
  const double area = pose.area();
  // From edge to edge, as sizes are: a level's centres are half a pixel of its own further in.
  double ux = pose.chin_y * across / area, uy = -pose.chin_x * across / area;
  double vx = -pose.eyes_y * down / area, vy = pose.eyes_x * down / area;

  PicturePlace place;
  double most = std::max(ux * ux + vx * vx, uy * uy + vy * vy), scale = 1;
  for (; most > 2 && place.level + 1 < levels.count; most /= 4, scale *= 2) ++place.level;
  place.x0 = static_cast<int>(std::floor(pose.x));
  place.y0 = static_cast<int>(std::floor(pose.y));
  const double dx = place.x0 - pose.x, dy = place.y0 - pose.y;
  const double one = 1 << kPlaceBits;
  // Half a weight is added here, so that cutting a position rounds it.
  const double half = 0.5 / (1 << kWeightBits) - 0.5;
  place.u0 = rounded(((width / 2 + ux * dx + uy * dy) / scale + half) * one);
  place.v0 = rounded(((eyes_row + vx * dx + vy * dy) / scale + half) * one);
  place.ux = rounded(ux / scale * one);
  place.uy = rounded(uy / scale * one);
  place.vx = rounded(vx / scale * one);
  place.vy = rounded(vy / scale * one);

  // The corners, and beyond them what a level's last pixels still touch.
  const double rim = 3 * scale;
  double left = 0, top = 0, right = 0, bottom = 0;
  for (int corner = 0; corner < 4; ++corner) {
    const double u = corner & 1 ? width + rim : -rim, v = corner & 2 ? height + rim : -rim;
    const double s = (u - width / 2) / across, t = (v - eyes_row) / down;
    const double x = pose.x + s * pose.eyes_x + t * pose.chin_x;
    const double y = pose.y + s * pose.eyes_y + t * pose.chin_y;
    left = corner == 0 ? x : std::min(left, x);
    right = corner == 0 ? x : std::max(right, x);
    top = corner == 0 ? y : std::min(top, y);
    bottom = corner == 0 ? y : std::max(bottom, y);
  }
  const auto within = [](double v, int last) {
    return static_cast<int>(std::min(std::max(v, 0.0), static_cast<double>(last)));
  };
  place.area = {within(left - 1, frame_width), within(top - 1, frame_height),
                within(right + 2, frame_width), within(bottom + 2, frame_height)};
  return place;
}

/// The same for a picture on a plane: (u, v) are the level's pixels, of which w is the divisor.
struct PlanePlace {
  Span2 area = {0, 0, 0, 0};
  int level = 0;
  double u[3] = {}, v[3] = {}, w[3] = {};  ///< of x, y and 1
};

/// Where the picture fills the view of a plane whose four corners are these: top left, top right,
/// bottom right, bottom left, convex. The area is empty where that is no view, or outside of the
/// frame.
CUFACE_HD inline PlanePlace place_on_plane(const PictureLevels& levels, const Point* corners,
                                           int frame_width, int frame_height) {
  const auto width = static_cast<float>(levels.level[0].width);
  const auto height = static_cast<float>(levels.level[0].height);
  // From edge to edge.
  const Point of[4] = {
      {-0.5f, -0.5f}, {width - 0.5f, -0.5f}, {width - 0.5f, height - 0.5f}, {-0.5f, height - 0.5f}};
  Homography back;
  for (int k = 0; k < 4; ++k)
    if (!strokes::is_near(corners[k])) return {};
  if (!homography::through_four(corners, of, back)) return {};
  PlanePlace place;
  double area = 0, scale = 1;
  Point low = corners[0], high = corners[0];
  for (int k = 0; k < 4; ++k) {
    area += std::abs(homography::turn(corners[0], corners[k], corners[(k + 1) % 4])) / 2;
    low = {std::min(low.x, corners[k].x), std::min(low.y, corners[k].y)};
    high = {std::max(high.x, corners[k].x), std::max(high.y, corners[k].y)};
  }
  for (double per_pixel = width * height / area; per_pixel > 2 && place.level + 1 < levels.count;
       per_pixel /= 4, scale *= 2)
    ++place.level;
  // A level's pixel is `scale` of the picture's; centres are half a pixel from the edge.
  for (int k = 0; k < 3; ++k) {
    place.w[k] = back.m[6 + k];
    place.u[k] = (back.m[k] + 0.5 * back.m[6 + k]) / scale - 0.5 * back.m[6 + k];
    place.v[k] = (back.m[3 + k] + 0.5 * back.m[6 + k]) / scale - 0.5 * back.m[6 + k];
  }
  place.area = {static_cast<int>(std::floor(low.x)) - 1, static_cast<int>(std::floor(low.y)) - 1,
                static_cast<int>(std::ceil(high.x)) + 2, static_cast<int>(std::ceil(high.y)) + 2};
  place.area = intersect(place.area, {0, 0, frame_width, frame_height});
  return place;
}

// ---- pixels ------------------------------------------------------------------------------------

/// Between the four pixels of the level around (u, v), which has steps of 2^-20; nothing outside.
CUFACE_HD inline PicturePixel picture_between(const PictureLevel& level, std::int64_t u,
                                              std::int64_t v) {
  const std::int64_t column = u >> kPlaceBits, row = v >> kPlaceBits;
  if (column < -1 || column >= level.width || row < -1 || row >= level.height) return {};
  constexpr int kOneWeight = 1 << kWeightBits;
  const auto right = static_cast<std::uint32_t>(u >> (kPlaceBits - kWeightBits) & (kOneWeight - 1));
  const auto below = static_cast<std::uint32_t>(v >> (kPlaceBits - kWeightBits) & (kOneWeight - 1));
  const std::int64_t stride = level.width + 2;
  const PicturePixel* upper = level.pixels + (row + 1) * stride + column + 1;
  const PicturePixel* lower = upper + stride;
  const auto mean = [&](std::uint32_t a, std::uint32_t b, std::uint32_t c, std::uint32_t d) {
    const std::uint32_t above = a * (kOneWeight - right) + b * right;
    const std::uint32_t under = c * (kOneWeight - right) + d * right;
    return static_cast<std::uint16_t>((above * (kOneWeight - below) + under * below + 32768) >> 16);
  };
  PicturePixel out;
  out.alpha = mean(upper[0].alpha, upper[1].alpha, lower[0].alpha, lower[1].alpha);
  for (int i = 0; i < 3; ++i)
    out.value[i] = mean(upper[0].value[i], upper[1].value[i], lower[0].value[i], lower[1].value[i]);
  return out;
}

/// Where (x, y) of the frame lies.
CUFACE_HD inline PicturePixel picture_at(const PictureLevel& level, const PicturePlace& place,
                                         int x, int y) {
  const std::int64_t dx = x - place.x0, dy = y - place.y0;
  return picture_between(level, place.u0 + place.ux * dx + place.uy * dy,
                         place.v0 + place.vx * dx + place.vy * dy);
}

/// The same; nothing behind the camera, and nothing far outside.
CUFACE_HD inline PicturePixel picture_at(const PictureLevel& level, const PlanePlace& place, int x,
                                         int y) {
  const double w = place.w[0] * x + place.w[1] * y + place.w[2];
  const double u = place.u[0] * x + place.u[1] * y + place.u[2];
  const double v = place.v[0] * x + place.v[1] * y + place.v[2];
  if (!(w > 0 && u > -2 * w && v > -2 * w && u < (level.width + 1) * w &&
        v < (level.height + 1) * w))
    return {};
  constexpr double kOnePixel = 1 << kPlaceBits, kHalfWeight = 0.5 / (1 << kWeightBits);
  return picture_between(level,
                         static_cast<std::int64_t>(std::floor((u / w + kHalfWeight) * kOnePixel)),
                         static_cast<std::int64_t>(std::floor((v / w + kHalfWeight) * kOnePixel)));
}

/// A sample of depth `depth` under the mean of the `n` pixels that it stands for: their sums.
CUFACE_HD inline int with_picture(int old, int depth, std::uint32_t alphas, std::uint32_t values,
                                  std::uint32_t n) {
  const std::uint32_t alpha = (alphas + n / 2) / n, value = (values + n / 2) / n;
  const std::uint32_t seen = 65536 - alpha - (alpha >> 15);  // of the old one; 65536 is all
  const std::uint64_t sum =
      std::uint64_t{seen} * static_cast<std::uint32_t>(old) + (std::uint64_t{value} << depth);
  const auto mixed = static_cast<int>((sum + 32768) >> 16), top = (1 << depth) - 1;
  return mixed < top ? mixed : top;
}

}  // namespace cuface::raster
