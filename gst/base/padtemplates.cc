#include <utility>

#include "gst/base/filter.h"

namespace cuface::gst {

namespace {

constexpr const char* kCaps = GST_VIDEO_CAPS_MAKE(CUFACE_VIDEO_FORMATS);
/// What GStreamer's CUDA memory holds (1.22) and luma reads.
constexpr const char* kCudaCaps = GST_VIDEO_CAPS_MAKE_WITH_FEATURES(
    "memory:CUDAMemory",
    "{ NV12, I420, YV12, NV21, P010_10LE, P016_LE, I420_10LE, Y444, Y444_16LE, Y42B, I422_10LE, "
    "I422_12LE, BGRA, RGBA, RGBx, BGRx, ARGB, ABGR, RGB, BGR, RGBP, BGRP, GBR, GBRA }");

}  // namespace

void add_pad_templates(GstElementClass* element_class, const ElementInfo& info) {
  GstCaps* everywhere = gst_caps_from_string(kCudaCaps);
  gst_caps_append(everywhere, gst_caps_from_string(kCaps));
  const bool cuda = info.cuda_use != CudaUse::kNone && DeviceElement::missing().empty();
  GstCaps* caps = cuda ? gst_caps_ref(everywhere) : gst_caps_from_string(kCaps);
  for (const auto& [name, direction] : {std::pair("sink", GST_PAD_SINK), {"src", GST_PAD_SRC}}) {
    if (info.makes && direction == GST_PAD_SRC) {
      gst_caps_unref(std::exchange(caps, gst_caps_from_string(info.makes)));
      gst_caps_unref(std::exchange(everywhere, gst_caps_ref(caps)));
    }
    GstPadTemplate* pad = gst_pad_template_new(name, direction, GST_PAD_ALWAYS, caps);
    // The documentation is the same whatever this build and this machine can do.
    gst_pad_template_set_documentation_caps(pad, gst_caps_ref(everywhere));
    gst_element_class_add_pad_template(element_class, pad);
  }
  gst_caps_unref(caps);
  gst_caps_unref(everywhere);
}

GstCaps* template_caps(GstPad* pad, GstCaps* filter) {
  GstCaps* all = gst_pad_get_pad_template_caps(pad);
  if (!filter) return all;
  GstCaps* taken = gst_caps_intersect_full(filter, all, GST_CAPS_INTERSECT_FIRST);
  gst_caps_unref(all);
  return taken;
}

}  // namespace cuface::gst
