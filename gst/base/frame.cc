#include "gst/base/frame.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "gst/base/filter.h"
#include "kernels/common/try.h"

namespace cuface::gst {

bool same_layout(const GstVideoInfo& a, const GstVideoInfo& b) {
  return GST_VIDEO_INFO_FORMAT(&a) == GST_VIDEO_INFO_FORMAT(&b) && a.width == b.width &&
         a.height == b.height && a.size == b.size &&
         std::equal(std::begin(a.offset), std::end(a.offset), std::begin(b.offset)) &&
         std::equal(std::begin(a.stride), std::end(a.stride), std::begin(b.stride));
}

namespace {

/// Bytes from where the first pixel begins to its sample. GStreamer 1.22's table of formats says
/// something else than its own conversions in two places: V of P010 and its kin lies a word behind
/// U, not a byte, and VYUY begins with V.
int sample_offset(const GstVideoFormatInfo* format, guint component) {
  constexpr int kOfP010[] = {0, 0, 2}, kOfVyuy[] = {1, 2, 0};
  switch (GST_VIDEO_FORMAT_INFO_FORMAT(format)) {
    case GST_VIDEO_FORMAT_P010_10LE:
    case GST_VIDEO_FORMAT_P012_LE:
    case GST_VIDEO_FORMAT_P016_LE:
      return kOfP010[component];
    case GST_VIDEO_FORMAT_VYUY:
      return kOfVyuy[component];
    default:
      return static_cast<int>(GST_VIDEO_FORMAT_INFO_POFFSET(format, component));
  }
}

}  // namespace

FrameView frame_view(const GstVideoFrame& frame, const FrameGeometry& geometry) {
  const GstVideoFormatInfo* format = frame.info.finfo;
  FrameView view;
  view.width = geometry.width;
  view.height = geometry.height;
  view.rgb = GST_VIDEO_FORMAT_INFO_IS_RGB(format);
  view.full_range = view.rgb || frame.info.colorimetry.range != GST_VIDEO_COLOR_RANGE_16_235;
  const int components = GST_VIDEO_FORMAT_INFO_IS_GRAY(format) ? 1 : 3;
  for (int i = 0; i < components; ++i) {
    const auto c = static_cast<guint>(i);
    Component& out = view.component[i];
    out.stride = GST_VIDEO_FRAME_COMP_STRIDE(&frame, c);
    out.pixel_stride = GST_VIDEO_FRAME_COMP_PSTRIDE(&frame, c);
    out.depth = static_cast<int>(GST_VIDEO_FORMAT_INFO_DEPTH(format, c));
    out.shift = static_cast<int>(GST_VIDEO_FORMAT_INFO_SHIFT(format, c));
    out.sub_x = static_cast<int>(GST_VIDEO_FORMAT_INFO_W_SUB(format, c));
    out.sub_y = static_cast<int>(GST_VIDEO_FORMAT_INFO_H_SUB(format, c));
    auto* plane = static_cast<std::uint8_t*>(
        GST_VIDEO_FRAME_PLANE_DATA(&frame, GST_VIDEO_FORMAT_INFO_PLANE(format, c)));
    out.data = plane + sample_offset(format, c) + (geometry.crop_y >> out.sub_y) * out.stride +
               (geometry.crop_x >> out.sub_x) * out.pixel_stride;
  }
  return view;
}

ColorMatrix color_matrix(const GstVideoInfo& info) {
  switch (info.colorimetry.matrix) {
    case GST_VIDEO_COLOR_MATRIX_BT709:
      return ColorMatrix::kBt709;
    case GST_VIDEO_COLOR_MATRIX_BT2020:
      return ColorMatrix::kBt2020;
    case GST_VIDEO_COLOR_MATRIX_FCC:
      return ColorMatrix::kFcc;
    case GST_VIDEO_COLOR_MATRIX_SMPTE240M:
      return ColorMatrix::kSmpte240m;
    default:
      return ColorMatrix::kBt601;
  }
}

Status validate_picture(GstBuffer* buffer, const GstVideoInfo& info) {
  struct Rectangle {
    guint x, y, width, height;
  };
  Rectangle used{0, 0, static_cast<guint>(info.width), static_cast<guint>(info.height)};
  guint width = used.width, height = used.height;
  if (const GstVideoMeta* meta = gst_buffer_get_video_meta(buffer)) {
    width = meta->width;
    height = meta->height;
  }
  const GstVideoCropMeta* crop = gst_buffer_get_video_crop_meta(buffer);
  if (crop) used = {crop->x, crop->y, crop->width, crop->height};
  const auto fits = [](guint64 start, guint64 size, guint64 whole) {
    return size > 0 && start + size <= whole;
  };
  if (fits(used.x, used.width, width) && fits(used.y, used.height, height)) return {};
  const auto text = [](guint x, guint y) { return std::to_string(x) + "x" + std::to_string(y); };
  const std::string what = crop ? "its crop rectangle is " + text(used.width, used.height) +
                                      " at (" + std::to_string(used.x) + ", " +
                                      std::to_string(used.y) + ")"
                                : "its caps say " + text(used.width, used.height);
  return {StatusCode::kUnsupported, "the buffer holds a picture of " + text(width, height) +
                                        ", but " + what +
                                        ": an element before has set a wrong meta"};
}

Frame::Frame(GstBuffer* buffer, const GstVideoInfo& info, const std::shared_ptr<Chain>& own_chain,
             PicturePool& pictures, const void* self, const void* upstream_element,
             const StopFlag* stop)
    : buffer_(buffer),
      info_(info),
      geometry_(frame_geometry(buffer, info.width, info.height)),
      pictures_(pictures),
      stop_(stop),
      had_record_(get_frame_record(buffer) != nullptr),
      record_(&ensure_frame_record(buffer)) {
  if (!had_record_) {
    record_->chain = own_chain;
    record_->generation = own_chain->begin_frame();
    record_->geometry_warned = own_chain->geometry_warned();
  }
  untouched_ = !had_record_ || (upstream_element && record_->untouched_since == upstream_element &&
                                record_->untouched == geometry_);
  record_->untouched_since = untouched_ ? self : nullptr;
  record_->untouched = geometry_;
}

PendingResultRef Frame::pending_before() const {
  if (record_->results.empty()) return nullptr;
  return place_any(buffer_, record_->results.back().kind, width(), height()).result.pending;
}

Status Frame::compute_luma(ImageView<std::uint8_t> out) {
  return read([&](const FrameView& view) -> Status {
    CUFACE_TRY(validate(view));
    return cuface::luma(view, out, stop_) ? Status() : cancelled();
  });
}

Result<GreyPicture> Frame::luma() {
  if (own_luma_) return own_luma_;
  Chain* chain = chain_with_these_pixels();
  if (chain)
    if (GreyPicture shared = chain->luma(record_->generation)) return shared;
  PicturePool* pool = chain ? chain->luma_pool(record_->generation) : nullptr;
  const auto made = (pool ? *pool : pictures_).take(width(), height());
  CUFACE_TRY(compute_luma(made->begin()));
  GST_CAT_LOG(cuface_filter_debug, "luma of %" GST_PTR_FORMAT, buffer_);
  if (pool)
    chain->set_luma(made);
  else
    own_luma_ = made;
  return GreyPicture(made);
}

Result<FlowPyramid> Frame::pyramid() {
  CUFACE_TAKE(picture, luma());
  return FlowPyramid(picture, &picture->pyramid());
}

}  // namespace cuface::gst
