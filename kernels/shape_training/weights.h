// What points weigh in an iterated constraint: the more, the nearer a search finds them.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "kernels/shape_training/shape_training.h"

namespace cuface::shape {

/// Calls task(i, worker) for each, by any thread.
using Each = std::function<Status(std::size_t count,
                                  const std::function<void(std::size_t, std::size_t)>& task)>;

/// Of each landmark: the least variance over its own, of where one search finds it in the faces
/// that its patches were learnt from. `inside`: as ShapeOptions has it.
Result<std::vector<double>> point_weights(const ShapeFaces& faces, const ShapeModel& model,
                                          double inside, int workers, const Each& each);

/// Turns and scales modes so that they are at right angles where points weigh so much, and their
/// likely shapes stay. `vectors`: [2 * points][modes].
void turn_modes(std::span<const double> weights, std::vector<double>& values,
                std::vector<double>& vectors);

}  // namespace cuface::shape
