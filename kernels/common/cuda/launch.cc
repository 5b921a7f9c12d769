#include "kernels/common/cuda/launch.h"

#include <cstring>
#include <utility>

#include "kernels/common/cuda/attributes.h"
#include "kernels/common/cuda/mailbox.h"
#include "kernels/common/cuda/runtime.h"

namespace cuface::cuda {
namespace {

/// Enough for the argument of any kernel.
constexpr std::size_t kAlignment = alignof(std::max_align_t);

}  // namespace

Result<bool> can_be_early(const void* kernel) {
  cudaFuncAttributes attributes = {};
  CUFACE_TRY(check(cudaFuncGetAttributes(&attributes, kernel), "asking for a kernel"));
  return attributes.ptxVersion >= 90 && CUDART_VERSION >= 12030;
}

Result<int> blocks_at_once(const void* kernel, int threads, std::size_t shared) {
  CUFACE_TAKE(has_cooperative, attribute_of_gpu(cudaDevAttrCooperativeLaunch));
  if (has_cooperative == 0) return 0;
  CUFACE_TAKE(processors, multiprocessors());
  int blocks = 0;
  CUFACE_TRY(check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads, shared),
                   "asking for a kernel"));
  return blocks * processors;
}

void LaunchList::clear() {
  drop_rest();
  variant_ = 0;
  inside_ = false;
  post_ = nullptr;
  receives_ = false;
  filled_ = 0;
}

/// Of what was there before the last clear(), the entries that are not there again.
void LaunchList::drop_rest() {
  if (filled_ == entries_.size()) return;
  launched_as_ = 0;
  bytes_.resize(entries_[filled_].first_byte);
  offsets_.resize(entries_[filled_].first_argument);
  entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(filled_), entries_.end());
}

/// Whether an entry of that kind was here before the last clear().
bool LaunchList::knows(Kind kind) const {
  return filled_ < entries_.size() && entries_[filled_].kind == kind &&
         entries_[filled_].inside == inside_;
}

LaunchList::Entry& LaunchList::add(Kind kind, const char* what) {
  drop_rest();
  launched_as_ = 0;
  ++filled_;
  Entry entry = {};
  entry.kind = kind;
  entry.inside = inside_;
  entry.what = what;
  entry.first_byte = bytes_.size();
  entry.first_argument = offsets_.size();
  return entries_.emplace_back(entry);
}

void LaunchList::add_kernel(const char* what, const void* kernel, const LaunchShape& shape,
                            const void* const* arguments, const std::size_t* sizes,
                            std::size_t count, bool early, bool cooperative) {
  if (knows(Kind::kKernel)) {
    const Entry& before = entries_[filled_];
    bool equal = before.kernel == kernel && before.what == what && before.shape == shape &&
                 before.early == early && before.cooperative == cooperative &&
                 before.arguments == count;
    // Of the same kernel they have the same sizes.
    for (std::size_t i = 0; i < count && equal; ++i)
      equal = std::memcmp(argument_bytes(before) + offsets_[before.first_argument + i],
                          arguments[i], sizes[i]) == 0;
    if (equal) {
      ++filled_;
      return;
    }
  }
  Entry& entry = add(Kind::kKernel, what);
  entry.kernel = kernel;
  entry.shape = shape;
  entry.early = early;
  entry.cooperative = cooperative;
  entry.arguments = count;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t at = bytes_.size();
    offsets_.push_back(at - entry.first_byte);
    bytes_.resize(at + (sizes[i] + kAlignment - 1) / kAlignment * kAlignment);
    std::memcpy(bytes_.data() + at, arguments[i], sizes[i]);
  }
  entry.bytes = bytes_.size() - entry.first_byte;
}

const void* LaunchList::post(const void* value, std::size_t bytes) {
  // The kernel that takes the message runs on each submission.
  if (!post_ || (inside_ && !receives_)) return nullptr;
  if (!receives_ && !post_->begin()) {
    post_ = nullptr;
    return nullptr;
  }
  if (!std::exchange(receives_, true)) post_->receive(*this);
  return post_->add(value, bytes);
}

void LaunchList::submitted() const {
  if (receives_) post_->sent();
}

void LaunchList::add_event(cudaEvent_t event) {
  if (knows(Kind::kEvent) && entries_[filled_].event == event)
    ++filled_;
  else
    add(Kind::kEvent, "recording a CUDA event").event = event;
}

void LaunchList::add_if(const std::int32_t* run) {
  if (knows(Kind::kIf) && entries_[filled_].run == run)
    ++filled_;
  else
    add(Kind::kIf, "a conditional part").run = run;
  inside_ = true;
}

void LaunchList::add_end_if() {
  inside_ = false;
  if (knows(Kind::kEndIf))
    ++filled_;
  else
    add(Kind::kEndIf, "a conditional part");
}

void LaunchList::add_part(std::shared_ptr<const LaunchList> part) {
  if (knows(Kind::kPart) && entries_[filled_].part == part)
    ++filled_;
  else
    add(Kind::kPart, "a part").part = std::move(part);
}

void LaunchList::argument_pointers(const Entry& entry, std::vector<void*>& out) const {
  out.clear();
  for (std::size_t i = 0; i < entry.arguments; ++i)
    // The runtime takes pointers to what it only reads.
    out.push_back(
        const_cast<std::byte*>(argument_bytes(entry) + offsets_[entry.first_argument + i]));
}

void LaunchList::assign(std::size_t entry, const LaunchList& from) {
  Entry& to = entries_[entry];
  const Entry& other = from.entries_[entry];
  to.shape = other.shape;
  to.event = other.event;
  if (to.bytes > 0)
    std::memcpy(bytes_.data() + to.first_byte, from.argument_bytes(other), to.bytes);
}

Status launch_kernel(const char* what, const void* kernel, const LaunchShape& shape,
                     void** arguments, cudaStream_t stream, bool early, bool cooperative) {
  cudaLaunchAttribute attributes[2] = {};
  cudaLaunchConfig_t config = {};
  config.gridDim = shape.grid;
  config.blockDim = shape.block;
  config.dynamicSmemBytes = shape.shared;
  config.stream = stream;
  config.attrs = attributes;
  if (early) {
    cudaLaunchAttribute& to = attributes[config.numAttrs++];
    to.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    to.val.programmaticStreamSerializationAllowed = 1;
  }
  if (cooperative) {
    cudaLaunchAttribute& to = attributes[config.numAttrs++];
    to.id = cudaLaunchAttributeCooperative;
    to.val.cooperative = 1;
  }
  const cudaError_t error = config.numAttrs > 0 ? cudaLaunchKernelExC(&config, kernel, arguments)
                                                : cudaLaunchKernel(kernel, shape.grid, shape.block,
                                                                   arguments, shape.shared, stream);
  return check(error, what);
}

Status Launcher::launch(const char* what, const void* kernel, const LaunchShape& shape,
                        void** arguments, const std::size_t* sizes, std::size_t count) const {
  const bool early = early_ && !cooperative_;
  if (list_)
    list_->add_kernel(what, kernel, shape, arguments, sizes, count, early, cooperative_);
  else
    return launch_kernel(what, kernel, shape, arguments, stream_, early, cooperative_);
  return {};
}

Status Launcher::record(cudaEvent_t event) const {
  if (list_) {
    list_->add_event(event);
    return {};
  }
  return check(cudaEventRecord(event, stream_), "recording a CUDA event");
}

}  // namespace cuface::cuda
