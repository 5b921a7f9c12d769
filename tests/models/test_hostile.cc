// Models that are as large as they may be, or larger: each is loaded and planned with, on both
// processors as far as the host goes, or refused, within two seconds of a processor and twice the
// file's size plus 256 MiB. And where there is no memory, a Status says so.
#include <cstring>
#include <random>

#include "kernels/landmark_samples/landmark_samples.h"
#include "models/cascade_file.h"
#include "models/forest_file.h"
#include "tests/models/bad_cascade.h"
#include "tests/models/bad_file.h"
#include "tests/models/device_tables.h"
#include "tests/models/load_limits.h"

namespace cuface::test {
namespace {

enum class Features { kUpright, kTilted, kAnyWeight };

/// A cascade of random features, its trees full of nodes that hang on one another in a row.
CascadeModel large_cascade(std::size_t stages, std::size_t trees, int nodes, int side,
                           Features kind) {
  std::mt19937 random(9);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  CascadeModel m;
  m.window_width = m.window_height = side;
  for (std::size_t s = 0; s < stages; ++s) {
    m.stages.push_back({static_cast<int>(m.trees.size()), static_cast<int>(trees), -0.5f});
    for (std::size_t t = 0; t < trees; ++t) {
      m.trees.push_back(
          {static_cast<int>(m.nodes.size()), nodes, static_cast<int>(m.leaves.size()), nodes + 1});
      for (int n = 0; n < nodes; ++n) {
        HaarFeature f;
        f.tilted = kind == Features::kTilted;
        f.rect_count = 2 + below(2);
        const int w = 3 * (1 + below(side / 6)), h = 3 * (1 + below(side / 6));
        const int x = f.tilted ? h : below(side - w + 1);
        const int y = f.tilted ? 0 : below(side - h + 1);
        f.rects[0] = {x, y, w, h, -1};
        f.rects[1] = {f.tilted ? x : x + w / 3, y, w / 3, h, 3};
        f.rects[2] = {x, y, w / 3, h / 3, 2};
        if (kind == Features::kAnyWeight)
          for (HaarRect& r : f.rects) r.weight = static_cast<float>(below(1000)) / 7;
        m.nodes.push_back(
            {static_cast<int>(m.features.size()), 0.01f, n + 1 < nodes ? n + 1 : -nodes, -n});
        m.features.push_back(f);
      }
      for (int l = 0; l <= nodes; ++l) m.leaves.push_back(static_cast<float>(below(200)) / 100 - 1);
    }
  }
  return m;
}

DetectConfig dearest(ScaleMode mode) {
  DetectConfig config;
  config.scale_mode = mode;
  config.roll = 90;
  config.verify = true;
  config.threads = 16;
  return config;
}

/// Loads and plans; false where the file was refused.
bool plan_cascade(const std::string& path, std::size_t bytes, const std::string& name) {
  const Cost cost;
  const auto model = load_cascade(path);
  if (!model.ok()) {
    expect_cheap(cost, bytes, name + ", refused");
    EXPECT_EQ(model.status().code(), StatusCode::kCorrupt) << model.status().message();
    return false;
  }
  for (const ScaleMode mode : {ScaleMode::kPyramid, ScaleMode::kWindow}) {
    const auto detector =
        Detector::create(Backend::kCpu, model.value(), dearest(mode), kWidth, kHeight);
    EXPECT_TRUE(detector.ok()) << detector.status().message();
  }
  make_device_tables(*model.value());
  expect_cheap(cost, bytes, name);
  return true;
}

bool plan_cascade(const CascadeModel& model, const std::string& name) {
  const TemporaryFolder folder;
  EXPECT_TRUE(write_cascade_file(model, {}, folder / "c").ok());
  return plan_cascade(folder / "c", std::filesystem::file_size(folder / "c"), name);
}

TEST(Hostile, Cascades) {
  EXPECT_TRUE(plan_cascade(large_cascade(1, 65536, 1, 24, Features::kUpright),
                           "65,536 trees in one stage"));
  EXPECT_TRUE(plan_cascade(large_cascade(256, 256, 1, 24, Features::kUpright),
                           "65,536 trees in 256 stages"));
  EXPECT_TRUE(plan_cascade(large_cascade(1, 257, 255, 48, Features::kTilted),
                           "trees of 255 tilted splits"));
  EXPECT_TRUE(plan_cascade(large_cascade(64, 1024, 1, 255, Features::kAnyWeight),
                           "largest window, any weights"));
  EXPECT_FALSE(plan_cascade(large_cascade(1, 70'000, 1, 24, Features::kUpright),
                            "70,000 trees in one stage"));
  EXPECT_FALSE(plan_cascade(large_cascade(28'000, 1, 1, 24, Features::kUpright), "28,000 stages"));
  EXPECT_FALSE(plan_cascade(large_cascade(1, 300, 255, 24, Features::kUpright), "76,500 splits"));
  CascadeModel features = large_cascade(1, 1, 1, 24, Features::kUpright);
  features.features.resize(120'000, features.features[0]);
  EXPECT_FALSE(plan_cascade(features, "120,000 features"));
  // The file: many trees on one feature.
  CascadeModel shared = large_cascade(1, 1, 1, 24, Features::kUpright);
  shared.stages[0].tree_count = 190'000;
  shared.trees.clear();
  for (int i = 0; i < 190'000; ++i) shared.trees.push_back({i, 1, 2 * i, 2});
  shared.nodes.resize(190'000, shared.nodes[0]);
  shared.leaves.resize(2 * 190'000, 0.5f);
  EXPECT_FALSE(plan_cascade(shared, "190,000 trees on one feature"));
}

TEST(Hostile, CascadesOfXml) {
  const TemporaryFolder folder;
  const auto plan = [&](const std::string& text, const std::string& name) {
    write_file(folder / "c.xml", text);
    return plan_cascade(folder / "c.xml", text.size(), name);
  };
  const std::string tree =
      "<_><internalNodes>0 -1 0 1.6</internalNodes><leafValues>0. 1.</leafValues></_>";
  std::string trees;
  for (int i = 0; i < 60'000; ++i) trees += tree;
  EXPECT_TRUE(plan(xml(kNodes, kLeaves, kRects, "0.5", "24", trees), "XML of 60,000 trees"));
  std::string stages;
  for (int i = 0; i < 28'000; ++i)
    stages +=
        "</weakClassifiers></_><_><stageThreshold>0.5</stageThreshold><weakClassifiers>" + tree;
  EXPECT_FALSE(plan(xml(kNodes, kLeaves, kRects, "0.5", "24", stages), "XML of 28,000 stages"));
}

/// dlib's integer of 0 to 127 or a power of two, as short as it can be, or longer.
void add_integer(std::string& out, std::int64_t value) {
  const std::uint64_t magnitude = static_cast<std::uint64_t>(value < 0 ? -value : value);
  int bytes = 1;
  while (bytes < 8 && magnitude >> (8 * bytes) != 0) ++bytes;
  out += static_cast<char>(bytes | (value < 0 ? 0x80 : 0));
  out.append(reinterpret_cast<const char*>(&magnitude), static_cast<std::size_t>(bytes));
}

/// A .dat of small numbers: the file is as short as it can be.
std::string dense_dat(int landmarks, int cascades, int trees, int depth, int pool) {
  std::string out, number, split, leaf, tree;
  add_integer(number, 1);
  add_integer(number, -4);
  const auto column = [&](std::string& to) {
    add_integer(to, -2 * landmarks);
    add_integer(to, -1);
    for (int i = 0; i < 2 * landmarks; ++i) to += number;
  };
  add_integer(split, 0);
  add_integer(split, 0);
  split += number;
  column(leaf);
  add_integer(tree, (1 << depth) - 1);
  for (int i = 1; i < 1 << depth; ++i) tree += split;
  add_integer(tree, 1 << depth);
  for (int i = 0; i < 1 << depth; ++i) tree += leaf;
  add_integer(out, 1);
  column(out);
  add_integer(out, cascades);
  for (int c = 0; c < cascades; ++c) {
    add_integer(out, trees);
    for (int t = 0; t < trees; ++t) out += tree;
  }
  for (int table = 0; table < 2; ++table) {
    add_integer(out, cascades);
    for (int c = 0; c < cascades; ++c) {
      add_integer(out, pool);
      for (int i = 0; i < pool; ++i) {
        if (table == 0)
          add_integer(out, 0);
        else
          out += number + number;
      }
    }
  }
  return out;
}

/// Loads and plans; false where the file was refused.
bool plan_forest(const std::string& path, const std::string& name,
                 std::shared_ptr<const ForestModel>* loaded = nullptr) {
  const std::size_t bytes = std::filesystem::file_size(path);
  const Cost cost;
  const auto model = load_forest(path);
  if (!model.ok()) {
    expect_cheap(cost, bytes, name + ", refused");
    EXPECT_NE(model.status().code(), StatusCode::kOutOfMemory) << model.status().message();
    return false;
  }
  const auto landmarker = SampledLandmarker::create(Backend::kCpu, model.value());
  EXPECT_TRUE(landmarker.ok()) << landmarker.status().message();
  expect_cheap(cost, bytes, name);
  if (loaded) *loaded = model.value();
  return true;
}

TEST(Hostile, Forests) {
  const TemporaryFolder folder;
  const struct {
    const char* name;
    int landmarks, cascades, trees, depth, pool;
    bool is_usable;
  } files[] = {
      {"1 landmark, 2^20 leaves", 1, 8, 65536, 1, 10, true},
      {"1 landmark, deep trees", 1, 16, 16, 12, 10, true},
      {"256 landmarks, deep trees", 256, 1, 4, 12, 10, true},
      {"2^20 feature pixels", 1, 16, 1, 1, 65536, true},
      {"1 landmark, 2^21 leaves", 1, 16, 65536, 1, 10, false},
      {"1 landmark, 3 * 2^20 feature pixels", 1, 48, 1, 1, 65536, false},
  };
  for (const auto& f : files) {
    write_file(folder / "f.dat", dense_dat(f.landmarks, f.cascades, f.trees, f.depth, f.pool));
    std::shared_ptr<const ForestModel> model;
    EXPECT_EQ(plan_forest(folder / "f.dat", std::string(".dat: ") + f.name, &model), f.is_usable);
    if (!model) continue;
    ASSERT_TRUE(write_forest_file(*model, {}, folder / "f.cuface").ok());
    EXPECT_TRUE(plan_forest(folder / "f.cuface", std::string(".cuface: ") + f.name));
    ASSERT_TRUE(write_forest_file(*compact_forest(*model), {}, folder / "f.cuface").ok());
    model.reset();
    EXPECT_TRUE(plan_forest(folder / "f.cuface", std::string("compact: ") + f.name));
  }
  // Refused by its size: a hole, of which nothing is read.
  write_file(folder / "f.dat", dense_dat(1, 1, 1, 1, 1));
  std::filesystem::resize_file(folder / "f.dat", kMaxForestBytes + 1);
  EXPECT_FALSE(plan_forest(folder / "f.dat", ".dat of 512 MiB and a byte"));
}

#ifndef CUFACE_SANITIZED

TEST(Hostile, CascadesWithoutMemory) {
  const TemporaryFolder folder;
  ASSERT_TRUE(
      write_cascade_file(large_cascade(16, 512, 1, 24, Features::kUpright), {}, folder / "c").ok());
  static const std::vector<std::uint8_t> pixels = noise_pixels(kWidth, kHeight);
  expect_status_without_memory([&] {
    const auto model = load_cascade(folder / "c");
    if (!model.ok()) return model.status().code();
    DetectConfig config;
    config.roll = 25;
    config.min_size = 100;
    auto detector = Detector::create(Backend::kCpu, model.value(), config, kWidth, kHeight);
    if (!detector.ok()) return detector.status().code();
    DetectResult result;
    return detector.value()->enqueue({pixels.data(), kWidth, kHeight, kWidth}, result).code();
  });
}

TEST(Hostile, ForestsWithoutMemory) {
  const TemporaryFolder folder;
  write_file(folder / "f.dat", dense_dat(68, 4, 100, 5, 300));
  ASSERT_TRUE(write_forest_file(*load_forest(folder / "f.dat").value(), {}, folder / "f").ok());
  for (const char* name : {"f.dat", "f"}) {
    expect_status_without_memory([&] {
      const auto model = load_forest(folder / name);
      if (!model.ok()) return model.status().code();
      auto landmarker = SampledLandmarker::create(Backend::kCpu, model.value());
      if (!landmarker.ok()) return landmarker.status().code();
      static const std::vector<std::uint8_t> pixels(64 * 64);
      const Box box{5, 5, 40, 40};
      std::vector<Point> points(68);
      return landmarker.value()
          ->enqueue({pixels.data(), 64, 64, 64}, {&box, 1}, {}, 5, points)
          .code();
    });
  }
}

#endif

}  // namespace
}  // namespace cuface::test
