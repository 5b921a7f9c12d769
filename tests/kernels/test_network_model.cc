// What validate() refuses of a network and of a configuration, and the plan for a picture's size.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "kernels/network/network.h"
#include "tests/kernels/networks.h"

namespace cuface {
namespace {

std::size_t size(int value) { return static_cast<std::size_t>(value); }

TEST(NetworkModel, AcceptsNetworksOfTheFamily) {
  for (const auto& model : {test::random_yunet(1), test::random_yunet(2, 4), test::odd_network(3),
                            test::plain_network(4)}) {
    const Status status = validate(*model);
    EXPECT_TRUE(status.ok()) << status.message();
  }
  const auto yunet = test::random_yunet(1);
  EXPECT_EQ(yunet->layers.size(), 59u);
  EXPECT_EQ(yunet->weights.size(), 53104u);
}

/// A model that may be spoilt.
struct Draft {
  explicit Draft(const NetworkModel& from)
      : model(from), weights(from.weights.begin(), from.weights.end()) {}
  Status check() {
    model.weights = weights;
    return validate(model);
  }
  NetworkModel model;
  std::vector<float> weights;
};

TEST(NetworkModel, NamesTheLayerAndTheValue) {
  // Layer 0: the picture, 1: pointwise, 2: depthwise, 3: pool; 54 is the first one of a head.
  const auto model = test::random_yunet(1);
  const auto layer = [](Draft& d, int i) -> NetworkLayer& { return d.model.layers[size(i)]; };
  const int add = static_cast<int>(
      std::find_if(model->layers.begin(), model->layers.end(),
                   [](const NetworkLayer& l) { return l.op == NetworkOp::kUpsampleAdd; }) -
      model->layers.begin());
  const std::string name_of_add = "layer " + std::to_string(add);
  const struct {
    std::string expected;
    std::function<void(Draft&)> spoil;
  } faults[] = {
      {"0 layers", [&](Draft& d) { d.model.layers.clear(); }},
      {"257 layers", [&](Draft& d) { d.model.layers.resize(257); }},
      {"0 heads", [&](Draft& d) { d.model.heads.clear(); }},
      {"5 heads", [&](Draft& d) { d.model.heads.resize(5); }},
      {"0 weights", [&](Draft& d) { d.weights.clear(); }},
      {"1048577 weights", [&](Draft& d) { d.weights.resize((1 << 20) + 1); }},
      {"layer 2 of the network reads tensor 3", [&](Draft& d) { layer(d, 2).input = 3; }},
      {"layer 2 of the network reads tensor -1", [&](Draft& d) { layer(d, 2).input = -1; }},
      {name_of_add + " of the network reads tensor 99",
       [&](Draft& d) { layer(d, add).other = 99; }},
      {name_of_add + " of the network adds tensor 1", [&](Draft& d) { layer(d, add).other = 1; }},
      {name_of_add + " of the network adds tensor 0", [&](Draft& d) { layer(d, add).other = 0; }},
      {"layer 1 of the network makes 0 channels", [&](Draft& d) { layer(d, 1).channels = 0; }},
      {"layer 1 of the network makes 257 channels", [&](Draft& d) { layer(d, 1).channels = 257; }},
      {"layer 2 of the network makes 17 channels of 16",
       [&](Draft& d) { layer(d, 2).channels = 17; }},
      {"layer 3 of the network has a ReLU", [&](Draft& d) { layer(d, 3).relu = true; }},
      {"layer 1 of the network reads tensor 0", [&](Draft& d) { layer(d, 1).input = 0; }},
      {"layer 1 of the network reads tensor 1",
       [&](Draft& d) { layer(d, 1).op = NetworkOp::kPictureConvolution; }},
      {"layer 1 of the network is of an unknown kind, 9",
       [&](Draft& d) { layer(d, 1).op = static_cast<NetworkOp>(9); }},
      {"layer 1 of the network needs 272 weights",
       [&](Draft& d) { layer(d, 1).first_weight = 53000; }},
      {"layer 1 of the network needs 272 weights",
       [&](Draft& d) { layer(d, 1).first_weight = std::numeric_limits<std::size_t>::max(); }},
      {"layer 1 of the network has a weight that is not finite, number 5",
       [&](Draft& d) {
         d.weights[layer(d, 1).first_weight + 5] = std::numeric_limits<float>::quiet_NaN();
       }},
      {"layer 0 of the network has a weight that is not finite, number 447",
       [&](Draft& d) { d.weights[447] = std::numeric_limits<float>::infinity(); }},
      {"can make values beyond 1e30 in channel 1",
       [&](Draft& d) { d.weights[layer(d, 1).first_weight + 20] = 1e29f; }},
      {"head 1 of the network names tensor 0 as its boxes",
       [&](Draft& d) { d.model.heads[1].boxes = 0; }},
      {"head 1 of the network names tensor 60 as its points",
       [&](Draft& d) { d.model.heads[1].points = 60; }},
      {"which has 10 channels, not 4",
       [&](Draft& d) { d.model.heads[0].boxes = d.model.heads[0].points; }},
      {"another stride than its classes",
       [&](Draft& d) { d.model.heads[0].objects = d.model.heads[1].objects; }},
      {"head 1 of the network has stride 16",
       [&](Draft& d) { d.model.heads[0] = d.model.heads[1]; }},
  };
  for (const auto& fault : faults) {
    Draft draft(*model);
    ASSERT_TRUE(draft.check().ok());
    fault.spoil(draft);
    const Status status = draft.check();
    EXPECT_EQ(status.code(), StatusCode::kCorrupt) << fault.expected;
    EXPECT_NE(status.message().find(fault.expected), std::string::npos)
        << status.message() << "\nis not: " << fault.expected;
  }
}

TEST(NetworkModel, BoundsDepthAndWork) {
  test::NetworkBuilder deep(1);
  int t = deep.convolve_picture(8);
  for (int i = 0; i < 6; ++i) t = deep.pool(t);
  deep.head(t);
  EXPECT_NE(validate(*deep.build()).message().find("halves the picture 7 times"),
            std::string::npos);
  test::NetworkBuilder busy(2);
  t = busy.pointwise(busy.convolve_picture(8), 256);
  t = busy.pointwise(t, 256);
  busy.head(busy.pointwise(t, 8));
  EXPECT_NE(validate(*busy.build()).message().find("multiply-adds a pixel"), std::string::npos);
}

TEST(NetworkConfig, HasRanges) {
  EXPECT_TRUE(validate(NetworkConfig{}).ok());
  EXPECT_TRUE(validate(NetworkConfig{0, 0, 1, 0}).ok());
  EXPECT_TRUE(validate(NetworkConfig{1, 1, kMaxNetworkCandidates, 64}).ok());
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const auto& [config, name] : {std::pair{NetworkConfig{-0.1f}, "score_threshold"},
                                     {NetworkConfig{1.1f}, "score_threshold"},
                                     {NetworkConfig{nan}, "score_threshold"},
                                     {NetworkConfig{0, -0.1f}, "nms_threshold"},
                                     {NetworkConfig{0, 1.1f}, "nms_threshold"},
                                     {NetworkConfig{0, nan}, "nms_threshold"},
                                     {NetworkConfig{0, 0, 0}, "max_faces"},
                                     {NetworkConfig{0, 0, 5001}, "max_faces"},
                                     {NetworkConfig{0, 0, 1, -1}, "threads"}}) {
    const Status status = validate(config);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << name;
    EXPECT_NE(status.message().find(name), std::string::npos) << status.message();
  }
}

TEST(NetworkPlan, PadsToTheLargestStride) {
  const auto model = test::random_yunet(1);
  for (const auto& [given, padded] : {std::pair{1, 32}, {32, 32}, {33, 64}, {360, 384}}) {
    const auto plan = plan_network(*model, given, 640);
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    EXPECT_EQ(plan.value().width, given);
    EXPECT_EQ(plan.value().padded_width, padded);
    EXPECT_EQ(plan.value().padded_height, 640);
  }
  const auto plan = plan_network(*model, 640, 360);
  ASSERT_TRUE(plan.ok());
  const auto& grids = plan.value().grids;
  ASSERT_EQ(grids.size(), 3u);
  EXPECT_EQ(plan.value().cells, 80u * 48 + 40 * 24 + 20 * 12);
  EXPECT_EQ(grids[1].stride, 16);
  EXPECT_EQ(grids[1].columns, 40);
  EXPECT_EQ(grids[1].rows, 24);
  EXPECT_EQ(grids[1].first, 80u * 48);
}

/// The layers during which a tensor must keep its values.
std::pair<int, int> needed(const NetworkModel& model, int tensor) {
  int last = tensor - 1;
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    const NetworkLayer& l = model.layers[i];
    if (l.input == tensor || (l.op == NetworkOp::kUpsampleAdd && l.other == tensor)) {
      last = static_cast<int>(i);
    }
  }
  for (const NetworkHead& h : model.heads) {
    if (h.classes == tensor || h.objects == tensor || h.boxes == tensor || h.points == tensor) {
      last = static_cast<int>(model.layers.size());
    }
  }
  return {tensor - 1, last};
}

