// How a stage hands out its kernels: to a stream at once, or to a list that becomes a graph.
#pragma once

#include <cuda_runtime.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <vector>

#include "kernels/common/status.h"

namespace cuface::cuda {

struct LaunchShape {
  dim3 grid, block;
  std::size_t shared = 0;  ///< bytes of dynamic shared memory
};

/// Kernels, with their arguments by value, and records of events, in the order of a stream.
/// clear() keeps the memory: who fills a list with the same work again allocates nothing.
class LaunchList {
 public:
  enum class Kind : std::uint8_t { kKernel, kEvent, kIf, kEndIf };

  struct Entry {
    Kind kind;
    bool inside;       ///< of kIf .. kEndIf
    const char* what;  ///< for errors; lives as long as the program
    const void* kernel;
    LaunchShape shape;
    std::size_t first_byte, bytes;  ///< of the arguments, with their padding
    std::size_t first_argument, arguments;
    cudaEvent_t event;
    const std::int32_t* run;  ///< kIf: in device memory
  };

  void clear();
  /// Lists with the same kernels but another variant become different graphs: for stages whose
  /// arguments differ in turns.
  void set_variant(int variant) { variant_ = variant; }
  void add_kernel(const char* what, const void* kernel, const LaunchShape& shape,
                  const void* const* arguments, const std::size_t* sizes, std::size_t count);
  void add_event(cudaEvent_t event);
  void add_if(const std::int32_t* run);
  void add_end_if();

  int variant() const { return variant_; }
  const std::vector<Entry>& entries() const { return entries_; }
  const std::byte* argument_bytes(const Entry& entry) const {
    return bytes_.data() + entry.first_byte;
  }
  /// As the runtime wants them; valid until the list changes or `out` does.
  void argument_pointers(const Entry& entry, std::vector<void*>& out) const;
  /// Takes over the arguments and shape of the same entry of a list with the same kernels.
  void assign(std::size_t entry, const LaunchList& from);

 private:
  Entry& add(Kind kind, const char* what);

  int variant_ = 0;
  bool inside_ = false;
  std::vector<Entry> entries_;
  std::vector<std::byte> bytes_;
  std::vector<std::size_t> offsets_;  ///< of each argument, from its entry's first byte
};

/// Where to put kernels. As cheap as two pointers; stages take it by value and call it like a
/// launch. A stream is a launcher that launches at once.
class Launcher {
 public:
  template <std::convertible_to<cudaStream_t> Stream>
  Launcher(const Stream& stream) : stream_(stream) {}  // NOLINT(google-explicit-constructor)
  /// The list outlives the launcher.
  explicit Launcher(LaunchList& list) : list_(&list) {}

  /// `kernel<<<shape>>>(args...)`. `what` (a literal) is what errors name.
  template <typename... Params, typename... Args>
  Status operator()(const char* what, void (*kernel)(Params...), const LaunchShape& shape,
                    const Args&... args) const {
    static_assert(sizeof...(Params) == sizeof...(Args));
    std::tuple<Params...> values(args...);
    return std::apply(
        [&](auto&... value) {
          void* pointers[] = {&value...};
          const std::size_t sizes[] = {sizeof(value)...};
          return launch(what, reinterpret_cast<const void*>(kernel), shape, pointers, sizes,
                        sizeof...(value));
        },
        values);
  }

  /// Records `event` behind what was launched so far.
  Status record(cudaEvent_t event) const;

  /// In a graph, the kernels up to end_if() do not run where *run (device memory, written by a
  /// kernel before) is 0. On a stream they do: they look at *run themselves. Not to be nested, and
  /// no record() inside.
  void begin_if(const std::int32_t* run) const {
    if (list_) list_->add_if(run);
  }
  void end_if() const {
    if (list_) list_->add_end_if();
  }
  /// LaunchList::set_variant().
  void set_variant(int variant) const {
    if (list_) list_->set_variant(variant);
  }

 private:
  Status launch(const char* what, const void* kernel, const LaunchShape& shape, void** arguments,
                const std::size_t* sizes, std::size_t count) const;

  cudaStream_t stream_ = nullptr;
  LaunchList* list_ = nullptr;
};

}  // namespace cuface::cuda
