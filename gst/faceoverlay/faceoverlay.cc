#include "gst/faceoverlay/faceoverlay.h"

#include "gst/base/facefilter.h"
#include "gst/base/segmenttimes.h"
#include "gst/faceoverlay/cuda_draw.h"
#include "gst/faces/standardmetas.h"
#include "gst/meta/facemeta.h"
#include "kernels/overlay/overlay.h"

GST_DEBUG_CATEGORY_STATIC(cuface_overlay_debug);
#define GST_CAT_DEFAULT cuface_overlay_debug

using cuface::ColorMatrix;
using cuface::OverlayStyle;
using cuface::Status;
using cuface::StatusCode;
using cuface::gst::Frame;
using cuface::gst::SettingsLock;

struct GstCufaceOverlay {
  GstCufaceFilter parent;
  OverlayStyle style;                 // under SettingsLock
  cuface::gst::DeviceDrawer* drawer;  // while planned for the GPU
};

struct GstCufaceOverlayClass {
  GstCufaceFilterClass parent_class;
};

G_DEFINE_TYPE_WITH_CODE(GstCufaceOverlay, gst_cuface_overlay, GST_TYPE_CUFACE_FILTER,
                        GST_DEBUG_CATEGORY_INIT(cuface_overlay_debug, "cufaceoverlay", 0,
                                                "face overlay"))

namespace {

GstCufaceOverlay* self_of(gpointer object) { return static_cast<GstCufaceOverlay*>(object); }

enum Property { kPropDraw = 1, kPropBoxColor, kPropLandmarkColor, kPropTextColor, kPropLineWidth };

constexpr int kMaxLineWidth = 64;

GType draw_type() {
  static const GFlagsValue values[] = {
      {cuface::kDrawNone, "Nothing", "none"},
      {cuface::kDrawBox, "The box", "box"},
      {cuface::kDrawContour, "Lines through 68 landmarks; other models' landmarks as points",
       "contour"},
      {cuface::kDrawPoints, "The landmarks as points", "points"},
      {cuface::kDrawId, "The tracker's id", "id"},
      {cuface::kDrawConfidence, "The confidence in per cent", "confidence"},
      {cuface::kDrawPixelate, "Large blocks, so that nobody can be recognised", "pixelate"},
      {0, nullptr, nullptr},
  };
  static const GType type = g_flags_register_static("GstCufaceDraw", values);
  return type;
}

ColorMatrix matrix_of(const GstVideoInfo& info) {
  switch (info.colorimetry.matrix) {
    case GST_VIDEO_COLOR_MATRIX_BT709:
    case GST_VIDEO_COLOR_MATRIX_SMPTE240M:
      return ColorMatrix::kBt709;
    case GST_VIDEO_COLOR_MATRIX_BT2020:
      return ColorMatrix::kBt2020;
    default:
      return ColorMatrix::kBt601;
  }
}

void unplan(GstCufaceFilter* filter) {
  delete self_of(filter)->drawer;
  self_of(filter)->drawer = nullptr;
}

Status plan(GstCufaceFilter* filter, const GstVideoInfo&) {
  if (cuface::gst::backend_of(filter) == cuface::Backend::kCuda)
    self_of(filter)->drawer = cuface::gst::make_device_drawer().release();
  return {};
}

/// The pixels are copied first when somebody else holds them, and only then.
Status process(GstCufaceFilter* filter, Frame& frame) {
  OverlayStyle style;
  {
    SettingsLock lock(filter);
    style = self_of(filter)->style;
  }
  if (style.draw == cuface::kDrawNone) return {};
  const cuface::gst::FaceResult known = cuface::gst::known_faces(frame);
  if (frame.device())
    return known ? self_of(filter)->drawer->draw(frame, known, matrix_of(frame.info()), style)
                 : Status();
  const auto read = known.read();
  if (!read.ok()) return read.status();
  const cuface::FaceListRef& faces = read.value();
  if (!faces || faces->faces.empty()) return {};

  constexpr auto kFlags = static_cast<GstMapFlags>(
      GST_MAP_READWRITE | static_cast<int>(GST_VIDEO_FRAME_MAP_FLAG_NO_REF));
  GstVideoFrame mapped;
  if (!gst_video_frame_map(&mapped, &frame.info(), frame.buffer(), kFlags))
    return {StatusCode::kUnsupported, "cannot write into the video frame's memory"};
  const auto geometry = cuface::gst::frame_geometry(
      frame.buffer(), GST_VIDEO_INFO_WIDTH(&frame.info()), GST_VIDEO_INFO_HEIGHT(&frame.info()));
  const bool drawn =
      cuface::draw_faces(cuface::gst::frame_view(mapped, geometry), matrix_of(frame.info()), *faces,
                         style, &cuface::gst::stop_flag_of(filter));
  gst_video_frame_unmap(&mapped);
  return drawn ? Status() : cuface::cancelled();
}

/// Properties that a controller animates take their values for this frame.
void before_transform(GstBaseTransform* trans, GstBuffer* buffer) {
  const GstClockTime time = cuface::gst::stream_time_of(trans->segment, GST_BUFFER_PTS(buffer));
  if (GST_CLOCK_TIME_IS_VALID(time)) gst_object_sync_values(GST_OBJECT_CAST(trans), time);
}

void set_property(GObject* object, guint id, const GValue* value, GParamSpec* spec) {
  OverlayStyle& style = self_of(object)->style;
  SettingsLock lock(object);
  switch (id) {
    case kPropDraw:
      style.draw = g_value_get_flags(value);
      break;
    case kPropBoxColor:
      style.box_color = g_value_get_uint(value);
      break;
    case kPropLandmarkColor:
      style.landmark_color = g_value_get_uint(value);
      break;
    case kPropTextColor:
      style.text_color = g_value_get_uint(value);
      break;
    case kPropLineWidth:
      style.line_width = g_value_get_int(value);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, spec);
  }
}

