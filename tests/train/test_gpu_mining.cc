// Mining with a GPU that a test stands in for: what it finds is taken, in the CPU's order.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <opencv2/imgcodecs.hpp>

#include "kernels/detect/searcher.h"
#include "kernels/generated/generated.h"
#include "kernels/levels/levels.h"
#include "kernels/pyramid/pyramid.h"
#include "models/train/cascade_job.h"
#include "models/train/mining.h"
#include "tests/kernels/pictures.h"
#include "tests/models/temporary.h"

namespace cuface::train {
namespace {

constexpr WindowSize kSize{12, 12};
constexpr std::uint64_t kSeed = 38;

/// What tests ask of the stand-in, and what it tells.
struct Asked {
  std::size_t most_windows = 0;  ///< of a picture, whose pixels it gives
  std::size_t begun = 0, on_their_way = 0, most_on_their_way = 0;
  std::size_t generated = 0;  ///< pictures
  std::size_t pictures = 0;   ///< of searches that have ended
  std::size_t found = 0;      ///< windows of the last one
};

/// Searches when the search is ended, as a GPU that is slow.
class StandIn : public GpuMining {
 public:
  explicit StandIn(Asked& asked) : asked_(asked) {}

  void use(std::shared_ptr<const CascadeModel> model) override {
    model_ = std::move(model);
    begun_.clear();
    asked_.on_their_way = 0;
  }
  Status begin(std::span<const SearchTask> tasks, const StopFlag* /*stop*/) override {
    begun_.emplace_back(tasks.begin(), tasks.end());
    ++asked_.begun;
    asked_.most_on_their_way = std::max(asked_.most_on_their_way, ++asked_.on_their_way);
    return {};
  }
  Status end(std::vector<SearchedPicture>& found) override {
    found.clear();
    asked_.found = 0;
    for (const SearchTask& task : begun_.front()) {
      found.push_back(searched(task));
      asked_.found += found.back().boxes.size();
    }
    asked_.pictures += found.size();
    begun_.pop_front();
    --asked_.on_their_way;
    return {};
  }

 private:
  SearchedPicture searched(const SearchTask& task) {
    SearchedPicture out;
    Image<std::uint8_t> generated;
    if (task.generated) generated = generate_background(kSeed, *task.generated);
    asked_.generated += task.generated.has_value();
    const ImageView<const std::uint8_t> whole = task.generated ? generated.view() : task.picture;
    const ImageView<const std::uint8_t> part{whole.row(task.dy) + task.dx, whole.width - task.dx,
                                             whole.height - task.dy, whole.stride};
    const SearchPlan plan{part.width, part.height, task.factor, 0, 0, 0, 1, nullptr};
    const auto searcher = make_pyramid_searcher(*model_, plan);
    out.is_searched = true;
    out.too_many = !searcher->search(part, kWholePicture, nullptr, out.boxes);
    out.windows = searcher->windows();
    if (out.boxes.size() <= asked_.most_windows)
      add_pixels(part, plan, out);
    else if (task.generated)
      out.generated = std::move(generated);
    return out;
  }
  void add_pixels(ImageView<const std::uint8_t> part, const SearchPlan& plan,
                  SearchedPicture& out) const {
    const std::vector<Level> levels = plan_levels(*model_, plan);
    for (const Rect& box : out.boxes) {
      const auto level = std::ranges::find_if(
          levels, [&](const Level& l) { return scaled_side(kSize.width, l.scale) == box.w; });
      const int x = level_place(box.x, level->scale), y = level_place(box.y, level->scale);
      EXPECT_EQ(window_box(x, y, kSize.width, kSize.height, level->scale), box);
      const LinearResize resize(part.width, part.height, level->width, level->height);
      std::vector<std::uint8_t> row(static_cast<std::size_t>(level->width));
      for (int i = 0; i < kSize.height; ++i) {
        resize.row(part, y + i, 0, level->width, row.data());
        out.pixels.insert(out.pixels.end(), row.begin() + x, row.begin() + x + kSize.width);
      }
    }
  }

  Asked& asked_;
  std::shared_ptr<const CascadeModel> model_;
  std::deque<std::vector<SearchTask>> begun_;
};

class GpuMiningTest : public testing::Test {
 protected:
  GpuMiningTest() {
    for (unsigned i = 0; i < 12; ++i) {
      cv::imwrite(folder_ / std::to_string(i) + ".png",
                  test::smooth_noise(60 + static_cast<int>(i % 3), 50, 3, i));
    }
    auto opened = Backgrounds::open(folder_.path(), {kSize, false, 2, 1 << 20}, {});
    EXPECT_TRUE(opened.ok()) << opened.status().message();
    backgrounds_ = std::move(opened.value());
  }

