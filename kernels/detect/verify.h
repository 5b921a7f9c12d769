// How faces that a tracker follows are verified where a search has not found them: a patch around
// each, turned and scaled with its head, is searched for one upright face in its middle. One source
// for the CPU and for CUDA; docs/design/verify.md.
//
// Places are integers in steps of 2^-17 pixel, as in kernels/turn/turn.h.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/common/geometry.h"
#include "kernels/common/host_device.h"
#include "kernels/common/image.h"
#include "kernels/detect/detect.h"
#include "kernels/faces/faces.h"
#include "kernels/faces/landmark_scheme.h"
#include "kernels/turn/turn.h"

namespace cuface {

/// At most so many faces of a frame are verified, the first ones of the tracker's list.
inline constexpr int kMostVerified = 16;
/// Patches side by side in the atlas.
inline constexpr int kPatchColumns = 4;

/// The form of one cascade's patches, the same for all faces.
struct PatchShape {
  int face_width = 0, face_height = 0;  ///< of the followed face's box in its patch
  int width = 0, height = 0;            ///< of a patch
  int smallest = 0, largest = 0;        ///< boxes outside these widths are not verified; pixels

  CUFACE_HD int atlas_width() const { return kPatchColumns * width; }
  CUFACE_HD int atlas_height() const { return kMostVerified / kPatchColumns * height; }
};

/// For a valid configuration of a search of pictures of width x height.
PatchShape patch_shape(int window_width, int window_height, const DetectConfig& config, int width,
                       int height);
/// How the atlas is searched.
DetectConfig patch_search(const PatchShape& shape, const DetectConfig& config);

/// Where a patch lies in the picture.
struct Patch {
  std::int64_t x = 0, y = 0;      ///< its middle
  std::int32_t cos = 0, sin = 0;  ///< of its turn, times 2^16 pixels of the picture a pixel of it
  std::int32_t scale = 0;         ///< 2^16 pixels of the picture a pixel of it
  Roll roll;
};

namespace verify {

/// How far a find's centre may lie from the patch's middle, in widths of the face.
inline constexpr float kReach = 0.3f;
/// Sides of finds, as ratios of the followed face's, from 1 / kGrowth to kGrowth.
inline constexpr double kGrowth = 1.35;
/// A find that overlaps a face by less does not stand for it (intersection over union): what looks
/// like an upright face in a turned head lies beside it.
inline constexpr float kSameFace = 0.5f;

CUFACE_HD inline std::int64_t rounded(double v) {
  return static_cast<std::int64_t>(floor(v + 0.5));
}

/// How a followed face is turned: by its landmarks, in a picture that is stretched by `sx` and
/// `sy`; else as a detector saw it last.
CUFACE_HD inline Roll roll_of(const Face& face, const Point* points, const Eyes& eyes, float sx,
                              float sy) {
  float x = 0, y = 0;
  for (int i = 0; i < eyes.count; ++i) {
    x += points[eyes.right + i].x - points[eyes.left + i].x;
    y += points[eyes.right + i].y - points[eyes.left + i].y;
  }
  x *= sx;
  y *= sy;
  const float length = sqrtf(x * x + y * y);
  if (!(length > 0) || length - length != 0) return face.roll;  // also where points are NaN
  return {x / length, y / length};
}

}  // namespace verify

/// `points`: the landmarks or followed points of the face, with these eyes. The search is in a
/// picture `sx` times as wide and `sy` times as high as the tracker's.
CUFACE_HD inline Followed followed_face(const Face& face, const Point* points, const Eyes& eyes,
                                        float sx = 1, float sy = 1) {
  const Box& b = face.box;
  return {{b.x * sx, b.y * sy, b.w * sx, b.h * sy}, verify::roll_of(face, points, eyes, sx, sy)};
}

/// Whether a search of `searched` in a picture that high and wide ought to have found the face: not
/// one that is nowhere, too small or too large.
CUFACE_HD inline bool can_verify(const Followed& face, const PatchShape& shape,
                                 const SearchRegion& searched, int width, int height) {
  const Box& b = face.box;
  const float x = b.x + b.w / 2, y = b.y + b.h / 2;
  return x >= 0 && y >= 0 && x < static_cast<float>(width) && y < static_cast<float>(height) &&
         b.w >= static_cast<float>(shape.smallest) && b.w <= static_cast<float>(shape.largest) &&
         is_in(searched, b, height, 0);
}

/// `face` is one that can_verify().
CUFACE_HD inline Patch patch_of(const Followed& face, const PatchShape& shape) {
  const double scale = static_cast<double>(face.box.w) / shape.face_width;
  const double x = static_cast<double>(face.box.x) + static_cast<double>(face.box.w) / 2 - 0.5;
  const double y = static_cast<double>(face.box.y) + static_cast<double>(face.box.h) / 2 - 0.5;
  Patch patch;
  patch.x = verify::rounded(x * (1 << turning::kFraction));
  patch.y = verify::rounded(y * (1 << turning::kFraction));
  patch.cos = static_cast<std::int32_t>(verify::rounded(scale * face.roll.cos * 65536));
  patch.sin = static_cast<std::int32_t>(verify::rounded(scale * face.roll.sin * 65536));
  patch.scale = static_cast<std::int32_t>(verify::rounded(scale * 65536));
  patch.roll = face.roll;
  return patch;
}

/// The patch's value at column u of row v.
CUFACE_HD inline std::uint8_t patch_sample(const ImageView<const std::uint8_t>& picture,
                                           const PatchShape& shape, const Patch& patch, int u,
                                           int v) {
  const std::int64_t a = 2 * u + 1 - shape.width, b = 2 * v + 1 - shape.height;
  return turning::sample(picture, patch.x + a * patch.cos - b * patch.sin,
                         patch.y + a * patch.sin + b * patch.cos);
}

/// The patch that a find in the atlas lies in.
CUFACE_HD inline int patch_at(const Rect& box, const PatchShape& shape) {
  return (2 * box.y + box.h) / (2 * shape.height) * kPatchColumns +
         (2 * box.x + box.w) / (2 * shape.width);
}

/// A find in patch `index` as a box of the picture, upright about its centre; sides and centre are
/// rounded half up to whole pixels. False where it is not in the patch's middle, or its centre
/// outside of the picture.
CUFACE_HD inline bool from_patch(const PatchShape& shape, const Patch& patch, int index, int width,
                                 int height, Rect& box) {
  const std::int64_t a = 2 * (box.x - index % kPatchColumns * shape.width) + box.w - shape.width;
  const std::int64_t b = 2 * (box.y - index / kPatchColumns * shape.height) + box.h - shape.height;
  const auto reach =
      static_cast<std::int64_t>(2 * verify::kReach * static_cast<float>(shape.face_width));
  if (a > reach || a < -reach || b > reach || b < -reach) return false;
  const std::int64_t half = 1 << (turning::kFraction - 1);  // from a pixel's centre to its edge
  const std::int64_t x = patch.x + a * patch.cos - b * patch.sin + half;
  const std::int64_t y = patch.y + a * patch.sin + b * patch.cos + half;
  if (x < 0 || y < 0 || x >= static_cast<std::int64_t>(width) << turning::kFraction ||
      y >= static_cast<std::int64_t>(height) << turning::kFraction)
    return false;
  const auto side = [&](int v) {
    return static_cast<int>((static_cast<std::int64_t>(v) * patch.scale + (1 << 15)) >> 16);
  };
  box.w = side(box.w);
  box.h = side(box.h);
  box.x = static_cast<int>((x - box.w * half + half) >> turning::kFraction);
  box.y = static_cast<int>((y - box.h * half + half) >> turning::kFraction);
  return true;
}

}  // namespace cuface