void get_property(GObject* object, guint id, GValue* value, GParamSpec* spec) {
  const OverlayStyle& style = self_of(object)->style;
  SettingsLock lock(object);
  switch (id) {
    case kPropDraw:
      g_value_set_flags(value, style.draw);
      break;
    case kPropBoxColor:
      g_value_set_uint(value, style.box_color);
      break;
    case kPropLandmarkColor:
      g_value_set_uint(value, style.landmark_color);
      break;
    case kPropTextColor:
      g_value_set_uint(value, style.text_color);
      break;
    case kPropLineWidth:
      g_value_set_int(value, style.line_width);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, spec);
  }
}

}  // namespace

static void gst_cuface_overlay_init(GstCufaceOverlay* self) { self->style = {}; }

static void gst_cuface_overlay_class_init(GstCufaceOverlayClass* klass) {
  auto* object_class = G_OBJECT_CLASS(klass);
  object_class->set_property = set_property;
  object_class->get_property = get_property;

  const OverlayStyle defaults;
  const auto flags = static_cast<GParamFlags>(G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS |
                                              GST_PARAM_CONTROLLABLE | GST_PARAM_MUTABLE_PLAYING);
  g_object_class_install_property(
      object_class, kPropDraw,
      g_param_spec_flags("draw", "Draw", "What to draw of each face. Use pixelate to hide faces.",
                         draw_type(), defaults.draw, flags));
  const auto install_color = [&](guint id, const char* name, const char* nick, const char* blurb,
                                 cuface::Argb value) {
    g_object_class_install_property(
        object_class, id, g_param_spec_uint(name, nick, blurb, 0, G_MAXUINT32, value, flags));
  };
  install_color(kPropBoxColor, "box-color", "Box colour",
                "Colour of the box, 0xAARRGGBB. Alpha 0 draws nothing.", defaults.box_color);
  install_color(kPropLandmarkColor, "landmark-color", "Landmark colour",
                "Colour of contour and points, 0xAARRGGBB. Alpha 0 draws nothing.",
                defaults.landmark_color);
  install_color(kPropTextColor, "text-color", "Text colour",
                "Colour of id and confidence, 0xAARRGGBB. Alpha 0 draws nothing.",
                defaults.text_color);
  g_object_class_install_property(
      object_class, kPropLineWidth,
      g_param_spec_int("line-width", "Line width",
                       "Width of lines in pixels; 0 is a 360th of the frame's height. Raise it for "
                       "large frames shown small.",
                       0, kMaxLineWidth, defaults.line_width, flags));

  auto* element_class = GST_ELEMENT_CLASS(klass);
  gst_element_class_set_static_metadata(
      element_class, "Face overlay", "Filter/Effect/Video",
      "Draws boxes, landmarks, ids and confidences of faces, or pixelates them",
      "The gst-cuface project");
  cuface::gst::add_pad_templates(element_class, cuface::gst::kOverlayCuda);
  GST_BASE_TRANSFORM_CLASS(klass)->before_transform = before_transform;

  auto* filter_class = GST_CUFACE_FILTER_CLASS(klass);
  filter_class->plan = plan;
  filter_class->unplan = unplan;
  filter_class->process = process;
  filter_class->changes_pixels = TRUE;

  gst_type_mark_as_plugin_api(draw_type(), static_cast<GstPluginAPIFlags>(0));
}
