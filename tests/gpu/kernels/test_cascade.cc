// The search for windows on CUDA against the CPU's: cascades cut after every stage, so that a
// window that leaves at the wrong one shows; all cascades of Debian's opencv-data; the limit of raw
// windows.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/gpu/gpu.h"
#include "tests/gpu/kernels/detect_pair.h"
#include "tests/gpu/kernels/random_cascade.h"

namespace cuface {
namespace {

using test::cut;
using test::flat;
using test::Model;
using test::Pair;
using test::part_of;
using test::Picture;
using test::real_cascades;
using test::smooth;

class CascadeCuda : public testing::Test {
 protected:
  void SetUp() override {
    CUFACE_NEEDS_GPU();
    Pair::restart();
  }

  /// Raw windows of one picture.
  static long search(const Model& model, const Picture& picture, const DetectConfig& config) {
    const long before = Pair::raw_compared;
    Pair pair(model, config, picture.width, picture.height);
    pair.check(picture);
    return Pair::raw_compared - before;
  }

  /// How many windows leave at each stage behind the first, summed over the pictures.
  static std::vector<long> exits_of(const Model& model, const std::vector<Picture>& pictures,
                                    const DetectConfig& config) {
    std::vector<long> passed(model->stages.size());
    for (std::size_t stages = 1; stages <= passed.size(); ++stages) {
      const Model part = cut(model, stages);
      for (const Picture& picture : pictures) passed[stages - 1] += search(part, picture, config);
    }
    std::vector<long> exits;
    for (std::size_t s = 1; s < passed.size(); ++s) exits.push_back(passed[s - 1] - passed[s]);
    return exits;
  }
};

TEST_F(CascadeCuda, EveryStageOfARandomCascade) {
  DetectConfig config;
  config.min_neighbors = 0;
  config.scale_factor = 1.2;
  std::vector<long> exits(12);
  struct Kind {
    unsigned seed;
    bool tilted;
    int most_nodes;
  };
  for (const Kind& kind : {Kind{11, false, 3}, {36, true, 3}, {11, false, 1}}) {
    const Model model =
        test::shared(test::random_cascade(kind.seed, 20, 20, 13, kind.tilted, kind.most_nodes));
    const auto some =
        exits_of(model, {smooth(161, 121, 5, 2, 3, 7), smooth(130, 99, 2, 3)}, config);
    ASSERT_EQ(some.size(), exits.size());
    for (std::size_t s = 0; s < exits.size(); ++s) exits[s] += some[s];
  }
  for (std::size_t s = 0; s < exits.size(); ++s)
    test::compared(("windows leave at stage " + std::to_string(s + 2)).c_str(), exits[s], 50);
  test::compared("raw windows", Pair::raw_compared, 20'000);
}

TEST_F(CascadeCuda, LeavesAreAddedInTheOrderOfTheTreesWhereItCounts) {
  DetectConfig config;
  config.min_neighbors = 0;
  config.scale_factor = 1.2;
  for (const int most_nodes : {3, 1})
    for (const int stages : {1, 3, 7, 12}) {  // in each part of the search
      const Model model = test::shared(test::order_cascade(20, 20, stages, most_nodes));
      const long raw = search(model, smooth(161, 121, 5, 2, 3, 7), config);
      test::compared(("raw windows of stage " + std::to_string(stages + 1)).c_str(), raw, 500);
    }
  test::compared("stages decided by the definition", Pair::exact, 4'000);
}

/// Every window gets as far as the last stage, and those are more than the queue of survivors
/// holds.
TEST_F(CascadeCuda, MoreSurvivorsThanTheQueueHolds) {
  DetectConfig config;
  config.min_neighbors = 0;
  config.step = 1;
  config.min_size = config.max_size = 20;  // one level
  long raw = 0;
  for (const int stages : {3, 12})
    for (const int most_nodes : {3, 1})
      raw += search(test::shared(test::order_cascade(20, 20, stages, most_nodes)),
                    smooth(test::under_tool() ? 60 : 275, 180, 5, 8), config);
  test::compared("raw windows", raw, 80'000);
  test::compared("stages decided by the definition", Pair::exact, 150'000);
}

TEST_F(CascadeCuda, EveryStageOnNaturalPictures) {
  std::vector<Picture> pictures;
  for (const test::GrayPicture& p : test::load_gray_pictures())
    if (pictures.size() < (test::under_tool() ? 2 : 6)) pictures.push_back(part_of(p, 640, 360));
  const auto models = real_cascades();
  if (pictures.empty() || models.empty())
    GTEST_SKIP() << "no pictures or cascades: set CUFACE_GPU_DATA and CUFACE_MODEL_PATH";
  DetectConfig config;
  config.min_neighbors = 0;
  int compared = 0;
  for (const Model& model : models) {
    if (model->name != "haarcascade_frontalface_alt") continue;
    const auto exits = exits_of(model, pictures, config);
    ASSERT_EQ(exits.size(), 21u);
    // The first two stages let more windows through than there is room for. Few get as far as the
    // last ones; under a tool there are but 160x120 pixels.
    for (std::size_t s = 2; s < exits.size(); ++s)
      if (!test::under_tool() || s < 12)
        test::compared(("windows leave at stage " + std::to_string(s + 2)).c_str(), exits[s], 1);
    ++compared;
  }
  EXPECT_EQ(compared, 1) << "haarcascade_frontalface_alt is missing";
  test::compared("raw windows", Pair::raw_compared, 20'000);
}

/// As they are and cut in their middle, so that there are windows of those that find nothing here.
TEST_F(CascadeCuda, AllCascadesOfDebian) {
  const auto models = real_cascades();
  if (models.empty()) GTEST_SKIP() << "no cascades: set CUFACE_CASCADES";
  EXPECT_EQ(models.size(), 17u);
  std::vector<Picture> pictures = {smooth(200, 140, 4, 51, 3, 5)};
  for (const test::GrayPicture& p : test::load_gray_pictures())
    if (pictures.size() < (test::under_tool() ? 2 : 7)) pictures.push_back(part_of(p, 401, 303));
  int tilted = 0;
  for (const Model& model : models) {
    SCOPED_TRACE(model->name);
    tilted += model->has_tilted();
    const long before = Pair::raw_compared;
    for (const std::size_t stages : {model->stages.size(), std::size_t{5}, std::size_t{2}})
      for (const int step : {0, 2}) {
        if (test::under_tool() && (stages < 3) != (step > 0)) continue;
        DetectConfig config;
        config.min_neighbors = step;  // 0: no grouping
        config.step = step;
        for (const Picture& picture : pictures) search(cut(model, stages), picture, config);
      }
    test::compared(("raw windows of " + model->name).c_str(), Pair::raw_compared - before, 500);
    if (HasFailure()) return;
  }
  EXPECT_GE(tilted, 3);
  test::compared("faces", Pair::faces_compared, 1'000);
}

TEST_F(CascadeCuda, RawWindowsUpToTheLimitAndBeyond) {
  const Model model = test::shared(test::passing_cascade(20, 20));
  DetectConfig config;
  config.step = 1;
  config.min_size = config.max_size = 20;  // one level
  for (int rows : {256, 257}) {
    for (int neighbors : {0, 3}) {
      if (test::under_tool() && rows == 256 && neighbors > 0) continue;  // 2^31 pairs of windows
      config.min_neighbors = neighbors;
      search(model, smooth(275, rows + 19, 0, 8), config);
    }
  }
  EXPECT_EQ(Pair::raw_compared, (test::under_tool() ? 1 : 2) * kMaxRawWindows);
}

/// Rows of one grey: the feature is 0, the node's threshold; its leaf is the stage's. Both pass,
/// but not a sum that is less by what single precision cannot hold. Trees of one node are searched
/// in pairs, others are not.
TEST_F(CascadeCuda, ValuesAtTheThresholds) {
  Picture picture = flat(210, 160, 0);
  for (int y = 0; y < picture.height; ++y)
    std::fill_n(picture.bytes.begin() + y * picture.stride, picture.width,
                static_cast<std::uint8_t>(y * y * 37));
  DetectConfig config;
  config.min_neighbors = 0;
  for (const int nodes : {1, 2}) {
    CascadeModel model;
    model.name = "ties";
    model.window_width = model.window_height = 20;
    model.features = {{false, 2, {{2, 2, 16, 8, -1}, {2, 2, 8, 8, 2}}}};
    const auto add_tree = [&](float left, float right) {
      model.trees.push_back({static_cast<int>(model.nodes.size()), nodes,
                             static_cast<int>(model.leaves.size()), nodes + 1});
      for (int n = 0; n < nodes; ++n) {
        model.nodes.push_back({0, 0, -n, n + 1 < nodes ? n + 1 : -(n + 1)});
        model.leaves.push_back(left);
      }
      model.leaves.push_back(right);
    };
    add_tree(-1, 1);
    add_tree(-1, 1);
    model.stages = {{0, 1, 1.00001f}, {1, 1, 1.00001f}};
    const long raw = search(test::shared(model), picture, config);
    test::compared("raw windows", raw, 5'000);
    add_tree(1e-9f, -1e-9f);
    model.stages[1].tree_count = 2;
    EXPECT_EQ(search(test::shared(model), picture, config), 0);
  }
}

/// Bands of rows that grow brighter up to some column, where all windows fail the first stage, and
/// darker behind it, where all pass: runs of failures as long as several tiles. Tiles of large
/// windows are narrow.
TEST_F(CascadeCuda, FailuresSkipAcrossTiles) {
  for (const int side : {20, 100}) {
    CascadeModel model;
    model.name = "slope";
    model.window_width = model.window_height = side;
    model.features = {{false, 2, {{2, 2, 16, 8, -1}, {2, 2, 8, 8, 2}}}};
    model.nodes = {{0, 0, 0, -1}};
    model.leaves = {-1, 1};
    model.trees = {{0, 1, 0, 2}};
    model.stages = {{0, 1, 0}};
    Picture picture = flat(900, side + 80, 0);
    for (int y = 0; y < picture.height; ++y)
      for (int x = 0; x < picture.width; ++x) {
        const int from = std::abs(x - (30 + y / 8 * 71));  // the column where it is brightest
        picture.bytes[static_cast<std::size_t>(y * picture.stride + x)] =
            static_cast<std::uint8_t>(110 - from / 8 + y % 2 * 120);
      }
    DetectConfig config;
    config.min_neighbors = 0;
    for (const int step : {1, 2}) {
      config.step = step;
      config.min_size = config.max_size = side;  // one level, of the picture's size
      test::compared("raw windows", search(test::shared(model), picture, config), 5'000);
    }
  }
}

/// Up to those that leave room for one small tile in a processor.
TEST_F(CascadeCuda, LargeWindows) {
  DetectConfig config;
  config.min_neighbors = 0;
  config.scale_factor = 1.2;
  for (const bool tilted : {false, true})
    for (const int side : {40, 64, 100, 150})
      for (const int step : {0, 1}) {
        if (test::under_tool() && (side > 64 || step > 0)) continue;
        config.step = step;
        const Model model =
            test::shared(test::random_cascade(12, side, side - side / 10, 3, tilted));
        ASSERT_EQ(model->has_tilted(), tilted);
        const long raw = search(model, smooth(333, 260, side / 16, 21, 3, 5), config);
        test::compared(("raw windows of " + std::to_string(side) + " pixels").c_str(), raw, 500);
      }
}

TEST_F(CascadeCuda, WindowsThatNoBlockHoldsAreRefusedWithTheWayOut) {
  const Model model = test::shared(test::random_cascade(11, 255, 255, 3, true));
  const Status status = cuda::Detector::create(model, {}, 640, 480).status();
  EXPECT_EQ(status.code(), StatusCode::kUnsupported);
  EXPECT_NE(status.message().find("backend=cpu"), std::string::npos) << status.message();
}

TEST_F(CascadeCuda, FlatWindowsAreNotSkippedFor) {
  // A flat window is passed over without the next one being skipped: squares of flat and of noise.
  const Model model = test::shared(test::random_cascade(11, 20, 20, 3, false));
  DetectConfig config;
  config.min_neighbors = 0;
  config.step = 1;
  long raw = 0;
  for (const int size : {21, 23, 30}) {
    Picture picture = smooth(230, 190, 1, 17);
    for (int y = 0; y < picture.height; ++y)
      for (int x = 0; x < picture.width; ++x)
        if ((x / size + y / size) % 2)
          picture.bytes[static_cast<std::size_t>(y * picture.stride + x)] = 90;
    raw += search(model, picture, config);
  }
  test::compared("raw windows", raw, 5'000);
}

}  // namespace
}  // namespace cuface
