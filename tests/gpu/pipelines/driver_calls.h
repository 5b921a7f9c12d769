// The functions of the CUDA driver that the trace knows, and what it reads of their arguments.
#pragma once

#include <cuda.h>

#include <array>
#include <cstdint>
#include <string_view>

#include "tests/gpu/pipelines/trace.h"

namespace cuface::test::trace {

using Word = std::uintptr_t;
/// As many as cuLaunchKernel has, and one more. Reading what a caller with fewer has left on the
/// stack is harmless, and so is passing it on; none of the functions below takes a float or a
/// structure.
using Words = std::array<Word, 12>;
using Function = CUresult (*)(Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word,
                              Word);

enum class Resource { kNone, kBlock, kHostBlock, kEvent, kStream, kGraph };

/// A function of the driver that is traced. Versions of one name (_v2, _ptsz) have one order of
/// arguments, as far as those are read here.
struct Known {
  std::string_view name;
  Kind kind;
  std::uint64_t (*bytes)(const Words&) = nullptr;  ///< asked after the call
  int stream = -1;                                 ///< which argument; none is the default stream
  Resource resource = Resource::kNone;             ///< that it makes or frees
};

/// By a name as dlsym() or cuGetProcAddress() are asked for it; null for what is not traced.
const Known* known(const char* name);
/// cuGetProcAddress, which finds the others.
bool finds_functions(const Known& known);
/// Where a submission goes.
CUstream stream_of(const Known& known, const Words& words);
/// What was made, after the call, or is freed: the first argument points to the one and is the
/// other.
Word handle_of(const Known& known, const Words& words);
/// What goes to a stream and runs there.
bool is_submission(Kind kind);

}  // namespace cuface::test::trace
