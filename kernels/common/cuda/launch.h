// How a stage hands out its kernels: to a stream at once, or to a list that becomes a graph.
#pragma once

#include <cuda_runtime.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernels/common/status.h"
#include "kernels/common/try.h"

namespace cuface::cuda {

class Mailbox;

/// What a kernel is told, as its argument: the value itself, or where a message has it.
/// Launcher::tell() chooses.
template <typename T>
struct Given {
  T value;
#ifdef __CUDACC__
  __device__ const T& get() const { return value; }
#endif
};
template <typename T>
struct Posted {
  const T* at;
#ifdef __CUDACC__
  __device__ const T& get() const { return *at; }
#endif
};

struct LaunchShape {
  dim3 grid, block;
  std::size_t shared = 0;  ///< bytes of dynamic shared memory

  friend bool operator==(const LaunchShape& a, const LaunchShape& b) {
    const auto same = [](const dim3& c, const dim3& d) {
      return c.x == d.x && c.y == d.y && c.z == d.z;
    };
    return same(a.grid, b.grid) && same(a.block, b.block) && a.shared == b.shared;
  }
};

/// As Launcher does on a stream.
Status launch_kernel(const char* what, const void* kernel, const LaunchShape& shape,
                     void** arguments, cudaStream_t stream, bool early, bool cooperative);
/// Whether the current device's code of a kernel can wait for the launch before.
Result<bool> can_be_early(const void* kernel);
/// How many blocks of a kernel the current device runs at once; 0 where it has no cooperative
/// launches.
Result<int> blocks_at_once(const void* kernel, int threads, std::size_t shared);

/// Kernels, with their arguments by value, and records of events, in the order of a stream.
/// clear() keeps the memory and what is there: who fills a list with the same work again allocates
/// and writes nothing, and GraphSet compares nothing.
class LaunchList {
 public:
  enum class Kind : std::uint8_t { kKernel, kEvent, kIf, kEndIf, kPart };

  struct Entry {
    Kind kind;
    bool inside;       ///< of kIf .. kEndIf
    bool early;        ///< Launcher::early()
    bool cooperative;  ///< Launcher::cooperative()
    const char* what;  ///< for errors; lives as long as the program
    const void* kernel;
    LaunchShape shape;
    std::size_t first_byte, bytes;  ///< of the arguments, with their padding
    std::size_t first_argument, arguments;
    cudaEvent_t event;
    const std::int32_t* run;                 ///< kIf: in device memory
    std::shared_ptr<const LaunchList> part;  ///< kPart: a list without parts, which stays as it is
  };

  void clear();
  /// From now on post() goes there. It outlives the list's use.
  void use(Mailbox* post) { post_ = post; }
  /// Lists with the same kernels but another variant become different graphs: for stages whose
  /// arguments differ in turns.
  void set_variant(int variant) { variant_ = variant; }
  void add_kernel(const char* what, const void* kernel, const LaunchShape& shape,
                  const void* const* arguments, const std::size_t* sizes, std::size_t count,
                  bool early = false, bool cooperative = false);
  void add_event(cudaEvent_t event);
  /// Puts a value into the message that is sent with the list, and says where kernels that are
  /// added from now on find it; null where there is no post, or no room, or nothing is in it yet
  /// inside of an if.
  const void* post(const void* value, std::size_t bytes);
  /// The list has been submitted.
  void submitted() const;
  void add_if(const std::int32_t* run);
  void add_end_if();
  /// The entries of a list without parts: the same list, the same work.
  void add_part(std::shared_ptr<const LaunchList> part);

  int variant() const { return variant_; }
  std::span<const Entry> entries() const { return {entries_.data(), filled_}; }
  const std::byte* argument_bytes(const Entry& entry) const {
    return bytes_.data() + entry.first_byte;
  }
  /// As the runtime wants them; valid until the list changes or `out` does.
  void argument_pointers(const Entry& entry, std::vector<void*>& out) const;
  /// Takes over the arguments and shape of the same entry of a list with the same kernels.
  void assign(std::size_t entry, const LaunchList& from);

  /// A number that GraphSet gave exactly this list, 0 without one.
  std::uint64_t launched_as() const {
    return filled_ == entries_.size() && variant_ == launched_variant_ ? launched_as_ : 0;
  }
  void set_launched_as(std::uint64_t number) {
    launched_as_ = number;
    launched_variant_ = variant_;
  }

