// cufaceoverlay: draws the faces into the frame.
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gst/base/segmenttimes.h"
#include "gst/faceoverlay/cuda_draw.h"
#include "gst/faces/elements.h"
#include "gst/faces/faceelement.h"
#include "gst/meta/keypoints.h"
#include "gst/meta/matches.h"
#include "gst/meta/planar.h"
#include "kernels/common/try.h"
#include "kernels/overlay/overlay.h"
#include "kernels/overlay/picture.h"
#include "models/png_picture.h"

GST_DEBUG_CATEGORY_STATIC(cuface_overlay_debug);
#define GST_CAT_DEFAULT cuface_overlay_debug

namespace cuface::gst {
namespace {

struct Settings : FaceSettings {
  OverlayStyle style;
  std::string image;
};

/// Colours of drawings have had few matrices always.
ColorMatrix ink_matrix(const GstVideoInfo& info) {
  const ColorMatrix matrix = color_matrix(info);
  if (matrix == ColorMatrix::kSmpte240m) return ColorMatrix::kBt709;
  return matrix == ColorMatrix::kFcc ? ColorMatrix::kBt601 : matrix;
}

Status bad_image(const Status& why) {
  return {why.code(), "image: " + why.message() +
                          ". Set image to a PNG file with an alpha channel, of at most 4 million "
                          "pixels and " +
                          std::to_string(kMostPictureSide) + " along a side"};
}

Result<FacePicture> load_picture(const std::string& path) {
  auto pixels = load_png_with_alpha(path, kMostPicturePixels);
  if (!pixels.ok()) return bad_image(pixels.status());
  auto picture = FacePicture::create(std::move(pixels.value()));
  if (!picture.ok())
    return bad_image({picture.status().code(), path + ": " + picture.status().message()});
  return picture;
}

constexpr unsigned kDrawPlaces = kDrawKeypoints | kDrawMatches | kDrawPlanar;

/// draw=image needs a picture that is one, and some things are drawn on the CPU alone.
Status check_style(const OverlayStyle& style, bool has_picture, Backend backend) {
  if ((style.draw & kDrawPlaces) && backend == Backend::kCuda)
    return {StatusCode::kUnsupported,
            "draw=keypoints, draw=matches and draw=planar: places are drawn into frames in system "
            "memory only; put cudadownload before this element"};
  if (!(style.draw & kDrawImage)) return {};
  if (!has_picture)
    return {StatusCode::kInvalidArgument,
            "draw=image: there is no picture; set image to a PNG file with an alpha channel"};
  if (style.picture_face.chin_y <= style.picture_face.eyes_y)
    return {StatusCode::kInvalidArgument,
            "image-chin-y: the chin is not below the eyes; set it to more than image-eyes-y"};
  return {};
}

class FaceOverlay final : public FaceElementWith<Settings> {
 public:
  using FaceElementWith::FaceElementWith;

  Status load() override {
    const std::string image = copy_settings().image;
    picture_.reset();
    if (image.empty()) return {};
    auto picture = load_picture(image);
    CUFACE_TRY(picture.status());
    picture_.emplace(std::move(picture.value()));
    return {};
  }

  Status plan(const GstVideoInfo&) override {
    if (backend() == Backend::kCuda) drawer_ = make_device_drawer();
    return check_style(copy_settings().style, picture_.has_value(), backend());
  }
  void unplan() override { drawer_.reset(); }

 protected:
  /// The pixels are copied first when somebody else holds them, and only then.
  Status process_faces(Frame& frame) override {
    // Properties that a controller animates take their values for this frame.
    const GstClockTime time = stream_time_of(segment(), frame.pts());
    if (GST_CLOCK_TIME_IS_VALID(time)) gst_object_sync_values(GST_OBJECT_CAST(element()), time);
    OverlayStyle style = copy_settings().style;
    if (style.draw == kDrawNone) return {};
    CUFACE_TRY(check_style(style, picture_.has_value(), backend()));
    const FaceResult known = known_faces(frame);
    const ColorMatrix matrix = ink_matrix(frame.info());
    if (frame.device()) {
      frame.change_pixels();
      return drawer_->draw(frame, known, frame.find<FramePlanar>().result, matrix, style,
                           picture_ ? &*picture_ : nullptr);
    }
    CUFACE_TAKE(faces, known.read());
    const bool has_faces = faces && !faces->faces.empty();
    CUFACE_TRY(find_places(frame, style.draw));
    const Places places{keypoints_, matches_, outlines_, planes_};
    if (!has_faces && places.empty()) return {};

    return frame.write([&](const FrameView& view) {
      if (style.draw & kDrawImage) style.picture = &picture_->in(view, matrix);
      const bool done = (!has_faces || draw_faces(view, matrix, *faces, style, &stop_flag())) &&
                        draw_places(view, matrix, places, style, &stop_flag()) &&
                        draw_ids(view, matrix, style);
      return done ? Status() : cancelled();
    });
  }

