#include "tests/gpu/pipelines/trace.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <map>
#include <mutex>
#include <string_view>
#include <utility>

#include "tests/gpu/pipelines/driver_calls.h"

namespace cuface::test::trace {
namespace {

/// A wrapper in use: one for each of the driver's functions, so for each version of a name.
struct Slot {
  const Known* known = nullptr;
  Function real = nullptr;
};

/// The part of memory a loaded file takes.
struct Mapping {
  Word begin = 0, end = 0;
  bool holds(const void* address) const {
    const auto word = reinterpret_cast<Word>(address);
    return word >= begin && word < end;
  }
};

/// The file whose name holds `part`; with an empty part the program itself.
Mapping mapping_of(std::string_view part) {
  struct Search {
    std::string_view part;
    Mapping found;
  } search{part, {}};
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* data) {
        auto& search = *static_cast<Search*>(data);
        const std::string_view name = info->dlpi_name;
        if (search.part.empty() ? !name.empty() : name.find(search.part) == name.npos) return 0;
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const auto& part = info->dlpi_phdr[i];
          if (part.p_type != PT_LOAD) continue;
          const Word begin = info->dlpi_addr + part.p_vaddr;
          Mapping& found = search.found;
          if (found.end == 0) found.begin = begin;
          found.begin = std::min(found.begin, begin);
          found.end = std::max<Word>(found.end, begin + part.p_memsz);
        }
        return 1;
      },
      &search);
  return search.found;
}

constexpr int kSlots = 512;

struct Allocation {
  Caller caller;
  std::uint64_t bytes;
};

struct State {
  std::mutex mutex;
  std::array<Slot, kSlots> slots;
  int used = 0;
  std::vector<Call> calls;
  std::map<std::pair<Resource, Word>, Allocation> live;
  std::map<Caller, Live> ever;
  LastSubmission last;
  Hook hook;
  std::string to_refuse;
  std::atomic<long> refused = 0;
  std::atomic<bool> recording = false, hooked = false;
};
State& state() {
  static auto* state = new State;  // outlives the libraries' own clean-up
  return *state;
}

thread_local std::uint64_t current_mark = 0;
thread_local bool inside = false;

Caller caller_of(const void* direct) {
  static const Mapping program = mapping_of("");
  static std::atomic<bool> plugin_known = false;
  static Mapping plugin;
  if (!plugin_known) {
    static std::mutex
        search;  // not that of the state, which dlsym() takes below the loader's locks
    const std::lock_guard lock(search);
    if (!plugin_known) {
      plugin = mapping_of("/libgstcuface.so");
      plugin_known = plugin.end != 0;  // never unloaded: GStreamer keeps plugins
    }
  }
  if (plugin_known) {
    std::array<void*, 48> frames;
    const int depth = backtrace(frames.data(), frames.size());
    if (std::any_of(frames.begin(), frames.begin() + depth,
                    [](const void* frame) { return plugin.holds(frame); }))
      return Caller::kElements;
  }
  return program.holds(direct) ? Caller::kTest : Caller::kOthers;
}

bool is_captured(CUstream stream) {
  static const auto ask =
      driver<CUresult (*)(CUstream, CUstreamCaptureStatus*)>("cuStreamIsCapturing");
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  return ask && stream && ask(stream, &status) == CUDA_SUCCESS &&
         status != CU_STREAM_CAPTURE_STATUS_NONE;
}

void add(Live& sum, Resource resource, std::uint64_t bytes) {
  switch (resource) {
    case Resource::kBlock:
      ++sum.blocks;
      sum.bytes += bytes;
      break;
    case Resource::kHostBlock:
      ++sum.host_blocks;
      break;
    case Resource::kEvent:
      ++sum.events;
      break;
    case Resource::kStream:
      ++sum.streams;
      break;
    case Resource::kGraph:
      ++sum.graphs;
      break;
    case Resource::kNone:
      break;
  }
}

/// Caller holds the mutex.
void account(const Known& known, const Call& call, const Words& words) {
  const std::pair key{known.resource, handle_of(known, words)};
  if (known.kind == Kind::kFree) {
    state().live.erase(key);
    return;
  }
  state().live[key] = {call.caller, call.bytes};
  add(state().ever[call.caller], known.resource, call.bytes);
}

CUresult invoke(Function real, const Words& w) {
  return real(w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8], w[9], w[10], w[11]);
}

