#include "tests/gpu/emulator/emulator.h"

#include <setjmp.h>
#include <ucontext.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <vector>

#include "kernels/common/cuda/graph.h"
#include "kernels/common/cuda/launch.h"
#include "tests/gpu/spin.h"

namespace emulator {

Index thread_index, block_index, block_size, grid_size;

namespace {

constexpr std::size_t kStack = 256 * 1024;
constexpr std::size_t kMostShared = 80 * 1024;  // of a launch
constexpr std::size_t kToldShared = 48 * 1024;  // what plans are told that there is
constexpr unsigned kWarp = 32;

enum class At { kRuns, kWarp, kBlock, kEnd };

struct Thread {
  std::unique_ptr<char[]> stack;  // made at its first turn
  jmp_buf turn;
  unsigned rank = 0, warp_round = 0, block_round = 0;
  At at = At::kRuns;
};

/// What threads of a warp or a block give each other. Two, in turns: whoever gives the next ones
/// may be ahead of who reads.
struct Warp {
  std::uint32_t values[2][kWarp] = {};
};
struct Votes {
  unsigned count = 0, yes = 0;
};

std::mt19937 order(1);
std::vector<Thread> threads;
std::vector<Warp> warps;
Votes votes[3];
Thread* current = nullptr;
jmp_buf scheduler;
const std::function<void(void**)>* kernel = nullptr;
void** kernel_arguments = nullptr;
alignas(256) std::byte shared[kMostShared];

std::map<const void*, std::function<void(void**)>>& kernels() {
  static std::map<const void*, std::function<void(void**)>> all;
  return all;
}

void switch_away(At at) {
  current->at = at;
  if (_setjmp(current->turn) == 0) _longjmp(scheduler, 1);
}

/// One kernel after the other.
void thread_main() {
  for (;;) {
    (*kernel)(kernel_arguments);
    switch_away(At::kEnd);
  }
}

/// The thread's turn: returns when it switches away.
[[gnu::noinline]] void resume(Thread& thread) {
  current = &thread;
  if (_setjmp(scheduler) != 0) return;
  if (thread.stack) _longjmp(thread.turn, 1);
  thread.stack.reset(new char[kStack]);
  ucontext_t context;
  getcontext(&context);
  context.uc_stack = {thread.stack.get(), 0, kStack};
  makecontext(&context, thread_main, 0);
  setcontext(&context);
}

/// Lets those go on who wait for each other, if all have come.
bool release(std::size_t first, std::size_t end, At at) {
  bool any = false;
  for (std::size_t i = first; i < end; ++i) {
    if (threads[i].at != at && threads[i].at != At::kEnd) return false;
    any |= threads[i].at == at;
  }
  for (std::size_t i = first; i < end && any; ++i)
    if (threads[i].at == at) threads[i].at = At::kRuns;
  return any;
}

void run_block(std::size_t count) {
  std::vector<unsigned> turns(count);
  for (unsigned i = 0; i < count; ++i) {
    turns[i] = i;
    threads[i].rank = i;
    threads[i].warp_round = threads[i].block_round = 0;
    threads[i].at = At::kRuns;
  }
  for (;;) {
    std::shuffle(turns.begin(), turns.end(), order);
    bool ran = false;
    for (const unsigned i : turns) {
      if (threads[i].at != At::kRuns) continue;
      ran = true;
      thread_index = {i % block_size.x, i / block_size.x % block_size.y,
                      i / (block_size.x * block_size.y)};
      resume(threads[i]);
    }
    bool freed = false;
    for (std::size_t first = 0; first < count; first += kWarp)
      freed |= release(first, std::min<std::size_t>(first + kWarp, count), At::kWarp);
    if (!freed && !ran) freed = release(0, count, At::kBlock);
    if (ran || freed) continue;
    const auto over = [](const Thread& t) { return t.at == At::kEnd; };
    if (std::all_of(threads.begin(), threads.begin() + static_cast<std::ptrdiff_t>(count), over))
      return;
    std::fprintf(stderr, "emulator: threads of a block wait for each other in vain\n");
    std::abort();
  }
}

}  // namespace

void trap() {
  std::fprintf(stderr, "emulator: a kernel trapped\n");
  std::abort();
}

std::byte* shared_bytes() { return shared; }
int lane() { return static_cast<int>(current->rank % kWarp); }

void pause() {
  if (order() % 2 == 0) switch_away(At::kRuns);
}

bool block_vote(bool said, bool any) {
  Votes& mine = votes[current->block_round % 3];
  ++mine.count;
  mine.yes += said;
  switch_away(At::kBlock);
  // For the round after the next, which nobody has begun.
  votes[(current->block_round++ + 2) % 3] = {};
  return any ? mine.yes > 0 : mine.yes == mine.count;
}

static std::uint32_t* give(std::uint32_t value) {
  std::uint32_t* values = warps[current->rank / kWarp].values[current->warp_round++ % 2];
  values[current->rank % kWarp] = value;
  switch_away(At::kWarp);
  return values;
}

std::uint32_t warp_read(std::uint32_t value, int from) { return give(value)[from]; }

std::uint32_t warp_ballot(bool said) {
  const std::uint32_t* values = give(said);
  std::uint32_t bits = 0;
  for (unsigned i = 0; i < kWarp; ++i)
    if (values[i] != 0) bits |= 1u << i;
  return bits;
}

void learn(const void* address, std::function<void(void**)> call) {
  kernels().try_emplace(address, std::move(call));
}

static void launch(const void* address, dim3 grid, dim3 block, void** arguments,
                   std::size_t bytes) {
  const std::size_t count = std::size_t{block.x} * block.y * block.z;
  if (bytes > kMostShared || count == 0 || count > 1024 || grid.y > 65535 || grid.z > 65535) {
    std::fprintf(stderr, "emulator: no GPU launches that\n");
    std::abort();
  }
  kernel = &kernels().at(address);
  kernel_arguments = arguments;
  block_size = {block.x, block.y, block.z};
  grid_size = {grid.x, grid.y, grid.z};
  while (threads.size() < count) threads.emplace_back();
  for (unsigned z = 0; z < grid.z; ++z) {
    for (unsigned y = 0; y < grid.y; ++y) {
      for (unsigned x = 0; x < grid.x; ++x) {
        block_index = {x, y, z};
        std::memset(shared, 0xCD, bytes);
        warps.assign((count + kWarp - 1) / kWarp, {});
        for (Votes& each : votes) each = {};
        run_block(count);
      }
    }
  }
}

}  // namespace emulator

