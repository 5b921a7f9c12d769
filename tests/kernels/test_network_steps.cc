// How a GPU joins a network's layers: what is joined, what may run side by side, and whose memory
// is whose.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "kernels/network/cuda/steps.h"
#include "tests/kernels/networks.h"

namespace cuface {
namespace {

using network::NetworkStep;
using network::NetworkSteps;
using network::StepSource;
using test::NetworkBuilder;

NetworkSteps steps_of(const NetworkModel& model, int width, int height) {
  const auto plan = plan_network(model, width, height);
  EXPECT_TRUE(plan.ok()) << plan.status().message();
  return network::plan_steps(model, plan.value());
}

/// Each layer is done once, no step reads what is made on its level or later, and no tensor lies
/// where another does that is still read.
void check(const NetworkModel& model, int width, int height) {
  const NetworkSteps steps = steps_of(model, width, height);
  const NetworkPlan plan = plan_network(model, width, height).value();
  std::multiset<int> convolutions;
  std::map<int, std::size_t> made;
  std::map<int, std::size_t> last_read;
  for (std::size_t level = 0; level < steps.levels(); ++level) {
    for (std::size_t i = steps.first_step[level]; i < steps.first_step[level + 1]; ++i) {
      const NetworkStep& step = steps.steps[i];
      for (const int layer : {step.picture_layer, step.pointwise_layer, step.depthwise_layer})
        if (layer >= 0) convolutions.insert(layer);
      for (const NetworkStep& part : step.beside)
        for (const int layer : {part.pointwise_layer, part.depthwise_layer})
          if (layer >= 0) convolutions.insert(layer);
      if (step.head < 0) {
        EXPECT_EQ(made.count(step.output), 0u);
        made[step.output] = level;
        last_read[step.output] = level;
      }
    }
    for (std::size_t i = steps.first_step[level]; i < steps.first_step[level + 1]; ++i) {
      const NetworkStep& step = steps.steps[i];
      std::vector<int> inputs;
      if (step.source != StepSource::kPicture) inputs.push_back(step.input);
      if (step.source == StepSource::kSum) inputs.push_back(step.other);
      for (const int tensor : inputs) {
        ASSERT_EQ(made.count(tensor), 1u) << tensor;
        EXPECT_LT(made[tensor], level);
        last_read[tensor] = level;
      }
    }
  }
  std::size_t expected = 0;
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    const NetworkOp op = model.layers[i].op;
    if (op == NetworkOp::kMaxPool || op == NetworkOp::kUpsampleAdd) continue;
    EXPECT_EQ(convolutions.count(static_cast<int>(i)), 1u) << i;
    ++expected;
  }
  EXPECT_EQ(convolutions.size(), expected);
  for (const auto& [a, level_a] : made) {
    const auto end = [&](int t) {
      const NetworkTensor& tensor = plan.tensors[static_cast<std::size_t>(t)];
      return steps.first_float[static_cast<std::size_t>(t)] +
             static_cast<std::size_t>(tensor.rows) * static_cast<std::size_t>(tensor.columns) *
                 static_cast<std::size_t>(network::pixel_floats(tensor.channels));
    };
    EXPECT_LE(end(a), steps.scratch);
    for (const auto& [b, level_b] : made) {
      if (a >= b || level_a > last_read[b] || level_b > last_read[a]) continue;
      EXPECT_TRUE(end(a) <= steps.first_float[static_cast<std::size_t>(b)] ||
                  end(b) <= steps.first_float[static_cast<std::size_t>(a)])
          << a << " and " << b;
    }
  }
}

TEST(NetworkSteps, YuNetIsFourteenBlocksAndThreeHeads) {
  const auto model = test::random_yunet(1);
  const NetworkSteps steps = steps_of(*model, 640, 360);
  EXPECT_EQ(steps.steps.size(), 14u + 3u);
  for (const NetworkStep& step : steps.steps) {
    EXPECT_GE(step.pointwise_layer, 0);
    EXPECT_EQ(step.depthwise_layer, step.pointwise_layer + 1);
  }
  EXPECT_EQ(steps.steps[0].source, StepSource::kPicture);
  EXPECT_EQ(steps.levels(), 15u);
}

TEST(NetworkSteps, EachLayerIsDoneOnceWithMemoryOfItsOwn) {
  for (const auto& [width, height] : {std::pair(1, 1), {640, 360}, {33, 500}})
    check(*test::random_yunet(2), width, height);
  for (unsigned seed = 0; seed < 40; ++seed) check(*test::random_network(seed), 70, 40);
}

}  // namespace
}  // namespace cuface
