// Landmarks of lists of faces, a box each.
#include <cstddef>

#include "kernels/common/try.h"
#include "kernels/faces/copy.cuh"
#include "kernels/landmarks/cuda/landmarker.h"
#include "kernels/landmarks/cuda/regress.cuh"

namespace cuface::cuda {
namespace {

/// The faces of one list or of several, each in its box.
struct FaceLists {
  const DeviceFaces* in;
  DeviceFaces* out;
  const RollState* rolls;
  BoxMap map;
  int landmarks;

  struct Row {
    bool is_wanted;
    Box box;
    Roll roll;
    Point* points;

    __device__ Row(const FaceLists& job, int number, bool first_block) {
      const int face = number % kMaxFaces;
      const std::size_t before =
          static_cast<std::size_t>(number / kMaxFaces) * device_faces_bytes(job.landmarks);
      const auto* const in =
          reinterpret_cast<const DeviceFaces*>(reinterpret_cast<const std::byte*>(job.in) + before);
      auto* const out =
          reinterpret_cast<DeviceFaces*>(reinterpret_cast<std::byte*>(job.out) + before);
      if (face == 0 && first_block) copy_header<kThreads>(in, out, job.landmarks);
      is_wanted = face < in->count;
      if (!is_wanted) return;
      if (first_block) copy_face<kThreads>(in, out, face);
      roll = job.rolls ? forest::recall_roll(*job.rolls, in->faces[face]) : Roll{};
      box = job.map.apply(in->faces[face].box, roll);
      points = out->landmarks() + face * job.landmarks;
    }
    __device__ void finish() const {}
  };
};

}  // namespace

Result<std::unique_ptr<Landmarker>> Landmarker::create(std::shared_ptr<const DeviceForest> forest,
                                                       int iterations) {
  if (!forest) return Status(StatusCode::kInvalidArgument, "landmarks need a model");
  CUFACE_TAKE(stages, forest::cascades_to_run(iterations, forest->stages()));
  CUFACE_TAKE(staged, allow_shared_memory<FaceLists>(forest->tables()));
  return std::unique_ptr<Landmarker>(new Landmarker(std::move(forest), stages, staged));
}

Result<std::unique_ptr<Landmarker>> Landmarker::create(std::shared_ptr<const ForestModel> model,
                                                       int iterations) {
  if (!model) return Status(StatusCode::kInvalidArgument, "landmarks need a model");
  CUFACE_TRY(forest::cascades_to_run(iterations, model->stages).status());
  CUFACE_TAKE(forest, DeviceForest::create(*model));
  return create(std::move(forest), iterations);
}

Status Landmarker::enqueue(ImageView<const std::uint8_t> luma, const DeviceFaces* in,
                           const BoxMap& map, DeviceFaces* out, Launcher launch,
                           const RollState* rolls, int lists) const {
  if (!luma.data || luma.width < 1 || luma.height < 1 || !in || !out || lists < 1)
    return {StatusCode::kInvalidArgument, "landmarks: no picture, or no faces"};
  return launch_forest(forest_->tables(), staged_, stages_, luma,
                       FaceLists{in, out, rolls, map, landmarks()}, lists * kMaxFaces, launch);
}

}  // namespace cuface::cuda
