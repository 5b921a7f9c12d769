#include "tests/kernels/allocations.h"

#include <stdlib.h>

#include <cstddef>
#include <cstdlib>
#include <new>

namespace cuface::test {
std::atomic<long> allocations{0};
std::atomic<long> allocated_bytes{0};
}  // namespace cuface::test

namespace {
void* counted(std::size_t size, std::size_t alignment) {
  ++cuface::test::allocations;
  cuface::test::allocated_bytes += static_cast<long>(size);
  void* p = nullptr;
  if (posix_memalign(&p, alignment, size) != 0) throw std::bad_alloc();
  return p;
}
}  // namespace

void* operator new(std::size_t size) { return counted(size, alignof(std::max_align_t)); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return counted(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
