#include "kernels/overlay/overlay.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <string_view>

#include "kernels/overlay/raster.h"

namespace cuface {
namespace {

using raster::FixedPoint;
using raster::Ink;
using raster::kOne;
using raster::Outline;
using raster::Stroke;

/// What is further away cannot be seen in any frame; keeps the products of raster within 64 bits.
constexpr float kFar = 32768;

constexpr int kMaxLineWidth = 64;

/// NaN is not near.
bool is_near(float v) { return v > -kFar && v < kFar; }
bool is_near(Point p) { return is_near(p.x) && is_near(p.y); }
bool is_near(const Box& b) {
  return is_near(b.x) && is_near(b.y) && b.w > 0 && b.h > 0 && is_near(b.x + b.w) &&
         is_near(b.y + b.h);
}

/// v * 256 is exact in float, the sum in double.
int fixed(float v) { return static_cast<int>(std::floor(static_cast<double>(v * kOne) + 0.5)); }
FixedPoint fixed(Point p) { return {fixed(p.x), fixed(p.y)}; }

int line_width(const FrameView& frame, const OverlayStyle& style) {
  const int wanted = style.line_width > 0 ? style.line_width : (frame.height + 180) / 360;
  return std::clamp(wanted, 1, kMaxLineWidth);
}

/// Strokes of one colour, drawn together.
class Batch {
 public:
  Batch(const FrameView& frame, const Ink& ink) : frame_(frame), ink_(ink) {}
  void add(const Stroke& stroke) {
    if (count_ == strokes_.size()) draw();
    strokes_[count_++] = stroke;
  }
  void draw() {
    raster::fill(frame_, {strokes_.data(), count_}, ink_);
    count_ = 0;
  }

