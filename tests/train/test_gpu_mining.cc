// Mining with a GPU that a test stands in for: what it finds is taken, in the CPU's order.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <opencv2/imgcodecs.hpp>

#include "kernels/detect/searcher.h"
#include "kernels/generated/generated.h"
#include "kernels/levels/levels.h"
#include "kernels/pyramid/pyramid.h"
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
    for (const SearchTask& task : begun_.front()) found.push_back(searched(task));
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
    stage.trees.push_back({{{0, 0.06f, 0, -1}}, {-1.0f, 1.0f}});
    stage.false_alarm = 0.01f;
    return {stage};
  }
  WindowList mined(TrainingBackend backend, double pixels_at_once, Asked& asked,
                   MiningPosition& position) {
    const WindowList none(kSize);
    Miner miner(bank_, *backgrounds_, none, {kSeed, kWanted, 8, 2, backend, pixels_at_once},
                [&](std::uint64_t) {
                  return Result<std::unique_ptr<GpuMining>>(std::make_unique<StandIn>(asked));
                });
    WindowList found(kSize);
    const Status status = miner.gather(cascade(), position, found, {}, nullptr);
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(miner.was_on_gpu(), backend == TrainingBackend::kCuda);
    return found;
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

}  // namespace
}  // namespace cuface::train