namespace cuface::cuda {

/// A graph is known by its kernels.
class GraphSet::Graph {
 public:
  std::vector<const void*> kernels;
};

GraphSet::GraphSet(Ifs ifs) : ifs_(ifs) {}
GraphSet::~GraphSet() = default;
GraphSet::GraphSet(GraphSet&&) noexcept = default;
GraphSet& GraphSet::operator=(GraphSet&&) noexcept = default;

Status GraphSet::submit(LaunchList& list, cudaStream_t stream) {
  std::vector<const void*> all;
  std::vector<void*> arguments;
  const auto run = [&](const LaunchList& part, const auto& self) -> void {
    bool skips = false;
    for (const LaunchList::Entry& e : part.entries()) {
      if (e.kind == LaunchList::Kind::kIf) skips = *e.run == 0;
      if (e.kind == LaunchList::Kind::kEndIf) skips = false;
      if (e.kind == LaunchList::Kind::kPart) self(*e.part, self);
      if (e.kind != LaunchList::Kind::kKernel) continue;
      all.push_back(e.kernel);
      if (skips && ifs_ == Ifs::kConditional) continue;
      part.argument_pointers(e, arguments);
      cudaLaunchKernel(e.kernel, e.shape.grid, e.shape.block, arguments.data(), e.shape.shared,
                       stream);
    }
  };
  run(list, run);
  const auto same = [&](const auto& graph) { return graph->kernels == all; };
  if (std::none_of(graphs_.begin(), graphs_.end(), same)) {
    graphs_.push_back(std::make_unique<Graph>());
    graphs_.back()->kernels = all;
    ++built_.graphs;
  }
  list.submitted();
  return {};
}

}  // namespace cuface::cuda

