// Windows scaled over one set of integrals, on CUDA and on the CPU: the same windows pass.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/cascade/cuda/scaled_search.h"
#include "kernels/detect/searcher.h"
#include "kernels/integral/integral_cuda.h"
#include "tests/gpu/gpu.h"
#include "tests/gpu/kernels/detect_pair.h"
#include "tests/gpu/kernels/random_cascade.h"

namespace cuface {
namespace {

using test::flat;
using test::GuardedBytes;
using test::Model;
using test::Picture;
using test::shared;
using test::smooth;

using Bytes = std::vector<std::uint8_t>;

/// One search on the device and on the CPU.
class ScaledPair {
 public:
  ScaledPair(const Model& model, const DetectConfig& config, int width, int height,
             std::uint32_t limit = kMaxRawWindows)
      : plan_(plan_search(config, width, height)), limit_(limit), cascade_(*model), model_(model) {
    cuda::ScratchLayout layout;
    integrals_.plan(width, height, model->has_tilted(), layout);
    auto search =
        cuda::ScaledSearch::create(cascade_, plan_scaled_windows(*model, plan_), limit, layout);
    EXPECT_TRUE(search.ok()) << search.status().message();
    search_ = std::move(search.value());
    scratch_ = std::make_unique<GuardedBytes>(layout.bytes(), test::kCanary);
    integrals_.bind(reinterpret_cast<std::byte*>(scratch_->data()));
    search_.bind(reinterpret_cast<std::byte*>(scratch_->data()));
  }

  /// What the device finds.
  cuda::SearchCounts search(const Picture& picture, const std::int32_t* run = nullptr) {
    GuardedBytes in(picture.bytes);
    EXPECT_TRUE(integrals_.enqueue(picture.at(in.data()), run, search_.zeros(), stream_).ok());
    EXPECT_TRUE(search_.enqueue(integrals_, run, stream_).ok());
    EXPECT_EQ(in.get(), picture.bytes) << "the picture was written to";
    (void)scratch_->get();  // wrote outside of it?
    return test::download(search_.counts(), 1)[0];
  }

  void check(const Picture& picture) {
    SCOPED_TRACE(model_->name + " " + std::to_string(picture.width) + "x" +
                 std::to_string(picture.height));
    const cuda::SearchCounts counts = search(picture);
    std::vector<Rect> expected;
    const auto cpu = make_searcher(ScaleMode::kWindow, *model_, plan_);
    ASSERT_TRUE(cpu->search(picture.view(), kWholePicture, nullptr, expected));
    ASSERT_EQ(counts.raw, expected.size());
    const std::vector<Rect> raw = test::download(search_.raw_windows(), limit_);
    const auto end = raw.begin() + static_cast<std::ptrdiff_t>(expected.size());
    EXPECT_EQ(test::sorted({raw.begin(), end}), test::sorted(expected));
    EXPECT_GE(counts.listed, counts.raw);
    raw_compared += static_cast<long>(expected.size());
    rejected += static_cast<long>(counts.listed - counts.raw);
  }

  static inline long raw_compared = 0, rejected = 0;

