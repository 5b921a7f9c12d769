// What is wrong with a cascade is named.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>

#include "kernels/cascade/cascade.h"
#include "tests/kernels/one_node_cascade.h"

namespace cuface {
namespace {

TEST(CascadeModel, ValidateNamesWhatIsWrong) {
  using Change = void (*)(CascadeModel&);
  const std::pair<Change, const char*> cases[] = {
      {[](CascadeModel& m) { m.stages.clear(); }, "no stages"},
      {[](CascadeModel& m) { m.window_width = 2; }, "window"},
      {[](CascadeModel& m) { m.window_height = 256; }, "window"},
      {[](CascadeModel& m) { m.stages[0].tree_count = 2; }, "stage 0"},
      {[](CascadeModel& m) { m.stages[0].tree_count = 0; }, "stage 0"},
      {[](CascadeModel& m) { m.stages[0].first_tree = -1; }, "stage 0"},
      {[](CascadeModel& m) { m.stages[0].first_tree = 2147483647; }, "stage 0"},
      {[](CascadeModel& m) { m.stages[0].threshold = std::nanf(""); }, "stage 0"},
      {[](CascadeModel& m) { m.trees[0].first_node = 1; }, "tree 0"},
      {[](CascadeModel& m) { m.trees[0].leaf_count = 1; }, "tree 0"},
      {[](CascadeModel& m) { m.trees[0].first_leaf = -1; }, "tree 0"},
      {[](CascadeModel& m) { m.nodes[0].feature = 1; }, "uses feature 1"},
      {[](CascadeModel& m) { m.nodes[0].threshold = INFINITY; }, "threshold"},
      {[](CascadeModel& m) { m.nodes[0].left = -2; }, "child -2"},
      {[](CascadeModel& m) { m.nodes[0].right = 1; }, "child 1"},
      {[](CascadeModel& m) { m.leaves[1] = std::nanf(""); }, "leaf 1"},
      {[](CascadeModel& m) { m.features[0].rect_count = 4; }, "feature 0"},
      {[](CascadeModel& m) { m.features[0].rects[1].w = 11; }, "leaves the window"},
      {[](CascadeModel& m) { m.features[0].rects[1].weight = std::nanf(""); }, "weight"},
      {[](CascadeModel& m) { m.features[0].tilted = true; }, "leaves the window"},
  };
  ASSERT_TRUE(validate(test::all_accepting(10)).ok());
  for (const auto& [change, message] : cases) {
    CascadeModel m = test::all_accepting(10);
    change(m);
    const Status status = validate(m);
    EXPECT_EQ(status.code(), StatusCode::kCorrupt) << message;
    EXPECT_NE(status.message().find(message), std::string::npos) << status.message();
  }
}

}  // namespace
}  // namespace cuface
