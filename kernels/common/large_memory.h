// Memory for a table that a frame goes through as a whole. Its pages of 4 KiB would be evicted from
// the TLB when something else runs in between, as a decoder does; large pages stay.
#pragma once

#include <cstddef>
#include <memory>
#include <new>

namespace cuface {

/// Owns memory, in large pages if it is at least one of them and the system has them. Contents
/// start undefined. Move-only; from any thread.
class LargeMemory {
 public:
  LargeMemory() = default;
  explicit LargeMemory(std::size_t bytes);
  /// On a 64-byte boundary.
  void* data() const { return data_.get(); }

 private:
  struct Free {
    std::align_val_t alignment;
    void operator()(void* p) const { ::operator delete(p, alignment); }
  };
  std::unique_ptr<void, Free> data_;
};

}  // namespace cuface
