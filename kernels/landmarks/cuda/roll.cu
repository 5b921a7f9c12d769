#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "kernels/common/cuda/tables.h"
#include "kernels/common/lanes.h"
#include "kernels/common/try.h"
#include "kernels/landmarks/cuda/roll.h"

namespace cuface::cuda {
namespace {

static_assert(RollState::kFaces == kMaxFaces);

__global__ void __launch_bounds__(kMaxFaces)
    remember_rolls(RollState* state, const DeviceFaces* faces, const Point* mean, int landmarks) {
  forest::remember_rolls(BlockLanes{}, *state, faces->faces, faces->landmarks(), faces->count,
                         {mean, static_cast<std::size_t>(landmarks)});
}

}  // namespace

Result<std::unique_ptr<RollMemory>> RollMemory::create(std::shared_ptr<const DeviceForest> forest) {
  if (!forest) return Status(StatusCode::kInvalidArgument, "the memory of rolls needs a model");
  std::unique_ptr<RollMemory> made(new RollMemory);
  made->forest_ = std::move(forest);
  CUFACE_TRY(take(upload(std::vector<RollState>(2)), made->state_));
  return Result<std::unique_ptr<RollMemory>>(std::move(made));
}

Status RollMemory::remember(const DeviceFaces* faces, Launcher launch) {
  if (!faces) return {StatusCode::kInvalidArgument, "landmarks: no faces to remember"};
  const ForestTables forest = forest_->tables();
  const Status status = launch("landmarks: roll", remember_rolls, {1, kMaxFaces}, state_.data(),
                               faces, forest.mean, forest.landmarks);
  if (status.ok()) empty_ = false;
  return status;
}

}  // namespace cuface::cuda
