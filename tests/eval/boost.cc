// The experiments of a published trainer of cascades [S4.03 - S4.08]: the integrals of samples,
// what features say of them, and whether a weak classifier is right. tests/eval/run runs it;
// tests/gpu/bench/test_boost_curves.cc measures the same on CUDA.
#include "kernels/boost/values.h"
#include "kernels/integral/integral.h"
#include "tests/crops.h"
#include "tests/eval/curves.h"

namespace cuface::eval {
namespace {

constexpr int kSide = 24;
constexpr std::size_t kPixels = kSide * kSide, kFeatures = 2048;  // of 162,336, evenly

void measure(Program& program) {
  const cv::Mat mosaic = program.mosaic();
  const auto crops = [&](std::size_t count) {
    return test::crops(test::view_of(mosaic), kSide, count, Program::kSeed);
  };
  const std::vector<double> counts = {500, 2000, 8000, 32'000, 100'000};

  program.add("S4.E1", "integrals of samples", "samples", "cv::integral", counts, [&](double x) {
    const auto count = static_cast<std::size_t>(x);
    std::vector<std::uint8_t> pixels = crops(count);
    Image<std::uint32_t> sum(kSide + 1, kSide + 1);
    cv::Mat peers_sum;
    return program.measure(
        x,
        [&] {
          for (std::size_t i = 0; i < count; ++i)
            integral({pixels.data() + i * kPixels, kSide, kSide, kSide}, sum.view());
        },
        [&] {
          for (std::size_t i = 0; i < count; ++i)
            cv::integral(cv::Mat(kSide, kSide, CV_8UC1, pixels.data() + i * kPixels), peers_sum,
                         CV_32S);
        });
  });

  const FeatureBank bank = made(FeatureBank::create(kSide, kSide, FeatureMode::kBasic));
  const auto feature = [&](std::size_t i) { return bank.at(i * bank.count() / kFeatures); };
  const auto values_of = [&](const std::vector<std::uint8_t>& pixels,
                             const std::vector<std::uint8_t>& labels) {
    return boost::SampleValues(bank, {pixels, labels, kSide, kSide});
  };
  program.add("S4.E2", "responses", "samples", "", counts, [&](double x) {
    const std::vector<std::uint8_t> pixels = crops(static_cast<std::size_t>(x));
    const std::vector<std::uint8_t> labels(static_cast<std::size_t>(x));
    const boost::SampleValues samples = values_of(pixels, labels);
    std::vector<float> values(samples.padded());
    return program.measure(x,
                           [&] {
                             for (std::size_t f = 0; f < kFeatures; ++f)
                               samples.of(feature(f), values.data());
                           },
                           {});
  });
  program.add("S4.E3", "labels", "samples", "", counts, [&](double x) {
    const auto count = static_cast<std::size_t>(x);
    const std::vector<std::uint8_t> pixels = crops(count);
    std::vector<std::uint8_t> labels(count);
    for (std::size_t i = 0; i < count; ++i) labels[i] = i % 3 == 0;
    const boost::SampleValues samples = values_of(pixels, labels);
    std::vector<float> values(samples.padded()), weights(count, 1 / static_cast<float>(count)),
        errors(count);
    const std::vector<int> wanted(labels.begin(), labels.end());
    std::vector<int> verdicts(count);
    return program.measure(x,
                           [&] {
                             for (std::size_t f = 0; f < kFeatures; ++f) {
                               samples.of(feature(f), values.data());
                               for (std::size_t i = 0; i < count; ++i) {
                                 verdicts[i] = values[i] < 0;
                                 errors[i] = verdicts[i] == wanted[i] ? 0 : weights[i];
                               }
                             }
                           },
                           {});
  });
}

}  // namespace
}  // namespace cuface::eval

int main(int argc, char** argv) {
  cuface::eval::Program program(argc, argv);
  cuface::eval::measure(program);
  return program.finish();
}
