// A Line as an element message.
#include <vector>

#include "gst/faces/facemessages.h"
#include "gst/faces/line.h"
#include "kernels/common/try.h"

namespace cuface::gst {
namespace {

GstStructure* motion_structure(const MotionMap& motion) {
  GstStructure* structure = gst_structure_new(
      "motion", "compared", G_TYPE_BOOLEAN, motion.compared, "global-change", G_TYPE_BOOLEAN,
      motion.global_change, "in-event", G_TYPE_BOOLEAN, motion.in_event, "share", G_TYPE_FLOAT,
      motion.share, "cells", G_TYPE_INT, motion.moving_cells, nullptr);
  std::vector<GstStructure*> boxes;
  for (const MotionRegion& region : motion.regions)
    boxes.push_back(gst_structure_new("box", "id", G_TYPE_UINT64, region.id, "x", G_TYPE_FLOAT,
                                      region.box.x, "y", G_TYPE_FLOAT, region.box.y, "width",
                                      G_TYPE_FLOAT, region.box.w, "height", G_TYPE_FLOAT,
                                      region.box.h, "cells", G_TYPE_INT, region.cells, nullptr));
  take_list(structure, "boxes", boxes);
  return structure;
}

}  // namespace

Result<GstStructure*> to_message(const Line& line) {
  CUFACE_TAKE(faces, line.faces.read());
  CUFACE_TAKE(motion, line.motion.read());
  GstStructure* structure = new_message("cuface-faces", line.time);
  gst_structure_set(structure, "frame", G_TYPE_UINT64, line.frame, "width", G_TYPE_INT, line.width,
                    "height", G_TYPE_INT, line.height, nullptr);
  if (line.source)
    gst_structure_set(structure, "source", G_TYPE_STRING, line.source->c_str(), nullptr);
  std::vector<GstStructure*> all;
  for (std::size_t i = 0; faces && i < faces->faces.size(); ++i) {
    all.push_back(gst_structure_new_empty("face"));
    describe_face(all.back(), *faces, i);
  }
  take_list(structure, "faces", all);
  if (motion) {
    GValue value = G_VALUE_INIT;
    g_value_init(&value, GST_TYPE_STRUCTURE);
    g_value_take_boxed(&value, motion_structure(*motion));
    gst_structure_take_value(structure, "motion", &value);
  }
  return structure;
}

}  // namespace cuface::gst
