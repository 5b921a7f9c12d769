// overlay: draws boxes, contours, points, short texts and pictures straight into a frame of any
// layout [S0.38, S1.14].
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "kernels/faces/faces.h"
#include "kernels/luma/color_matrix.h"
#include "kernels/luma/luma.h"

namespace cuface {

/// What to draw of each face, and of the picture; a bit set.
enum DrawFlags : unsigned {
  kDrawNone = 0,
  kDrawBox = 1 << 0,
  kDrawContour = 1 << 1,  ///< lines through the landmarks of each facial feature (68-point scheme)
  kDrawPoints = 1 << 2,
  kDrawId = 1 << 3,
  kDrawConfidence = 1 << 4,  ///< per cent, beside the id
  kDrawPixelate = 1 << 5,    ///< nothing of the face stays readable
  kDrawImage = 1 << 6,       ///< a picture, under all but pixelate
  kDrawKeypoints = 1 << 7,   ///< discs where the picture's keypoints are
  kDrawMatches = 1 << 8,     ///< crosses where some of them match another picture's
  kDrawPlanar = 1 << 9,      ///< outlines of flat objects
  /// Landmarks as points; these and the contour are green, yellow, orange or red by confidence.
  kDrawPointConfidence = 1 << 10,
};

namespace raster {
struct PictureLevels;
}

/// Where a picture has the face that it is made for: in fractions of its width and its height. The
/// eyes lie beside the middle, and the chin in it.
struct PictureFace {
  float eye_distance = 0.4f, eyes_y = 0.4f, chin_y = 1;  ///< above 0; the chin below the eyes
};

/// 0xAARRGGBB, full range; converted to the frame's colour space by the kernel.
using Argb = std::uint32_t;

struct OverlayStyle {
  unsigned draw = kDrawBox | kDrawContour | kDrawId;
  Argb box_color = 0xff00ff00, landmark_color = 0xffffff00, text_color = 0xffffffff;
  int line_width = 0;  ///< px; 0 = from the frame's height
  PictureFace picture_face;
  /// For kDrawImage, in the samples of this frame (FacePicture::in()); null draws none.
  const raster::PictureLevels* picture = nullptr;
};

/// What has to do with landmarks.
inline constexpr unsigned kDrawLandmarks = kDrawContour | kDrawPoints | kDrawPointConfidence;

/// Draws all faces of `faces` (pixels of this frame) in place, clipped to the frame. Integer
/// arithmetic only: the CUDA twin writes the same bytes. False, with some of the faces, once `stop`
/// is raised. Thread-safe for distinct frames.
bool draw_faces(const FrameView& frame, ColorMatrix matrix, const FaceList& faces,
                const OverlayStyle& style, const StopFlag* stop = nullptr);

/// Where draw_places() draws, in pixels of a frame; somebody else owns it.
struct Places {
  std::span<const Point> discs;                    ///< of the landmarks' colour
  std::span<const Point> crosses;                  ///< of the box's, over them
  std::span<const std::array<Point, 4>> outlines;  ///< the same, over both
  /// Corners of planes that style.picture fills, under all others.
  std::span<const std::array<Point, 4>> planes;
  bool empty() const {
    return discs.empty() && crosses.empty() && outlines.empty() && planes.empty();
  }
};

/// Draws all of them, whatever style.draw says. Else as draw_faces(); on the CPU alone.
bool draw_places(const FrameView& frame, ColorMatrix matrix, const Places& places,
                 const OverlayStyle& style, const StopFlag* stop = nullptr);

}  // namespace cuface
