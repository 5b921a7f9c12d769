#include <atomic>
#include <cstring>
#include <utility>

#include "kernels/common/cuda/mailbox.h"
#include "kernels/common/cuda/tables.h"
#include "kernels/common/cuda/warp.cuh"
#include "kernels/common/try.h"

namespace cuface::cuda {
namespace {

constexpr std::size_t kWords = Mailbox::kBytes / sizeof(std::uint64_t);
static_assert(kWords <= kWarp);
constexpr std::size_t kAlignment = 16;

/// A warp, each of its threads a word: host memory is far, and so read at once.
__global__ void receive_kernel(const Mailbox::Entry* ring, Mailbox::Box* box, std::uint64_t* host) {
  const std::uint64_t taken = box->taken;
  const volatile Mailbox::Entry& entry = ring[taken % Mailbox::kRing];
  const std::uint64_t word = threadIdx.x < kWords ? entry.words[threadIdx.x] : 0;
  const std::uint64_t number = entry.number;
  if (number != taken + 1) __trap();
  if (threadIdx.x < kWords) box->words[threadIdx.x] = word;
  __syncwarp();  // all have read
  if (threadIdx.x != 0) return;
  box->taken = number;
  __threadfence_system();
  *static_cast<volatile std::uint64_t*>(host) = number;
}

}  // namespace

Result<std::unique_ptr<Mailbox>> Mailbox::create() {
  std::unique_ptr<Mailbox> made(new Mailbox);
  CUFACE_TRY(take(PinnedBuffer<Entry>::create(kRing), made->ring_));
  CUFACE_TRY(take(PinnedBuffer<std::uint64_t>::create(1), made->taken_));
  std::memset(made->ring_.data(), 0, kRing * sizeof(Entry));
  *made->taken_.data() = 0;
  CUFACE_TRY(take(upload(std::vector<Box>(1)), made->box_));
  return Result<std::unique_ptr<Mailbox>>(std::move(made));  // nvcc does not move by itself
}

bool Mailbox::begin() {
  const std::uint64_t taken = std::atomic_ref(*taken_.data()).load(std::memory_order_acquire);
  if (sent_ - taken >= kRing) return false;
  used_ = 0;
  ring_.data()[sent_ % kRing].number = sent_ + 1;
  return true;
}

const void* Mailbox::add(const void* from, std::size_t bytes) {
  const std::size_t at = used_, end = at + (bytes + kAlignment - 1) / kAlignment * kAlignment;
  if (end > kBytes) return nullptr;
  used_ = end;
  std::memcpy(reinterpret_cast<std::byte*>(ring_.data()[sent_ % kRing].words) + at, from, bytes);
  return reinterpret_cast<const std::byte*>(box_.data()->words) + at;
}

void Mailbox::receive(LaunchList& list) {
  const Entry* ring = ring_.data();
  Box* box = box_.data();
  std::uint64_t* host = taken_.data();
  const void* arguments[] = {&ring, &box, &host};
  const std::size_t sizes[] = {sizeof ring, sizeof box, sizeof host};
  list.add_kernel("taking what is new", reinterpret_cast<const void*>(receive_kernel), {1, kWarp},
                  arguments, sizes, 3);
}

}  // namespace cuface::cuda
