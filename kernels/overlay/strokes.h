// Where the lines, discs, texts and blocks of a face lie: shared by the CPU and CUDA versions. A
// `Sink` takes strokes by add(Stroke).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "kernels/common/host_device.h"
#include "kernels/faces/faces.h"
#include "kernels/faces/landmark_scheme.h"
#include "kernels/faces/point_confidence.h"
#include "kernels/overlay/overlay.h"
#include "kernels/overlay/primitives.h"

namespace cuface::strokes {

using raster::FixedPoint;
using raster::kOne;
using raster::Outline;
using raster::Stroke;

/// Points further away cannot be seen in any frame; the limit keeps the products of raster within
/// 64 bits.
inline constexpr float kFar = 32768;

inline constexpr int kMaxLineWidth = 64;

/// NaN is not near.
CUFACE_HD inline bool is_near(float v) { return v > -kFar && v < kFar; }
CUFACE_HD inline bool is_near(Point p) { return is_near(p.x) && is_near(p.y); }
CUFACE_HD inline bool is_near(const Box& b) {
  return is_near(b.x) && is_near(b.y) && b.w > 0 && b.h > 0 && is_near(b.x + b.w) &&
         is_near(b.y + b.h);
}

CUFACE_HD inline int floor_to_int(float v) { return static_cast<int>(std::floor(v)); }

/// v * 256 is exact in float, the sum in double.
CUFACE_HD inline int fixed(float v) {
  return static_cast<int>(std::floor(static_cast<double>(v * kOne) + 0.5));
}
CUFACE_HD inline FixedPoint fixed(Point p) { return {fixed(p.x), fixed(p.y)}; }

inline int line_width(int frame_height, const OverlayStyle& style) {
  const int wanted = style.line_width > 0 ? style.line_width : (frame_height + 180) / 360;
  return std::clamp(wanted, 1, kMaxLineWidth);
}

CUFACE_HD inline Outline outline_of(const Box& b, int width) {
  return {fixed(b.x), fixed(b.y), fixed(b.x + b.w), fixed(b.y + b.h), width * kOne};
}

// ---- landmarks ---------------------------------------------------------------------------------

template <typename Sink>
CUFACE_HD void add_line(Sink& sink, Point a, Point b, int radius) {
  if (is_near(a) && is_near(b)) sink.add(Stroke{fixed(a), fixed(b), radius});
}

/// Landmarks of a face and how sure they are; null confidences: nobody knows.
struct FacePoints {
  const Point* at = nullptr;
  const float* confidences = nullptr;
};

/// Which ink a stroke from one landmark to another has (raster::Inks::landmark): the landmarks'
/// own, or dim where the weaker of them is weak; with kDrawPointConfidence by the weaker one.
CUFACE_HD inline int ink_of(const FacePoints& points, int from, int to, unsigned draw) {
  if (!points.confidences) return 0;
  const float a = points.confidences[from], b = points.confidences[to];
  const float least = a < b ? a : b;  // not so NaN, which no engine tells
  if (!(draw & kDrawPointConfidence)) return least < kWeakConfidence ? 1 : 0;
  return least >= 0.9f ? 2 : least >= 0.7f ? 3 : least >= kWeakConfidence ? 4 : 5;
}

/// The strokes of one ink. `points`: as many as the scheme has. Landmarks on no curve are points
/// for kDrawContour, too.
template <typename Sink>
CUFACE_HD void add_landmarks(Sink& sink, const FacePoints& points, const LandmarkScheme& scheme,
                             unsigned draw, int width, int ink) {
  const auto add = [&](int from, int to, int radius) {
    if (ink_of(points, from, to, draw) == ink)
      add_line(sink, points.at[from], points.at[to], radius);
  };
  if (draw & kDrawContour) {
    for (int c = 0; c < scheme.curves; ++c) {
      const LandmarkCurve& curve = scheme.curve[c];
      for (int i = curve.first; i < curve.last; ++i) add(i, i + 1, width * kOne / 2);
      if (curve.closed) add(curve.last, curve.first, width * kOne / 2);
    }
  }
  for (int i = 0; i < scheme.points; ++i)
    if ((draw & (kDrawPoints | kDrawPointConfidence)) || !scheme.has_on_curve(i))
      add(i, i, width * kOne * 3 / 2);
}

// ---- text --------------------------------------------------------------------------------------

inline constexpr int kGlyphHeight = 6, kGlyphAdvance = 6;  // grid units; glyphs are 4 wide
inline constexpr int kMaxGlyphStrokes = 15;
/// "#18446744073709551615 100%"
inline constexpr int kMaxLabel = 26;

/// Lines between points of a 5 x 7 grid, written "xyxy..."; '/' lifts the pen.
CUFACE_HD inline const char* glyph(char c) {
  switch (c) {
    case '0':
      return "103041453616050110";
    case '1':
      return "112026/1636";
    case '2':
      return "01103041420646";
    case '3':
      return "01103041423313/334445361605";
    case '4':
      return "36300444";
    case '5':
      return "400003334445361605";
    case '6':
      return "413010010516364544331304";
    case '7':
      return "00404116";
    case '8':
      return "103041423313020110/1304051636454433";
    case '9':
      return "051636454130100102133342";
    case '#':
      return "1016/3036/0242/0444";
    case '%':
      return "4006/0010110100/3545463635";
    default:
      return "";
  }
}

/// Text of one face on the frame.
struct Label {
  char text[kMaxLabel + 1];  ///< "" = none
  int x, y;                  ///< its top left corner is the centre of this pixel
  int height;                ///< px
  int radius;                ///< of its strokes; those of its dark rim have kOne more
};

CUFACE_HD inline int append_number(char* text, int used, std::uint64_t n) {
  char digits[20];
  int count = 0;
  do {
    digits[count++] = static_cast<char>('0' + n % 10);
    n /= 10;
  } while (n > 0);
  while (count > 0) text[used++] = digits[--count];
  return used;
}

/// "#12 91%", with the parts that are asked for and known; above the box, or inside its top edge
/// where the frame ends. Needs a box that is near.
CUFACE_HD inline Label label_of(const Face& face, unsigned draw, int frame_height, int width) {
  Label label;
  const bool id = (draw & kDrawId) && face.id != 0;
  const bool confidence = (draw & kDrawConfidence) && face.confidence >= 0 && face.confidence <= 1;
  int used = 0;
  if (id) {
    label.text[used++] = '#';
    used = append_number(label.text, used, face.id);
  }
  if (confidence) {
    if (id) label.text[used++] = ' ';
    const int percent = static_cast<int>(face.confidence * 100.0f + 0.5f);
    used = append_number(label.text, used, static_cast<std::uint64_t>(percent));
    label.text[used++] = '%';
  }
  label.text[used] = 0;
  label.height = std::max(8, frame_height / 30);
  const int gap = label.height / 3 + width;
  label.x = floor_to_int(face.box.x) + label.height / 6;
  label.y = floor_to_int(face.box.y) - gap - label.height;
  if (label.y < gap / 2) label.y = floor_to_int(std::max(face.box.y, 0.0f)) + gap;
  label.radius = std::max(kOne / 2, label.height * kOne / 16);
  return label;
}

template <typename Sink>
CUFACE_HD void add_text(Sink& sink, const Label& label, int radius) {
  for (int column = 0; label.text[column]; ++column) {
    const int left = label.x * kOne, top = label.y * kOne;
    const auto across = [&](int grid) { return grid * label.height * kOne / kGlyphHeight; };
    const auto at = [&](const char* xy) {
      return FixedPoint{left + across(column * kGlyphAdvance + xy[0] - '0'),
                        top + across(xy[1] - '0')};
    };
    for (const char* path = glyph(label.text[column]); path[0] && path[2];) {
      if (path[2] == '/') {
        path += 3;
        continue;
      }
      sink.add(Stroke{at(path), at(path + 2), radius});
      path += 2;
    }
  }
}

// ---- pixelate ----------------------------------------------------------------------------------

struct Pixelation {
  Rect area;
  int block;  ///< px, a multiple of 4
};

/// Box and landmarks together, wider by a quarter of the longer side: a detector's box ends at the
/// brows and at the mouth's corners.
CUFACE_HD inline Pixelation pixelation_of(const Box& box, const Point* points, int count) {
  float left = box.x, top = box.y, right = box.x + box.w, bottom = box.y + box.h;
  for (int i = 0; i < count; ++i) {
    if (!is_near(points[i])) continue;
    left = std::min(left, points[i].x);
    top = std::min(top, points[i].y);
    right = std::max(right, points[i].x + 1);
    bottom = std::max(bottom, points[i].y + 1);
  }
  const float side = std::max(right - left, bottom - top), margin = side / 4;
  const int x0 = floor_to_int(left - margin);
  const int y0 = floor_to_int(top - margin);
  const int x1 = static_cast<int>(std::ceil(right + margin));
  const int y1 = static_cast<int>(std::ceil(bottom + margin));
  // About six blocks a face; multiples of 4 keep chroma whole.
  const int block = std::max(8, static_cast<int>(side / 24) * 4 + 4);
  return {{x0, y0, x1 - x0, y1 - y0}, block};
}

}  // namespace cuface::strokes
