// The search for landmarks by a shape model in device memory: the bits of ShapeSearcher in float.
//
// device_model.h: the model's copy; search.h: what kernels leave each other; points.cu: the
// kernels of the search; levels.cu: those of the pictures that are searched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "kernels/common/cuda/launch.h"
#include "kernels/common/cuda/runtime.h"
#include "kernels/common/image.h"
#include "kernels/common/status.h"
#include "kernels/faces/faces_cuda.h"
#include "kernels/shape/cuda/device_model.h"
#include "kernels/shape/cuda/search.h"

namespace cuface::cuda {

/// Finds the landmarks of all faces of a frame, or of frames of several streams, by one sequence of
/// launches. Create and enqueue in the context of the model. Its memory serves one enqueue() at a
/// time: one stream, or streams ordered by the caller.
class ShapeSearcher {
 public:
  /// Allocates. `faces`: of all frames together, that can be searched for. `follows`: a search
  /// starts from ShapeFrame::starts or, where these are null, from the points that were followed,
  /// where a face has as many as the model. In the box where one is far or not finite, or
  /// without. kInvalidArgument: no
  /// model, or no face; kUnsupported: a model whose profiles do not fit into the device's shared
  /// memory; kOutOfDeviceMemory.
  static Result<std::unique_ptr<ShapeSearcher>> create(std::shared_ptr<const DeviceShape> model,
                                                       int faces = kMaxFaces, bool follows = false);

  /// The out list of each frame gets the header and the faces of its in list, and their landmarks
  /// in pixels of the frame's luma, with confidences where the model has a table; these are 0 where
  /// nothing was searched. A face whose search is refused gets its start, as on the CPU;
  /// so does one beyond the number of faces of create(). One whose box is empty or not finite,
  /// which the CPU refuses, gets all its points at (0, 0). What lies behind the last face is left
  /// as it was.
  ///
  /// All in device memory; out lists have device_faces_bytes() of the model's points or more, and
  /// may be in lists themselves unless points are followed, but must not overlap otherwise. No
  /// allocation, copy or wait. kInvalidArgument for no frame, more than kMostFrames, a null pointer
  /// or an empty picture.
  Status enqueue(std::span<const ShapeFrame> frames, Launcher launch) const;
  static constexpr int kMostFrames = ShapeFrames::kMost;

  /// What each point cost where the last enqueue() has found it, before the constraint: faces in
  /// the order of frames, [faces][points], in device memory. kDearest where nothing was searched.
  const double* costs() const { return work_.costs; }
  int landmarks() const { return model_->tables().constraint.points; }

 private:
  ShapeSearcher(std::shared_ptr<const DeviceShape> model, const SearchShape& shape)
      : model_(std::move(model)), shape_(shape) {}
  Status allocate(int faces, bool follows);

  std::shared_ptr<const DeviceShape> model_;
  const SearchShape shape_;
  bool follows_ = false;
  ShapeWork work_{};
  DeviceBuffer<FaceJob> jobs_;
  DeviceBuffer<std::int32_t> counts_, strongest_;
  DeviceBuffer<ShapePoint> points_;
  DeviceBuffer<FoundPoint> found_;
  DeviceBuffer<double> weights_, costs_, sums_of_faces_;
  DeviceBuffer<std::uint8_t> pictures_;
};

}  // namespace cuface::cuda