 private:
  const SearchPlan plan_;
  const std::uint32_t limit_;
  cuda::DeviceCascade cascade_;
  const Model model_;
  cuda::IntegralImages integrals_;
  cuda::ScaledSearch search_;
  std::unique_ptr<GuardedBytes> scratch_;
  test::Stream stream_;
};

class ScaledSearchCuda : public testing::Test {
 protected:
  void SetUp() override {
    CUFACE_NEEDS_GPU();
    ScaledPair::raw_compared = ScaledPair::rejected = 0;
  }
};

std::vector<DetectConfig> configurations() {
  std::vector<DetectConfig> all(5);
  all[1].scale_factor = 1.2;
  all[1].step = 1;
  all[2].scale_factor = 1.37;
  all[2].step = 2;
  all[3].min_size = 30;
  all[3].max_size = 60;
  all[4].scale_factor = 2.5;
  all[4].step = 1;
  for (DetectConfig& config : all) config.scale_mode = ScaleMode::kWindow;
  return all;
}

TEST_F(ScaledSearchCuda, GeneratedCascadesAndPictures) {
  const std::vector<Model> models = {shared(test::random_cascade(11, 20, 20, 13, false)),
                                     shared(test::random_cascade(36, 24, 16, 12, true)),
                                     shared(test::random_cascade(20, 18, 37, 5, true)),
                                     shared(test::random_cascade(12, 20, 20, 13, false, 1))};
  std::vector<Picture> pictures = {
      smooth(64, 48, 2, 1),         smooth(97, 83, 5, 2, 3, 7), flat(60, 50, 200),
      smooth(20, 20, 1, 3),         smooth(19, 60, 1, 3),       smooth(333, 97, 0, 3, 1, 0),
      smooth(257, 203, 9, 4, 0, 63)};
  if (test::under_tool()) pictures.resize(2);
  for (const Model& model : models)
    for (const DetectConfig& config : configurations())
      for (const Picture& picture : pictures) {
        ScaledPair(model, config, picture.width, picture.height).check(picture);
        if (HasFatalFailure()) return;
      }
  test::compared("raw windows", ScaledPair::raw_compared, 30'000);
  test::compared("windows that leave behind the first stage", ScaledPair::rejected, 1'000'000);
}

/// Trees of many nodes, so that a stage is bound in parts; and sums that depend on the order of the
/// trees, of many windows and of few.
TEST_F(ScaledSearchCuda, StagesInPartsAndSumsInOrder) {
  const std::vector<Model> models = {shared(test::random_cascade(6, 20, 20, 4, false, 200)),
                                     shared(test::order_cascade(20, 20, 3))};
  for (const Model& model : models) {
    const long before = ScaledPair::raw_compared;
    for (const Picture& picture :
         {smooth(90, 60, 2, 5), smooth(26, 24, 1, 6), smooth(31, 23, 1, 7, 1, 2)}) {
      DetectConfig config = configurations()[1];
      ScaledPair(model, config, picture.width, picture.height).check(picture);
      if (HasFatalFailure()) return;
    }
    test::compared(("raw windows of " + model->name).c_str(), ScaledPair::raw_compared - before,
                   100);
  }
}

TEST_F(ScaledSearchCuda, CountsWindowsForWhichThereIsNoRoom) {
  const Picture picture = smooth(60, 50, 2, 8);
  const Model model = shared(test::passing_cascade(20, 20));
  constexpr std::uint32_t kLimit = 100;
  ScaledPair pair(model, configurations()[1], picture.width, picture.height, kLimit);
  const cuda::SearchCounts counts = pair.search(picture);
  EXPECT_GT(counts.raw, 20 * kLimit);
  EXPECT_EQ(counts.raw, counts.listed);
}

TEST_F(ScaledSearchCuda, TheRunFlagDecidesOnTheDevice) {
  const Picture picture = smooth(60, 50, 2, 8);
  ScaledPair pair(shared(test::passing_cascade(20, 20)), configurations()[0], 60, 50);
  GuardedBytes flag(sizeof(std::int32_t), 0);
  const auto* run = reinterpret_cast<const std::int32_t*>(flag.data());
  for (const std::uint8_t wanted : {1, 0, 1}) {
    flag.set({wanted, 0, 0, 0});
    EXPECT_EQ(pair.search(picture, run).raw > 0, wanted != 0);
  }
}

TEST_F(ScaledSearchCuda, NaturalPicturesAndRealCascades) {
  const auto natural = test::load_gray_pictures();
  const auto models = test::real_cascades();
  if (natural.empty() || models.empty())
    GTEST_SKIP() << "no pictures or cascades: set CUFACE_GPU_DATA and CUFACE_MODEL_PATH";
  for (const Model& model : models) {
    const bool frontal = model->name == "haarcascade_frontalface_alt";
    if (test::under_tool() && !frontal) continue;
    for (std::size_t i = 0; i < natural.size() && i < (frontal && !test::under_tool() ? 5 : 1);
         ++i) {
      const Picture picture = test::part_of(natural[i], 400, 300);
      for (const DetectConfig& config : configurations()) {
        ScaledPair(model, config, picture.width, picture.height).check(picture);
        if (HasFatalFailure()) return;
      }
    }
  }
  test::compared("raw windows", ScaledPair::raw_compared, 500);
}

}  // namespace
}  // namespace cuface