 private:
  bool knows(Kind kind) const;
  Entry& add(Kind kind, const char* what);
  void drop_rest();

  int variant_ = 0;
  bool inside_ = false;
  std::vector<Entry> entries_;
  std::size_t filled_ = 0;         ///< entries; the others were there before the last clear()
  std::uint64_t launched_as_ = 0;  ///< 0 = some entry is another one since
  int launched_variant_ = 0;
  std::vector<std::byte> bytes_;
  std::vector<std::size_t> offsets_;  ///< of each argument, from its entry's first byte
  Mailbox* post_ = nullptr;
  bool receives_ = false;  ///< a kernel takes the message
};

/// What Launcher::repeat() has launched for which arguments.
template <typename... Args>
class Repeated {
 private:
  friend class Launcher;
  std::tuple<Args...> arguments_;
  std::shared_ptr<const LaunchList> list_;
};

/// Where to put kernels. As cheap as three pointers; stages take it by value and call it like a
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

  /// Launches by `launch_with(told)`, whose kernel takes a Told as an argument and asks its get()
  /// for the value: for what is another on each frame. In a list with a post it is a Posted, and no
  /// argument differs; else a Given.
  template <typename T, typename Launch>
  Status tell(const T& value, const Launch& launch_with) const {
    static_assert(std::is_trivially_copyable_v<T>);
    if (const void* at = list_ ? list_->post(&value, sizeof value) : nullptr)
      return launch_with(Posted<T>{static_cast<const T*>(at)});
    return launch_with(Given<T>{value});
  }

  /// What `enqueue(arguments..., launcher)` launches, which is the same for the same arguments: in
  /// a list it is called again only when they differ from the last ones of `repeated`. It captures
  /// nothing, so that there is nothing else it could depend on but what they point to; who changes
  /// that makes a new Repeated.
  template <typename Enqueue, typename... Args>
  Status repeat(Repeated<Args...>& repeated, const Enqueue& enqueue, const Args&... args) const;

  /// Records `event` behind what was launched so far.
  Status record(cudaEvent_t event) const;

  /// In a graph, the kernels up to end_if() do not run where *run (device memory, written by a
  /// kernel before) is 0. On a stream they do: they look at *run themselves. Not to be nested, also
  /// not by a repeat(), and no record() inside.
  void begin_if(const std::int32_t* run) const {
    if (list_ && ifs_) list_->add_if(run);
  }
  void end_if() const {
    if (list_ && ifs_) list_->add_end_if();
  }
  /// One whose ifs are none, as on a stream: for what mostly runs. On an H200 a graph takes 8 to
  /// 10 us more with a conditional node whose kernels run, and up to 6 us less with one whose do
  /// not.
  Launcher without_ifs() const {
    Launcher same = *this;
    same.ifs_ = false;
    return same;
  }
  /// One whose kernels may start while the kernel that was launched before them still runs, once
  /// that allows it, and wait for its end themselves (early.cuh). Only behind a kernel, and where
  /// can_be_early() says so.
  Launcher early(bool early = true) const {
    Launcher same = *this;
    same.early_ = early;
    return same;
  }
  /// One whose kernels' blocks may wait for each other: a kernel runs when there is room for all of
  /// them, of which there are blocks_at_once() or fewer. They are not early.
  Launcher cooperative() const {
    Launcher same = *this;
    same.cooperative_ = true;
    return same;
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
  bool ifs_ = true, early_ = false, cooperative_ = false;
};

template <typename Enqueue, typename... Args>
Status Launcher::repeat(Repeated<Args...>& repeated, const Enqueue& enqueue,
                        const Args&... args) const {
  static_assert(std::is_empty_v<Enqueue>);
  if (!list_) return enqueue(args..., *this);
  if (!repeated.list_ || repeated.arguments_ != std::tie(args...)) {
    auto list = std::make_shared<LaunchList>();
    CUFACE_TRY(enqueue(args..., Launcher(*list)));
    repeated.arguments_ = std::tie(args...);
    repeated.list_ = std::move(list);
  }
  list_->add_part(repeated.list_);
  return {};
}

}  // namespace cuface::cuda
