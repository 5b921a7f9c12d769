#include "gst/meta/copier.h"

#include <gst/base/gstbasetransform.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "gst/meta/neighbour.h"

namespace cuface::gst {
namespace {

/// GStreamer's elements on CUDA memory. They drop every meta with the tag of sizes, also where they
/// move no pixel. None of them crops, and all of them fill the whole output but for the borders.
constexpr std::array<std::string_view, 5> kOnCuda = {"cudaupload", "cudadownload", "cudaconvert",
                                                     "cudascale", "cudaconvertscale"};

std::vector<Ref<GstPad>> source_pads(GstElement* element) {
  std::vector<Ref<GstPad>> pads;
  GST_OBJECT_LOCK(element);
  for (GList* item = element->srcpads; item; item = item->next)
    pads.emplace_back(GST_PAD(gst_object_ref(item->data)));
  GST_OBJECT_UNLOCK(element);
  return pads;
}

bool current_info(GstPad* pad, GstVideoInfo* info) {
  GstCaps* caps = gst_pad_get_current_caps(pad);
  const bool is_video = caps && gst_video_info_from_caps(info, caps);
  gst_clear_caps(&caps);
  return is_video;
}

/// A property's value as gst-launch writes it; "" without such a property.
std::string property_text(GstElement* element, const char* property) {
  GParamSpec* spec = g_object_class_find_property(G_OBJECT_GET_CLASS(element), property);
  if (!spec) return "";
  GValue value = G_VALUE_INIT;
  g_value_init(&value, spec->value_type);
  g_object_get_property(G_OBJECT(element), property, &value);
  gchar* text = gst_value_serialize(&value);
  std::string result = text ? text : "";
  g_free(text);
  g_value_unset(&value);
  return result;
}

bool turns(GstElement* element) {
  GParamSpec* spec = g_object_class_find_property(G_OBJECT_GET_CLASS(element), "video-direction");
  if (!spec) return false;
  if (spec->value_type != GST_TYPE_VIDEO_ORIENTATION_METHOD) return true;
  GstVideoOrientationMethod method = GST_VIDEO_ORIENTATION_IDENTITY;
  g_object_get(element, "video-direction", &method, nullptr);
  return method != GST_VIDEO_ORIENTATION_IDENTITY;
}

std::string aspect_text(const GstVideoInfo& info) {
  gint num = 0, den = 1;
  gst_util_fraction_multiply(info.width, info.height, info.par_n, info.par_d, &num, &den);
  return std::to_string(num) + ":" + std::to_string(den);
}

Copier describe(GstBaseTransform* trans) {
  auto* element = GST_ELEMENT_CAST(trans);
  Copier copier;
  const std::string_view factory = factory_name(element);
  copier.name = std::string(GST_OBJECT_NAME(element)) + " (" + std::string(factory);
  if (std::find(kOnCuda.begin(), kOnCuda.end(), factory) != kOnCuda.end() &&
      current_info(GST_BASE_TRANSFORM_SINK_PAD(trans), &copier.in) &&
      current_info(GST_BASE_TRANSFORM_SRC_PAD(trans), &copier.out)) {
    if (turns(element))
      copier.name += " video-direction=" + property_text(element, "video-direction");
    else if (possible_borders(copier.in, copier.out) > kRoundingBorder)
      copier.name += ", " + aspect_text(copier.in) + " to " + aspect_text(copier.out);
    else
      copier.keeps_places = true;
  }
  copier.name += ")";
  return copier;
}

/// Whether `trans` is at work in this thread, or in none, with this pool. Holding its stream lock
/// keeps it from changing its pool meanwhile.
std::unique_ptr<Copier> copier_with_pool(GstBaseTransform* trans, GstBufferPool* pool) {
  GstPad* sink = GST_BASE_TRANSFORM_SINK_PAD(trans);
  if (!GST_PAD_STREAM_TRYLOCK(sink)) return nullptr;  // at work in another thread
  GST_OBJECT_LOCK(sink);
  const bool stopping = GST_PAD_IS_FLUSHING(sink);
  GST_OBJECT_UNLOCK(sink);
  std::unique_ptr<Copier> copier;
  if (!stopping) {
    const Ref<GstBufferPool> own(gst_base_transform_get_buffer_pool(trans));
    if (own.get() == pool) copier = std::make_unique<Copier>(describe(trans));
  }
  GST_PAD_STREAM_UNLOCK(sink);
  return copier;
}

}  // namespace

std::unique_ptr<Copier> find_copier(const ElementRef& last_passed, GstBufferPool* pool) {
  if (!last_passed || !pool) return nullptr;
  std::vector<Ref<GstElement>> seen;  // and, behind `next`, to be looked at
  seen.emplace_back(static_cast<GstElement*>(g_weak_ref_get(last_passed.get())));
  if (!seen[0]) return nullptr;
  for (std::size_t next = 0; next < seen.size(); ++next) {
    for (const Ref<GstPad>& pad : source_pads(seen[next].get())) {
      Ref<GstElement> element = neighbour(pad.get());
      const auto is_it = [&](const Ref<GstElement>& other) { return other == element; };
      if (!element || std::any_of(seen.begin(), seen.end(), is_it)) continue;
      if (GST_IS_BASE_TRANSFORM(element.get()))
        if (auto copier = copier_with_pool(GST_BASE_TRANSFORM(element.get()), pool)) return copier;
      seen.push_back(std::move(element));
    }
  }
  return nullptr;
}

int possible_borders(const GstVideoInfo& in, const GstVideoInfo& out) {
  gint num = 0, den = 0;
  if (!gst_util_fraction_multiply(in.width, in.height, in.par_n, in.par_d, &num, &den) ||
      !gst_util_fraction_multiply(num, den, out.par_d, out.par_n, &num, &den))
    return G_MAXINT;
  const int height =
      static_cast<int>(gst_util_uint64_scale_int(static_cast<guint64>(out.width), den, num));
  if (height <= out.height) return out.height - height;
  const int width =
      static_cast<int>(gst_util_uint64_scale_int(static_cast<guint64>(out.height), num, den));
  return out.width - width;
}

}  // namespace cuface::gst
