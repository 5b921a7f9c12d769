// The result of kernels/motion as other elements and applications get it.
#pragma once

#include <cstdint>

#include "gst/meta/motion.h"
#include "kernels/motion/events.h"

namespace cuface::gst {

/// Ids go on behind those that detectors before have given.
MotionMapRef motion_map(const MotionPlan& plan, const MotionResult& result,
                        std::uint64_t ids_before);

}  // namespace cuface::gst
