// cufaceoverlay on frames in CUDA memory.
#pragma once

#include "gst/base/device.h"
#include "gst/base/frame.h"
#include "kernels/overlay/overlay.h"

namespace cuface::gst {

#ifdef CUFACE_CUDA_OVERLAY
inline constexpr CudaUse kOverlayCuda = CudaUse::kDraws;
/// Draws in place, ordered before whatever the next element does with the frame: from GStreamer
/// 1.24 on by streams, before that by waiting here.
Status draw_on_device(Frame& frame, const FaceResult& faces, ColorMatrix matrix,
                      const OverlayStyle& style);
#else
inline constexpr CudaUse kOverlayCuda = CudaUse::kNone;
#endif

}  // namespace cuface::gst
