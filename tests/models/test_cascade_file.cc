// Cascades in our own file: what goes in comes out, and no damaged or hostile file gets through.
#include <gtest/gtest.h>

#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include "models/cascade_file.h"
#include "models/models.h"
#include "tests/data.h"
#include "tests/kernels/one_node_cascade.h"
#include "tests/models/cascade_bits.h"
#include "tests/models/temporary.h"

namespace cuface {
namespace {

using test::bits_of;
using test::TemporaryFolder;

TEST(CascadeFile, ComesBackAsItWas) {
  CUFACE_NEEDS_CASCADES();
  const TemporaryFolder folder;
  std::size_t compared = 0;
  for (const auto& entry : std::filesystem::directory_iterator(test::kCascadeDir)) {
    const auto xml = load_cascade(entry.path());
    ASSERT_TRUE(xml.ok()) << xml.status().message();
    const CascadeModel& a = *xml.value();
    const std::string path = folder / "converted.cuface";
    ASSERT_TRUE(write_cascade_file(a, {entry.path().filename(), "", ""}, path).ok());
    const auto ours = load_cascade(path);
    ASSERT_TRUE(ours.ok()) << ours.status().message();
    const CascadeModel& b = *ours.value();
    EXPECT_EQ(a.name, b.name);
    EXPECT_EQ(bits_of(a), bits_of(b));
    compared += a.features.size();
  }
  EXPECT_GT(compared, 10000u);
}

CascadeModel small_cascade() { return *test::one_node_cascade(0.01f, 1.5f); }

TEST(CascadeFile, EveryFlippedBitAndTruncationIsFound) {
  const TemporaryFolder folder;
  const std::string path = folder / "small.cuface";
  ASSERT_TRUE(write_cascade_file(small_cascade(), {}, path).ok());
  ASSERT_TRUE(load_cascade(path).ok()) << load_cascade(path).status().message();
  const std::string good = test::read_file(path);
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ (1 << (i % 8)));
    test::write_file(path, bad);
    EXPECT_FALSE(load_cascade(path).ok()) << "byte " << i;
    test::write_file(path, good.substr(0, i));
    EXPECT_EQ(load_cascade(path).status().code(), StatusCode::kCorrupt) << i;
  }
}

TEST(CascadeFile, HostileNumbersAreRefused) {
  const TemporaryFolder folder;
  const std::string path = folder / "small.cuface";
  const std::vector<void (*)(CascadeModel&)> damages = {
      [](CascadeModel& m) { m.window_width = 0; },
      [](CascadeModel& m) { m.window_height = 1 << 30; },
      [](CascadeModel& m) { m.stages.clear(); },
      [](CascadeModel& m) { m.stages[0].tree_count = 2147483647; },
      [](CascadeModel& m) { m.trees[0].first_node = -2147483647 - 1; },
      [](CascadeModel& m) { m.trees[0].leaf_count = 3; },
      [](CascadeModel& m) { m.nodes[0].feature = 1; },
      [](CascadeModel& m) { m.nodes[0].left = -2147483647 - 1; },
      [](CascadeModel& m) { m.nodes[0].right = 1; },
      [](CascadeModel& m) { m.features[0].rect_count = 4; },
      [](CascadeModel& m) { m.features[0].rects[1].x = 2147483647; },
      [](CascadeModel& m) { m.leaves[1] = std::numeric_limits<float>::quiet_NaN(); },
  };
  for (std::size_t i = 0; i < damages.size(); ++i) {
    CascadeModel model = small_cascade();
    damages[i](model);
    ASSERT_TRUE(write_cascade_file(model, {}, path).ok());
    EXPECT_EQ(load_cascade(path).status().code(), StatusCode::kCorrupt) << "damage " << i;
  }
}

}  // namespace
}  // namespace cuface
