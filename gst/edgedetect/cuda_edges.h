// cuedgedetect on the GPU.
#pragma once

#include <memory>

#include "gst/base/device.h"
#include "gst/base/frame.h"
#include "gst/edgedetect/edgeprops.h"

namespace cuface::gst {

/// Finds the edges of frames that are on the GPU, and shows them. Its results stay there until
/// somebody reads them.
class DeviceEdgeFinder {
 public:
  virtual ~DeviceEdgeFinder() = default;
  virtual Status find(Frame& frame, const EdgeSettings& settings) = 0;
};

#ifdef CUFACE_CUDA_ELEMENTS
std::unique_ptr<DeviceEdgeFinder> make_device_edge_finder();
#else
inline std::unique_ptr<DeviceEdgeFinder> make_device_edge_finder() { return nullptr; }
#endif

}  // namespace cuface::gst
