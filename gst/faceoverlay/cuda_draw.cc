#include "gst/faceoverlay/cuda_draw.h"

#include "gst/base/cuda/deviceframe.h"
#include "kernels/overlay/overlay_cuda.h"

namespace cuface::gst {

Status draw_on_device(Frame& frame, const FaceResult& faces, ColorMatrix matrix,
                      const OverlayStyle& style) {
  DeviceFrame& device = *frame.device();
  const auto known = device.faces(faces);
  if (!known.ok()) return known.status();
  return device.draw([&](const FrameView& view, cudaStream_t stream) {
    return cuda::draw_faces(view, matrix, known.value(), style, stream);
  });
}

}  // namespace cuface::gst
