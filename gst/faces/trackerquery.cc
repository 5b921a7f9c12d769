#include "gst/faces/trackerquery.h"

namespace cuface::gst {
namespace {

constexpr const char* kName = "GstCuFaceTrackerQuery";
constexpr const char* kAnswer = "tracker";

}  // namespace

bool tracker_downstream(GstPad* src_pad) {
  GstQuery* query = gst_query_new_custom(GST_QUERY_CUSTOM, gst_structure_new_empty(kName));
  gboolean tracker = FALSE;
  if (gst_pad_peer_query(src_pad, query))
    gst_structure_get_boolean(gst_query_get_structure(query), kAnswer, &tracker);
  gst_query_unref(query);
  return tracker;
}

bool answer_tracker_query(GstQuery* query) {
  if (GST_QUERY_TYPE(query) != GST_QUERY_CUSTOM) return false;
  const GstStructure* structure = gst_query_get_structure(query);
  if (!structure || !gst_structure_has_name(structure, kName)) return false;
  gst_structure_set(gst_query_writable_structure(query), kAnswer, G_TYPE_BOOLEAN, TRUE, nullptr);
  return true;
}

}  // namespace cuface::gst