  /// A stage that few windows pass, by one split, and lets a share through as it says.
  static std::vector<BoostedStage> cascade() {
    BoostedStage stage;
    stage.trees.push_back({{{0, 0.03f, 0, -1}}, {-1.0f, 1.0f}});
    stage.false_alarm = 0.01f;
    return {stage};
  }
  Status mine(TrainingBackend backend, double pixels_at_once, Asked& asked,
              MiningPosition& position, WindowList& found,
              const std::function<void()>& progress = {}, const StopFlag* stop = nullptr) {
    const WindowList none(kSize);
    Miner miner(bank_, *backgrounds_, none, {kSeed, kWanted, 8, 2, backend, pixels_at_once},
                [&](std::uint64_t) {
                  return Result<std::unique_ptr<GpuMining>>(std::make_unique<StandIn>(asked));
                });
    Status status = miner.gather(cascade(), position, found, progress, stop);
    EXPECT_EQ(miner.was_on_gpu(), backend == TrainingBackend::kCuda);
    return status;
  }
  WindowList mined(TrainingBackend backend, double pixels_at_once, Asked& asked,
                   MiningPosition& position) {
    WindowList found(kSize);
    const Status status = mine(backend, pixels_at_once, asked, position, found);
    EXPECT_TRUE(status.ok()) << status.message();
    return found;
  }
  /// What a checkpoint has of a stage whose negatives are found so far.
  void keep(MiningPosition& position, WindowList& found) {
    const std::string path = folder_ / "checkpoint";
    CascadeJob job;
    job.settings.size = kSize;
    job.settings.negatives = kWanted;
    job.inputs.positives = job.inputs.negatives = job.output = "of no concern";
    job.state = CascadeState(kSize);
    job.state.stages = cascade();
    job.state.records.resize(2);
    job.state.position = position;
    job.state.negatives = found;
    ASSERT_TRUE(write_cascade_checkpoint(path, job).ok());
    const auto read = read_cascade_job(Checkpoint::read(path).value());
    ASSERT_TRUE(read.ok()) << read.status().message();
    position = read.value().state.position;
    found = read.value().state.negatives;
  }

  static constexpr std::size_t kWanted = 4000;
  const test::TemporaryFolder folder_;
  const FeatureBank bank_ = FeatureBank::create(12, 12, FeatureMode::kBasic).value();
  std::unique_ptr<Backgrounds> backgrounds_;
};

// Backgrounds are looked at again and again, then generated ones; some give more than their share.
TEST_F(GpuMiningTest, FindsWhatTheCpuFinds) {
  MiningPosition of_cpu;
  Asked unasked;
  const WindowList expected = mined(TrainingBackend::kCpu, 1e9, unasked, of_cpu);
  ASSERT_GT(expected.count(), 100u);
  ASSERT_EQ(of_cpu.pictures, 12 * kMiningPasses) << "no generated picture is looked at";
  ASSERT_GT(of_cpu.generated, 0u);
  EXPECT_EQ(unasked.begun, 0u);
  for (const std::size_t most_windows : {0, 20, 1'000'000}) {
    for (const double at_once : {1.0, 60.0 * 50 * 5, 1e9}) {  // a picture, some, all
      SCOPED_TRACE(testing::Message() << most_windows << " with pixels, " << at_once << " pixels");
      Asked asked;
      asked.most_windows = most_windows;
      MiningPosition position;
      const WindowList found = mined(TrainingBackend::kCuda, at_once, asked, position);
      EXPECT_TRUE(std::ranges::equal(found.pixels(), expected.pixels()));
      EXPECT_EQ(position.windows, of_cpu.windows);
      EXPECT_EQ(position.passed, of_cpu.passed);
      EXPECT_EQ(position.pictures, of_cpu.pictures);
      EXPECT_EQ(position.generated, of_cpu.generated);
      EXPECT_EQ(asked.generated > 0, true);
      EXPECT_EQ(asked.most_on_their_way, 2u) << "one lies behind the one that is waited for";
    }
  }
}

// Windows of a batch are taken beside the look at the next one. Stopped between both they are in no
// checkpoint, so their pictures are looked at again: by a GPU, or by the CPU.
TEST_F(GpuMiningTest, StoppedWhileWindowsWaitItGoesOnToTheSameBytes) {
  constexpr double kAtOnce = 60.0 * 50 * 5;
  MiningPosition whole_position;
  Asked unasked;
  const WindowList whole = mined(TrainingBackend::kCuda, kAtOnce, unasked, whole_position);
  int waited = 0;
  for (int stop_at = 1;; ++stop_at) {
    SCOPED_TRACE(testing::Message() << "stopped at batch " << stop_at);
    Asked asked;
    asked.most_windows = 20;
    MiningPosition position;
    WindowList found(kSize);
    StopFlag stop;
    int batches = 0;
    const Status status = mine(
        TrainingBackend::kCuda, kAtOnce, asked, position, found,
        [&] {
          if (++batches == stop_at) stop.raise();
        },
        &stop);
    if (status.ok()) break;
    ASSERT_EQ(status.code(), StatusCode::kCancelled);
    const std::size_t looked_at = asked.pictures - backgrounds_->count();  // all were probed
    EXPECT_GT(looked_at, position.pictures + position.generated);
    waited += asked.found > 0;
    ASSERT_LT(found.count(), whole.count());
    keep(position, found);
    for (const TrainingBackend backend : {TrainingBackend::kCuda, TrainingBackend::kCpu}) {
      MiningPosition its_position = position;
      WindowList its_found = found;
      const Status gone_on = mine(backend, kAtOnce, asked, its_position, its_found);
      ASSERT_TRUE(gone_on.ok()) << gone_on.message();
      EXPECT_TRUE(std::ranges::equal(its_found.pixels(), whole.pixels()));
      EXPECT_EQ(its_position.windows, whole_position.windows);
      EXPECT_EQ(its_position.passed, whole_position.passed);
      EXPECT_EQ(its_position.next_picture, whole_position.next_picture);
      EXPECT_EQ(its_position.next_generated, whole_position.next_generated);
    }
  }
  EXPECT_GE(waited, 5) << "batches without windows leave nothing to wait";
}

}  // namespace
}  // namespace cuface::train
