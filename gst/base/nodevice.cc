// The GPU side of elements in a build without CUDA.
#include "gst/base/device.h"

namespace cuface::gst {

std::unique_ptr<DeviceElement> DeviceElement::create(GstElement*) { return nullptr; }

const std::string& DeviceElement::missing() {
  static const std::string text = "this build of gst-cuface has no CUDA";
  return text;
}

}  // namespace cuface::gst
