#include "kernels/common/lanes.h"
#include "kernels/homography/find.h"
#include "tests/gpu/kernels/homography_kernel.h"

namespace cuface::test {
namespace {

__global__ void find_kernel(const HomographyTask* tasks, const Point* from, const Point* to,
                            const float* turns, HomographyAnswer* answers, std::uint8_t* inlier) {
  // Its constructor is not run.
  alignas(homography::FindScratch) __shared__ unsigned char memory[sizeof(homography::FindScratch)];
  auto& scratch = *reinterpret_cast<homography::FindScratch*>(memory);
  const HomographyTask task = tasks[blockIdx.x];
  HomographyAnswer& answer = answers[blockIdx.x];
  const auto n = static_cast<std::size_t>(task.count);
  const BlockLanes lanes;
  const int inliers = homography::find(
      lanes, std::span<const Point>(from + task.first, n),
      std::span<const Point>(to + task.first, n),
      std::span<const float>(turns + task.first, task.is_turned ? n : 0), task.config, task.seed,
      std::span<std::uint8_t>(inlier + task.first, n), answer.map, scratch);
  lanes.once([&] { answer.inliers = inliers; });
}

}  // namespace

Status find_on_device(const HomographyTask* tasks, int count, const Point* from, const Point* to,
                      const float* turns, HomographyAnswer* answers, std::uint8_t* inlier,
                      cuda::Launcher launch) {
  return launch("finding homographies", find_kernel, {static_cast<unsigned>(count), 128}, tasks,
                from, to, turns, answers, inlier);
}

}  // namespace cuface::test
