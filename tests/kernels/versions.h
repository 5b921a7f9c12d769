// Tests that run with every version of a stage: the plain reference and each instruction set that
// the build and the machine have.
//
//   class Integral : public test::EveryVersion {};
//   CUFACE_EVERY_VERSION(Integral);
//   TEST_P(Integral, EqualsOpenCv) {...}
#pragma once

#include <gtest/gtest.h>

#include <string>

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

}  // namespace cuface::test

#define CUFACE_EVERY_VERSION(Suite)                                               \
  INSTANTIATE_TEST_SUITE_P(Versions, Suite, testing::ValuesIn(simd::available()), \
                           [](const auto& info) { return info.param; })
