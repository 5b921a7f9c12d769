// Negative samples: what the cascade so far takes for its object, from backgrounds and a generator.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <opencv2/imgcodecs.hpp>
#include <set>

#include "models/train/mining.h"
#include "models/train/picture.h"
#include "tests/kernels/pictures.h"
#include "tests/models/temporary.h"

namespace cuface::train {
namespace {

using test::TemporaryFolder;

constexpr WindowSize kSize{12, 12};

class TrainMining : public testing::Test {
 protected:
  TrainMining() {
    for (unsigned i = 0; i < 5; ++i) {
      cv::imwrite(folder_ / std::to_string(i) + ".png",
                  test::smooth_noise(90 + 7 * static_cast<int>(i), 80, 3, i));
    }
  }
  std::unique_ptr<Backgrounds> open(std::size_t memory = 1 << 20) {
    auto opened = Backgrounds::open(folder_.path(), {kSize, false, 2, memory}, {});
    EXPECT_TRUE(opened.ok()) << opened.status().message();
    return std::move(opened.value());
  }
  const TemporaryFolder folder_;
  const FeatureBank bank_ = FeatureBank::create(12, 12, FeatureMode::kBasic).value();
};

/// A stage that lets about half of all windows through: one split of a feature of two halves.
BoostedStage half_stage(float threshold) {
  BoostedStage stage;
  stage.trees.push_back({{{0, threshold, 0, -1}}, {-1.0f, 1.0f}});
  stage.false_alarm = 0.5f;
  return stage;
}

WindowList gather(const FeatureBank& bank, Backgrounds& backgrounds, std::size_t stages,
                  std::size_t wanted, std::uint64_t generated, int threads,
                  MiningPosition& position) {
  const std::vector<BoostedStage> cascade(stages, half_stage(0));
  const WindowList none(kSize);
  Miner miner(bank, backgrounds, none, {38, wanted, generated, threads});
  WindowList found(kSize);
  const Status status = miner.gather(cascade, position, found, {}, nullptr);
  EXPECT_TRUE(status.ok()) << status.message();
  return found;
}

TEST_F(TrainMining, WindowsPassDifferAndAreTheSameWithAnyThreadsAndMemory) {
  const auto backgrounds = open(), decoded_again = open(0);
  for (const std::size_t stages : {0, 1, 6}) {  // drawn, drawn, searched
    SCOPED_TRACE(stages);
    MiningPosition position, other;
    const WindowList found = gather(bank_, *backgrounds, stages, 200, 0, 1, position);
    ASSERT_EQ(found.count(), 200u);
    const WindowList again = gather(bank_, *decoded_again, stages, 200, 0, 4, other);
    EXPECT_TRUE(std::ranges::equal(found.pixels(), again.pixels()));
    EXPECT_EQ(position.windows, other.windows);
    std::set<std::vector<std::uint8_t>> distinct;
    for (std::size_t i = 0; i < found.count(); ++i) {
      distinct.emplace(found.at(i).begin(), found.at(i).end());
      EXPECT_FALSE(is_flat(found.at(i), kSize));
    }
    EXPECT_EQ(distinct.size(), 200u);
    if (stages == 0) continue;
    const std::vector<BoostedStage> cascade(stages, half_stage(0));
    const std::vector<std::uint8_t> labels(200);
    const auto failed =
        failed_stages(make_cascade(bank_, cascade).value(), {found.pixels(), labels, 12, 12});
    ASSERT_TRUE(failed.ok()) << failed.status().message();
    for (const std::uint16_t stage : failed.value()) EXPECT_EQ(stage, stages);
  }
}

// Of so small a window two levels have boxes of one size, so a box does not tell its level.
TEST_F(TrainMining, WindowsOfLevelsThatLookAlikePass) {
  const FeatureBank bank = FeatureBank::create(4, 4, FeatureMode::kBasic).value();
  auto opened = Backgrounds::open(folder_.path(), {{4, 4}, false, 2, 1 << 20}, {});
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  const std::vector<BoostedStage> cascade(6, half_stage(0.2f));
  const WindowList none({4, 4});
  Miner miner(bank, *opened.value(), none, {38, 300, 0, 2});
  MiningPosition position;
  WindowList found({4, 4});
  ASSERT_TRUE(miner.gather(cascade, position, found, {}, nullptr).ok());
  ASSERT_EQ(found.count(), 300u);
  const std::vector<std::uint8_t> labels(300);
  const auto failed =
      failed_stages(make_cascade(bank, cascade).value(), {found.pixels(), labels, 4, 4});
  ASSERT_TRUE(failed.ok()) << failed.status().message();
  EXPECT_EQ(std::ranges::count(failed.value(), 6), 300);
}

/// A first stage that few windows pass, as it says: `least` of 2,000 or some more.
BoostedStage stage_of_few(const FeatureBank& bank, Backgrounds& backgrounds, std::ptrdiff_t least,
                          float step) {
  MiningPosition position;
  const WindowList drawn = gather(bank, backgrounds, 0, 2000, 0, 2, position);
  const std::vector<std::uint8_t> labels(drawn.count());
  BoostedStage stage;
  std::ptrdiff_t passing = 0;
  for (float threshold = 0.3f; passing < least; threshold *= step) {
    stage = half_stage(threshold);
    const auto failed = failed_stages(make_cascade(bank, std::vector{stage}).value(),
                                      {drawn.pixels(), labels, kSize.width, kSize.height});
    EXPECT_TRUE(failed.ok()) << failed.status().message();
    if (!failed.ok()) break;
    passing = std::ranges::count(failed.value(), 1);
  }
  stage.false_alarm = static_cast<float>(passing) / 2000;
  return stage;
}

// Pictures of a few windows are soon used up, so that generated ones are needed: it is interrupted
// among the pictures, between both kinds, and among generated ones.
TEST_F(TrainMining, WhatWasInterruptedGoesOnToTheSameBytes) {
  const BoostedStage few = stage_of_few(bank_, *open(), 10, 0.9f);
  for (unsigned i = 0; i < 5; ++i) {
    // Those of one window give it in each pass, before an interruption and after it.
    const int side = i < 2 ? 16 : 12;
    cv::imwrite(folder_ / std::to_string(i) + ".png", test::smooth_noise(side, side, 3, i));
  }
  const auto backgrounds = open();
  const WindowList none(kSize);
  constexpr std::size_t kWanted = 100, kMostGenerated = 120;
  for (const bool draws : {true, false}) {
    SCOPED_TRACE(draws ? "drawn" : "searched");
    const std::vector<BoostedStage> cascade = {draws ? half_stage(0) : few};
    ASSERT_EQ(draws_windows(cascade), draws);
    MiningPosition whole_position, position;
    WindowList whole(kSize), found(kSize);
    Miner at_once(bank_, *backgrounds, none, {38, kWanted, kMostGenerated, 1});
    ASSERT_TRUE(at_once.gather(cascade, whole_position, whole, {}, nullptr).ok());
    ASSERT_EQ(whole.count(), kWanted);
    ASSERT_EQ(whole_position.pictures, 5 * kMiningPasses);
    ASSERT_GT(whole_position.generated, 16u) << "no interruption among generated ones";
    StopFlag stop;
    int stops = 0;
    for (Status status = cancelled(); status.code() == StatusCode::kCancelled; ++stops) {
      Miner miner(bank_, *backgrounds, none, {38, kWanted, kMostGenerated, 2});
      stop.lower();
      status = miner.gather(
          cascade, position, found, [&] { stop.raise(); }, &stop);
      ASSERT_LT(stops, 10);
    }
    EXPECT_GE(stops, 4);
    EXPECT_TRUE(std::ranges::equal(whole.pixels(), found.pixels()));
    EXPECT_EQ(whole_position.windows, position.windows);
    EXPECT_EQ(whole_position.next_picture, position.next_picture);
    EXPECT_EQ(whole_position.next_generated, position.next_generated);
  }
}

// A first stage that is better than usual lets so few through that drawing would take longer.
TEST_F(TrainMining, WhereFewPassPicturesAreSearched) {
  const auto backgrounds = open();
  const std::vector<BoostedStage> cascade{stage_of_few(bank_, *backgrounds, 10, 0.9f)};
  ASSERT_LT(cascade[0].false_alarm, 0.01f);
  MiningPosition position;
  const WindowList none(kSize);
  Miner miner(bank_, *backgrounds, none, {38, 50, 0, 2});
  WindowList found(kSize);
  ASSERT_TRUE(miner.gather(cascade, position, found, {}, nullptr).ok());
  EXPECT_EQ(found.count(), 50u);
  EXPECT_LE(position.pictures, 10u) << "drawn windows that pass would take many looks";
  EXPECT_GT(position.windows, 20'000);
}

// Of a large picture more windows pass than a search keeps: it gives its share all the same, and
// not all that is wanted.
TEST_F(TrainMining, LargePicturesGiveTheirShare) {
  for (unsigned i = 0; i < 5; ++i)
    cv::imwrite(folder_ / std::to_string(i) + ".png", test::smooth_noise(1600, 1200, 3, i));
  const auto backgrounds = open(64 << 20);
  const std::vector<BoostedStage> cascade{stage_of_few(bank_, *backgrounds, 50, 0.98f)};
  ASSERT_LT(cascade[0].false_alarm, 0.04f) << "windows are drawn";
  const WindowList none(kSize);
  Miner miner(bank_, *backgrounds, none, {38, 300, 0, 2});
  WindowList found(kSize);
  MiningPosition position;
  ASSERT_TRUE(miner.gather(cascade, position, found, {}, nullptr).ok());
  EXPECT_EQ(found.count(), 300u);
  EXPECT_GE(position.pictures, 4u);
  EXPECT_LE(position.pictures, 10u);
}

// One picture of many has what is looked for: it gives more than its share, once all were seen.
TEST_F(TrainMining, AFewPicturesGiveMoreThanTheirShare) {
  for (unsigned i = 0; i < 5; ++i) {
    cv::Mat two(12, 12, CV_8U, cv::Scalar(0));
    two.colRange(0, 6).setTo(255);
    cv::imwrite(folder_ / std::to_string(i) + ".png", two);
  }
  cv::imwrite(folder_ / "5.png", test::smooth_noise(90, 80, 3, 5));
  const auto backgrounds = open();
  MiningPosition position;
  // Shares of 10, 40, 160 ... windows.
  EXPECT_EQ(gather(bank_, *backgrounds, 0, 60, 0, 2, position).count(), 60u);
  EXPECT_EQ(position.pictures, 18u);
}

/// What a GPU is asked. It leaves each picture to the CPU, as it does with sizes that it cannot
/// search.
struct Asked {
  std::vector<std::vector<SearchTask>> searches;
  std::function<void()> in_search = [] {};
  Status status{};  ///< what it answers
};
GpuMiningMaker maker_of(Asked& asked) {
  struct Gpu : GpuMining {
    explicit Gpu(Asked& a) : asked(a) {}
    void use(std::shared_ptr<const CascadeModel> /*model*/) override { begun.clear(); }
    Status begin(std::span<const SearchTask> tasks, const StopFlag* /*stop*/) override {
      asked.searches.emplace_back(tasks.begin(), tasks.end());
      begun.push_back(tasks.size());
      asked.in_search();
      return asked.status;
    }
    Status end(std::vector<SearchedPicture>& found) override {
      found = std::vector<SearchedPicture>(begun.front());
      begun.pop_front();
      return {};
    }
    Asked& asked;
    std::deque<std::size_t> begun;
  };
  return [&asked](std::uint64_t) -> Result<std::unique_ptr<GpuMining>> {
    return Result<std::unique_ptr<GpuMining>>(std::make_unique<Gpu>(asked));
  };
}

// Room for two pictures: no search of the GPU has more, and the first is the last once it is
// stopped.
TEST_F(TrainMining, AGpuIsGivenAsManyPicturesAsThereIsRoomFor) {
  const auto backgrounds = open(0);
  const std::vector<BoostedStage> cascade{stage_of_few(bank_, *backgrounds, 10, 0.9f)};
  const WindowList none(kSize);
  Asked asked;
  MiningOptions options{38, 50, 3, 2, TrainingBackend::kCuda, backgrounds->pixels() * 2 / 5};
  Miner miner(bank_, *backgrounds, none, options, maker_of(asked));
  MiningPosition position;
  WindowList found(kSize);
  ASSERT_TRUE(miner.gather(cascade, position, found, {}, nullptr).ok());
  EXPECT_EQ(found.count(), 50u);
  EXPECT_GE(asked.searches.size(), 4u) << "three of them with probes";
  for (const auto& tasks : asked.searches) EXPECT_LE(tasks.size(), 2u);

  StopFlag stop;
  asked = {{}, [&] { stop.raise(); }};
  found = WindowList(kSize);
  position = {};
  EXPECT_EQ(miner.gather(cascade, position, found, {}, &stop).code(), StatusCode::kCancelled);
  EXPECT_EQ(asked.searches.size(), 1u);

  // All backgrounds were looked at: nothing has to be estimated for generated ones.
  asked = {};
  position.pictures = 5 * kMiningPasses;
  ASSERT_TRUE(miner.gather(cascade, position, found, {}, nullptr).ok());
  ASSERT_EQ(asked.searches.size(), 2u);
  for (const auto& tasks : asked.searches)
    for (const SearchTask& task : tasks) EXPECT_TRUE(task.generated);
}

// A search is asked for while the host looks at what the one before found.
TEST_F(TrainMining, WithoutRoomOnTheGpuTheCpuGoesOn) {
  const auto backgrounds = open();
  const std::vector<BoostedStage> cascade{stage_of_few(bank_, *backgrounds, 10, 0.9f)};
  const WindowList none(kSize);
  MiningPosition position;
  WindowList expected(kSize);
  Miner on_cpu(bank_, *backgrounds, none, {38, 50, 3, 2});
  ASSERT_TRUE(on_cpu.gather(cascade, position, expected, {}, nullptr).ok());
  for (const std::size_t full : {1, 4, 5}) {  // a probe, the first batch, the next
    for (const TrainingBackend backend : {TrainingBackend::kAuto, TrainingBackend::kCuda}) {
      Asked asked;
      asked.in_search = [&] {
        if (asked.searches.size() == full) asked.status = {StatusCode::kOutOfDeviceMemory, "full"};
      };
      MiningOptions options{38, 50, 3, 2, backend, backgrounds->pixels() * 2 / 5};
      Miner miner(bank_, *backgrounds, none, options, maker_of(asked));
      MiningPosition its_position;
      WindowList found(kSize);
      const Status status = miner.gather(cascade, its_position, found, {}, nullptr);
      EXPECT_EQ(asked.searches.size(), full);
      if (backend == TrainingBackend::kCuda) {
        EXPECT_EQ(status.code(), StatusCode::kOutOfDeviceMemory);
        continue;
      }
      EXPECT_TRUE(status.ok()) << status.message();
      EXPECT_FALSE(miner.was_on_gpu());
      EXPECT_TRUE(std::ranges::equal(found.pixels(), expected.pixels()));
      EXPECT_EQ(its_position.windows, position.windows);
    }
  }
}

// It lies in the GPU's first batch, behind those that give all that is wanted. Every second picture
// is probed: the others have the windows.
TEST_F(TrainMining, ABadBackgroundStopsWhereItsTurnCame) {
  const std::vector<BoostedStage> cascade{stage_of_few(bank_, *open(), 10, 0.9f)};
  const TemporaryFolder folder;
  for (unsigned i = 0; i < 128; ++i) {
    const std::string name = folder / std::to_string(100 + i) + ".png";
    cv::imwrite(name, i % 2 == 0 ? cv::Mat(12, 12, CV_8U, cv::Scalar(i))
                                 : test::smooth_noise(60, 60, 3, i));
  }
  auto opened = Backgrounds::open(folder.path(), {kSize, false, 2, 0}, {});
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  cv::imwrite(folder / "151.png", test::noise(90, 80, 99));
  const WindowList none(kSize);
  const auto gathered = [&](TrainingBackend backend, std::size_t wanted) {
    Asked asked;
    Miner miner(bank_, *opened.value(), none, {38, wanted, 0, 2, backend}, maker_of(asked));
    MiningPosition position;
    WindowList found(kSize);
    const Status status = miner.gather(cascade, position, found, {}, nullptr);
    EXPECT_EQ(miner.was_on_gpu(), backend == TrainingBackend::kCuda);
    return std::pair(status, found);
  };
  const auto [cpu, of_cpu] = gathered(TrainingBackend::kCpu, 20);
  const auto [gpu, of_gpu] = gathered(TrainingBackend::kCuda, 20);
  EXPECT_TRUE(cpu.ok()) << cpu.message();
  EXPECT_TRUE(gpu.ok()) << gpu.message();
  EXPECT_EQ(of_gpu.count(), 20u);
  EXPECT_TRUE(std::ranges::equal(of_cpu.pixels(), of_gpu.pixels()));
  for (const TrainingBackend backend : {TrainingBackend::kCpu, TrainingBackend::kCuda}) {
    const Status status = gathered(backend, 100'000).first;
    EXPECT_EQ(status.code(), StatusCode::kIo);
    EXPECT_NE(status.message().find("151.png"), std::string::npos) << status.message();
  }
}

TEST_F(TrainMining, EqualBackgroundsGiveFewWindowsNotAnEndlessSearch) {
  for (unsigned i = 0; i < 5; ++i) {
    cv::Mat two(12, 12, CV_8U, cv::Scalar(0));
    two.colRange(0, 6).setTo(255);
    cv::imwrite(folder_ / std::to_string(i) + ".png", two);
  }
  MiningPosition position;
  const auto backgrounds = open();
  EXPECT_EQ(gather(bank_, *backgrounds, 0, 50, 0, 2, position).count(), 1u);
  EXPECT_EQ(position.pictures, 5 * kMiningPasses);
}

TEST_F(TrainMining, PositivesAmongTheBackgroundsAreNamed) {
  const std::uint64_t hash = hash_of(load_picture(folder_ / "3.png").value().grey.view());
  const auto clash =
      Backgrounds::open(folder_.path(), {kSize, false, 1, 0}, {{hash, "faces.csv:7"}});
  ASSERT_FALSE(clash.ok());
  EXPECT_EQ(clash.status().message().rfind(folder_ / "3.png", 0), 0u);
  EXPECT_NE(clash.status().message().find("faces.csv:7"), std::string::npos);
  // The same of single windows.
  const auto backgrounds = open();
  MiningPosition position;
  const WindowList positives = gather(bank_, *backgrounds, 0, 10, 0, 1, position);
  Miner miner(bank_, *backgrounds, positives, {38, 10, 0, 1});
  WindowList found(kSize);
  position = {};
  const Status status = miner.gather({}, position, found, {}, nullptr);
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find("positive sample"), std::string::npos) << status.message();
}

TEST_F(TrainMining, BadBackgroundsStopOrAreLeftOut) {
  cv::imwrite(folder_ / "9.png", test::noise(11, 30, 1));
  test::write_file(folder_ / "8.png", "no picture");
  const auto stopped = Backgrounds::open(folder_.path(), {kSize, false, 1, 0}, {});
  ASSERT_FALSE(stopped.ok());
  EXPECT_EQ(stopped.status().message().rfind(folder_ / "8.png", 0), 0u);
  const auto skipped = Backgrounds::open(folder_.path(), {kSize, true, 1, 0}, {});
  ASSERT_TRUE(skipped.ok());
  EXPECT_EQ(skipped.value()->count(), 5u);
  ASSERT_EQ(skipped.value()->notes().size(), 2u);
  EXPECT_NE(skipped.value()->notes()[1].find("11x30 pixels, less than the window's 12x12"),
            std::string::npos);
  // A picture that changes while it is used.
  cv::imwrite(folder_ / "0.png", test::noise(90, 80, 99));
  EXPECT_TRUE(skipped.value()->picture(1).ok());
  EXPECT_NE(skipped.value()->picture(0).status().message().find("has changed"), std::string::npos);
}

}  // namespace
}  // namespace cuface::train
