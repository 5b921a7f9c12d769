// Tests that run with every version of a stage: the plain reference and each instruction set that
// the build and the machine have.
//
//   class Integral : public test::EveryVersion {};
//   CUFACE_EVERY_VERSION(Integral);
//   TEST_P(Integral, EqualsOpenCv) {...}
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kernels/common/simd.h"

namespace cuface::test {

class EveryVersion : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    before_ = simd::chosen();
    const Status status = simd::force(GetParam());
    ASSERT_TRUE(status.ok()) << status.message();
    ASSERT_EQ(simd::chosen(), GetParam());
  }
  void TearDown() override { EXPECT_TRUE(simd::force(before_).ok()); }

 private:
  std::string before_;
};

/// What f() gives with the plain reference of every stage.
template <typename F>
auto plainly(F f) {
  const std::string before = simd::chosen();
  EXPECT_TRUE(simd::force("scalar").ok());
  auto result = f();
  EXPECT_TRUE(simd::force(before).ok());
  return result;
}

inline std::vector<std::string> with_vectors() {
  std::vector<std::string> all = simd::available();
  std::erase(all, "scalar");
  return all;
}

}  // namespace cuface::test

/// The same without the plain reference, for what compares with it.
#define CUFACE_EVERY_VECTOR_VERSION(Suite)                                                   \
  GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Suite);                                      \
  INSTANTIATE_TEST_SUITE_P(Versions, Suite, testing::ValuesIn(cuface::test::with_vectors()), \
                           [](const auto& info) { return info.param; })

#define CUFACE_EVERY_VERSION(Suite)                                               \
  INSTANTIATE_TEST_SUITE_P(Versions, Suite, testing::ValuesIn(simd::available()), \
                           [](const auto& info) { return info.param; })
