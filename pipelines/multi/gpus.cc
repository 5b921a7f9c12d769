#include "gpus.h"

#include <algorithm>
#include <cstdio>
#include <stdexcept>
#include <string>

namespace {

/// GStreamer makes a factory for each GPU: nvh264dec, nvh264device1dec, nvh264device2dec ...
std::string h264_decoder(int gpu) {
  return gpu == 0 ? "nvh264dec" : "nvh264device" + std::to_string(gpu) + "dec";
}

int count_gpus() {
  int count = 0;
  while (g_autoptr(GstElementFactory) found = gst_element_factory_find(h264_decoder(count).c_str()))
    ++count;
  return count;
}

/// The CUDA context that a decoder makes when it opens. Elements that nobody gives one to find one
/// of their pipeline, which may be another GPU's, and then make their own. Those of one GPU would
/// take turns.
GstContext* context_of(int gpu) {
  g_autoptr(GstElement) decoder =
      gst_element_factory_make(h264_decoder(gpu).c_str(), "to-find-a-gpu");
  if (!decoder) return nullptr;
  gst_object_ref_sink(decoder);
  g_autoptr(GstBus) bus = gst_bus_new();
  gst_element_set_bus(decoder, bus);
  const bool opened = gst_element_set_state(decoder, GST_STATE_READY) != GST_STATE_CHANGE_FAILURE;
  GstContext* context = nullptr;
  if (g_autoptr(GstMessage) message = gst_bus_pop_filtered(bus, GST_MESSAGE_HAVE_CONTEXT))
    gst_message_parse_have_context(message, &context);
  gst_element_set_state(decoder, GST_STATE_NULL);
  gst_element_set_bus(decoder, nullptr);
  if (!opened) throw std::runtime_error("GPU " + std::to_string(gpu) + " does not open");
  return context;
}

/// What a stream asks for; where its caps do not say, as of 1080p at 25 frames a second.
double pixels_a_second(const GstCaps* stream) {
  int width = 1920, height = 1080, numerator = 25, denominator = 1;
  if (!gst_caps_is_empty(stream) && !gst_caps_is_any(stream)) {
    const GstStructure* first = gst_caps_get_structure(stream, 0);
    gst_structure_get(first, "width", G_TYPE_INT, &width, "height", G_TYPE_INT, &height, nullptr);
    // 0/1 is a rate that varies.
    if (!gst_structure_get_fraction(first, "framerate", &numerator, &denominator) || numerator <= 0)
      numerator = 25, denominator = 1;
  }
  return double{1} * width * height * numerator / denominator;
}

}  // namespace

Gpus::Gpus(int count) {
  const int there = count_gpus();
  if (count > there)
    throw std::runtime_error(
        "--gpus " + std::to_string(count) + ": this machine has " + std::to_string(there) +
        " GPUs that GStreamer can decode on" +
        (there == 0 ? " (is there an NVIDIA driver, and GStreamer's plugin nvcodec?)" : ""));
  for (int gpu = 0; gpu < count; ++gpu) gpus_.push_back({context_of(gpu)});
}

Gpus::~Gpus() {
  for (const Gpu& gpu : gpus_)
    if (gpu.context) gst_context_unref(gpu.context);
}

int Gpus::assign(const GstCaps* stream, int number) {
  const double rate = pixels_a_second(stream);
  const std::lock_guard lock(mutex_);
  const auto least = std::min_element(gpus_.begin(), gpus_.end(), [](const Gpu& a, const Gpu& b) {
    return a.pixels_a_second < b.pixels_a_second;
  });
  least->pixels_a_second += rate;
  const auto gpu = static_cast<int>(least - gpus_.begin());
  g_print("%d: %.0f pixels/s to GPU %d\n", number, rate, gpu);
  return gpu;
}

void Gpus::share_context(int gpu, GstElement* element) const {
  if (GstContext* context = gpus_[static_cast<std::size_t>(gpu)].context)
    gst_element_set_context(element, context);
}

std::optional<int> gpu_of(GstElementFactory* decoder) {
  const std::string name = GST_OBJECT_NAME(decoder);
  if (!name.starts_with("nv") || !name.ends_with("dec")) return std::nullopt;
  int gpu = 0;
  if (const auto at = name.find("device"); at != name.npos)
    std::sscanf(name.c_str() + at, "device%d", &gpu);
  return gpu;
}

bool decodes(int gpu, const GstCaps* stream) {
  GList* all = gst_element_factory_list_get_elements(
      GST_ELEMENT_FACTORY_TYPE_DECODER | GST_ELEMENT_FACTORY_TYPE_MEDIA_VIDEO, GST_RANK_MARGINAL);
  GList* fitting = gst_element_factory_list_filter(all, stream, GST_PAD_SINK, FALSE);
  bool found = false;
  for (GList* each = fitting; each; each = each->next)
    found = found || gpu_of(GST_ELEMENT_FACTORY(each->data)) == gpu;
  gst_plugin_feature_list_free(fitting);
  gst_plugin_feature_list_free(all);
  return found;
}