 private:
  const FrameView& frame_;
  const Ink& ink_;
  std::array<Stroke, 192> strokes_;
  std::size_t count_ = 0;
};

// ---- landmarks ---------------------------------------------------------------------------------

/// The lines of the iBUG 68-point scheme: points first..last, closed or open.
struct Curve {
  int first, last;
  bool closed;
};
constexpr Curve kCurves68[] = {
    {0, 16, false}, {17, 21, false}, {22, 26, false}, {27, 30, false}, {31, 35, false},
    {36, 41, true}, {42, 47, true},  {48, 59, true},  {60, 67, true},
};

void add_line(Batch& batch, Point a, Point b, int radius) {
  if (is_near(a) && is_near(b)) batch.add({fixed(a), fixed(b), radius});
}

void draw_landmarks(const FrameView& frame, const Point* points, int count, unsigned draw,
                    int width, const Ink& ink) {
  Batch batch(frame, ink);
  const bool lines = (draw & kDrawContour) && count == 68;
  if (lines) {
    for (const Curve& curve : kCurves68) {
      for (int i = curve.first; i < curve.last; ++i)
        add_line(batch, points[i], points[i + 1], width * kOne / 2);
      if (curve.closed) add_line(batch, points[curve.last], points[curve.first], width * kOne / 2);
    }
  }
  if ((draw & kDrawPoints) || !lines)
    for (int i = 0; i < count; ++i) add_line(batch, points[i], points[i], width * kOne * 3 / 2);
  batch.draw();
}

// ---- text --------------------------------------------------------------------------------------

constexpr int kGlyphHeight = 6, kGlyphAdvance = 6;  // grid units; glyphs are 4 wide

/// Lines between points of a 5 x 7 grid, written "xyxy..."; '/' lifts the pen.
std::string_view glyph(char c) {
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

/// Text whose top left corner is the centre of pixel (x, y), `height` px high.
void add_text(Batch& batch, const char* text, int x, int y, int height, int radius) {
  const auto at = [&](int column, char gx, char gy) {
    return FixedPoint{x * kOne + (column * kGlyphAdvance + gx - '0') * height * kOne / kGlyphHeight,
                      y * kOne + (gy - '0') * height * kOne / kGlyphHeight};
  };
  for (int column = 0; text[column]; ++column) {
    const std::string_view path = glyph(text[column]);
    for (std::size_t i = 0; i + 3 < path.size(); i += 2) {
      if (path[i + 2] == '/') {
        ++i;
        continue;
      }
      batch.add({at(column, path[i], path[i + 1]), at(column, path[i + 2], path[i + 3]), radius});
    }
  }
}

/// "#12 91%", with the parts that are asked for and known.
void label_of(const Face& face, unsigned draw, char (&text)[40]) {
  const bool id = (draw & kDrawId) && face.id != 0;
  const bool confidence = (draw & kDrawConfidence) && face.confidence >= 0 && face.confidence <= 1;
  int used = 0;
  text[0] = 0;
  if (id)
    used = std::snprintf(text, sizeof text, "#%llu", static_cast<unsigned long long>(face.id));
  if (confidence) {
    const int percent = static_cast<int>(face.confidence * 100.0f + 0.5f);
    std::snprintf(text + used, sizeof text - static_cast<std::size_t>(used), "%s%d%%",
                  id ? " " : "", percent);
  }
}

/// Above the box, or inside its top edge where the frame ends; a dark rim keeps it readable on any
/// picture.
void draw_label(const FrameView& frame, const char* text, const Box& box, int width, const Ink& ink,
                const Ink& rim) {
  const int height = std::max(8, frame.height / 30);
  const int gap = height / 3 + width;
  const int x = static_cast<int>(std::floor(box.x)) + height / 6;
  int y = static_cast<int>(std::floor(box.y)) - gap - height;
  if (y < gap / 2) y = static_cast<int>(std::floor(std::max(box.y, 0.0f))) + gap;
  const int radius = std::max(kOne / 2, height * kOne / 16);
  for (const auto& [color, r] : {std::pair{&rim, radius + kOne}, std::pair{&ink, radius}}) {
    Batch batch(frame, *color);
    add_text(batch, text, x, y, height, r);
    batch.draw();
  }
}

// ---- pixelate ----------------------------------------------------------------------------------

/// Box and landmarks together, wider by a quarter of the longer side: a detector's box ends at the
/// brows and at the mouth's corners.
void pixelate_face(const FrameView& frame, const Box& box, const Point* points, int count) {
  float left = box.x, top = box.y, right = box.x + box.w, bottom = box.y + box.h;
  for (int i = 0; i < count; ++i) {
    if (!is_near(points[i])) continue;
    left = std::min(left, points[i].x);
    top = std::min(top, points[i].y);
    right = std::max(right, points[i].x + 1);
    bottom = std::max(bottom, points[i].y + 1);
  }
  const float side = std::max(right - left, bottom - top), margin = side / 4;
  const int x0 = static_cast<int>(std::floor(left - margin));
  const int y0 = static_cast<int>(std::floor(top - margin));
  const int x1 = static_cast<int>(std::ceil(right + margin));
  const int y1 = static_cast<int>(std::ceil(bottom + margin));
  // About six blocks a face; multiples of 4 keep chroma whole.
  const int block = std::max(8, static_cast<int>(side / 24) * 4 + 4);
  raster::pixelate(frame, {x0, y0, x1 - x0, y1 - y0}, block);
}

}  // namespace

void draw_faces(const FrameView& frame, ColorMatrix matrix, const FaceList& faces,
                const OverlayStyle& style) {
  const int count = faces.landmarks_per_face;
  const auto points_of = [&](std::size_t i) { return count > 0 ? faces.landmarks_of(i) : nullptr; };
  if (style.draw & kDrawPixelate) {
    for (std::size_t i = 0; i < faces.faces.size(); ++i)
      if (is_near(faces.faces[i].box))
        pixelate_face(frame, faces.faces[i].box, points_of(i), count);
  }

  const int width = line_width(frame, style);
  const Ink box_ink = raster::make_ink(frame, matrix, style.box_color);
  const Ink landmark_ink = raster::make_ink(frame, matrix, style.landmark_color);
  const Ink text_ink = raster::make_ink(frame, matrix, style.text_color);
  const Ink rim_ink = raster::make_ink(frame, matrix, style.text_color & 0xff000000);
  for (std::size_t i = 0; i < faces.faces.size(); ++i) {
    const Face& face = faces.faces[i];
    const bool placed = is_near(face.box);
    if ((style.draw & kDrawBox) && placed) {
      const Box& b = face.box;
      raster::fill(
          frame, Outline{fixed(b.x), fixed(b.y), fixed(b.x + b.w), fixed(b.y + b.h), width * kOne},
          box_ink);
    }
    if ((style.draw & (kDrawContour | kDrawPoints)) && count > 0)
      draw_landmarks(frame, points_of(i), count, style.draw, width, landmark_ink);
    if ((style.draw & (kDrawId | kDrawConfidence)) && placed) {
      char text[40];
      label_of(face, style.draw, text);
      draw_label(frame, text, face.box, width, text_ink, rim_ink);
    }
  }
}

}  // namespace cuface
