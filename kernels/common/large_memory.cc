#include "kernels/common/large_memory.h"

#if __has_include(<sys/mman.h>)
#include <sys/mman.h>
#endif

namespace cuface {
namespace {

constexpr std::size_t kAlignment = 64, kLargePage = std::size_t{2} << 20;

}  // namespace

LargeMemory::LargeMemory(std::size_t bytes) {
  const bool large = bytes >= kLargePage;
  if (large) bytes = (bytes + kLargePage - 1) / kLargePage * kLargePage;
  const std::align_val_t alignment{large ? kLargePage : kAlignment};
  data_ = {::operator new(bytes, alignment), Free{alignment}};
#ifdef MADV_HUGEPAGE
  // A hint: where the system does not grant it the memory is as good.
  if (large) madvise(data_.get(), bytes, MADV_HUGEPAGE);
#endif
}

}  // namespace cuface
