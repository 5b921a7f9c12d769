// The search of one level against the definition, on random models: stumps and trees, upright and
// tilted features, windows of any shape, both steps.
#include <gtest/gtest.h>

#include "kernels/cascade/cascade.h"
#include "kernels/integral/integral.h"
#include "tests/fewer.h"
#include "tests/kernels/brute_cascade.h"
#include "tests/kernels/one_node_cascade.h"
#include "tests/kernels/pictures.h"
#include "tests/kernels/versions.h"

namespace cuface {
namespace {

int below(std::mt19937& random, int n) {
  return static_cast<int>(random() % static_cast<unsigned>(n));
}

float uniform(std::mt19937& random, float low, float high) {
  return low + (high - low) * static_cast<float>(random() % 10'000) / 10'000.0f;
}

HaarRect random_rect(std::mt19937& random, bool tilted, int width, int height) {
  for (;;) {
    HaarRect r{below(random, width), below(random, height), 1 + below(random, width),
               1 + below(random, height), static_cast<float>(1 + below(random, 3))};
    const bool inside = tilted ? r.x >= r.h && r.x + r.w <= width && r.y + r.w + r.h <= height
                               : r.x + r.w <= width && r.y + r.h <= height;
    if (inside) return r;
  }
}

// A rectangle and a half, a third or the middle half of it, with the weights of the known files.
HaarFeature usual_feature(std::mt19937& random, int width, int height) {
  HaarFeature f;
  f.tilted = below(random, 3) == 0;
  f.rect_count = 2;
  int kind = 0, parts = 0;
  bool along = false;
  HaarRect whole;
  do {
    kind = below(random, 3);
    parts = kind == 0 ? 2 : kind == 1 ? 3 : 4;
    along = below(random, 2) == 0;
    whole = random_rect(random, f.tilted, width, height);
  } while ((along ? whole.w : whole.h) % parts != 0);
  HaarRect part = whole;
  const int from = kind == 0 ? below(random, 2) : 1, length = kind == 2 ? 2 : 1;
  const auto cut = [&](int side) { return side / parts * length; };
  const int shift = (along ? whole.w : whole.h) / parts * from;
  // The second side of a tilted rectangle runs down to the left.
  (along ? part.w : part.h) = cut(along ? whole.w : whole.h);
  if (along) {
    part.x += shift;
    part.y += f.tilted ? shift : 0;
  } else {
    part.x -= f.tilted ? shift : 0;
    part.y += shift;
  }
  whole.weight = -1;
  part.weight = kind == 1 ? 3 : 2;
  f.rects[0] = whole;
  f.rects[1] = part;
  return f;
}

// Two or three rectangles whose weighted areas cancel, so that either child is taken now and then.
HaarFeature random_feature(std::mt19937& random, int width, int height) {
  if (below(random, 2) == 0) return usual_feature(random, width, height);
  HaarFeature f;
  f.tilted = below(random, 3) == 0;
  f.rect_count = 2 + below(random, 2);
  float others = 0;
  for (int i = f.rect_count - 1; i >= 0; --i) {
    f.rects[i] = random_rect(random, f.tilted, width, height);
    const float area = static_cast<float>(f.rects[i].w * f.rects[i].h);
    if (i > 0) others += area * f.rects[i].weight;
    if (i == 0) f.rects[i].weight = -others / area;
  }
  return f;
}

// A binary tree of `nodes` nodes whose children come after their parents.
void add_tree(std::mt19937& random, int nodes, CascadeModel& m) {
  HaarTree tree{static_cast<int>(m.nodes.size()), nodes, static_cast<int>(m.leaves.size()),
                nodes + 1};
  int leaf = 0;
  std::vector<HaarNode> list(static_cast<std::size_t>(nodes));
  for (std::size_t n = 0; n < list.size(); ++n) {
    list[n].feature = static_cast<int>(m.features.size());
    list[n].threshold = uniform(random, -0.05f, 0.05f);
    m.features.push_back(random_feature(random, m.window_width, m.window_height));
  }
  for (int n = 1, parent = 0; n < nodes; ++n) {
    HaarNode& p = list[static_cast<std::size_t>(parent)];
    const bool left = below(random, 2) == 0;
    (left ? p.left : p.right) = n;
    parent = n;
  }
  for (HaarNode& n : list) {
    if (n.left == 0) n.left = -leaf++;
    if (n.right == 0) n.right = -leaf++;
  }
  for (int i = 0; i <= nodes; ++i) m.leaves.push_back(uniform(random, -1, 1));
  m.nodes.insert(m.nodes.end(), list.begin(), list.end());
  m.trees.push_back(tree);
}

CascadeModel random_model(std::mt19937& random) {
  CascadeModel m;
  m.name = "random";
  m.window_width = 4 + below(random, 28);
  m.window_height = 4 + below(random, 28);
  const int stages = 1 + below(random, 5), most_nodes = 1 + below(random, 4);
  for (int s = 0; s < stages; ++s) {
    const HaarStage stage{static_cast<int>(m.trees.size()), 1 + below(random, 6),
                          uniform(random, -1.2f, 0.3f)};
    for (int t = 0; t < stage.tree_count; ++t) add_tree(random, 1 + below(random, most_nodes), m);
    m.stages.push_back(stage);
  }
  return m;
}

// The sums of a picture and a cascade bound to them, for windows `step` apart.
struct Sums {
  Image<std::uint32_t> block;
  Image<std::uint16_t> shorts;
  SumLayout layout;
  LevelSums level;

  // A row more than the planes have holds their padding.
  explicit Sums(const cv::Mat& picture, int step = 1)
      : block(std::max(picture.cols + 4, kSumPadding), 3 * (picture.rows + 1) + 1),
        shorts(static_cast<int>(block.view().stride / 4) * 3, picture.rows + 2) {
    const auto row = [&](int plane, int y) {
      return block.view().row(plane * (picture.rows + 1) + y);
    };
    layout.stride = static_cast<int>(block.view().stride / 4);
    layout.tilted = row(2, 0) - row(0, 0);
    layout.step = step;
    const ColumnOrder order{step == 2 ? layout.stride / 2 : 0};
    for (int plane = 0; plane < 3; ++plane) std::fill_n(row(plane, 0), layout.stride, 0);
    std::uint16_t* const same = shorts.view().data;
    std::uint16_t* const in_order = step == 1 ? same : same + (picture.rows + 2) * layout.stride;
    std::fill_n(same, layout.stride, 0);
    std::fill_n(in_order, step * layout.stride, 0);
    for (int y = 0; y < picture.rows; ++y) {
      const std::uint8_t *pixels = picture.ptr(y), *above = y > 0 ? picture.ptr(y - 1) : nullptr;
      integral_squared_row(
          pixels, picture.cols, order, row(0, y), row(0, y + 1), row(1, y), row(1, y + 1),
          {same + (y + 1) * layout.stride, in_order + step * (y + 1) * layout.stride});
      integral_tilted_row(pixels, above, picture.cols, order, y > 0 ? row(2, y - 1) : nullptr,
                          row(2, y), row(2, y + 1));
    }
    level = {row(0, 0), row(1, 0), same, in_order};
  }
};

struct BoundSearch {
  BoundCascade cascade;
  CascadeSearch search;

  BoundSearch(const CascadeModel& m, const Sums& sums, const cv::Mat& picture)
      : cascade(m), search((cascade.bind(sums.layout), cascade), picture.cols) {}
};

class CascadeSearchTest : public test::EveryVersion {};
CUFACE_EVERY_VERSION(CascadeSearchTest);

cv::Mat random_picture(std::mt19937& random, int width, int height) {
  switch (below(random, 5)) {
    case 0:
      return test::noise(width, height, random());
    case 2:  // black and white, where sums are largest
      return test::smooth_noise(width, height, 8 + below(random, 16), random()) > 127;
    case 1: {  // flat parts, which the norm rejects
      cv::Mat out = test::noise(width, height, random()) / 100 + 90;
      cv::Mat(out, {0, 0, width / 2 + 1, height / 2 + 1}).setTo(55);
      return out;
    }
    default:
      return test::smooth_noise(width, height, 3 + below(random, 8), random());
  }
}

// Searches a whole picture, and counts.
void search_as_defined(const CascadeModel& m, const test::BruteCascade& brute,
                       const cv::Mat& picture, int step, int round, std::size_t& found,
                       std::size_t& searched) {
  const Sums sums(picture, step);
  BoundSearch bound(m, sums, picture);
  const SearchGrid grid{picture.cols - m.window_width + 1, picture.rows - m.window_height + 1,
                        step};
  std::vector<RawWindow> windows;
  ASSERT_TRUE(bound.search.run(sums.level, grid, round, 1 << 20, windows));
  ASSERT_EQ(windows, brute.search(grid.columns, grid.rows, step, round)) << round;
  found += windows.size();
  searched +=
      static_cast<std::size_t>(grid.columns / step) * static_cast<std::size_t>(grid.rows / step);
}

TEST_P(CascadeSearchTest, EqualsTheDefinitionOnRandomModels) {
  std::mt19937 random(40);
  std::size_t found = 0, searched = 0, tilted = 0, trees = 0;
  for (int round = 0; round < test::fewer(600); ++round) {
    const CascadeModel m = random_model(random);
    ASSERT_TRUE(validate(m).ok()) << validate(m).message();
    tilted += m.has_tilted();
    trees += m.nodes.size() > m.trees.size();
    const cv::Mat picture = random_picture(random, m.window_width + below(random, 90),
                                           m.window_height + below(random, 60));
    const test::BruteCascade brute(m, picture);
    for (const int step : {1, 2}) {
      ASSERT_NO_FATAL_FAILURE(search_as_defined(m, brute, picture, step, round, found, searched));
    }
  }
  EXPECT_GT(searched, test::fewer(500'000u));
  EXPECT_GT(found, searched / 100);
  EXPECT_LT(found, searched / 2);
  EXPECT_GT(tilted, test::fewer(300u));
  EXPECT_GT(trees, test::fewer(200u));
}

// Many stages of upright features: waiting windows are copied, and their lists fill while others
// are taken. Features as large as can be make sums that do not fit 16 bits.
CascadeModel long_model(std::mt19937& random, bool large) {
  CascadeModel m;
  m.window_width = m.window_height = 12 + below(random, 14);
  for (int s = 0; s < 10; ++s) {
    m.stages.push_back({static_cast<int>(m.trees.size()), 3, uniform(random, -0.9f, -0.4f)});
    for (int t = 0; t < 3; ++t) add_tree(random, 1 + below(random, 2), m);
  }
  const int least = large ? m.window_width * m.window_height * 2 / 3 : 1;
  for (HaarFeature& f : m.features) {
    do {
      f = random_feature(random, m.window_width, m.window_height);
    } while (f.tilted || f.rects[0].w * f.rects[0].h < least);
  }
  return m;
}

TEST_P(CascadeSearchTest, EqualsTheDefinitionInManyStages) {
  std::mt19937 random(45);
  std::size_t found = 0, searched = 0;
  for (int round = 0; round < test::fewer(40); ++round) {
    const bool large = round % 2 != 0;
    const CascadeModel m = long_model(random, large);
    ASSERT_TRUE(validate(m).ok()) << validate(m).message();
    const cv::Mat noise = test::noise(200, 100, random());
    const cv::Mat blobs = test::smooth_noise(200, 100, 10, random()) > 127;
    const cv::Mat& picture = large ? blobs : noise;
    const int step = 1 + round / 2 % 2;
    const test::BruteCascade brute(m, picture);
    ASSERT_NO_FATAL_FAILURE(search_as_defined(m, brute, picture, step, round, found, searched));
  }
  EXPECT_GT(found, searched / 100);
  EXPECT_LT(found, searched / 2);
}

// A threshold that is a sum of leaves but for leaves too small for any rounding: what the vector
// code cannot tell by rounded sums is left to the definition.
void put_sums_on_the_threshold(std::mt19937& random, CascadeModel& m) {
  for (HaarStage& stage : m.stages) {
    float sum = 0;
    for (int t = 0; t < stage.tree_count; ++t) {
      const HaarTree& tree = m.trees[static_cast<std::size_t>(stage.first_tree + t)];
      const bool tiny = t > 0 && t % 2 != 0;
      for (int i = 0; i < tree.leaf_count; ++i) {
        m.leaves[static_cast<std::size_t>(tree.first_leaf + i)] =
            static_cast<float>(below(random, 3) - 1) * (tiny ? 0x1p-40f : 0.25f);
      }
      if (!tiny) sum += m.leaves[static_cast<std::size_t>(tree.first_leaf)];
    }
    stage.threshold = sum + 1e-5f;
    while (stage.threshold - 1e-5f < sum) stage.threshold = std::nextafter(stage.threshold, 9.0f);
    while (stage.threshold - 1e-5f > sum) stage.threshold = std::nextafter(stage.threshold, -9.0f);
  }
}

TEST_P(CascadeSearchTest, SumsOnTheThresholdAreDecidedByTheDefinition) {
  std::mt19937 random(44);
  std::size_t found = 0, searched = 0, exact = 0;
  for (int round = 0; round < test::fewer(300); ++round) {
    CascadeModel m = random_model(random);
    put_sums_on_the_threshold(random, m);
    ASSERT_TRUE(validate(m).ok()) << validate(m).message();
    for (const HaarStage& s : m.stages) {
      exact += (s.threshold - 1e-5f) * 4 == std::rint((s.threshold - 1e-5f) * 4);
    }
    const cv::Mat picture = random_picture(random, m.window_width + 60, m.window_height + 20);
    const Sums sums(picture);
    BoundSearch bound(m, sums, picture);
    std::vector<RawWindow> windows;
    ASSERT_TRUE(bound.search.run(sums.level, {61, 21, 1}, round, 1 << 20, windows));
    ASSERT_EQ(windows, test::BruteCascade(m, picture).search(61, 21, 1, round)) << round;
    found += windows.size();
    searched += 61 * 21;
  }
  EXPECT_GT(exact, test::fewer(300u));
  EXPECT_GT(found, searched / 20);
  EXPECT_LT(found, searched);
}

TEST_P(CascadeSearchTest, SearchesNothingOutsideTheGrid) {
  std::mt19937 random(41);
  const CascadeModel m = random_model(random);
  const cv::Mat picture = test::smooth_noise(80, 60, 5, 42);
  const Sums sums(picture);
  BoundSearch bound(m, sums, picture);
  CascadeSearch& search = bound.search;
  std::vector<RawWindow> windows;
  for (const SearchGrid grid : {SearchGrid{0, 30, 1}, SearchGrid{30, 0, 1}, SearchGrid{0, 0, 1}}) {
    EXPECT_TRUE(search.run(sums.level, grid, 0, 100, windows));
    EXPECT_TRUE(windows.empty());
  }
  const SearchGrid small{9, 7, 1};
  EXPECT_TRUE(search.run(sums.level, small, 0, 100, windows));
  EXPECT_EQ(windows, test::BruteCascade(m, picture).search(9, 7, 1, 0));
}

TEST_P(CascadeSearchTest, StopsAtTheLimit) {
  const CascadeModel m = test::all_accepting(10);
  const cv::Mat picture = test::noise(60, 50, 43);
  const Sums sums(picture);
  BoundSearch bound(m, sums, picture);
  CascadeSearch& search = bound.search;
  const SearchGrid grid{51, 41, 1};
  std::vector<RawWindow> all, some;
  EXPECT_TRUE(search.run(sums.level, grid, 3, 51 * 41, all));
  EXPECT_EQ(all.size(), 51u * 41);
  EXPECT_FALSE(search.run(sums.level, grid, 3, 51 * 41 - 1, some));
  EXPECT_EQ(some.size(), 51u * 41 - 1);
  EXPECT_TRUE(std::equal(some.begin(), some.end(), all.begin()));
  some.clear();
  EXPECT_TRUE(search.run(sums.level, grid, 3, 51 * 41, some)) << "an earlier stop left traces";
  EXPECT_EQ(some, all);
}

// A deviation of 10 grey levels or less is flat: rejected, and the next window is not skipped.
TEST_P(CascadeSearchTest, FlatWindowsAreRejected) {
  const CascadeModel m = test::all_accepting(10);
  for (const int contrast : {0, 1, 9, 10, 11, 40}) {
    cv::Mat picture(30, 30, CV_8U, cv::Scalar(100));
    for (int y = 0; y < 30; ++y) {
      for (int x = y % 2; x < 30; x += 2) picture.at<std::uint8_t>(y, x) += 2 * contrast;
    }
    const Sums sums(picture);
    BoundSearch bound(m, sums, picture);
    CascadeSearch& search = bound.search;
    std::vector<RawWindow> windows;
    EXPECT_TRUE(search.run(sums.level, {21, 21, 1}, 0, 1000, windows));
    EXPECT_EQ(windows.size(), contrast > 10 ? 21u * 21 : 0u) << contrast;
  }
}

}  // namespace
}  // namespace cuface
