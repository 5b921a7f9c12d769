// One buffer on its way through one of our elements.
#pragma once

#include <gst/gst.h>
#include <gst/video/video.h>

#include <cstdint>

#include "gst/base/chain.h"
#include "gst/base/counts.h"
#include "gst/base/picturepool.h"
#include "gst/base/timejump.h"
#include "gst/meta/framemeta.h"
#include "kernels/common/image.h"
#include "kernels/common/status.h"
#include "kernels/common/stop_flag.h"
#include "kernels/luma/color_matrix.h"
#include "kernels/luma/luma.h"

namespace cuface::gst {

class DeviceFrame;

/// The pixel formats every element takes: those whose components lie one sample after the other
/// at a fixed distance, in bytes or little-endian words.
#define CUFACE_VIDEO_FORMATS                                                                       \
  "{ GRAY8, NV12, I420, YV12, NV21, NV16, NV61, NV24, Y42B, Y444, Y41B, YUV9, YVU9, YUY2, UYVY, "  \
  "YVYU, VYUY, v308, IYU2, AYUV, VUYA, A420, AV12, RGB, BGR, RGBx, BGRx, xRGB, xBGR, RGBA, BGRA, " \
  "ARGB, ABGR, GBR, GBRA, RGBP, BGRP, P010_10LE, I420_10LE, I422_10LE, Y444_10LE, GBR_10LE, "      \
  "P012_LE, I420_12LE, I422_12LE, Y444_12LE, GBR_12LE, P016_LE, Y444_16LE, GRAY16_LE }"

/// Whether frames of both kinds are the same picture, laid out in the same way. Their rate, the
/// shape of a pixel, and what else says how to show them does not matter, nor do colours: they are
/// looked up for each frame.
bool same_layout(const GstVideoInfo& a, const GstVideoInfo& b);

/// The kernels' view of a mapped frame, within its crop rectangle. Valid while the frame is mapped.
FrameView frame_view(const GstVideoFrame& frame, const FrameGeometry& geometry);

/// The matrix that the caps name; BT.601 where they name none that we know.
ColorMatrix color_matrix(const GstVideoInfo& info);

/// Refuses a buffer whose picture, by its GstVideoMeta, is smaller than its caps or its crop
/// rectangle: they say where to read and write.
Status validate_picture(GstBuffer* buffer, const GstVideoInfo& info);

/// What process() gets. Lives for one call; owns nothing but the mapping.
class Frame {
 public:
  /// `own_chain` is used when no element of ours has seen the buffer; `pictures` are for the
  /// luma when the chain's cannot be used; `self` and `upstream_element` tell whether somebody else
  /// sits in between. The buffer must be writable (its metas are; its memory need not be). While
  /// `stop` is raised there is no luma (kCancelled).
  Frame(GstBuffer* buffer, const GstVideoInfo& info, const std::shared_ptr<Chain>& own_chain,
        PicturePool& pictures, const void* self, const void* upstream_element,
        const StopFlag* stop);

  GstBuffer* buffer() const { return buffer_; }
  const GstVideoInfo& info() const { return info_; }
  int width() const { return geometry_.width; }
  int height() const { return geometry_.height; }
  /// The element writes into the frame: luma computed before it is not the luma behind it.
  void change_pixels() { record_->untouched_since = nullptr; }
  bool is_gap() const { return GST_BUFFER_FLAG_IS_SET(buffer_, GST_BUFFER_FLAG_GAP); }
  GstClockTime pts() const { return GST_BUFFER_PTS(buffer_); }

  /// The step from the frame that the element had before.
  const FrameStep& step() const { return step_; }
  void set_step(const FrameStep& step) { step_ = step; }

  /// No other element of ours has seen this buffer before.
  bool is_first() const { return !had_record_; }
  FrameRecord& record() { return *record_; }
  /// The newest result of this kind, in pixels of this frame.
  template <typename T>
  FoundResult<T> find() const {
    return find_result<T>(buffer_, width(), height());
  }
  /// The newest result of the elements before, of whatever kind, where it is on a GPU and fits the
  /// picture; else null.
  PendingResultRef pending_before() const;
  /// A result of this element for this frame, in pixels of it.
  template <typename T>
  void add_result(FrameResult<T> result) {
    append_result<T>(buffer_, std::move(result));
  }

  /// The chain of this frame when this is its thread, else null; so for results without a chain.
  Chain* chain_on_this_thread() {
    auto* chain = static_cast<Chain*>(record_->chain.get());
    return chain && chain->on_own_thread() ? chain : nullptr;
  }

  /// The same while nobody can have touched a pixel since the chain's first element saw the frame.
  Chain* chain_with_these_pixels() { return untouched_ ? chain_on_this_thread() : nullptr; }

  /// The frame on the GPU when the element works there, else null.
  DeviceFrame* device() const { return device_; }
  void set_device(DeviceFrame* device) { device_ = device; }
  const FrameGeometry& geometry() const { return geometry_; }

  /// The grey picture in host memory, computed at most once in an unbroken line of our elements.
  /// Maps the frame for reading when it has to compute it.
  /// Whoever holds it keeps it as it is.
  Result<GreyPicture> luma();
  /// Its flow pyramid, whose levels are made where they are read, and at most once in such a line.
  /// Whoever holds it may read it on later frames too, in this thread.
  Result<FlowPyramid> pyramid();

  /// What body(view) returns of the frame in host memory, mapped for reading while it runs.
  template <typename Body>
  Status read(const Body& body) {
    GstVideoFrame frame;
    constexpr auto kFlags =
        static_cast<GstMapFlags>(GST_MAP_READ | static_cast<int>(GST_VIDEO_FRAME_MAP_FLAG_NO_REF));
    if (!gst_video_frame_map(&frame, &info_, buffer_, kFlags))
      return {StatusCode::kIo, "cannot map the video frame for reading"};
    const Status status = body(frame_view(frame, geometry_));
    gst_video_frame_unmap(&frame);
    return status;
  }

  /// The same mapped for writing too. The pixels are copied first when somebody else holds them.
  template <typename Body>
  Status write(const Body& body) {
    GstVideoFrame frame;
    constexpr auto kFlags = static_cast<GstMapFlags>(
        GST_MAP_READWRITE | static_cast<int>(GST_VIDEO_FRAME_MAP_FLAG_NO_REF));
    if (!gst_video_frame_map(&frame, &info_, buffer_, kFlags))
      return {StatusCode::kUnsupported, "cannot write into the video frame's memory"};
    change_pixels();
    const Status status = body(frame_view(frame, geometry_));
    gst_video_frame_unmap(&frame);
    return status;
  }

  /// Computes the grey picture into `out`, which has the frame's size.
  Status compute_luma(ImageView<std::uint8_t> out);

  /// What stats count, in host memory.
  void count(int counter, std::uint64_t number = 1) {
    counts_[static_cast<std::size_t>(counter)] += number;
  }
  const Counts& counts() const { return counts_; }

 private:
  GstBuffer* buffer_;
  const GstVideoInfo& info_;
  FrameGeometry geometry_;
  FrameStep step_;
  PicturePool& pictures_;
  const StopFlag* const stop_;
  bool had_record_;
  bool untouched_ = false;  ///< the pixels are those the chain's first element saw
  FrameRecord* record_;
  Counts counts_{};
  DeviceFrame* device_ = nullptr;
  GreyPicture own_luma_;
};

}  // namespace cuface::gst
