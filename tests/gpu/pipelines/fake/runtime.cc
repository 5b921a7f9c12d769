#include "tests/gpu/pipelines/fake/runtime.h"

#include <cuda_runtime_api.h>

#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <set>

namespace cuface::test::fake {
namespace {

struct Machine {
  std::mutex mutex;  // of all below
  std::map<const std::byte*, std::size_t> blocks;
  std::set<cudaEvent_t> events;
  std::set<cudaStream_t> streams;
  std::map<std::string, int> left;  // calls that succeed before the one that fails
};
Machine& machine() {
  static Machine machine;
  return machine;
}

cudaError_t called(const char* name) {
  const std::lock_guard lock(machine().mutex);
  const auto found = machine().left.find(name);
  return found != machine().left.end() && found->second-- == 0 ? cudaErrorUnknown : cudaSuccess;
}

cudaError_t allocate(const char* name, void** made, std::size_t bytes) {
  if (const cudaError_t error = called(name)) return error;
  auto* block = static_cast<std::byte*>(std::malloc(bytes));
  const std::lock_guard lock(machine().mutex);
  machine().blocks[block] = bytes;
  *made = block;
  return cudaSuccess;
}

cudaError_t release(void* block) {
  const std::lock_guard lock(machine().mutex);
  if (block && machine().blocks.erase(static_cast<std::byte*>(block)) == 0)
    return cudaErrorInvalidValue;
  std::free(block);
  return cudaSuccess;
}

template <typename Handle>
cudaError_t make(const char* name, std::set<Handle>& all, Handle* made) {
  if (const cudaError_t error = called(name)) return error;
  *made = reinterpret_cast<Handle>(std::malloc(1));
  const std::lock_guard lock(machine().mutex);
  all.insert(*made);
  return cudaSuccess;
}

template <typename Handle>
cudaError_t destroy(std::set<Handle>& all, Handle handle) {
  const std::lock_guard lock(machine().mutex);
  if (all.erase(handle) == 0) return cudaErrorInvalidResourceHandle;
  std::free(handle);
  return cudaSuccess;
}

}  // namespace

void fail(const std::string& function, int after) { machine().left[function] = after; }
void mend() { machine().left.clear(); }

bool is_allocated(const void* at, std::size_t bytes) {
  const auto* begin = static_cast<const std::byte*>(at);
  auto block = machine().blocks.upper_bound(begin);
  if (block == machine().blocks.begin()) return false;
  block = std::prev(block);
  return begin + bytes <= block->first + block->second;
}
bool is_event(const void* event) {
  return machine().events.contains(static_cast<cudaEvent_t>(const_cast<void*>(event)));
}

Live live() { return {machine().blocks.size(), machine().events.size(), machine().streams.size()}; }

}  // namespace cuface::test::fake

using namespace cuface::test::fake;

extern "C" {

cudaError_t cudaMalloc(void** made, std::size_t bytes) {
  return allocate("cudaMalloc", made, bytes);
}
cudaError_t cudaMallocHost(void** made, std::size_t bytes) {
  return allocate("cudaMallocHost", made, bytes);
}
cudaError_t cudaFree(void* block) { return release(block); }
cudaError_t cudaFreeHost(void* block) { return release(block); }

cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t) {
  if (const cudaError_t error = called("cudaMemsetAsync")) return error;
  std::memset(to, value, bytes);
  return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind,
                            cudaStream_t) {
  if (const cudaError_t error = called("cudaMemcpyAsync")) return error;
  std::memcpy(to, from, bytes);
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* made, unsigned) {
  return make("cudaStreamCreateWithFlags", machine().streams, made);
}
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* made, unsigned, int) {
  return make("cudaStreamCreateWithPriority", machine().streams, made);
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) { return destroy(machine().streams, stream); }
cudaError_t cudaStreamSynchronize(cudaStream_t) { return called("cudaStreamSynchronize"); }
cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned) {
  return called("cudaStreamWaitEvent");
}
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = *greatest = 0;
  return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* made, unsigned) {
  return make("cudaEventCreateWithFlags", machine().events, made);
}
cudaError_t cudaEventDestroy(cudaEvent_t event) { return destroy(machine().events, event); }
cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t) { return called("cudaEventRecord"); }
cudaError_t cudaEventSynchronize(cudaEvent_t) { return called("cudaEventSynchronize"); }

cudaError_t cudaGetLastError() { return cudaSuccess; }
const char* cudaGetErrorString(cudaError_t) { return "made to fail"; }

}  // extern "C"
