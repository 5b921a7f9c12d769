// A program that gets frames from another process, knows the library's metas and none of its
// elements.
//
//   unixfd_receiver SOCKET FRAMES registers|ignores
//
// Prints the offset of each frame and its found_text(), or where it ignores the metas their number.
#include <gst/gst.h>

#include <cstdio>
#include <string>

#include "tests/gst/found_text.h"

namespace {

/// None of the library's functions is called here: each would register its meta.
std::string metas(GstBuffer* buffer) {
  int ours = 0;
  gpointer state = nullptr;
  while (GstMeta* meta = gst_buffer_iterate_meta(buffer, &state))
    ours += g_str_has_prefix(g_type_name(meta->info->api), "GstCuFace");
  return std::to_string(ours) + " metas";
}

void print(GstElement*, GstBuffer* buffer, GstPad*, gpointer registered) {
  std::printf("%" G_GUINT64_FORMAT " %s\n", GST_BUFFER_OFFSET(buffer),
              (registered ? cuface::test::found_text(buffer) : metas(buffer)).c_str());
  std::fflush(stdout);
}

bool has_loaded_elements() {
  GstPlugin* plugin = gst_registry_find_plugin(gst_registry_get(), "cuface");
  const bool loaded = plugin && gst_plugin_is_loaded(plugin);
  if (plugin) gst_object_unref(plugin);
  return loaded;
}

}  // namespace

int main(int argc, char** argv) {
  gst_init(&argc, &argv);
  if (argc != 4) return 2;
  bool registered = std::string(argv[3]) == "registers";
  if (registered) gst_cuface_register_metas();
  GError* error = nullptr;
  GstElement* pipeline = gst_parse_launch(
      ("unixfdsrc socket-path=" + std::string(argv[1]) + " num-buffers=" + argv[2] +
       " ! fakesink name=out signal-handoffs=true sync=false")
          .c_str(),
      &error);
  if (!pipeline) {
    std::fprintf(stderr, "%s\n", error->message);
    return 4;
  }
  GstElement* out = gst_bin_get_by_name(GST_BIN(pipeline), "out");
  g_signal_connect(out, "handoff", G_CALLBACK(print), registered ? &registered : nullptr);
  gst_element_set_state(pipeline, GST_STATE_PLAYING);
  GstBus* bus = gst_element_get_bus(pipeline);
  GstMessage* end = gst_bus_timed_pop_filtered(
      bus, 60 * GST_SECOND, static_cast<GstMessageType>(GST_MESSAGE_EOS | GST_MESSAGE_ERROR));
  int status = end && GST_MESSAGE_TYPE(end) == GST_MESSAGE_EOS ? 0 : 5;
  if (has_loaded_elements()) status = 3;
  gst_element_set_state(pipeline, GST_STATE_NULL);
  if (end) gst_message_unref(end);
  gst_object_unref(bus);
  gst_object_unref(out);
  gst_object_unref(pipeline);
  return status;
}
