// The common part of the CPU's two ways of reading a window.
#pragma once

#include <cstdint>

#include "kernels/common/image.h"
#include "kernels/flow/flow.h"
#include "kernels/flow/follow.h"

namespace cuface::flow_steps {

/// Copies the side x side block whose corner is (x0, y0) into scratch.pixels, rows scratch.row
/// apart, with BORDER_REFLECT_101 outside the picture.
void gather(const Picture& picture, int x0, int y0, int side, FlowScratch& scratch);

/// The level, whose pixels are made where take() and compare() of a patch read at `s`.
inline Picture around(PyramidLevel& level, const Sample& s, int window) {
  return level.part({s.x - 1, s.y - 1, window + 3, window + 3});
}

/// Makes the window at `s` the patch: scratch.patch gets I, dI/dx and dI/dy. Pixels outside the
/// picture are reflected, but their derivatives are 0. Elements of a row beyond the window are not
/// written (they are 0 from the beginning).
GradientSums take_patch(const Picture& picture, const Sample& s, int window, FlowScratch& scratch);

MismatchSums compare_patch(const Picture& picture, const Sample& s, int window,
                           FlowScratch& scratch);

/// The vector version of flow() with `levels` levels.
void flow_vector(GaussianPyramid& prev, GaussianPyramid& next, int levels,
                 std::span<const Point> from, std::span<Point> to, std::span<std::uint8_t> status,
                 const FlowConfig& config, FlowScratch& scratch);

}  // namespace cuface::flow_steps
