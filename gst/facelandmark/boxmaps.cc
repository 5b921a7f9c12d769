#include "gst/facelandmark/boxmaps.h"

#include "gst/faces/standardmetas.h"
#include "kernels/common/try.h"
#include "models/box_map.h"

namespace cuface::gst {

Result<BoxMap> BoxMaps::map_for(Frame& frame, const FaceResult& faces, const std::string& detector,
                                const LandmarkSettings& settings) {
  if (settings.box_map == BoxMapChoice::kNone) return BoxMap{};
  if (!detector.empty()) return box_map_for(*model_, detector);
  if (!learned_.is_done() && !frame.is_gap() &&
      read_foreign_faces(frame.buffer(), frame.width(), frame.height(), settings.labels))
    CUFACE_TRY(learn(frame, faces));
  return learned_.map();
}

Status BoxMaps::learn(Frame& frame, const FaceResult& faces) {
  if (!landmarker_)
    CUFACE_TRY(take(SampledLandmarker::create(Backend::kCpu, model_, 0, &stop_), landmarker_));
  CUFACE_TAKE(list, faces.read());
  CUFACE_TAKE(picture, frame.luma());
  return learned_.learn(list->faces, [&](const Box& box, const BoxMap& map, Roll roll) {
    return landmarker_->look(picture->view(), box, map, roll);
  });
}

}  // namespace cuface::gst
