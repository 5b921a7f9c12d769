// A detector of others, for builds and machines that have none.
#pragma once

#include <gst/gst.h>

#include <functional>

#include "kernels/common/geometry.h"

namespace cuface::test {

/// Makes the element "standin", which passes frames on and lets `detect` add to each what it likes.
/// The function is that of the call before the element was made.
void set_standin(std::function<void(GstBuffer* buffer, int frame)> detect);

/// A region of interest in whole pixels, with DL Streamer's parameter "detection" where there is a
/// confidence: the box itself, in parts of a frame of width x height.
void add_region(GstBuffer* buffer, const char* label, const Box& box, double confidence = -1,
                int width = 0, int height = 0);

}  // namespace cuface::test