 private:
  /// Those that are wanted.
  Status find_places(const Frame& frame, unsigned draw) {
    keypoints_.clear();
    matches_.clear();
    outlines_.clear();
    planes_.clear();
    objects_.faces.clear();
    if (draw & kDrawKeypoints) {
      CUFACE_TAKE(features, frame.find<FrameFeatures>().result.read());
      if (features)
        for (const Keypoint& k : features->found.keypoints) keypoints_.push_back({k.x, k.y});
    }
    if (draw & kDrawMatches) {
      CUFACE_TAKE(matches, frame.find<FrameMatches>().result.read());
      if (matches)
        for (const PictureMatch& m : matches->matches) matches_.push_back(m.at);
    }
    if (draw & (kDrawPlanar | kDrawImage)) {
      CUFACE_TAKE(planar, frame.find<FramePlanar>().result.read());
      if (planar)
        for (const PlanarObject& object : planar->objects) {
          if (draw & kDrawImage) planes_.push_back(std::to_array(object.corners));
          if (!(draw & kDrawPlanar)) continue;
          outlines_.push_back(std::to_array(object.corners));
          Face& one = objects_.faces.emplace_back();
          one.id = object.id;
          one.box = box_of(object);
        }
    }
    return {};
  }

  /// Those of flat objects, as faces have them.
  bool draw_ids(const FrameView& view, ColorMatrix matrix, OverlayStyle style) {
    style.draw &= kDrawId;
    return objects_.faces.empty() || draw_faces(view, matrix, objects_, style, &stop_flag());
  }

  // Of this frame, to be drawn.
  std::vector<Point> keypoints_, matches_;
  std::vector<std::array<Point, 4>> outlines_, planes_;
  FaceList objects_;                      ///< boxes and ids of flat objects
  std::optional<FacePicture> picture_;    ///< of the property image
  std::unique_ptr<DeviceDrawer> drawer_;  ///< while planned for the GPU
};

constexpr int kMaxLineWidth = 64;

/// A controller may animate each of them.
constexpr auto kAnimated = static_cast<GParamFlags>(kPlaying | GST_PARAM_CONTROLLABLE);

#define FIELD(member) CUFACE_FIELD(Settings, style.member)

std::vector<Setting> overlay_settings() {
  const GType draw = flags_type(
      "GstCufaceDraw",
      {{kDrawNone, "Nothing", "none"},
       {kDrawBox, "The box", "box"},
       {kDrawContour, "Lines of the model's landmark scheme; landmarks on no line as points",
        "contour"},
       {kDrawPoints, "The landmarks as points", "points"},
       {kDrawId, "The tracker's id", "id"},
       {kDrawConfidence, "The confidence in per cent", "confidence"},
       {kDrawPixelate, "Large blocks that hide the face", "pixelate"},
       {kDrawImage, "The picture of the property image", "image"},
       {kDrawKeypoints, "A point at each keypoint", "keypoints"},
       {kDrawMatches, "A cross at each match with a reference picture", "matches"},
       {kDrawPlanar, "The outline of each flat object; with id, also its id", "planar"},
       {kDrawPointConfidence,
        "The landmarks as points, coloured by confidence; also colours the contour",
        "point-confidence"}});
  return {
      standard_metas_setting<Settings>(),
      setting(g_param_spec_flags("draw", "Draw",
                                 "What to draw of each face and frame. Use pixelate to hide faces.",
                                 draw, OverlayStyle{}.draw, kAnimated),
              FIELD(draw)),
      number("box-color", "Box colour",
             "Colour of box, matches and flat objects, 0xAARRGGBB. Alpha 0 draws nothing.",
             FIELD(box_color), 0, G_MAXUINT32, kAnimated),
      number("landmark-color", "Landmark colour",
             "Colour of contour, points and keypoints, 0xAARRGGBB. Alpha 0 draws nothing.",
             FIELD(landmark_color), 0, G_MAXUINT32, kAnimated),
      number("text-color", "Text colour",
             "Colour of id and confidence, 0xAARRGGBB. Alpha 0 draws nothing.", FIELD(text_color),
             0, G_MAXUINT32, kAnimated),
      number("line-width", "Line width",
             "Width of lines in pixels; 0 is a 360th of the frame's height. Raise it for large "
             "frames shown small.",
             FIELD(line_width), 0, kMaxLineWidth, kAnimated),
      text("image", "Image",
           "PNG file with an alpha channel, drawn on each face and flat object by draw=image. Set "
           "it for masks.",
           CUFACE_FIELD(Settings, image), kReady),
      number("image-eye-distance", "Image's eye distance",
             "Distance between the image's eyes, as a share of its width. Set it for images that "
             "are wider than a face.",
             FIELD(picture_face.eye_distance), 0.05, 1, kAnimated),
      number("image-eyes-y", "Image's eyes",
             "How far the image's eyes are from its top, as a share of its height. Set it for "
             "images with a hat.",
             FIELD(picture_face.eyes_y), 0, 1, kAnimated),
      number("image-chin-y", "Image's chin",
             "How far the image's chin is from its top, as a share of its height. Set it for "
             "images with a beard.",
             FIELD(picture_face.chin_y), 0, 1, kAnimated),
  };
}

}  // namespace

constexpr ElementInfo kFaceOverlay{
    .name = "cufaceoverlay",
    .debug = &cuface_overlay_debug,
    .type = "GstCufaceOverlay",
    .title = "Face overlay",
    .category = "Filter/Effect/Video",
    .description =
        "Draws boxes, landmarks, ids, confidences or a picture on faces, or pixelates them; "
        "keypoints, matches and flat objects",
    .cuda_use = CudaUse::kDraws,
    .make = make_element<FaceOverlay>,
    .settings = overlay_settings,
};

}  // namespace cuface::gst
