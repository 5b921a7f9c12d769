#include "gst/base/cuda/context.h"

#include <gst/cuda/gstcudaloader.h>
#include <gst/cuda/gstcudautils.h>

namespace cuface::gst {
namespace {

CudaMachine look() {
  if (!gst_cuda_load_library())
    return {0, "the NVIDIA driver is missing (libcuda.so.1 cannot be loaded)"};
  const auto explain = [](CUresult error) {
    const char* text = nullptr;
    CuGetErrorString(error, &text);
    return std::string(text ? text : "unknown error");
  };
  if (const CUresult error = CuInit(0); error != CUDA_SUCCESS)
    return {0, "the NVIDIA driver finds no usable GPU (" + explain(error) + ")"};
  int devices = 0;
  if (const CUresult error = CuDeviceGetCount(&devices); error != CUDA_SUCCESS)
    return {0, "the NVIDIA driver cannot count its GPUs (" + explain(error) + ")"};
  if (devices == 0) return {0, "the NVIDIA driver finds no GPU"};
  return {devices, ""};
}

}  // namespace

const CudaMachine& cuda_machine() {
  static const CudaMachine machine = look();
  return machine;
}

}  // namespace cuface::gst
