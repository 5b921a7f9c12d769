#include "kernels/common/lanes.h"
#include "kernels/similarity/fit.h"
#include "tests/gpu/kernels/similarity_kernel.h"

namespace cuface::test {
namespace {

__global__ void fit_kernel(const FitTask* tasks, const Point* from, const Point* to,
                           FitAnswer* answers, std::uint8_t* inlier) {
  // Its constructor is not run.
  alignas(similarity::RobustScratch)
      __shared__ unsigned char memory[sizeof(similarity::RobustScratch)];
  auto& scratch = *reinterpret_cast<similarity::RobustScratch*>(memory);
  const FitTask task = tasks[blockIdx.x];
  FitAnswer& answer = answers[blockIdx.x];
  const auto n = static_cast<std::size_t>(task.count);
  const std::span<const Point> p(from + task.first, n), q(to + task.first, n);
  const BlockLanes lanes;
  Similarity fitted;
  const bool fits = similarity::fit(lanes, p, q, nullptr, fitted, nullptr, scratch.sums);
  lanes.once([&] {
    answer.fits = fits;
    if (fits) answer.plain = fitted;
  });
  const int agreeing = similarity::fit_robust(lanes, p, q, task.threshold, task.seed,
                                              std::span<std::uint8_t>(inlier + task.first, n),
                                              answer.robust, scratch);
  lanes.once([&] { answer.agreeing = agreeing; });
}

}  // namespace

Status fit_on_device(const FitTask* tasks, int count, const Point* from, const Point* to,
                     FitAnswer* answers, std::uint8_t* inlier, cuda::Launcher launch) {
  return launch("fitting similarities", fit_kernel, {static_cast<unsigned>(count), 128}, tasks,
                from, to, answers, inlier);
}

}  // namespace cuface::test
