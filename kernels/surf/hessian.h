// Where the determinant of the Hessian has a maximum in place and scale [S2.09].
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/common/image.h"
#include "kernels/common/stop_flag.h"
#include "kernels/features/features.h"
#include "kernels/surf/surf.h"

namespace cuface::surf {

struct Found {
  Keypoint keypoint;  ///< without a direction
  std::int8_t sign = 0;
};

/// The strongest first; of equal ones the larger, of the higher octave, lower down, further left.
void sort(std::span<Found> found);

/// All of them, sorted. `sums` are the picture's, of integral(). False once `stop` is
/// raised.
bool find(ImageView<const std::uint32_t> sums, const SurfConfig& config, std::vector<Found>& out,
          const StopFlag* stop);

}  // namespace cuface::surf
