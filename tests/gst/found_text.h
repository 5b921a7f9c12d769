// What the library's public functions say of a buffer, exactly: in the process that found it, and
// in one that got it.
#pragma once

#include <cstdio>
#include <string>

#include "gst/meta/gstcufaceedgemeta.h"
#include "gst/meta/gstcufacefeaturemeta.h"
#include "gst/meta/gstcufacemeta.h"
#include "gst/meta/gstcufacemotionmeta.h"

namespace cuface::test {

template <typename... Floats>
void add_floats(std::string& text, Floats... values) {
  char number[32];
  for (const double value : {static_cast<double>(values)...}) {
    std::snprintf(number, sizeof number, " %a", value);
    text += number;
  }
}

inline void add_faces(std::string& text, GstBuffer* buffer) {
  GstCufaceMeta* meta = gst_cuface_buffer_get_face_meta(buffer);
  GstCufaceFaces* faces = meta ? gst_cuface_meta_get_faces(meta) : nullptr;
  text += faces ? "faces" : "-";
  if (!faces) return;
  text += gst_cuface_faces_get_searched(faces) ? " searched" : "";
  float x, y, w, h;
  for (guint i = 0; i < gst_cuface_faces_get_count(faces); ++i) {
    text += " id " + std::to_string(gst_cuface_faces_get_id(faces, i)) + " age " +
            std::to_string(gst_cuface_faces_get_age(faces, i)) + " of " +
            std::to_string(gst_cuface_faces_get_neighbors(faces, i)) + ":" +
            std::to_string(gst_cuface_faces_get_origin(faces, i));
    gst_cuface_faces_get_box(faces, i, &x, &y, &w, &h);
    add_floats(text, x, y, w, h, gst_cuface_faces_get_confidence(faces, i));
    for (guint p = 0; p < gst_cuface_faces_get_n_landmarks(faces); ++p) {
      gst_cuface_faces_get_landmark(faces, i, p, &x, &y);
      add_floats(text, x, y);
    }
  }
  gst_cuface_faces_unref(faces);
}

inline void add_motion(std::string& text, GstBuffer* buffer) {
  GstCufaceMotionMeta* meta = gst_cuface_buffer_get_motion_meta(buffer);
  GstCufaceMotion* motion = meta ? gst_cuface_motion_meta_get_motion(meta) : nullptr;
  text += motion ? "; motion" : "; -";
  if (!motion) return;
  const guint columns = gst_cuface_motion_get_columns(motion);
  add_floats(text, gst_cuface_motion_get_share(motion));
  float share, x, y, w, h;
  for (guint cell = 0; cell < columns * gst_cuface_motion_get_rows(motion); ++cell) {
    text +=
        gst_cuface_motion_get_cell(motion, cell % columns, cell / columns, &share) ? " !" : " .";
    add_floats(text, share);
  }
  for (guint i = 0; i < gst_cuface_motion_get_n_boxes(motion); ++i) {
    text += " box " + std::to_string(gst_cuface_motion_get_box(motion, i, &x, &y, &w, &h));
    add_floats(text, x, y, w, h);
  }
  gst_cuface_motion_unref(motion);
}

inline void add_bytes(std::string& text, const guint8* bytes, gsize length) {
  char number[4];
  text += ' ';
  for (gsize i = 0; i < length; ++i) {
    std::snprintf(number, sizeof number, "%02x", bytes[i]);
    text += number;
  }
}

inline void add_edges(std::string& text, GstBuffer* buffer) {
  GstCufaceEdgeMeta* meta = gst_cuface_buffer_get_edge_meta(buffer);
  GstCufaceEdges* edges = meta ? gst_cuface_edge_meta_get_edges(meta) : nullptr;
  text += edges ? "; edges" : "; -";
  if (!edges) return;
  for (guint y = 0; y < gst_cuface_edges_get_height(edges); ++y) {
    gsize length = 0;
    const guint8* row = gst_cuface_edges_get_row(edges, y, &length);
    add_bytes(text, row, length);
  }
  gst_cuface_edges_unref(edges);
}

inline void add_features(std::string& text, GstBuffer* buffer) {
  GstCufaceFeatureMeta* meta = gst_cuface_buffer_get_feature_meta(buffer);
  GstCufaceFeatures* features = meta ? gst_cuface_feature_meta_get_features(meta) : nullptr;
  text += features ? "; keypoints" : "; -";
  if (!features) return;
  for (guint i = 0; i < gst_cuface_features_get_count(features); ++i) {
    float x, y, size, angle, response;
    text += " level " + std::to_string(gst_cuface_features_get_keypoint(features, i, &x, &y, &size,
                                                                        &angle, &response));
    add_floats(text, x, y, size, angle, response);
    gsize length = 0;
    const guint8* bytes = gst_cuface_features_get_descriptor(features, i, &length);
    add_bytes(text, bytes, length);
  }
  gst_cuface_features_unref(features);
}

/// One line; "-" stands for a kind of which the buffer has nothing.
inline std::string found_text(GstBuffer* buffer) {
  std::string text;
  add_faces(text, buffer);
  add_motion(text, buffer);
  add_edges(text, buffer);
  add_features(text, buffer);
  return text;
}

}  // namespace cuface::test
