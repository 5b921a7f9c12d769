#include "gst/faces/standardmetas.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "gst/faces/analyticsmetas.h"
#include "gst/meta/facemeta.h"
#include "kernels/common/try.h"

namespace cuface::gst {
namespace {

/// Our entries carry this parameter, so that they can be told from others'.
constexpr const char* kOwnParam = "cuface";
constexpr const char* kLandmarks = "landmarks";

constexpr const char* kFaceType = "face";

bool is_face(const GstVideoRegionOfInterestMeta* roi) {
  static const GQuark face = g_quark_from_static_string(kFaceType);
  return roi->roi_type == face;
}

bool is_own_face(const GstVideoRegionOfInterestMeta* roi) {
  // The call only reads, but takes no const.
  return is_face(roi) && gst_video_region_of_interest_meta_get_param(
                             const_cast<GstVideoRegionOfInterestMeta*>(roi), kOwnParam);
}

/// Whole pixels of the picture in memory, inside it; empty where nothing of the box is.
Rect visible_part(const Box& box, const FrameGeometry& geometry) {
  if (!std::isfinite(box.x + box.w) || !std::isfinite(box.y + box.h)) return {};
  const auto clip = [](float v, int size) {
    return static_cast<int>(std::lrint(std::clamp(v, 0.0f, static_cast<float>(size))));
  };
  const int left = clip(box.x, geometry.width), right = clip(box.x + box.w, geometry.width);
  const int top = clip(box.y, geometry.height), bottom = clip(box.y + box.h, geometry.height);
  return {geometry.crop_x + left, geometry.crop_y + top, right - left, bottom - top};
}

Rect box_of(const GstVideoRegionOfInterestMeta& roi) {
  return {static_cast<int>(roi.x), static_cast<int>(roi.y), static_cast<int>(roi.w),
          static_cast<int>(roi.h)};
}

/// More than half of what both cover together is covered by both.
bool is_same_place(const Rect& a, const Rect& b) {
  const std::int64_t w = std::min(a.x + a.w, b.x + b.w) - std::max(a.x, b.x);
  const std::int64_t h = std::min(a.y + a.h, b.y + b.h) - std::max(a.y, b.y);
  const std::int64_t areas = std::int64_t{a.w} * a.h + std::int64_t{b.w} * b.h;
  return w > 0 && h > 0 && 3 * w * h > areas;
}

/// GStreamer's scalers keep a region but drop its parameters, and so our mark. Such a region is
/// known by its id and place among the faces we found before the scaler.
Result<bool> was_scaled(const GstVideoRegionOfInterestMeta& roi, const FrameRecord& record,
                        const FrameGeometry& geometry) {
  for (const FrameRecord::Entry& entry : record.results) {
    const AnyResult& result = entry.result;
    if (entry.kind != ResultKind<FaceList>::type() ||
        (result.width == geometry.width && result.height == geometry.height))
      continue;
    CUFACE_TAKE(faces, FaceResult(result).read());
    const float sx = static_cast<float>(geometry.width) / static_cast<float>(result.width);
    const float sy = static_cast<float>(geometry.height) / static_cast<float>(result.height);
    for (const Face& face : faces->faces) {
      const Box box{face.box.x * sx, face.box.y * sy, face.box.w * sx, face.box.h * sy};
      if (static_cast<gint>(face.id) == roi.id &&
          is_same_place(visible_part(box, geometry), box_of(roi)))
        return true;
    }
  }
  return false;
}

Result<std::vector<GstVideoRegionOfInterestMeta*>> own_regions(GstBuffer* buffer,
                                                               const FrameGeometry& geometry) {
  std::vector<GstVideoRegionOfInterestMeta*> regions;
  const FrameRecord* record = get_frame_record(buffer);
  gpointer state = nullptr;
  while (GstMeta* meta = gst_buffer_iterate_meta_filtered(
             buffer, &state, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE)) {
    auto* roi = reinterpret_cast<GstVideoRegionOfInterestMeta*>(meta);
    bool own = is_own_face(roi);
    if (record && is_face(roi) && !roi->params)
      CUFACE_TRY(take(was_scaled(*roi, *record, geometry), own));
    if (own) regions.push_back(roi);
  }
  return regions;
}

/// Normalised, because a scaler adapts the box of a region but not its parameters.
std::vector<float> normalised_landmarks(const FaceList& faces, std::size_t i) {
  std::vector<float> values;
  const Point* points = faces.landmarks_of(i);
  for (int p = 0; p < faces.landmarks_per_face; ++p) {
    values.push_back((points[p].x + 0.5f) / static_cast<float>(faces.width));
    values.push_back((points[p].y + 0.5f) / static_cast<float>(faces.height));
  }
  return values;
}

bool has_landmarks(const GstStructure* params, const std::vector<float>& values) {
  const GValue* array = gst_structure_get_value(params, kLandmarks);
  if ((array ? gst_value_array_get_size(array) : 0) != values.size()) return false;
  for (guint i = 0; i < values.size(); ++i)
    if (g_value_get_float(gst_value_array_get_value(array, i)) != values[i]) return false;
  return true;
}

void set_landmarks(GstStructure* params, const std::vector<float>& values) {
  if (values.empty()) return gst_structure_remove_field(params, kLandmarks);
  GValue array = G_VALUE_INIT, value = G_VALUE_INIT;
  gst_value_array_init(&array, static_cast<guint>(values.size()));
  g_value_init(&value, G_TYPE_FLOAT);
  for (const float v : values) {
    g_value_set_float(&value, v);
    gst_value_array_append_value(&array, &value);
  }
  g_value_unset(&value);
  gst_structure_take_value(params, kLandmarks, &array);
}

/// Makes the region that of a face, whosever it was, and writes only what is not so yet. False
/// where box, id and confidence were so before.
bool write_region(GstVideoRegionOfInterestMeta& roi, const Rect& box, const FaceList& faces,
                  std::size_t i) {
  const Face& face = faces.faces[i];
  GstStructure* params = gst_video_region_of_interest_meta_get_param(&roi, kOwnParam);
  gfloat confidence = -1;
  if (params)
    gst_structure_get(params, "confidence", G_TYPE_FLOAT, &confidence, nullptr);
  else
    gst_video_region_of_interest_meta_add_param(&roi, params = gst_structure_new_empty(kOwnParam));
  const bool same =
      box_of(roi) == box && roi.id == static_cast<gint>(face.id) && confidence == face.confidence;
  if (!same) {
    roi.x = static_cast<guint>(box.x);
    roi.y = static_cast<guint>(box.y);
    roi.w = static_cast<guint>(box.w);
    roi.h = static_cast<guint>(box.h);
    roi.id = static_cast<gint>(face.id);
    gst_structure_set(params, "id", G_TYPE_UINT64, face.id, "confidence", G_TYPE_FLOAT,
                      face.confidence, nullptr);
  }
  const std::vector<float> landmarks = normalised_landmarks(faces, i);
  if (!has_landmarks(params, landmarks)) set_landmarks(params, landmarks);
  return !same;
}

}  // namespace

Status publish_standard_metas(GstBuffer* buffer, const GstVideoInfo& info, const FaceResult& result,
                              FirstSeen& first_seen) {
  CUFACE_TAKE(faces, result.read());
  const FrameGeometry geometry = frame_geometry(buffer, info.width, info.height);
  CUFACE_TAKE(regions, own_regions(buffer, geometry));
  first_seen.update(*faces, GST_BUFFER_PTS(buffer));
  std::vector<PlainFace> plain;
  bool changed = false;
  for (std::size_t i = 0; i < faces->faces.size(); ++i) {
    const Face& face = faces->faces[i];
    const Rect box = visible_part(face.box, geometry);
    if (box.w <= 0 || box.h <= 0) continue;
    GstVideoRegionOfInterestMeta* roi =
        plain.size() < regions.size()
            ? regions[plain.size()]
            : gst_buffer_add_video_region_of_interest_meta(buffer, kFaceType, 0, 0, 0, 0);
    changed |= write_region(*roi, box, *faces, i);
    plain.push_back({box, face.id, face.confidence, first_seen.of(face.id)});
  }
  changed |= plain.size() != regions.size();
  for (std::size_t i = plain.size(); i < regions.size(); ++i)
    gst_buffer_remove_meta(buffer, &regions[i]->meta);
  publish_analytics(buffer, plain, GST_BUFFER_PTS(buffer), changed);
  return {};
}

namespace {

/// A box that lies in the picture, at least in part, and is not many times its size.
bool is_plausible(const GstVideoRegionOfInterestMeta& roi, const FrameGeometry& geometry) {
  const auto fits = [](guint start, guint size, int origin, int whole) {
    const std::int64_t left = std::int64_t{start} - origin;
    return size > 0 && size <= 2 * std::int64_t{whole} && left < whole && left + size > 0;
  };
  return fits(roi.x, roi.w, geometry.crop_x, geometry.width) &&
         fits(roi.y, roi.h, geometry.crop_y, geometry.height);
}

}  // namespace

FaceListRef read_foreign_faces(GstBuffer* buffer, int width, int height) {
  const FrameGeometry geometry = frame_geometry(buffer, width, height);
  std::shared_ptr<FaceList> list;
  gpointer state = nullptr;
  while (GstMeta* meta = gst_buffer_iterate_meta_filtered(
             buffer, &state, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE)) {
    auto* roi = reinterpret_cast<GstVideoRegionOfInterestMeta*>(meta);
    if (!is_face(roi) || is_own_face(roi) || !is_plausible(*roi, geometry)) continue;
    if (!list)
      list = std::make_shared<FaceList>(FaceList{width, height, true, "", {}, 0, {}, 0, {}, {}});
    Face face;
    face.confidence = 1;
    face.box = {static_cast<float>(roi->x) - static_cast<float>(geometry.crop_x),
                static_cast<float>(roi->y) - static_cast<float>(geometry.crop_y),
                static_cast<float>(roi->w), static_cast<float>(roi->h)};
    list->faces.push_back(face);
  }
  return list;
}

}  // namespace cuface::gst
