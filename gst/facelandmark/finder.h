// Finds landmarks in the boxes of a frame's faces on the CPU: the part that depends on the model.
// Whatever the model, its landmarks are smoothed and kept alike (cpu_backend.cc).
#pragma once

#include <memory>

#include "gst/facelandmark/backend.h"

namespace cuface::gst {

class LandmarkFinder {
 public:
  virtual ~LandmarkFinder() = default;
  /// Before find() and remember() of each frame, gaps too.
  virtual Status look_at(Frame& frame, const FaceResult& faces, const FaceList& list,
                         const LandmarkSettings& settings) = 0;
  /// Fills the landmarks of the list's faces, and their confidences where it knows them.
  virtual Status find(Frame& frame, const LandmarkSettings& settings, FaceList& list) = 0;
  /// The delivered landmarks, for the next frame.
  virtual void remember(const FaceList& list, const LandmarkSettings& settings) = 0;
  virtual void forget() = 0;
};

inline int points_of(const LandmarkModel& model) {
  return model.shape ? model.shape->points : model.forest->landmarks;
}

/// What the points stand for, with the model that has it; null where nobody has said.
inline LandmarkSchemeRef scheme_of(const LandmarkModel& model) {
  const auto of = [](const auto& engine) {
    return engine->scheme.points > 0 ? LandmarkSchemeRef(engine, &engine->scheme) : nullptr;
  };
  return model.shape ? of(model.shape) : of(model.forest);
}

using LandmarkFinderResult = Result<std::unique_ptr<LandmarkFinder>>;
LandmarkFinderResult make_forest_finder(std::shared_ptr<const ForestModel> model, int iterations,
                                        const StopFlag& stop);
/// Iterations, samples, box maps and rolls are the forest's: it does without. `start` and `threads`
/// as long as it lives.
LandmarkFinderResult make_shape_finder(const LandmarkModel& model, LandmarkStart start, int threads,
                                       const StopFlag& stop);

}  // namespace cuface::gst
