// What this process asks of the CUDA driver: every launch, copy, wait, allocation, by whom.
//
// Linked into a test, this interposes dlsym(): GStreamer's CUDA library and the CUDA runtime inside
// our plugin (through cuGetProcAddress) both find the driver's functions by it. No profiler and no
// privilege is needed, and tests/gpu/pipelines/test_trace.cc proves without a GPU that it counts.
// Calls that the driver's own libraries make among themselves (libnvcuvid into libcuda) are not
// seen.
//
// All functions may be called from any thread.
#pragma once

#include <cuda.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace cuface::test::trace {

enum class Kind {
  kLaunch,    ///< kernels, host functions
  kGraph,     ///< graph launches
  kCapture,   ///< what goes into a graph that is being captured: nothing runs
  kCopy,      ///< any direction
  kSet,       ///< memset
  kWait,      ///< the host waits for the device
  kQuery,     ///< the host asks how far the device is
  kAllocate,  ///< of memory, events, streams, graphs, modules
  kFree,
  kHost,  ///< contexts, arguments of a graph's nodes: nothing goes to the device
  kOther,
};

enum class Caller {
  kElements,  ///< libgstcuface.so is on the call stack
  kTest,      ///< called from the program itself
  kOthers,    ///< GStreamer, its decoder
};

struct Call {
  const char* name;  ///< without _v2, _ptsz and the like
  Kind kind;
  Caller caller;
  pid_t thread;
  std::uint64_t bytes;  ///< copied or allocated; of cuvidCreateDecoder: its surfaces
  std::uint64_t mark;   ///< the thread's last mark(), 0 without
  std::int64_t ns = 0;  ///< until it returned
};

/// Forgets what was recorded and records until stop(), which returns it.
void start();
std::vector<Call> stop();

/// A number for all further calls of this thread.
void mark(std::uint64_t number);

/// Memory of the device, and what else the driver keeps memory for. Of a graph and of the
/// executable one made of it, each counts.
struct Live {
  long blocks = 0, host_blocks = 0, events = 0, streams = 0, graphs = 0;
  std::uint64_t bytes = 0;  ///< in blocks
  bool operator==(const Live&) const = default;
};
/// What a caller has allocated and nobody has freed, all of it since the program began.
Live live(Caller caller = Caller::kElements);
/// The same with what has been freed.
Live ever(Caller caller = Caller::kElements);
/// How many blocks of each size are live.
std::map<std::uint64_t, long> blocks_by_size(Caller caller = Caller::kElements);
std::string text(const Live& live);

/// Called before each launch, graph launch, copy or memset that goes to a stream, in the calling
/// thread with its context current; not while the stream is being captured. What it calls itself is
/// not recorded. Empty to end. The caller sees to it that no call is under way then.
using Hook = std::function<void(const Call&, CUstream)>;
void before_submission(Hook hook);

/// Calls of this function return CUDA_ERROR_NOT_SUPPORTED from now on, as an older driver's would;
/// empty for none. The caller sees to it that no call is under way.
void refuse(std::string name);
/// How many calls were refused since.
long refused();

/// Where the elements submitted last.
struct LastSubmission {
  CUcontext context = nullptr;
  CUstream stream = nullptr;
};
LastSubmission last_submission();

/// The driver's own function, past the trace; null without a driver. `name` as libcuda exports it.
void* driver_function(const char* name);
template <typename Function>
Function driver(const char* name) {
  return reinterpret_cast<Function>(driver_function(name));
}

}  // namespace cuface::test::trace
