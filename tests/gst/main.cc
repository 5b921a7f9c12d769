// GoogleTest with GStreamer. A critical message of GLib ends the run: it is a bug of ours.
#include <gst/gst.h>
#include <gtest/gtest.h>

#include "tests/files.h"

int main(int argc, char** argv) {
  gst_init(&argc, &argv);
  // G_DEBUG=fatal-criticals would come too late: GLib reads it before main().
  g_log_set_always_fatal(static_cast<GLogLevelFlags>(G_LOG_LEVEL_CRITICAL | G_LOG_FATAL_MASK));
  testing::InitGoogleTest(&argc, argv);
  if (!gst_registry_check_feature_version(gst_registry_get(), "cufacedetect", 0, 0, 0)) {
    g_printerr("the plugin is not there: GST_PLUGIN_PATH must name its build folder\n");
    return 1;
  }
  const int result = cuface::test::choose_files(argc, argv) ? RUN_ALL_TESTS() : 1;
  gst_deinit();  // when GStreamer's leaks tracer looks (tests/sanitize leaks)
  return result;
}
