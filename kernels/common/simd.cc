#include "kernels/common/simd.h"

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <numeric>

#include "kernels/common/dispatch.h"

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
hwy::ChosenTarget chosen_target;

std::int64_t machine() {
  static const std::int64_t targets = hwy::SupportedTargets();
  return targets;
}

bool is_available(const InstructionSet& set) {
  if (set.byte_permutes && (machine() & HWY_AVX3_DL) == 0) return false;
  return set.targets == 0 || (set.targets & machine() & HWY_TARGETS) != 0;
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
  if (choice->targets != 0) chosen_target.Update(choice->targets & machine());
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

const hwy::ChosenTarget& target() {
  from_environment();
  return chosen_target;
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