namespace cuface::test {

/// Nothing here runs beside the host.
cudaError_t spin(int, cudaStream_t) { return cudaSuccess; }

}  // namespace cuface::test

extern "C" {

cudaError_t cudaLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** arguments,
                             std::size_t shared, cudaStream_t) {
  emulator::launch(kernel, grid, block, arguments, shared);
  return cudaSuccess;
}
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* kernel,
                                void** arguments) {
  const auto [grid, block, shared, stream, attributes, count] = *config;
  emulator::launch(kernel, grid, block, arguments, shared);
  return cudaSuccess;
}
cudaError_t cudaMemset(void* to, int value, std::size_t bytes) {
  std::memset(to, value, bytes);
  return cudaSuccess;
}
cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind) {
  std::memcpy(to, from, bytes);
  return cudaSuccess;
}
cudaError_t cudaMemcpy2D(void* to, std::size_t pitch, const void* from, std::size_t from_pitch,
                         std::size_t width, std::size_t height, cudaMemcpyKind) {
  for (std::size_t y = 0; y < height; ++y)
    std::memcpy(static_cast<char*>(to) + y * pitch, static_cast<const char*>(from) + y * from_pitch,
                width);
  return cudaSuccess;
}
cudaError_t cudaMemcpy2DAsync(void* to, std::size_t pitch, const void* from, std::size_t from_pitch,
                              std::size_t width, std::size_t height, cudaMemcpyKind kind,
                              cudaStream_t) {
  return cudaMemcpy2D(to, pitch, from, from_pitch, width, height, kind);
}
cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr which, int) {
  *value = which == cudaDevAttrMultiProcessorCount ? 3 : static_cast<int>(emulator::kToldShared);
  return cudaSuccess;
}
/// No two blocks run at once.
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void*, int,
                                                          std::size_t) {
  *blocks = 0;
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}
cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* all) {
  *free = *all = std::size_t{1} << 30;
  return cudaSuccess;
}
// Everything is over once it has been launched.
#define DOES_NOTHING(name, ...) \
  cudaError_t name(__VA_ARGS__) { return cudaSuccess; }
DOES_NOTHING(cudaDeviceSynchronize)
DOES_NOTHING(cudaFuncSetAttribute, const void*, cudaFuncAttribute, int)
DOES_NOTHING(cudaFuncGetAttributes, cudaFuncAttributes*, const void*)
DOES_NOTHING(cudaStreamBeginCapture, cudaStream_t, cudaStreamCaptureMode)
DOES_NOTHING(cudaStreamEndCapture, cudaStream_t, cudaGraph_t*)
DOES_NOTHING(cudaEventCreate, cudaEvent_t*)
DOES_NOTHING(cudaEventRecordWithFlags, cudaEvent_t, cudaStream_t, unsigned)
DOES_NOTHING(cudaEventQuery, cudaEvent_t)
DOES_NOTHING(cudaEventElapsedTime, float*, cudaEvent_t, cudaEvent_t)
DOES_NOTHING(cudaGraphInstantiate, cudaGraphExec_t*, cudaGraph_t, unsigned long long)
DOES_NOTHING(cudaGraphLaunch, cudaGraphExec_t, cudaStream_t)
DOES_NOTHING(cudaGraphDestroy, cudaGraph_t)
DOES_NOTHING(cudaGraphExecDestroy, cudaGraphExec_t)

}  // extern "C"
