// The published convolution before edges, in device memory: edges/full.h on CUDA.
#pragma once

#include <cstdint>

#include "kernels/common/cuda/launch.h"
#include "kernels/common/image.h"
#include "kernels/common/status.h"
#include "kernels/edges/cuda/classify.h"
#include "kernels/edges/edges.h"

namespace cuface::cuda::edges {

/// As cuface::edges::blur_full(). One launch.
Status blur_full(ImageView<const std::uint8_t> src, const Blur& blur, int margin,
                 ImageView<std::uint8_t> dst, Launcher launch);

/// The middle of pictures that have `margin` pixels more on each side: `from.map` becomes the map
/// and its bits. What `out` does not want need not be in `from`. One launch.
Status cut_middle(const EdgeViews& from, int margin, const EdgeViews& out, int width, int height,
                  Launcher launch);

}  // namespace cuface::cuda::edges
