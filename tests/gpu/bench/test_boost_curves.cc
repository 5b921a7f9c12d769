// Time on CUDA of a published trainer's kernels against the number of samples, beside ours: the
// curves of tests/eval/boost.cc, by the same names.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "kernels/boost/feature_bank.h"
#include "kernels/cascade/bind.h"
#include "tests/crops.h"
#include "tests/gpu/bench/boost_variants.h"
#include "tests/gpu/bench/curve.h"
#include "tests/gpu/compare.h"
#include "tests/gpu/gpu.h"

namespace cuface {
namespace {

using test::kSampleSide;
using test::kSampleSums;
using test::kSumPitch;

constexpr int kFeatures = 2048;  // of 162,336, evenly
constexpr std::size_t kPixels = std::size_t{kSampleSide} * kSampleSide;

const std::vector<std::pair<test::IntegralWay, const char*>> kIntegrals = {
    {test::IntegralWay::kPointers, "integrals of samples, pointers"},
    {test::IntegralWay::kPitched, "integrals of samples, pitched"},
    {test::IntegralWay::kShared, "integrals of samples, shared memory"},
    {test::IntegralWay::kDoubleBuffer, "integrals of samples, two buffers"},
    {test::IntegralWay::kOneLaunch, "integrals of samples"}};
const std::vector<std::pair<test::ResponseWay, std::string>> kResponses = {
    {test::ResponseWay::kFlat, ", flat"},
    {test::ResponseWay::kShared, ", shared memory"},
    {test::ResponseWay::kConstant, ", constant memory"},
    {test::ResponseWay::kByCorners, ""}};

std::vector<int> counts() { return test::sizes<int>({500, 2000, 8000, 32'000, 100'000}, {1000}); }

/// With a row and a column of zeros before them.
std::vector<std::uint32_t> sums_of(const std::vector<std::uint8_t>& pixels, int count) {
  std::vector<std::uint32_t> out(static_cast<std::size_t>(count) * kSampleSums);
  for (int i = 0; i < count; ++i) {
    const std::uint8_t* const from = pixels.data() + static_cast<std::size_t>(i) * kPixels;
    std::uint32_t* const to = out.data() + static_cast<std::size_t>(i) * kSampleSums;
    for (int y = 0; y < kSampleSide; ++y) {
      std::uint32_t row = 0;
      for (int x = 0; x < kSampleSide; ++x) {
        row += from[y * kSampleSide + x];
        to[(y + 1) * (kSampleSide + 1) + x + 1] = to[y * (kSampleSide + 1) + x + 1] + row;
      }
    }
  }
  return out;
}

class BoostCurvesCuda : public testing::Test {
 protected:
  void SetUp() override {
    CUFACE_NEEDS_GPU();
    picture_ = test::natural("mosaic1080");
    if (picture_.width == 0 && test::under_tool()) picture_ = test::textured(160, 120, 1);
    if (picture_.width == 0) GTEST_SKIP() << "no natural pictures: set CUFACE_GPU_DATA";
  }
  std::vector<std::uint8_t> crops(int count) const {
    return test::crops(picture_.view(), kSampleSide, static_cast<std::size_t>(count), 1);
  }

