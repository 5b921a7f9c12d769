// Networks that are as large as they may be, or larger, as test_hostile.cc has cascades and
// forests.
#include <vector>

#include "kernels/common/simd.h"
#include "kernels/network/cuda/steps.h"
#include "kernels/network/integers.h"
#include "models/network_file.h"
#include "tests/kernels/networks.h"
#include "tests/models/load_limits.h"

namespace cuface::test {
namespace {

/// Loads and plans for the largest picture; false where the file was refused.
bool plan_own_network(const NetworkModel& model, const std::string& name) {
  const TemporaryFolder folder;
  EXPECT_TRUE(write_network_file(model, {}, folder / "n").ok());
  const std::size_t bytes = std::filesystem::file_size(folder / "n");
  const Cost cost;
  const auto loaded = load_network(folder / "n");
  if (loaded.ok()) {
    const auto plan = plan_network(*loaded.value(), kWidth, kHeight);
    EXPECT_TRUE(plan.ok());
    if (plan.ok()) (void)network::plan_steps(*loaded.value(), plan.value());  // for CUDA
    EXPECT_TRUE(network::in_integers(*loaded.value()));
    (void)plan_network(*loaded.value(), kMaxNetworkSide, kMaxNetworkSide);  // may be too large
  }
  expect_cheap(cost, bytes, name + (loaded.ok() ? "" : ", refused"));
  return loaded.ok();
}

/// So many pointwise layers of the most channels at the largest stride, which all use the same
/// weights, or each its own, and a head.
NetworkModel large_network(int layers, bool shared, std::vector<float>& weights) {
  constexpr int kMost = kMaxNetworkChannels;
  NetworkModel m;
  std::size_t used = 0;
  const auto add = [&](NetworkOp op, int input, int channels, int taps) {
    m.layers.push_back({op, input, 0, channels, false, used});
    used += static_cast<std::size_t>(channels * (taps + 1));
    return static_cast<int>(m.layers.size());
  };
  int t = add(NetworkOp::kPictureConvolution, 0, kMost, 27);
  for (int i = 1; i < kMaxNetworkDepth; ++i) t = add(NetworkOp::kMaxPool, t, kMost, -1);
  for (int i = 0; i < layers; ++i) {
    const std::size_t before = used;
    t = add(NetworkOp::kPointwise, t, kMost, kMost);
    if (shared && i + 1 < layers) used = before;
  }
  const auto part = [&](int channels) { return add(NetworkOp::kPointwise, t, channels, kMost); };
  m.heads.push_back({part(1), part(1), part(4), part(10)});
  weights.assign(used, 1.0f / 512);
  m.weights = weights;
  return m;
}

TEST(HostileNetworks, LoadAndPlanOrAreRefused) {
  std::vector<float> weights;
  EXPECT_TRUE(
      plan_own_network(large_network(246, true, weights), "256 layers on the same weights"));
  EXPECT_TRUE(plan_own_network(large_network(15, false, weights), "a million weights"));
  EXPECT_TRUE(plan_own_network(*slow_network(1), "the most work"));
  EXPECT_FALSE(plan_own_network(large_network(247, true, weights), "257 layers"));
  EXPECT_FALSE(plan_own_network(large_network(16, false, weights), "1,059,840 weights"));
  NetworkModel work = large_network(1, true, weights);
  // At stride 2 one of the widest layers is all the work that is allowed.
  work.layers[1].op = NetworkOp::kPointwise;
  work.layers[1].first_weight = work.layers[6].first_weight;
  EXPECT_FALSE(plan_own_network(work, "more work than is allowed"));
}

#ifndef CUFACE_SANITIZED

TEST(HostileNetworks, WithoutMemory) {
  const TemporaryFolder folder;
  ASSERT_TRUE(write_network_file(*random_yunet(36), {}, folder / "n").ok());
  // A plan's memory is all that a network takes; running it allocates nothing. The plain version
  // takes most, more than what other tests have left free.
  ASSERT_TRUE(simd::force("scalar").ok());
  expect_status_without_memory([&] {
    const auto model = load_network(folder / "n");
    if (!model.ok()) return model.status().code();
    constexpr Backend kCpu = Backend::kCpu;
    return FaceNetwork::create(kCpu, model.value(), {}, 4 * kWidth, 4 * kHeight).status().code();
  });
  ASSERT_TRUE(simd::force("").ok());
}

#endif

}  // namespace
}  // namespace cuface::test
