#include "gst/faces/standardmetas.h"

#include <utility>

#include "gst/regions/foreign.h"
#include "kernels/common/try.h"

namespace cuface::gst {
namespace {

constexpr const char* kFaceLabel = "face";

/// Normalised, because a scaler adapts the box of a region but not its parameters.
std::vector<float> normalised(const FaceList& faces, const Point* points, int count) {
  std::vector<float> values;
  for (int p = 0; p < count; ++p) {
    values.push_back((points[p].x + 0.5f) / static_cast<float>(faces.width));
    values.push_back((points[p].y + 0.5f) / static_cast<float>(faces.height));
  }
  return values;
}

Result<std::vector<Region>> regions_of(const AnyResult& result) {
  CUFACE_TAKE(faces, FaceResult(result).read());
  std::vector<Region> regions;
  for (std::size_t i = 0; i < faces->faces.size(); ++i) {
    const Face& face = faces->faces[i];
    regions.push_back({face.box,
                       face.id,
                       face.confidence,
                       normalised(*faces, faces->landmarks_of(i), faces->landmarks_per_face),
                       normalised(*faces, face.keypoints, face.has_keypoints ? kFaceKeypoints : 0),
                       face.roll,
                       {}});
    if (const float* confidences = faces->confidences_of(i))
      regions.back().confidences.assign(confidences, confidences + faces->landmarks_per_face);
  }
  return regions;
}

}  // namespace

Status publish_standard_metas(GstBuffer* buffer, const GstVideoInfo& info, const FaceResult& faces,
                              FirstSeen& first_seen, bool analytics) {
  const RegionKind kind{kFaceLabel, ResultKind<FaceList>::type(), regions_of};
  return publish_regions(buffer, info, kind, faces, first_seen, analytics);
}

FaceListRef read_foreign_faces(GstBuffer* buffer, int width, int height, std::string_view labels) {
  const auto regions = read_foreign(buffer, frame_geometry(buffer, width, height), labels);
  if (regions.empty()) return nullptr;
  auto list = std::make_shared<FaceList>();
  list->width = width;
  list->height = height;
  list->searched = true;
  for (const Region& region : regions) {
    Face face;
    face.confidence = region.confidence;
    face.box = region.box;
    face.roll = region.roll;
    list->faces.push_back(face);
  }
  return list;
}

Status give_ids_back(GstBuffer* buffer, const GstVideoInfo& info, std::string_view labels,
                     const FaceResult& faces) {
  CUFACE_TAKE(regions, regions_of(faces));
  give_ids(buffer, frame_geometry(buffer, info.width, info.height), labels, regions);
  return {};
}

}  // namespace cuface::gst
