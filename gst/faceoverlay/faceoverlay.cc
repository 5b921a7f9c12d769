#include "gst/faceoverlay/faceoverlay.h"

#include "gst/base/segmenttimes.h"
#include "gst/faceoverlay/cuda_draw.h"
#include "gst/faces/faceelement.h"
#include "kernels/common/try.h"
#include "kernels/overlay/overlay.h"

GST_DEBUG_CATEGORY_STATIC(cuface_overlay_debug);
#define GST_CAT_DEFAULT cuface_overlay_debug

namespace cuface::gst {
namespace {

struct Settings : FaceSettings {
  OverlayStyle style;
};

/// Colours of drawings have had few matrices always.
ColorMatrix ink_matrix(const GstVideoInfo& info) {
  const ColorMatrix matrix = color_matrix(info);
  if (matrix == ColorMatrix::kSmpte240m) return ColorMatrix::kBt709;
  return matrix == ColorMatrix::kFcc ? ColorMatrix::kBt601 : matrix;
}

class FaceOverlay final : public FaceElementWith<Settings> {
 public:
  using FaceElementWith::FaceElementWith;

  Status plan(const GstVideoInfo&) override {
    if (backend() == Backend::kCuda) drawer_ = make_device_drawer();
    return {};
  }
  void unplan() override { drawer_.reset(); }

 protected:
  /// The pixels are copied first when somebody else holds them, and only then.
  Status process_faces(Frame& frame) override {
    // Properties that a controller animates take their values for this frame.
    const GstClockTime time = stream_time_of(segment(), frame.pts());
    if (GST_CLOCK_TIME_IS_VALID(time)) gst_object_sync_values(GST_OBJECT_CAST(element()), time);
    const OverlayStyle style = copy_settings().style;
    if (style.draw == kDrawNone) return {};
    const FaceResult known = known_faces(frame);
    const ColorMatrix matrix = ink_matrix(frame.info());
    if (frame.device()) return known ? drawer_->draw(frame, known, matrix, style) : Status();
    CUFACE_TAKE(faces, known.read());
    if (!faces || faces->faces.empty()) return {};

    constexpr auto kFlags = static_cast<GstMapFlags>(
        GST_MAP_READWRITE | static_cast<int>(GST_VIDEO_FRAME_MAP_FLAG_NO_REF));
    GstVideoFrame mapped;
    if (!gst_video_frame_map(&mapped, &frame.info(), frame.buffer(), kFlags))
      return {StatusCode::kUnsupported, "cannot write into the video frame's memory"};
    const bool drawn =
        draw_faces(frame_view(mapped, frame.geometry()), matrix, *faces, style, &stop_flag());
    gst_video_frame_unmap(&mapped);
    return drawn ? Status() : cancelled();
  }

 private:
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
       {kDrawContour, "Lines through 68 landmarks; other models' landmarks as points", "contour"},
       {kDrawPoints, "The landmarks as points", "points"},
       {kDrawId, "The tracker's id", "id"},
       {kDrawConfidence, "The confidence in per cent", "confidence"},
       {kDrawPixelate, "Large blocks, so that nobody can be recognised", "pixelate"}});
  return {
      standard_metas_setting<Settings>(),
      setting(g_param_spec_flags("draw", "Draw",
                                 "What to draw of each face. Use pixelate to hide faces.", draw,
                                 OverlayStyle{}.draw, kAnimated),
              FIELD(draw)),
      number("box-color", "Box colour", "Colour of the box, 0xAARRGGBB. Alpha 0 draws nothing.",
             FIELD(box_color), 0, G_MAXUINT32, kAnimated),
      number("landmark-color", "Landmark colour",
             "Colour of contour and points, 0xAARRGGBB. Alpha 0 draws nothing.",
             FIELD(landmark_color), 0, G_MAXUINT32, kAnimated),
      number("text-color", "Text colour",
             "Colour of id and confidence, 0xAARRGGBB. Alpha 0 draws nothing.", FIELD(text_color),
             0, G_MAXUINT32, kAnimated),
      number("line-width", "Line width",
             "Width of lines in pixels; 0 is a 360th of the frame's height. Raise it for large "
             "frames shown small.",
             FIELD(line_width), 0, kMaxLineWidth, kAnimated),
  };
}

constexpr ElementInfo kInfo{
    .type = "GstCufaceOverlay",
    .title = "Face overlay",
    .category = "Filter/Effect/Video",
    .description = "Draws boxes, landmarks, ids and confidences of faces, or pixelates them",
    .cuda_use = CudaUse::kDraws,
    .make = make_element<FaceOverlay>,
    .settings = overlay_settings,
    .changes_pixels = true,
};

}  // namespace
}  // namespace cuface::gst

GType gst_cuface_overlay_get_type() {
  static const GType type = [] {
    GST_DEBUG_CATEGORY_INIT(cuface_overlay_debug, "cufaceoverlay", 0, "face overlay");
    return cuface::gst::register_element(cuface::gst::kInfo);
  }();
  return type;
}
