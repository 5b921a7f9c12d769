// Landmarks in the boxes of a frame's faces, on the CPU: what is the model's business. Whatever the
// model, its landmarks are smoothed and kept alike (cpu_backend.cc).
#pragma once

#include <memory>

#include "gst/facelandmark/backend.h"

namespace cuface::gst {

class LandmarkFinder {
 public:
  virtual ~LandmarkFinder() = default;
  virtual int landmarks_per_face() const = 0;
  /// Before find() and remember() of each frame, gaps too.
  virtual Status look_at(Frame& frame, const FaceResult& faces, const FaceList& list,
                         const LandmarkSettings& settings) = 0;
  /// Fills the landmarks of the list's faces.
  virtual Status find(Frame& frame, const LandmarkSettings& settings, FaceList& list) = 0;
  /// What is delivered, for the next frame.
  virtual void remember(const FaceList& list, const LandmarkSettings& settings) = 0;
  virtual void forget() = 0;
};

using LandmarkFinderResult = Result<std::unique_ptr<LandmarkFinder>>;
LandmarkFinderResult make_forest_finder(std::shared_ptr<const ForestModel> model, int iterations,
                                        const StopFlag& stop);
/// Iterations, samples, box maps and rolls are the forest's: it does without.
LandmarkFinderResult make_shape_finder(std::shared_ptr<const ShapeModel> model,
                                       const StopFlag& stop);

}  // namespace cuface::gst
