// Which box map the faces of a frame get, on either processor.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "gst/facelandmark/backend.h"
#include "kernels/landmark_samples/learned_map.h"

namespace cuface::gst {

class BoxMaps {
 public:
  BoxMaps(std::shared_ptr<const ForestModel> model, const StopFlag& stop)
      : model_(std::move(model)), stop_(stop) {}

  /// The model's map for boxes of `detector` (FaceList::detector). Where that is empty, faces are
  /// of others: their map is learned from those frames whose buffers have boxes of others, so the
  /// first faces come with it. Reading such a frame waits for a GPU: for few frames of a stream
  /// (LearnedMap::is_done()). A gap teaches nothing.
  Result<BoxMap> map_for(Frame& frame, const FaceResult& faces, const std::string& detector,
                         const LandmarkSettings& settings);
  /// Another detector may come.
  void forget() { learned_ = {}; }

 private:
  Status learn(Frame& frame, const FaceResult& faces);

  const std::shared_ptr<const ForestModel> model_;
  const StopFlag& stop_;
  std::unique_ptr<SampledLandmarker> landmarker_;  // on the CPU, once it is needed
  LearnedMap learned_;
};

}  // namespace cuface::gst