 private:
  test::Grey picture_{0, 0};
};

/// S4.E1.
TEST_F(BoostCurvesCuda, IntegralsOfSamples) {
  const test::Stream stream;
  long compared = 0;
  std::vector<test::Curve> curves;
  for (const auto& [way, name] : kIntegrals) curves.emplace_back(name, "samples");
  for (const int count : counts()) {
    const std::vector<std::uint8_t> pixels = crops(count);
    const std::vector<std::uint32_t> expected = sums_of(pixels, count);
    for (std::size_t w = 0; w < kIntegrals.size(); ++w) {
      const auto& [way, name] = kIntegrals[w];
      const auto rows = static_cast<std::size_t>(count) * kSampleSide;
      test::GuardedBytes in(pixels), sums(rows * kSumPitch * sizeof(std::uint32_t), test::kCanary);
      auto* const data = reinterpret_cast<std::uint32_t*>(sums.data());
      std::vector<std::uint32_t*> row_pointers;
      for (std::size_t r = 0; r < rows; ++r) row_pointers.push_back(data + r * kSumPitch);
      test::GuardedBytes device_rows(test::bytes_of(row_pointers));
      std::vector<std::uint32_t**> sample_pointers;
      for (int i = 0; i < count; ++i) {
        sample_pointers.push_back(reinterpret_cast<std::uint32_t**>(device_rows.data()) +
                                  i * kSampleSide);
      }
      test::GuardedBytes samples(test::bytes_of(sample_pointers));
      cuda::LaunchList list;
      ASSERT_TRUE(
          test::integrals(way,
                          {in.data(), data,
                           reinterpret_cast<std::uint32_t* const* const*>(samples.data()), count},
                          cuda::Launcher(list))
              .ok());
      curves[w].add(count, test::launch_us(stream, list));
      const std::vector<std::uint32_t> found = test::values_of<std::uint32_t>(sums.get());
      for (int i = 0; i < count; ++i) {
        for (int y = 0; y < kSampleSide; ++y) {
          for (int x = 0; x < kSampleSide; ++x, ++compared) {
            ASSERT_EQ(found[(static_cast<std::size_t>(i * kSampleSide + y)) * kSumPitch +
                            static_cast<std::size_t>(x)],
                      expected[static_cast<std::size_t>(i) * kSampleSums +
                               static_cast<std::size_t>((y + 1) * (kSampleSide + 1) + x + 1)])
                << name << ", sample " << i << ": " << x << ", " << y;
          }
        }
      }
    }
  }
  for (const test::Curve& curve : curves) curve.expect_no_faster_than_the_work();
  test::compared("sums", compared, 80'000'000);
}

/// S4.E2 and E3: what features say of samples, and whether a weak classifier is right.
TEST_F(BoostCurvesCuda, ResponsesAndLabels) {
  const test::Stream stream;
  const int most = test::under_tool() ? 20 : kFeatures;
  const auto bank = FeatureBank::create(kSampleSide, kSampleSide, FeatureMode::kBasic);
  ASSERT_TRUE(bank.ok());
  SumLayout layout;
  layout.stride = kSampleSide + 1;
  std::vector<BoundFeature> bound;
  std::vector<test::WeakRule> rules;
  for (int i = 0; i < most; ++i) {
    bound.push_back(
        bind_feature(bank.value().at(static_cast<std::size_t>(i) * bank.value().count() /
                                     static_cast<std::size_t>(most)),
                     layout));
    rules.push_back({static_cast<float>(i % 7 - 3) * 100, i % 2 ? 1.0f : -1.0f});
  }
  test::GuardedBytes device_bound(test::bytes_of(bound)), device_rules(test::bytes_of(rules));
  const test::WeakFeatures features{reinterpret_cast<const BoundFeature*>(device_bound.data()),
                                    reinterpret_cast<const test::WeakRule*>(device_rules.data()),
                                    most};
  long compared = 0;
  std::vector<test::Curve> response_curves, label_curves;
  for (const auto& [way, suffix] : kResponses) {
    response_curves.emplace_back("responses" + suffix, "samples");
    label_curves.emplace_back("labels" + suffix, "samples");
  }
  for (const int count : counts()) {
    const auto n = static_cast<std::size_t>(count);
    const std::vector<std::uint32_t> sums = sums_of(crops(count), count);
    std::vector<std::uint32_t> corners(sums.size());
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t c = 0; c < kSampleSums; ++c) corners[c * n + i] = sums[i * kSampleSums + c];
    std::vector<float> weights;
    std::vector<std::uint8_t> labels;
    for (int i = 0; i < count; ++i) {
      weights.push_back(1.0f / static_cast<float>(i + 1));
      labels.push_back(static_cast<std::uint8_t>(i % 3 == 0));
    }
    test::GuardedBytes device_sums(test::bytes_of(sums)), device_corners(test::bytes_of(corners)),
        device_weights(test::bytes_of(weights)), device_labels(labels);
    const test::ResponseSamples samples{
        reinterpret_cast<const std::uint32_t*>(device_sums.data()),
        reinterpret_cast<const std::uint32_t*>(device_corners.data()),
        reinterpret_cast<const float*>(device_weights.data()),
        weights.data(),
        device_labels.data(),
        count};
    const std::size_t all = n * static_cast<std::size_t>(most);
    auto out = cuda::DeviceBuffer<test::Response>::create(all);
    ASSERT_TRUE(out.ok()) << out.status().message();
    static_assert(sizeof(test::Response) == sizeof(test::Verdict));
    auto* const verdicts = reinterpret_cast<test::Verdict*>(out.value().data());
    for (std::size_t w = 0; w < kResponses.size(); ++w) {
      const auto& [way, suffix] = kResponses[w];
      std::vector<test::Response> responses(n);
      std::vector<test::Verdict> judged(n);
      cuda::LaunchList first, second;
      CUFACE_CUDA_OK(cudaMemset(verdicts, test::kCanary, all * sizeof(test::Verdict)));
      ASSERT_TRUE(
          test::responses(way, samples, features, out.value().data(), cuda::Launcher(first)).ok());
      response_curves[w].add(count, test::launch_us(stream, first));
      const auto value_of = [&](int f, std::size_t i) {
        const BoundFeature& b = bound[static_cast<std::size_t>(f)];
        float value = 0;
        for (int r = 0; r < 3 && (r < 2 || b.weight[r] != 0); ++r) {
          const auto at = [&](int k) {
            return sums[i * kSampleSums + static_cast<std::size_t>(b.corner[r][k])];
          };
          value += b.weight[r] * static_cast<float>(at(0) - at(1) - at(2) + at(3));
        }
        return value;
      };
      for (int f = 0; f < most; f += most / 20) {
        CUFACE_CUDA_OK(cudaMemcpy(responses.data(),
                                  out.value().data() + static_cast<std::size_t>(f) * n,
                                  n * sizeof(test::Response), cudaMemcpyDeviceToHost));
        for (std::size_t i = 0; i < n; ++i, ++compared) {
          ASSERT_EQ(responses[i].value, value_of(f, i)) << suffix << ", " << f << ", " << i;
          ASSERT_EQ(responses[i].weight, weights[i]) << suffix << ", " << f << ", " << i;
        }
      }
      ASSERT_TRUE(test::verdicts(way, samples, features, verdicts, cuda::Launcher(second)).ok());
      label_curves[w].add(count, test::launch_us(stream, second));
      for (int f = 0; f < most; f += most / 20) {
        CUFACE_CUDA_OK(cudaMemcpy(judged.data(), verdicts + static_cast<std::size_t>(f) * n,
                                  n * sizeof(test::Verdict), cudaMemcpyDeviceToHost));
        for (std::size_t i = 0; i < n; ++i, ++compared) {
          const test::WeakRule rule = rules[static_cast<std::size_t>(f)];
          const int label = rule.parity * value_of(f, i) < rule.parity * rule.threshold;
          ASSERT_EQ(judged[i].label, label) << suffix << ", " << f << ", " << i;
          ASSERT_EQ(judged[i].error, label == labels[i] ? 0 : weights[i]) << suffix << ", " << f;
        }
      }
    }
  }
  // Theirs leave the cache one by one; what ours write of 8,000 samples does not fit into it
  // either.
  constexpr double kBeyondTheCache = 32'000;
  response_curves.back().expect_no_faster_than_the_work(kBeyondTheCache);
  label_curves.back().expect_no_faster_than_the_work(kBeyondTheCache);
  test::compared("responses and labels", compared, 4'500'000);
}

}  // namespace
}  // namespace cuface