TEST(NetworkPlan, TensorsThatAreNeededAtOnceDoNotOverlap) {
  for (const auto& model : {test::random_yunet(1), test::odd_network(2), test::plain_network(3)}) {
    const auto made = plan_network(*model, 333, 222);
    ASSERT_TRUE(made.ok());
    const NetworkPlan& plan = made.value();
    std::size_t whole = 0;
    for (int a = 1; a < static_cast<int>(plan.tensors.size()); ++a) {
      const NetworkTensor& ta = plan.tensors[size(a)];
      whole += ta.size();
      EXPECT_LE(ta.first + ta.size(), plan.scratch);
      for (int b = a + 1; b < static_cast<int>(plan.tensors.size()); ++b) {
        const NetworkTensor& tb = plan.tensors[size(b)];
        const bool overlap = ta.first < tb.first + tb.size() && tb.first < ta.first + ta.size();
        EXPECT_FALSE(overlap && needed(*model, b).first <= needed(*model, a).second)
            << a << " and " << b;
      }
    }
    EXPECT_LT(plan.scratch, whole);
  }
}

TEST(NetworkPlan, NamesASizeThatFits) {
  const auto model = test::random_yunet(1);
  for (const auto& [width, height] :
       {std::pair{16384, 16384}, {20000, 100}, {100, 1 << 30}, {7680, 4320}, {6000, 6000}}) {
    const auto refused = plan_network(*model, width, height);
    ASSERT_FALSE(refused.ok()) << width << "x" << height;
    EXPECT_EQ(refused.status().code(), StatusCode::kUnsupported);
    const std::string text = refused.status().message();
    int w = 0, h = 0;
    ASSERT_EQ(std::sscanf(text.c_str() + text.rfind(": "), ": %dx%d", &w, &h), 2) << text;
    EXPECT_TRUE(plan_network(*model, w, h).ok()) << text;
    // A little more does not fit, or a side of the same shape would have been named.
    EXPECT_FALSE(plan_network(*model, w + w / 50 + 64, h + h / 50 + 64).ok()) << text;
  }
  EXPECT_TRUE(plan_network(*model, 3840, 2160).ok());
  EXPECT_EQ(plan_network(*model, 0, 5).status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace cuface