CUresult traced(const Slot& slot, const Words& words, const void* direct) {
  const Known& known = *slot.known;
  if (inside) return invoke(slot.real, words);
  State& s = state();
  if (known.name == s.to_refuse) {
    ++s.refused;
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  inside = true;
  const bool accounted = known.resource != Resource::kNone;
  const bool watched = s.recording || accounted || (s.hooked && is_submission(known.kind));
  Call call{known.name.data(), known.kind, Caller::kOthers, 0, 0, current_mark};
  CUstream stream = nullptr;
  if (watched) {
    call.thread = gettid();
    call.caller = caller_of(direct);
    stream = stream_of(known, words);
    if (is_submission(known.kind) && is_captured(stream))
      call.kind = Kind::kCapture;
    else if (s.hooked && is_submission(known.kind))
      s.hook(call, stream);
  }
  inside = false;
  const auto begin = std::chrono::steady_clock::now();
  const CUresult result = invoke(slot.real, words);
  if (!watched) return result;
  call.ns = std::chrono::nanoseconds(std::chrono::steady_clock::now() - begin).count();
  inside = true;
  if (known.bytes && result == CUDA_SUCCESS) call.bytes = known.bytes(words);
  {
    const std::lock_guard lock(s.mutex);
    if (accounted && result == CUDA_SUCCESS) account(known, call, words);
    if (s.recording) s.calls.push_back(call);
    if (is_submission(call.kind) && call.caller == Caller::kElements) {
      static const auto current = driver<CUresult (*)(CUcontext*)>("cuCtxGetCurrent");
      s.last.stream = stream;
      if (current) current(&s.last.context);
    }
  }
  inside = false;
  return result;
}

void* wrapped(const char* name, void* real);

CUresult get_proc_address(const Slot& slot, const Words& words) {
  const CUresult result = invoke(slot.real, words);
  auto** found = reinterpret_cast<void**>(words[1]);
  if (result == CUDA_SUCCESS && found && *found)
    *found = wrapped(reinterpret_cast<const char*>(words[0]), *found);
  return result;
}

template <std::size_t I>
CUresult entry(Word a, Word b, Word c, Word d, Word e, Word f, Word g, Word h, Word i, Word j,
               Word k, Word l) {
  const Slot& slot = state().slots[I];
  const Words words{a, b, c, d, e, f, g, h, i, j, k, l};
  if (finds_functions(*slot.known)) return get_proc_address(slot, words);
  return traced(slot, words, __builtin_return_address(0));
}

template <std::size_t... I>
constexpr std::array<Function, sizeof...(I)> make_entries(std::index_sequence<I...>) {
  return {entry<I>...};
}
constexpr auto kEntries = make_entries(std::make_index_sequence<kSlots>());

/// The wrapper of what dlsym() or cuGetProcAddress() has found; `real` itself for what is not
/// traced.
void* wrapped(const char* name, void* real) {
  const Known* found = known(name);
  if (!found) return real;
  State& s = state();
  const std::lock_guard lock(s.mutex);
  const auto function = reinterpret_cast<Function>(real);
  if (std::find(kEntries.begin(), kEntries.end(), function) != kEntries.end()) return real;
  int i = 0;
  while (i < s.used && s.slots[static_cast<std::size_t>(i)].real != function) ++i;
  if (i == kSlots) return real;
  if (i == s.used) s.slots[static_cast<std::size_t>(s.used++)] = {found, function};
  return reinterpret_cast<void*>(kEntries[static_cast<std::size_t>(i)]);
}

using Dlsym = void* (*)(void*, const char*);
Dlsym real_dlsym() {
  static const Dlsym real = [] {
    void* found = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
    if (!found) found = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
    return reinterpret_cast<Dlsym>(found);
  }();
  return real;
}

}  // namespace

void start() {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  s.calls.clear();
  s.calls.reserve(100000);
  s.recording = true;
}

std::vector<Call> stop() {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  s.recording = false;
  return std::move(s.calls);
}

void mark(std::uint64_t number) { current_mark = number; }

Live live(Caller caller) {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  Live sum;
  for (const auto& [key, allocation] : s.live)
    if (allocation.caller == caller) add(sum, key.first, allocation.bytes);
  return sum;
}

Live ever(Caller caller) {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  return s.ever[caller];
}

std::map<std::uint64_t, long> blocks_by_size(Caller caller) {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  std::map<std::uint64_t, long> sizes;
  for (const auto& [key, allocation] : s.live)
    if (allocation.caller == caller && key.first == Resource::kBlock) ++sizes[allocation.bytes];
  return sizes;
}

std::string text(const Live& live) {
  const auto number = [](auto n) { return std::to_string(n); };
  return number(live.bytes) + " bytes in " + number(live.blocks) + " blocks, " +
         number(live.host_blocks) + " host blocks, " + number(live.events) + " events, " +
         number(live.streams) + " streams, " + number(live.graphs) + " graphs";
}

void before_submission(Hook hook) {
  State& s = state();
  s.hooked = false;
  s.hook = std::move(hook);
  s.hooked = static_cast<bool>(s.hook);
}

void refuse(std::string name) {
  state().to_refuse = std::move(name);
  state().refused = 0;
}
long refused() { return state().refused; }

LastSubmission last_submission() {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  return s.last;
}

void* driver_function(const char* name) {
  static void* const library = dlopen("libcuda.so.1", RTLD_NOW);
  return library ? real_dlsym()(library, name) : nullptr;
}

}  // namespace cuface::test::trace

/// Found before libc's, because it is the program's. What has nothing to do with CUDA is passed on
/// by a jump, so that RTLD_NEXT still means the caller.
extern "C" __attribute__((visibility("default"))) void* dlsym(
    void* __restrict handle, const char* __restrict name) noexcept {
  using namespace cuface::test::trace;
  if (!known(name)) return real_dlsym()(handle, name);
  void* const real = real_dlsym()(handle, name);
  return real ? wrapped(name, real) : nullptr;
}
