#include "kernels/overlay/overlay.h"

#include <array>
#include <utility>

#include "kernels/overlay/picture.h"
#include "kernels/overlay/raster.h"
#include "kernels/overlay/strokes.h"

namespace cuface {
namespace {

using raster::Ink;
using raster::Stroke;
using strokes::is_near;

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
  std::array<Stroke, raster::kBatch> strokes_;
  std::size_t count_ = 0;
};

void draw_landmarks(const FrameView& frame, const strokes::FacePoints& points,
                    const LandmarkScheme& scheme, unsigned draw, int width,
                    const raster::Inks& inks) {
  for (int ink = 0; ink < raster::kLandmarkInks; ++ink) {
    if (ink > 0 && !points.confidences) break;
    Batch batch(frame, inks.landmark[ink]);
    strokes::add_landmarks(batch, points, scheme, draw, width, ink);
    batch.draw();
  }
}

/// A dark rim keeps it readable on any picture.
void draw_label(const FrameView& frame, const strokes::Label& label, const Ink& ink,
                const Ink& rim) {
  for (const auto& [color, radius] :
       {std::pair{&rim, label.radius + raster::kOne}, std::pair{&ink, label.radius}}) {
    Batch batch(frame, *color);
    strokes::add_text(batch, label, radius);
    batch.draw();
  }
}

}  // namespace

bool draw_faces(const FrameView& frame, ColorMatrix matrix, const FaceList& faces,
                const OverlayStyle& style, const StopFlag* stop) {
  const int count = faces.landmarks_per_face;
  const LandmarkScheme scheme = scheme_for(faces.scheme.get(), count);
  const auto points_of = [&](std::size_t i) { return count > 0 ? faces.landmarks_of(i) : nullptr; };
  if (style.draw & kDrawPixelate) {
    for (std::size_t i = 0; i < faces.faces.size(); ++i) {
      if (is_raised(stop)) return false;
      if (!is_near(faces.faces[i].box)) continue;
      const auto wanted = strokes::pixelation_of(faces.faces[i].box, points_of(i), count);
      raster::pixelate(frame, wanted.area, wanted.block);
    }
  }

  if ((style.draw & kDrawImage) && style.picture) {
    for (std::size_t i = 0; i < faces.faces.size(); ++i) {
      if (is_raised(stop)) return false;
      const raster::FacePose pose = raster::pose_of(faces.faces[i], points_of(i), scheme);
      if (!pose.is_usable()) continue;
      raster::draw_picture(frame, *style.picture,
                           raster::place_picture(*style.picture, style.picture_face, pose,
                                                 frame.width, frame.height));
    }
  }

  const int width = strokes::line_width(frame.height, style);
  const raster::Inks inks = raster::make_inks(frame, matrix, style);
  for (std::size_t i = 0; i < faces.faces.size(); ++i) {
    if (is_raised(stop)) return false;
    const Face& face = faces.faces[i];
    const bool placed = is_near(face.box);
    if ((style.draw & kDrawBox) && placed)
      raster::fill(frame, strokes::outline_of(face.box, width), inks.box);
    if ((style.draw & kDrawLandmarks) && count > 0)
      draw_landmarks(frame, {points_of(i), faces.confidences_of(i)}, scheme, style.draw, width,
                     inks);
    if ((style.draw & (kDrawId | kDrawConfidence)) && placed)
      draw_label(frame, strokes::label_of(face, style.draw, frame.height, width), inks.text,
                 inks.rim);
  }
  return true;
}

bool draw_places(const FrameView& frame, ColorMatrix matrix, const Places& places,
                 const OverlayStyle& style, const StopFlag* stop) {
  if (style.picture)
    for (const std::array<Point, 4>& corners : places.planes) {
      if (is_raised(stop)) return false;
      raster::draw_picture(
          frame, *style.picture,
          raster::place_on_plane(*style.picture, corners.data(), frame.width, frame.height));
    }
  const int width = strokes::line_width(frame.height, style);
  const raster::Inks inks = raster::make_inks(frame, matrix, style);
  // A batch is quick, and so is a look at the flag.
  Batch points(frame, inks.landmark[0]);
  for (const Point& p : places.discs) {
    if (is_raised(stop)) return false;
    strokes::add_line(points, p, p, width * raster::kOne * 3 / 2);
  }
  points.draw();
  Batch lines(frame, inks.box);
  const auto arm = static_cast<float>(4 * width);
  for (const Point& p : places.crosses) {
    if (is_raised(stop)) return false;
    for (const float down : {arm, -arm})
      strokes::add_line(lines, {p.x - arm, p.y - down}, {p.x + arm, p.y + down},
                        width * raster::kOne / 2);
  }
  for (const std::array<Point, 4>& corners : places.outlines) {
    if (is_raised(stop)) return false;
    for (std::size_t k = 0; k < 4; ++k)
      strokes::add_line(lines, corners[k], corners[(k + 1) % 4], width * raster::kOne / 2);
  }
  lines.draw();
  return true;
}

}  // namespace cuface
