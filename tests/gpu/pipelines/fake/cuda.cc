// A libcuda.so.1 without a GPU: every function does nothing and says "no device", but for those
// whose results the test of the trace looks at. With $FAKE_CUDA_DEVICES there are so many devices,
// of which contexts can be made and nothing else; with $FAKE_CUDA_MEMORY also memory, the host's.
#include <dlfcn.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace {
constexpr int kSuccess = 0, kNoDevice = 100, kNotFound = 500;
using Word = std::uintptr_t;

int devices() {
  const char* number = std::getenv("FAKE_CUDA_DEVICES");
  return number ? std::atoi(number) : 0;
}
bool has_memory() { return std::getenv("FAKE_CUDA_MEMORY") != nullptr; }
int answer() { return devices() > 0 ? kSuccess : kNoDevice; }
}  // namespace

extern "C" {

#define NO_DEVICE(name) \
  int name() { return kNoDevice; }
NO_DEVICE(cuGetErrorName)
NO_DEVICE(cuGetErrorString)
NO_DEVICE(cuCtxEnablePeerAccess)
NO_DEVICE(cuCtxDisablePeerAccess)
NO_DEVICE(cuGraphicsMapResources)
NO_DEVICE(cuGraphicsUnmapResources)
NO_DEVICE(cuGraphicsUnregisterResource)
NO_DEVICE(cuGraphicsGLRegisterImage)
NO_DEVICE(cuGraphicsGLRegisterBuffer)
NO_DEVICE(cuGraphicsResourceSetMapFlags_v2)
NO_DEVICE(cuGraphicsSubResourceGetMappedArray)
NO_DEVICE(cuGraphicsResourceGetMappedPointer_v2)
NO_DEVICE(cuGLGetDevices_v2)
NO_DEVICE(cuModuleLoadData)
NO_DEVICE(cuModuleUnload)
NO_DEVICE(cuModuleGetFunction)
NO_DEVICE(cuTexObjectCreate)
NO_DEVICE(cuTexObjectDestroy)
NO_DEVICE(cuCtxGetCurrent)
NO_DEVICE(cuGetExportTable)
// GStreamer's CUDA library does not load without these in 1.26.
NO_DEVICE(cuCtxGetLimit)
NO_DEVICE(cuCtxSetLimit)
NO_DEVICE(cuCtxSynchronize)
NO_DEVICE(cuEventRecord)
NO_DEVICE(cuEventSynchronize)
NO_DEVICE(cuIpcCloseMemHandle)
NO_DEVICE(cuIpcGetEventHandle)
NO_DEVICE(cuIpcGetMemHandle)
NO_DEVICE(cuIpcOpenEventHandle)
NO_DEVICE(cuIpcOpenMemHandle)
NO_DEVICE(cuMemcpyDtoDAsync_v2)
NO_DEVICE(cuMemcpyDtoD_v2)
NO_DEVICE(cuMemcpyDtoH_v2)
NO_DEVICE(cuMemcpyHtoDAsync_v2)
NO_DEVICE(cuMemcpyHtoD_v2)
NO_DEVICE(cuMemsetD2D16Async)
NO_DEVICE(cuMemsetD2D16_v2)
NO_DEVICE(cuMemsetD2D32Async)
NO_DEVICE(cuMemsetD2D32_v2)
NO_DEVICE(cuMemsetD2D8Async)
NO_DEVICE(cuMemsetD2D8_v2)
NO_DEVICE(cuStreamDestroy_v2)

#define SUCCEEDS(name) \
  int name() { return kSuccess; }
SUCCEEDS(cuStreamSynchronize)
SUCCEEDS(cuEventQuery)
SUCCEEDS(cuGraphLaunch)
SUCCEEDS(cuMemcpyDtoHAsync_v2)
SUCCEEDS(cuMemcpyDtoHAsync_v2_ptsz)
SUCCEEDS(cuEventDestroy_v2)
SUCCEEDS(cuStreamDestroy)
SUCCEEDS(cuStreamCreate)
SUCCEEDS(cuGraphExecDestroy)

int cuDriverGetVersion(int* version) {
  *version = 13000;
  return kSuccess;
}

/// The stream 0x40 is being captured.
int cuStreamIsCapturing(Word stream, int* status) {
  *status = stream == 0x40;
  return kSuccess;
}

/// What all arguments give, so that the test knows that all of them came through.
int cuLaunchKernel(Word f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                   unsigned bz, unsigned shared, Word stream, Word params, Word extra) {
  return static_cast<int>(f + 3 * gx + 5 * gy + 7 * gz + 11 * bx + 13 * by + 17 * bz + 19 * shared +
                          23 * stream + 29 * params + 31 * extra);
}

std::atomic<Word> next_handle = 0x1000;
int make(Word* handle) {
  *handle = next_handle += 0x1000;
  return kSuccess;
}
int allocate(Word* block, std::size_t bytes) {
  if (!has_memory()) return make(block);
  *block = reinterpret_cast<Word>(std::aligned_alloc(512, (bytes + 511) / 512 * 512));
  return kSuccess;
}
int cuMemAlloc_v2(Word* block, std::size_t bytes) { return allocate(block, bytes); }
int cuMemAllocPitch_v2(Word* block, std::size_t* pitch, std::size_t width, std::size_t height,
                       unsigned) {
  *pitch = (width + 511) / 512 * 512;
  return allocate(block, *pitch * height);
}
int cuMemAllocHost_v2(Word* block, std::size_t bytes) {
  return has_memory() ? allocate(block, bytes) : kNoDevice;
}
int cuMemFree_v2(Word block) {
  if (has_memory()) std::free(reinterpret_cast<void*>(block));
  return kSuccess;
}
int cuMemFreeHost(Word block) { return has_memory() ? cuMemFree_v2(block) : kNoDevice; }

/// As cuda.h has them: one side of a copy, and the copy.
struct CopySide {
  std::size_t x, y;
  int type;  // 1 = the host's memory
  std::byte* host;
  std::byte* device;
  void* array;
  std::size_t pitch;
  std::byte* row(std::size_t at) const {
    return (type == 1 ? host : device) + (y + at) * pitch + x;
  }
};
struct Copy {
  CopySide from, to;
  std::size_t width, height;
};
int copy(const Copy* copy) {
  for (std::size_t y = 0; y < copy->height; ++y)
    std::memcpy(copy->to.row(y), copy->from.row(y), copy->width);
  return kSuccess;
}
int cuMemcpy2D_v2(const Copy* what) { return has_memory() ? copy(what) : kNoDevice; }
int cuMemcpy2DAsync_v2(const Copy* what, Word) { return has_memory() ? copy(what) : kSuccess; }
int cuEventCreate(Word* event, unsigned) { return make(event); }
int cuGraphInstantiateWithFlags(Word* graph, Word, unsigned long long) { return make(graph); }

int cuInit(unsigned) { return answer(); }
int cuDeviceGetCount(int* count) {
  *count = devices();
  return answer();
}
int cuDeviceGet(int* device, int ordinal) {
  *device = ordinal;
  return ordinal < devices() ? kSuccess : kNoDevice;
}
int cuDeviceGetName(char* name, int bytes, int) {
  if (bytes > 0) *name = '\0';
  return answer();
}
int cuDeviceGetAttribute(int* value, int, int) {
  *value = 512;
  return answer();
}
int cuDeviceCanAccessPeer(int* can, int, int) {
  *can = 0;
  return answer();
}
int cuCtxCreate_v2(Word* context, unsigned, int) {
  return devices() > 0 ? make(context) : kNoDevice;
}
int cuCtxDestroy_v2(Word) { return answer(); }
int cuCtxPushCurrent_v2(Word) { return answer(); }
int cuCtxPopCurrent_v2(Word* context) {
  if (context) *context = 0;
  return answer();
}

int cuGetProcAddress_v2(const char* name, void** found, int, std::uint64_t, int* status) {
  char versioned[100];
  std::strncpy(versioned, name, sizeof versioned - 4);
  versioned[sizeof versioned - 4] = '\0';
  *found = dlsym(RTLD_DEFAULT, std::strcat(versioned, "_v2"));
  if (!*found) *found = dlsym(RTLD_DEFAULT, name);
  if (status) *status = *found ? 0 : 1;
  return *found ? kSuccess : kNotFound;
}

}  // extern "C"
