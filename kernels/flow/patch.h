// What the CPU's two ways of reading a window share.
#pragma once

#include <cstdint>

#include "kernels/common/image.h"
#include "kernels/flow/flow.h"
#include "kernels/flow/follow.h"

namespace cuface::flow_steps {

/// Copies the side x side block whose corner is (x0, y0) into scratch.pixels, rows scratch.row
/// apart, with BORDER_REFLECT_101 outside the picture.
void gather(const Picture& picture, int x0, int y0, int side, FlowScratch& scratch);

/// Makes the window at `s` the patch: scratch.patch gets I, dI/dx and dI/dy. Pixels outside the
/// picture are reflected, but their derivatives are 0. What lies in a row beyond the window is not
/// touched (it is 0 from the beginning).
GradientSums take_patch(const Picture& picture, const Sample& s, int window, FlowScratch& scratch);

MismatchSums compare_patch(const Picture& picture, const Sample& s, int window,
                           FlowScratch& scratch);

/// The vector version of flow() with `levels` levels.
void flow_vector(const GaussianPyramid& prev, const GaussianPyramid& next, int levels,
                 std::span<const Point> from, std::span<Point> to, std::span<std::uint8_t> status,
                 const FlowConfig& config, FlowScratch& scratch);

}  // namespace cuface::flow_steps
