#include "tests/gpu/pipelines/driver_calls.h"

#include <algorithm>
#include <cstring>
#include <iterator>

namespace cuface::test::trace {
namespace {

template <int I>
std::uint64_t argument(const Words& words) {
  return words[I];
}
template <typename T>
const T& pointed(Word word) {
  return *reinterpret_cast<const T*>(word);
}
std::uint64_t copied_2d(const Words& words) {
  const auto& copy = pointed<CUDA_MEMCPY2D>(words[0]);
  return copy.WidthInBytes * copy.Height;
}
std::uint64_t copied_3d(const Words& words) {
  const auto& copy = pointed<CUDA_MEMCPY3D>(words[0]);
  return copy.WidthInBytes * copy.Height * copy.Depth;
}
std::uint64_t pitched(const Words& words) { return pointed<std::size_t>(words[1]) * words[3]; }
std::uint64_t unknown_amount(const Words&) { return UINT32_MAX; }
/// The third number of CUVIDDECODECREATEINFO.
std::uint64_t decoder_surfaces(const Words& words) {
  return pointed<std::array<unsigned long, 3>>(words[1])[2];
}
constexpr Known kKnown[] = {
    {"cuGetProcAddress", Kind::kOther},
    {"cuInit", Kind::kOther},
    {"cuEventRecord", Kind::kOther},
    {"cuStreamWaitEvent", Kind::kOther},
    {"cuvidCreateDecoder", Kind::kOther, decoder_surfaces},

    {"cuLaunchKernel", Kind::kLaunch, nullptr, 8},
    {"cuLaunchKernelEx", Kind::kLaunch},
    {"cuLaunchCooperativeKernel", Kind::kLaunch, nullptr, 8},
    {"cuLaunchHostFunc", Kind::kLaunch, nullptr, 0},
    {"cuGraphLaunch", Kind::kGraph, nullptr, 1},

    {"cuMemcpy", Kind::kCopy, argument<2>},
    {"cuMemcpyAsync", Kind::kCopy, argument<2>, 3},
    {"cuMemcpyHtoD", Kind::kCopy, argument<2>},
    {"cuMemcpyHtoDAsync", Kind::kCopy, argument<2>, 3},
    {"cuMemcpyDtoH", Kind::kCopy, argument<2>},
    {"cuMemcpyDtoHAsync", Kind::kCopy, argument<2>, 3},
    {"cuMemcpyDtoD", Kind::kCopy, argument<2>},
    {"cuMemcpyDtoDAsync", Kind::kCopy, argument<2>, 3},
    {"cuMemcpyPeer", Kind::kCopy, argument<4>},
    {"cuMemcpyPeerAsync", Kind::kCopy, argument<4>, 5},
    {"cuMemcpy2D", Kind::kCopy, copied_2d},
    {"cuMemcpy2DUnaligned", Kind::kCopy, copied_2d},
    {"cuMemcpy2DAsync", Kind::kCopy, copied_2d, 1},
    {"cuMemcpy3D", Kind::kCopy, copied_3d},
    {"cuMemcpy3DAsync", Kind::kCopy, copied_3d, 1},
    {"cuMemcpyBatchAsync", Kind::kCopy, unknown_amount},
    {"cuMemcpy3DBatchAsync", Kind::kCopy, unknown_amount},
    {"cuMemcpyDtoA", Kind::kCopy, unknown_amount},
    {"cuMemcpyAtoD", Kind::kCopy, unknown_amount},
    {"cuMemcpyHtoA", Kind::kCopy, unknown_amount},
    {"cuMemcpyAtoH", Kind::kCopy, unknown_amount},
    {"cuMemcpyHtoAAsync", Kind::kCopy, unknown_amount},
    {"cuMemcpyAtoHAsync", Kind::kCopy, unknown_amount},
    {"cuMemsetD8", Kind::kSet, argument<2>},
    {"cuMemsetD16", Kind::kSet, argument<2>},
    {"cuMemsetD32", Kind::kSet, argument<2>},
    {"cuMemsetD8Async", Kind::kSet, argument<2>, 3},
    {"cuMemsetD16Async", Kind::kSet, argument<2>, 3},
    {"cuMemsetD32Async", Kind::kSet, argument<2>, 3},
    {"cuMemsetD2D8", Kind::kSet, unknown_amount},
    {"cuMemsetD2D32", Kind::kSet, unknown_amount},
    {"cuMemsetD2D8Async", Kind::kSet, unknown_amount, 5},
    {"cuMemsetD2D32Async", Kind::kSet, unknown_amount, 5},

    {"cuCtxSynchronize", Kind::kWait},
    {"cuStreamSynchronize", Kind::kWait},
    {"cuEventSynchronize", Kind::kWait},
    {"cuStreamQuery", Kind::kQuery},
    {"cuEventQuery", Kind::kQuery},

    {"cuMemAlloc", Kind::kAllocate, argument<1>, -1, Resource::kBlock},
    {"cuMemAllocPitch", Kind::kAllocate, pitched, -1, Resource::kBlock},
    {"cuMemAllocAsync", Kind::kAllocate, argument<1>, -1, Resource::kBlock},
    {"cuMemAllocFromPoolAsync", Kind::kAllocate, argument<1>, -1, Resource::kBlock},
    {"cuMemAllocManaged", Kind::kAllocate, argument<1>, -1, Resource::kBlock},
    {"cuMemFree", Kind::kFree, nullptr, -1, Resource::kBlock},
    {"cuMemFreeAsync", Kind::kFree, nullptr, -1, Resource::kBlock},
    {"cuMemAllocHost", Kind::kAllocate, argument<1>, -1, Resource::kHostBlock},
    {"cuMemHostAlloc", Kind::kAllocate, argument<1>, -1, Resource::kHostBlock},
    {"cuMemHostRegister", Kind::kAllocate, argument<1>},
    {"cuMemFreeHost", Kind::kFree, nullptr, -1, Resource::kHostBlock},
    {"cuMemCreate", Kind::kAllocate, argument<1>},
    {"cuMemPoolCreate", Kind::kAllocate},
    {"cuArrayCreate", Kind::kAllocate},
    {"cuArray3DCreate", Kind::kAllocate},
    {"cuModuleLoadData", Kind::kAllocate},
    {"cuModuleLoadDataEx", Kind::kAllocate},
    {"cuLibraryLoadData", Kind::kAllocate},
    {"cuEventCreate", Kind::kAllocate, nullptr, -1, Resource::kEvent},
    {"cuEventDestroy", Kind::kFree, nullptr, -1, Resource::kEvent},
    {"cuStreamCreate", Kind::kAllocate, nullptr, -1, Resource::kStream},
    {"cuStreamCreateWithPriority", Kind::kAllocate, nullptr, -1, Resource::kStream},
    {"cuStreamDestroy", Kind::kFree, nullptr, -1, Resource::kStream},
    {"cuGraphInstantiate", Kind::kAllocate, nullptr, -1, Resource::kGraph},
    {"cuGraphInstantiateWithFlags", Kind::kAllocate, nullptr, -1, Resource::kGraph},
    {"cuGraphInstantiateWithParams", Kind::kAllocate, nullptr, -1, Resource::kGraph},
    {"cuGraphCreate", Kind::kAllocate, nullptr, -1, Resource::kGraph},
    {"cuGraphDestroy", Kind::kFree, nullptr, -1, Resource::kGraph},
    {"cuGraphExecDestroy", Kind::kFree, nullptr, -1, Resource::kGraph},
    {"cuGraphExecUpdate", Kind::kOther},
    {"cuGraphConditionalHandleCreate", Kind::kHost},
    {"cuGraphExecKernelNodeSetParams", Kind::kHost},
    {"cuGraphExecEventRecordNodeSetEvent", Kind::kHost},
    {"cuEventElapsedTime", Kind::kHost},
    {"cuCtxPushCurrent", Kind::kHost},
    {"cuCtxPopCurrent", Kind::kHost},
};

/// "cuMemAlloc" for "cuMemAlloc_v2_ptsz".
std::string_view base_name(std::string_view name) {
  for (const std::string_view end : {"_ptsz", "_ptds"})
    if (name.ends_with(end)) name.remove_suffix(end.size());
  if (name.size() > 3 && name[name.size() - 3] == '_' && name[name.size() - 2] == 'v')
    name.remove_suffix(3);
  return name;
}

}  // namespace

const Known* known(const char* name) {
  if (std::strncmp(name, "cu", 2) != 0) return nullptr;
  const auto* end = std::end(kKnown);
  const auto* found = std::find_if(
      std::begin(kKnown), end, [base = base_name(name)](const Known& k) { return k.name == base; });
  return found == end ? nullptr : found;
}

bool finds_functions(const Known& known) { return &known == kKnown; }

CUstream stream_of(const Known& known, const Words& words) {
  if (known.name == "cuLaunchKernelEx") return pointed<CUlaunchConfig>(words[0]).hStream;
  if (known.stream < 0) return nullptr;
  return reinterpret_cast<CUstream>(words[static_cast<std::size_t>(known.stream)]);
}

Word handle_of(const Known& known, const Words& words) {
  return known.kind == Kind::kFree ? words[0] : pointed<Word>(words[0]);
}

bool is_submission(Kind kind) {
  return kind == Kind::kLaunch || kind == Kind::kGraph || kind == Kind::kCopy || kind == Kind::kSet;
}

}  // namespace cuface::test::trace
