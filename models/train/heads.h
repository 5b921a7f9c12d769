// Drawn heads with 68 points that are exact, for tests and trials that need no photograph: a solid
// head in perspective with painted features, in grey. Everything is a function of a seed and a
// number, by sums, products, quotients and square roots: the same bytes on every processor.
//
// heads.cc draws the parameters, head_shape.h is the solid and where the points lie on it,
// head_skin.h paints it, head_picture.cc puts it before a background and a camera, head_files.cc
// writes many.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "kernels/common/geometry.h"
#include "kernels/common/image.h"
#include "kernels/common/status.h"
#include "kernels/common/stop_flag.h"

namespace cuface::train {

inline constexpr int kHeadPoints = 68;  ///< iBUG's, in its order

/// What a head is. Lengths are in widths of a usual face box, from the point between the eyes; x
/// grows to the right of the picture, y down, z to the camera. Angles are tangents of their halves.
struct Head {
  std::uint64_t seed = 0;  ///< of skin, hair and background

  struct Bones {
    float width, depth, top, chin;  ///< half the width; the face's depth; how far up and down
    float square, taper;            ///< of the jaw
    float eye_x, eye_width, eye_height, eye_tilt;
    float brow_y, brow_width, brow_arch, brow_tilt, brow_thick;
    float nose_top, nose_tip, nose_width, nose_height;
    float mouth_y, mouth_width, lip_above, lip_below;
  } bones;

  struct Expression {
    float open, smile;  ///< of the mouth: 0..1, -1..1
    float shut[2];      ///< of each eye, that on the left of the picture first: 0..1
    float brow[2];      ///< raised
    float gaze_x, gaze_y;
  } expression;

  struct Pose {
    float yaw, pitch, roll;
    float x, y, scale;  ///< in pixels: of the middle of the head, and of a face box's width
    float distance;     ///< of the camera, in box widths
  } pose;

  struct Looks {
    float skin, hair, lips, iris, brows, cloth;  ///< how light, 0..1
    float hairline, parting, hair_end;
    float beard;    ///< 0..1
    float glasses;  ///< 0 = none, else the thickness of the frame
  } looks;

  struct Camera {
    float light_x, light_y, light_z, ambient;
    float gain, offset, noise;
    int blur;  ///< passes of a blur of 3 x 3 pixels
    int width, height;
  } camera;
};

struct HeadOptions {
  std::uint64_t seed = 1;
  int width = 240, height = 240;  ///< of a picture, at least 64
  /// The most that a head turns, as Head::Pose; most heads turn by less than half of it.
  float yaw = 0.36f, pitch = 0.18f, roll = 0.22f;
};

/// Head `number` of the options' seed.
Head random_head(const HeadOptions& options, std::uint64_t number);
/// What a mirror shows, but for the grain of skin and hair, and for the background.
Head mirrored(const Head& head);

/// In pixels of the picture. Points of the jaw lie on the outline that is seen, as people label it.
std::array<Point, kHeadPoints> points_of(const Head& head);
Image<std::uint8_t> draw(const Head& head);

/// Heads from `first` on as PNG files in the folder, which is made, and labels.csv, in which those
/// with glasses are a group. The same bytes with any number of threads. kIo, kUnsupported without
/// libpng, kCancelled once `stop` is raised.
Status write_heads(const HeadOptions& options, std::uint64_t first, std::uint64_t count,
                   const std::string& folder, int threads = 0, const StopFlag* stop = nullptr);

}  // namespace cuface::train
