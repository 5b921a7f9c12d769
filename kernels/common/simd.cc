#include "kernels/common/simd.h"

#include <hwy/highway.h>
#include <hwy/targets.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <numeric>

namespace cuface::simd {
namespace {

struct InstructionSet {
  const char* name;
  std::int64_t targets;  ///< Highway's, any of them
  bool byte_permutes = false;
};

constexpr InstructionSet kInstructionSets[] = {
    {"scalar", 0},
#if HWY_ARCH_X86
    {"sse4", HWY_SSE4}, {"avx2", HWY_AVX2}, {"avx512", HWY_AVX3}, {"avx512vbmi", HWY_AVX3, true},
#elif HWY_ARCH_ARM
#ifdef HWY_NEON_WITHOUT_AES
    {"neon", HWY_NEON | HWY_NEON_WITHOUT_AES},
#else
    {"neon", HWY_NEON},
#endif
#endif
};

std::atomic<const InstructionSet*> current{nullptr};

bool is_available(const InstructionSet& set) {
  static const std::int64_t machine = hwy::SupportedTargets();
  if (set.byte_permutes && (machine & HWY_AVX3_DL) == 0) return false;
  return set.targets == 0 || (set.targets & machine & HWY_TARGETS) != 0;
}

Status choose(std::string_view name) {
  const InstructionSet* choice = nullptr;
  for (const InstructionSet& set : kInstructionSets) {
    if (is_available(set) && (name.empty() || name == set.name)) choice = &set;
  }
  if (choice == nullptr) {
    std::string names;
    for (const std::string& n : available()) names += (names.empty() ? "" : ", ") + n;
    return {StatusCode::kUnsupported, "CUFACE_SIMD is '" + shortened(name) +
                                          "', but this build runs here with one of: " + names};
  }
  if (choice->targets != 0) {
    hwy::SetSupportedTargetsForTest(choice->targets);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
  current = choice;
  return {};
}

// The environment is read once; what it asks for and is not there leaves the best in place.
const Status& from_environment() {
  static const Status status = [] {
    const char* name = std::getenv("CUFACE_SIMD");
    Status best = choose("");
    return name == nullptr ? best : choose(name);
  }();
  return status;
}

}  // namespace

bool byte_permutes() {
  from_environment();
  return current.load()->byte_permutes;
}

bool vectors() {
  from_environment();
  return current.load()->targets != 0;
}

Status status() { return from_environment(); }

std::vector<std::string> available() {
  std::vector<std::string> names;
  for (const InstructionSet& set : kInstructionSets) {
    if (is_available(set)) names.emplace_back(set.name);
  }
  return names;
}

Status force(std::string_view name) {
  from_environment();
  return choose(name);
}

std::string chosen() {
  from_environment();
  return current.load()->name;
}

}  // namespace cuface::simd
