// The tables that CUDA reads of a cascade are made on the host: here they are read on the host,
// too, and what they add up to is held against the definition. No GPU, no kernel.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <span>
#include <vector>

#include "models/models.h"
#include "tests/data.h"
#include "tests/fewer.h"
#include "tests/kernels/table_reader.h"
#include "tests/kernels/table_scene.h"

namespace cuface::test {
namespace {

using namespace cuda;

constexpr int kMostPairStages = 10;

/// A cascade's flat tables as CascadeSearch::create() makes them.
FlatCascade flat_of(const CascadeModel& model) {
  FlatCascade flat;
  BoundCascade bound(model);
  for (const SumLayout& layout : layouts_of(model)) {
    bound.bind(layout);
    add_layout(bound, flat);
  }
  return flat;
}

/// What a stage's integers count: the power of two by which right leaves, which are in the tables
/// as they are, were multiplied.
double units_of(const SearchNode* nodes, const BoundCascade::Stage& stage) {
  double whole = 0, real = 0;
  for (int t = 0; t < stage.tree_count; ++t) {
    const BoundCascade::Tree& tree = stage.trees[t];
    for (int n = 0; n < tree.node_count; ++n, ++nodes) {
      const int right = tree.nodes[n].right;
      if (right <= 0) real = std::max(real, std::abs(double{tree.leaves[-right]}));
      whole = std::max(whole, std::abs(static_cast<double>(nodes->right_leaf)));
    }
  }
  return std::exp2(std::round(std::log2(whole / real)));
}
std::vector<double> units_of(const FlatCascade& flat, const Scene& scene) {
  std::vector<double> units;
  for (std::size_t s = 0; s < flat.stages.size(); ++s)
    units.push_back(
        units_of(flat.nodes.data() + flat.stages[s].first_node, scene.definition().stages()[s]));
  return units;
}

/// Sums that fail a stage, and that pass one.
struct Seen {
  int fails = 0, passes = 0;
};

/// Of each tree a leaf, which is rounded by half a unit at most.
void expect_sum(std::int32_t sum, double definition, const SearchStage& stage, double units,
                Seen& seen) {
  constexpr double kOfDoubles = 1e-3;
  ASSERT_NEAR(sum, definition * units, 0.5 * stage.tree_count + kOfDoubles);
  if (sum < stage.fails) ++seen.fails;
  if (sum >= stage.passes) ++seen.passes;
}

/// What lies between `fails` and `passes` is what rounding may have changed, and hardly more.
void expect_limits(const SearchStage& stage, double threshold, double units) {
  const double rounding = 0.5 * stage.tree_count, at = threshold * units;
  EXPECT_LE(stage.fails, at - rounding);
  EXPECT_GE(stage.passes, at + rounding);
  EXPECT_LE(stage.passes - stage.fails, stage.tree_count + 4);
}

/// The nodes of the index-th layout.
void expect_nodes(const CascadeModel& model, const Scene& scene, const FlatCascade& flat,
                  std::size_t index, Seen& seen) {
  const SearchNode* nodes = flat.nodes.data() + index * model.nodes.size();
  const SumLayout layout = layouts_of(model)[index];
  const std::vector<double> units = units_of(flat, scene);
  const auto* exact = flat.exact_nodes.data() + index * model.nodes.size();
  for (int k = 0; k < kTileColumns; k += every()) {
    const bool alone = index == 2;
    const int x = k * layout.step;
    const WindowSums at = scene.words(layout, alone ? x : 0, alone ? 0 : k);
    const float norm = scene.norm(x, 0);
    for (std::size_t s = 0; s < flat.stages.size(); ++s) {
      SCOPED_TRACE(testing::Message() << model.name << ", layout " << index << ", stage " << s);
      const SearchStage& stage = flat.stages[s];
      const double definition = scene.sum(s, x, 0);
      ASSERT_NO_FATAL_FAILURE(expect_sum(stage_sum(stage, nodes, flat.trees.data(), at, norm),
                                         definition, stage, units[s], seen));
      double sum = 0;
      for (int t = stage.first_tree; t < stage.first_tree + stage.tree_count; ++t) {
        const CascadeView::Tree& tree = flat.trees[static_cast<std::size_t>(t)];
        sum += static_cast<double>(tree_value(exact + tree.first_node,
                                              flat.leaves.data() + tree.first_leaf,
                                              at.words.data() + at.first, norm));
      }
      ASSERT_EQ(sum, definition);
    }
  }
}

void expect_flat(const CascadeModel& model, unsigned seed, Seen& seen) {
  const Scene scene(model, seed);
  const FlatCascade flat = flat_of(model);
  const std::size_t count = model.nodes.size(), layouts = layouts_of(model).size();
  ASSERT_EQ(flat.stages.size(), model.stages.size());
  ASSERT_EQ(flat.nodes.size(), layouts * count);
  ASSERT_EQ(flat.exact_nodes.size(), layouts * count);
  const std::vector<double> units = units_of(flat, scene);
  for (std::size_t s = 0; s < flat.stages.size(); ++s)
    expect_limits(flat.stages[s], scene.definition().stages()[s].threshold, units[s]);
  for (std::size_t i = 0; i < layouts; ++i)
    ASSERT_NO_FATAL_FAILURE(expect_nodes(model, scene, flat, i, seen));
}

/// By how many corners the rectangles of an upright feature, or of a tilted one if they begin at
/// one place, share.
NodeShape shape_of(const HaarFeature& f) {
  const HaarRect &a = f.rects[0], &b = f.rects[1];
  const int sides = (a.x == b.x) + (a.x + a.w == b.x + b.w);
  const int shared = sides * ((a.y == b.y) + (a.y + a.h == b.y + b.h));
  if (f.rect_count == 3) return NodeShape::kGeneral;
  if (shared == 2 && b.weight == 2) return NodeShape::kEdge;
  if (shared != 0) return NodeShape::kGeneral;
  return b.weight == 2 ? NodeShape::kLine2 : NodeShape::kLine3;
}

constexpr unsigned kSeeds = 8;

TEST(CascadeTables, StagesAddUpToTheDefinition) {
  for (const bool tilted : {false, true})
    for (const int most_nodes : {1, 3}) {
      Seen seen;
      for (unsigned seed = 0; seed < kSeeds; ++seed)
        ASSERT_NO_FATAL_FAILURE(expect_flat(
            table_cascade(seed, seed % 2 == 0 ? 20 : 24, most_nodes, tilted, seed % 3 == 2), seed,
            seen));
      EXPECT_GT(seen.fails, 0);
      EXPECT_GT(seen.passes, 0);
    }
}

TEST(CascadeTables, StumpsLieByTheirShapes) {
  std::map<NodeShape, int> all;
  for (unsigned seed = 0; seed < kSeeds; ++seed) {
    const CascadeModel model = table_cascade(seed, 20, 1, seed % 2 == 1);
    const FlatCascade flat = flat_of(model);
    for (std::size_t s = 0; s < flat.stages.size(); ++s) {
      const SearchStage& stage = flat.stages[s];
      ASSERT_TRUE(stage.stumps);
      std::map<NodeShape, int> count;
      for (int t = 0; t < stage.tree_count; ++t)
        ++count[shape_of(model.features[static_cast<std::size_t>(stage.first_tree + t)])];
      int end = stage.first_node, part = 0;
      for (const NodeShape shape :
           {NodeShape::kEdge, NodeShape::kLine2, NodeShape::kLine3, NodeShape::kGeneral}) {
        EXPECT_EQ(stage.end[part++], end += count[shape]) << model.name << ", stage " << s;
        all[shape] += count[shape];
      }
    }
  }
  for (const auto& [shape, count] : all) EXPECT_GT(count, 0) << static_cast<int>(shape);
}

TEST(CascadeTables, WindowsOfLargeSumsAreInFloats) {
  constexpr int kSide = 160;  // sums of three times its pixels pass 2^24
  for (const SearchNode& node : flat_of(table_cascade(1, kSide, 1, false)).nodes)
    ASSERT_EQ(node.shape, NodeShape::kGeneral);
}

void expect_survivors(const CascadeModel& model, unsigned seed, Seen& seen) {
  const Scene scene(model, seed);
  const FlatCascade flat = flat_of(model);
  const std::vector<double> units = units_of(flat, scene);
  const std::vector<SurvivorNode> nodes = survivor_nodes(model);
  ASSERT_EQ(nodes.size(), model.trees.size());
  for (std::size_t s = 0; s < flat.stages.size(); ++s) {
    SCOPED_TRACE(testing::Message() << model.name << ", stage " << s);
    const SearchStage& stage = flat.stages[s];
    const std::span of_stage(nodes.begin() + stage.first_tree,
                             static_cast<std::size_t>(stage.tree_count));
    EXPECT_TRUE(std::is_partitioned(of_stage.begin(), of_stage.end(), [](const SurvivorNode& node) {
      return node.corner[8] >> SurvivorNode::kWeightShift == 0;
    })) << "third rectangles lie last";
    for (int x = 0; x < kTileColumns; x += every()) {
      const WindowSums at = scene.words(alone_layout(model), x, 0);
      std::int32_t sum = stage.base;
      for (const SurvivorNode& node : of_stage) sum += survivor_leaf(node, at, scene.norm(x, 0));
      ASSERT_NO_FATAL_FAILURE(expect_sum(sum, scene.sum(s, x, 0), stage, units[s], seen));
    }
  }
}

TEST(CascadeTables, SurvivorNodesAddUpToTheDefinition) {
  Seen seen;
  for (unsigned seed = 0; seed < kSeeds; ++seed)
    ASSERT_NO_FATAL_FAILURE(
        expect_survivors(table_cascade(seed, 20, 1, false, seed % 2 == 1), seed, seen));
  EXPECT_GT(seen.fails, 0);
  EXPECT_GT(seen.passes, 0);
}

TEST(CascadeTables, OtherCascadesHaveNoSurvivorNodes) {
  EXPECT_TRUE(survivor_nodes(table_cascade(1, 20, 1, true)).empty()) << "tilted";
  EXPECT_TRUE(survivor_nodes(table_cascade(1, 20, 3, false)).empty()) << "trees";
  EXPECT_TRUE(survivor_nodes(table_cascade(1, 64, 1, false)).empty())
      << "offsets of more than 14 bits";
  EXPECT_FALSE(survivor_nodes(table_cascade(1, 63, 1, false)).empty());
}

struct SeenPairs : Seen {
  int shape[kPairShapes] = {};
  std::map<LargeShape, int> large;
};

void count_shapes(const PairNodes& pairs, std::span<const uint4> nodes, SeenPairs& seen) {
  for (int s = 0; s < pairs.stage_count; ++s) {
    int next = pairs.stage[s].first;
    for (int shape = 0; shape < kPairShapes; ++shape) {
      const int size = pair_node_size(static_cast<PairShape>(shape));
      for (int n = 0; n < pairs.stage[s].count[shape]; ++n, next += size) {
        ++seen.shape[shape];
        if (static_cast<PairShape>(shape) == PairShape::kLarge)
          ++seen.large[static_cast<LargeShape>(nodes[static_cast<std::size_t>(next)].w)];
      }
    }
  }
}

void expect_pairs(const CascadeModel& model, unsigned seed, int stages, SeenPairs& seen) {
  const Scene scene(model, seed);
  const FlatCascade flat = flat_of(model);
  const std::vector<double> units = units_of(flat, scene);
  std::vector<uint4> nodes;
  const PairNodes pairs =
      pair_nodes(model, {tile_layout(model, 1), tile_layout(model, 2)}, kMostPairStages, nodes);
  ASSERT_EQ(pairs.stage_count, stages) << model.name;
  ASSERT_EQ(nodes.size(), 2 * static_cast<std::size_t>(pairs.size));
  EXPECT_LE(pairs.size, PairNodes::kMostSize);
  EXPECT_TRUE(pairs.dense_stages >= std::min(stages, 1) && pairs.dense_stages <= stages);
  count_shapes(pairs, nodes, seen);
  for (int step = 1; step <= 2; ++step)
    for (int k = 0; k < kTileColumns; k += every()) {
      const WindowSums at = scene.words(tile_layout(model, step), 0, k, step);
      const auto of_step = std::span(nodes).subspan(
          static_cast<std::size_t>((step - 1) * pairs.size), static_cast<std::size_t>(pairs.size));
      for (int s = 0; s < stages; ++s) {
        SCOPED_TRACE(testing::Message() << model.name << ", step " << step << ", stage " << s);
        const auto i = static_cast<std::size_t>(s);
        for (int lower = 0; lower < 2; ++lower) {
          const int x = k * step, y = lower * step;
          const std::int32_t sum = pair_sum(pairs.stage[s], of_step, at, scene.norm(x, y), lower);
          ASSERT_NO_FATAL_FAILURE(
              expect_sum(sum, scene.sum(i, x, y), flat.stages[i], units[i], seen));
        }
        EXPECT_EQ(pairs.stage[s].fails, flat.stages[i].fails);
        EXPECT_EQ(pairs.stage[s].passes, flat.stages[i].passes);
        for (const int slices : pairs.stage[s].slices)
          EXPECT_TRUE(slices >= 1 && slices <= kPairThreads / 32);
      }
    }
}

/// Stages in front of the first that has a tree of several nodes, a tilted feature, or inner parts
/// without a sum of 16 bits.
int stages_in_pairs(const CascadeModel& model) {
  constexpr int kMostPixels = 65535 / 255;
  const int most = std::min(kMostPairStages, static_cast<int>(model.stages.size()));
  for (int s = 0; s < most; ++s) {
    const HaarStage& stage = model.stages[static_cast<std::size_t>(s)];
    for (int t = 0; t < stage.tree_count; ++t) {
      const HaarTree& tree = model.trees[static_cast<std::size_t>(stage.first_tree + t)];
      const HaarFeature& f = model.features[static_cast<std::size_t>(tree.first_node)];
      if (tree.node_count > 1 || f.tilted ||
          (f.rect_count == 3 && 2 * f.rects[1].w * f.rects[1].h > kMostPixels))
        return s;
    }
  }
  return most;
}

TEST(CascadeTables, PairNodesAddUpToTheDefinition) {
  SeenPairs seen;
  const auto expect = [&](unsigned seed, const CascadeModel& model) {
    expect_pairs(model, seed, stages_in_pairs(model), seen);
  };
  for (unsigned seed = 0; seed < kSeeds; ++seed) {
    ASSERT_NO_FATAL_FAILURE(expect(seed, table_cascade(seed, 24, 1, false)));
    ASSERT_NO_FATAL_FAILURE(expect(seed, table_cascade(seed, 20, 1, false, seed % 2 == 0)));
    ASSERT_NO_FATAL_FAILURE(expect(seed, table_cascade(seed, 20, 1, true)));
    ASSERT_NO_FATAL_FAILURE(expect(seed, table_cascade(seed, 20, 2, false)));
  }
  EXPECT_GT(seen.fails, 0);
  EXPECT_GT(seen.passes, 0);
  for (const int count : seen.shape) EXPECT_GT(count, 0);
  for (const LargeShape shape : {LargeShape::kLine, LargeShape::kTwo, LargeShape::kWide3})
    EXPECT_GT(seen.large[shape], 0) << static_cast<int>(shape);
}

constexpr std::size_t kLeastShared = 62 << 10;  // of a block on sm_75

/// What a tile needs, counted again.
void expect_fits(const CascadeModel& model, const TilePlan& plan, int step, std::size_t shared) {
  const auto i = static_cast<std::size_t>(step - 1);
  const int columns = plan.table.columns[i], rows = plan.table.rows[i];
  EXPECT_TRUE(columns >= 8 && columns <= kTileColumns && rows >= 2 && rows <= kMostTileRows);
  const int planes = model.has_tilted() ? 2 : 1;
  const int words = (columns - 1) * step + model.window_width + 1;
  EXPECT_GE(plan.layouts[i].stride, planes * words);
  EXPECT_EQ(plan.layouts[i].stride % (planes * step), 0);
  EXPECT_EQ(plan.layouts[i].tilted, planes == 2 ? plan.layouts[i].stride / 2 / step : 0);
  const int sums = plan.layouts[i].stride * ((rows - 1) * step + model.window_height + 1);
  EXPECT_GE(plan.table.list_offset[i], sums);
  constexpr int kListed = 8;  // bytes of a window: its norm, and a place in each of two lists
  const std::size_t least =
      static_cast<std::size_t>(4 * plan.table.list_offset[i] + kListed * rows * kTileColumns);
  EXPECT_TRUE(plan.in_pairs || plan.shared_bytes >= least);
  EXPECT_LE(plan.shared_bytes, shared);
}

TEST(TilePlan, WindowsOf64PixelsFitTheLeastSharedMemory) {
  for (const bool tilted : {false, true})
    for (const int side : {3, 20, 24, 40, 64})
      for (const int most_step : {1, 2}) {
        if (tilted && side < 8) continue;  // no room for a tilted feature
        SCOPED_TRACE(testing::Message() << side << " pixels, tilted " << tilted);
        CascadeModel model = table_cascade(1, std::max(side, 8), 1, tilted);
        model.window_width = model.window_height = side;
        const auto plan = plan_of(model, kLeastShared, most_step);
        ASSERT_TRUE(plan.ok()) << plan.status().message();
        EXPECT_EQ(plan.value().table.tilted[0] > 0, tilted);
        EXPECT_EQ(plan.value().queues_survivors, !tilted && side < 40);
        for (int step = 1; step <= most_step; ++step)
          expect_fits(model, plan.value(), step, kLeastShared);
      }
}

TEST(TilePlan, TallWindowsThatFitNoPairsAreTakenOneByOne) {
  CascadeModel model = table_cascade(1, 6, 1, false);
  model.window_height = 100;
  ASSERT_TRUE(plan_of(model).value().in_pairs);
  const auto plan = plan_of(model, kLeastShared);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_FALSE(plan.value().in_pairs);
  expect_fits(model, plan.value(), 2, kLeastShared);
}

TEST(TilePlan, WindowsThatNoBlockHoldsAreRefusedWithTheWayOut) {
  for (const bool tilted : {false, true}) {
    CascadeModel model = table_cascade(1, 24, 1, tilted);
    model.window_width = model.window_height = kMaxWindowSide;
    const Status status = plan_of(model).status();
    EXPECT_EQ(status.code(), StatusCode::kUnsupported);
    EXPECT_NE(status.message().find("255x255"), std::string::npos) << status.message();
    EXPECT_NE(status.message().find("backend=cpu"), std::string::npos) << status.message();
    // Larger memories hold larger windows.
    model.window_width = model.window_height = tilted ? 100 : 150;
    EXPECT_FALSE(plan_of(model, kLeastShared).ok());
    const auto plan = plan_of(model);
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    expect_fits(model, plan.value(), 2, kBlockShared);
  }
}

TEST(CascadeTables, OfRealCascades) {
  CUFACE_NEEDS_CASCADES();
  SeenPairs seen;
  for (const char* name : {"frontalface_alt", "frontalface_default", "frontalface_alt2",
                           "lefteye_2splits", "fullbody"}) {
    const auto loaded = load_cascade(cascade_path(name));
    ASSERT_TRUE(loaded.ok()) << loaded.status().message();
    const CascadeModel& model = *loaded.value();
    ASSERT_NO_FATAL_FAILURE(expect_flat(model, 1, seen));
    if (survivor_nodes(model).empty()) continue;
    ASSERT_NO_FATAL_FAILURE(expect_survivors(model, 1, seen));
    ASSERT_NO_FATAL_FAILURE(expect_pairs(model, 1, kMostPairStages, seen));
  }
  for (const int count : seen.shape) EXPECT_GT(count, 0);
}

}  // namespace
}  // namespace cuface::test
