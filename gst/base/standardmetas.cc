#include "gst/base/standardmetas.h"

namespace cuface::gst {
namespace {

/// Our entries carry this parameter, so that they can be told from others'.
constexpr const char* kOwnParam = "cuface";

bool is_face(const GstVideoRegionOfInterestMeta* roi) {
  static const GQuark face = g_quark_from_static_string("face");
  return roi->roi_type == face;
}

}  // namespace

void publish_standard_metas(GstBuffer*, const GstVideoInfo&, const FaceListRef&) {}

FaceListRef read_foreign_faces(GstBuffer* buffer, int width, int height) {
  std::shared_ptr<FaceList> list;
  gpointer state = nullptr;
  while (GstMeta* meta = gst_buffer_iterate_meta_filtered(
             buffer, &state, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE)) {
    auto* roi = reinterpret_cast<GstVideoRegionOfInterestMeta*>(meta);
    if (!is_face(roi) || gst_video_region_of_interest_meta_get_param(roi, kOwnParam)) continue;
    if (!list) list = std::make_shared<FaceList>(FaceList{width, height, true, "", {}, 0, {}});
    Face face;
    face.confidence = 1;
    face.box = {static_cast<float>(roi->x), static_cast<float>(roi->y), static_cast<float>(roi->w),
                static_cast<float>(roi->h)};
    list->faces.push_back(face);
  }
  return list;
}

}  // namespace cuface::gst
