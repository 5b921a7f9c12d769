#include "kernels/similarity/similarity.h"

#include "kernels/common/lanes.h"
#include "kernels/similarity/fit.h"

namespace cuface {

bool fit_similarity(std::span<const Point> from, std::span<const Point> to, Similarity& out) {
  return similarity::fit(from, to, nullptr, out);
}

int fit_similarity_robust(std::span<const Point> from, std::span<const Point> to, float threshold,
                          std::uint64_t seed, std::span<std::uint8_t> inlier, Similarity& out) {
  similarity::RobustScratch scratch;
  return similarity::fit_robust(SerialLanes{}, from, to, threshold, seed, inlier, out, scratch);
}

}  // namespace cuface
