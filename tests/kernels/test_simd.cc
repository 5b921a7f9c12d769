// The choice of the instruction set: what is forced is what runs, and a wrong wish is refused.
#include <cstdlib>
#include <map>
#include <string>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/kernels/test_simd.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace cuface::HWY_NAMESPACE {
const char* compiled_for() { return hwy::TargetName(HWY_TARGET); }
}  // namespace cuface::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>

#include "kernels/common/dispatch.h"
#include "tests/kernels/versions.h"

namespace cuface {
namespace {

HWY_EXPORT(compiled_for);

class Simd : public test::EveryVersion {};
CUFACE_EVERY_VERSION(Simd);

TEST_P(Simd, WhatIsForcedRuns) {
  EXPECT_EQ(simd::vectors(), GetParam() != "scalar");
  EXPECT_EQ(simd::byte_permutes(), GetParam() == "avx512vbmi");
  if (!simd::vectors()) return;
  const std::map<std::string, std::string> highway = {{"sse4", "SSE4"},
                                                      {"avx2", "AVX2"},
                                                      {"avx512", "AVX3"},
                                                      {"avx512vbmi", "AVX3"},
                                                      {"neon", "NEON"}};
  ASSERT_TRUE(highway.contains(GetParam()));
  EXPECT_EQ(CUFACE_DISPATCH(compiled_for)(), highway.at(GetParam()));
}

// Others in the process use the same library.
TEST(SimdChoice, HighwaysOwnChoiceStaysAsItIs) {
  const std::int64_t supported = hwy::SupportedTargets();
  const std::string best = HWY_DYNAMIC_DISPATCH(compiled_for)();
  const std::string before = simd::chosen();
  int others = 0;
  for (const std::string& name : simd::available()) {
    EXPECT_TRUE(simd::force(name).ok());
    EXPECT_EQ(hwy::SupportedTargets(), supported) << name;
    EXPECT_EQ(HWY_DYNAMIC_DISPATCH(compiled_for)(), best) << name;
    others += simd::vectors() && CUFACE_DISPATCH(compiled_for)() != best;
  }
  EXPECT_TRUE(simd::force(before).ok());
  EXPECT_TRUE(others > 0 || simd::available().size() <= 2) << "none but the best was chosen";
}

TEST(SimdChoice, TheBestIsTheDefault) {
  const std::vector<std::string> names = simd::available();
  ASSERT_FALSE(names.empty());
  EXPECT_EQ(names.front(), "scalar");
  const std::string before = simd::chosen();
  if (const char* wish = std::getenv("CUFACE_SIMD"); wish != nullptr) {
    EXPECT_EQ(before, wish);
  }
  EXPECT_TRUE(simd::force("").ok());
  EXPECT_EQ(simd::chosen(), names.back());
  EXPECT_TRUE(simd::force(before).ok());
}

TEST(SimdChoice, RefusesWhatIsNotThere) {
  const std::string before = simd::chosen();
  for (const char* name : {"avx1024", "AVX2", " "}) {
    const Status status = simd::force(name);
    EXPECT_EQ(status.code(), StatusCode::kUnsupported) << name;
    EXPECT_NE(status.message().find("CUFACE_SIMD"), std::string::npos);
    EXPECT_NE(status.message().find("scalar"), std::string::npos) << status.message();
    EXPECT_EQ(simd::chosen(), before);
  }
}

}  // namespace
}  // namespace cuface
#endif
