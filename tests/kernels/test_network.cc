// The network's layers against a second implementation, every version against the plain one, and
// what a search may and may not do.
#include <gtest/gtest.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <thread>
#include <vector>

#include "kernels/network/cpu/program.h"
#include "kernels/network/network.h"
#include "kernels/network/reference.h"
#include "tests/fewer.h"
#include "tests/kernels/allocations.h"
#include "tests/kernels/networks.h"
#include "tests/kernels/versions.h"

namespace cuface {
namespace {

/// A layer's value in double, by its definition alone. Values are kept: each is asked for often.
class Definition {
 public:
  Definition(const NetworkModel& model, const NetworkPlan& plan, ImageView<const Bgr> picture)
      : model_(model), plan_(plan), picture_(picture) {
    for (const NetworkTensor& t : plan.tensors) {
      values_.emplace_back(t.size(), std::numeric_limits<double>::quiet_NaN());
    }
  }

  double value(int tensor, int c, int y, int x) {
    const NetworkTensor& t = plan_.tensors[static_cast<std::size_t>(tensor)];
    if (x < 0 || y < 0 || x >= t.columns || y >= t.rows) return 0;
    if (tensor == 0) {
      if (x >= picture_.width || y >= picture_.height) return 0;
      const Bgr& p = picture_.at(x, y);
      return c == 0 ? p.b : c == 1 ? p.g : p.r;
    }
    double& kept = values_[static_cast<std::size_t>(tensor)]
                          [static_cast<std::size_t>((c * t.rows + y) * t.columns + x)];
    if (std::isnan(kept)) {
      const NetworkLayer& layer = model_.layers[static_cast<std::size_t>(tensor) - 1];
      const double made = make(layer, c, y, x);
      kept = layer.relu ? std::max(made, 0.0) : made;
    }
    return kept;
  }

 private:
  double make(const NetworkLayer& l, int c, int y, int x) {
    const int inputs = plan_.tensors[static_cast<std::size_t>(l.input)].channels;
    const auto weight = [&](int taps, int tap) {
      return static_cast<double>(
          model_.weights[l.first_weight + static_cast<std::size_t>(c * taps + tap)]);
    };
    const auto bias = [&](int taps) {
      return static_cast<double>(
          model_.weights[l.first_weight + static_cast<std::size_t>(l.channels * taps + c)]);
    };
    double sum = 0;
    switch (l.op) {
      case NetworkOp::kPictureConvolution:
        for (int i = 0; i < 27; ++i)
          sum += weight(27, i) * value(0, i / 9, 2 * y + i % 9 / 3 - 1, 2 * x + i % 3 - 1);
        return sum + bias(27);
      case NetworkOp::kPointwise:
        for (int i = 0; i < inputs; ++i) sum += weight(inputs, i) * value(l.input, i, y, x);
        return sum + bias(inputs);
      case NetworkOp::kDepthwise:
        for (int i = 0; i < 9; ++i)
          sum += weight(9, i) * value(l.input, c, y + i / 3 - 1, x + i % 3 - 1);
        return sum + bias(9);
      case NetworkOp::kMaxPool:
        sum = -std::numeric_limits<double>::infinity();
        for (int i = 0; i < 4; ++i)
          sum = std::max(sum, value(l.input, c, 2 * y + i / 2, 2 * x + i % 2));
        return sum;
      case NetworkOp::kUpsampleAdd:
        return value(l.input, c, y / 2, x / 2) + value(l.other, c, y, x);
    }
    return sum;
  }

  const NetworkModel& model_;
  const NetworkPlan& plan_;
  ImageView<const Bgr> picture_;
  std::vector<std::vector<double>> values_;
};

std::unique_ptr<FaceNetwork> make(const std::shared_ptr<const NetworkModel>& model,
                                  const test::BgrPicture& picture, const NetworkConfig& config = {},
                                  const StopFlag* stop = nullptr) {
  auto made =
      FaceNetwork::create(Backend::kCpu, model, config, picture.width, picture.height, stop);
  EXPECT_TRUE(made.ok()) << made.status().message();
  return made.ok() ? std::move(made.value()) : nullptr;
}

class Network : public test::EveryVersion {};
CUFACE_EVERY_VERSION(Network);

TEST_P(Network, LayersAreWhatTheyAreDefinedToBe) {
  const auto model = test::random_yunet(1, 4);
  const int width = 75, height = 41;
  const test::BgrPicture picture(width, height, 2);
  auto network = make(model, picture);
  ASSERT_TRUE(network);
  std::vector<NetworkFace> faces;
  const Status status = network->enqueue(picture.view(), faces);
  ASSERT_TRUE(status.ok()) << status.message();
  const auto plan = plan_network(*model, width, height);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  Definition definition(*model, plan.value(), picture.view());
  ASSERT_EQ(network->cells().size(), plan.value().cells);
  int compared = 0;
  double largest = 0;
  const auto compare = [&](float ours, int tensor, int c, int y, int x) {
    const double expected = definition.value(tensor, c, y, x);
    EXPECT_NEAR(ours, expected, 1e-4 * (1 + std::fabs(expected)))
        << "tensor " << tensor << " channel " << c << " at " << x << " " << y;
    largest = std::max(largest, std::fabs(expected));
    ++compared;
  };
  for (std::size_t g = 0; g < model->heads.size(); ++g) {
    const NetworkHead& head = model->heads[g];
    const NetworkGrid& grid = plan.value().grids[g];
    for (int y = 0; y < grid.rows; ++y) {
      for (int x = 0; x < grid.columns; ++x) {
        const NetworkCell& cell =
            network->cells()[grid.first + static_cast<std::size_t>(y * grid.columns + x)];
        compare(cell.classes, head.classes, 0, y, x);
        compare(cell.objects, head.objects, 0, y, x);
        for (int c = 0; c < 4; ++c) compare(cell.box[c], head.boxes, c, y, x);
        for (int c = 0; c < 10; ++c) compare(cell.points[c], head.points, c, y, x);
      }
    }
  }
  EXPECT_EQ(compared, 16 * (12 * 8 + 6 * 4 + 3 * 2));
  EXPECT_GT(largest, 0.1);
}

/// Cells by the plain version. The first that differs in a bit; their number where none does.
std::size_t first_difference(const std::shared_ptr<const NetworkModel>& model,
                             const test::BgrPicture& picture, const NetworkConfig& config = {}) {
  const auto plan = plan_network(*model, picture.width, picture.height);
  EXPECT_TRUE(plan.ok()) << plan.status().message();
  std::vector<NetworkCell> expected(plan.value().cells);
  EXPECT_TRUE(network::PlainForward(*model, plan.value()).run(picture.view(), expected, nullptr));
  return test::first_difference(*make(model, picture, config), picture, expected);
}

void expect_same(const std::shared_ptr<const NetworkModel>& model, const test::BgrPicture& picture,
                 const NetworkConfig& config = {}) {
  const auto plan = plan_network(*model, picture.width, picture.height);
  EXPECT_EQ(first_difference(model, picture, config), plan.value().cells)
      << picture.width << "x" << picture.height << ", " << config.threads << " threads";
}

TEST_P(Network, EveryVersionHasTheBitsOfThePlainOne) {
  for (const auto& model : {test::random_yunet(3), test::random_yunet(4, 20), test::odd_network(5),
                            test::odd_network(6)}) {
    ASSERT_TRUE(network::Program::takes(*model));
    for (const auto& [width, height] : {std::pair{1, 1}, {33, 31}, {64, 160}, {161, 65}}) {
      expect_same(model, {width, height, 7});
      expect_same(model, {width, height, Bgr{}});
      expect_same(model, {width, height, Bgr{255, 255, 255}});
    }
  }
}

TEST_P(Network, EveryVersionRunsAnyGraph) {
  int taken = 0;
  for (unsigned seed = 0; seed < 40; ++seed) {
    const auto model = test::random_network(seed);
    if (!validate(*model).ok()) continue;  // no head, by chance
    taken += network::Program::takes(*model);
    expect_same(model, {50 + static_cast<int>(seed), 90, seed});
  }
  EXPECT_GT(taken, 5);
}

TEST_P(Network, ThreadsChangeNothing) {
  expect_same(test::random_yunet(8), {320, 192, 9}, {.threads = 3});
  // More rows than several threads take at once.
  expect_same(test::odd_network(10), {2048, 300, 11}, {.threads = 3});
  expect_same(test::odd_network(10), {640, 600, 11}, {.threads = 0});
}

TEST_P(Network, HeadsOfAnotherKindAreLeftToThePlainVersion) {
  const auto model = test::plain_network(12);
  EXPECT_FALSE(network::Program::takes(*model));
  expect_same(model, {50, 34, 13});
}

/// A copy whose weights are 1, in convolutions of the picture -1, and whose biases are -0: a black
/// picture's zeros keep their signs from layer to layer.
std::shared_ptr<const NetworkModel> of_signed_zeros(const NetworkModel& from) {
  auto model = std::make_shared<NetworkModel>(from);
  const auto weights = std::make_shared<std::vector<float>>(from.weights.size(), 1.0f);
  for (std::size_t i = 0; i < from.layers.size(); ++i) {
    const NetworkLayer& layer = from.layers[i];
    if (layer.op == NetworkOp::kMaxPool) continue;
    const bool is_first = layer.op == NetworkOp::kPictureConvolution;
    const auto channels = static_cast<std::size_t>(layer.channels);
    const std::size_t inputs =
        is_first ? 27
        : layer.op == NetworkOp::kDepthwise
            ? 9
            : static_cast<std::size_t>(
                  from.layers[static_cast<std::size_t>(layer.input) - 1].channels);
    const auto first = weights->begin() + static_cast<std::ptrdiff_t>(layer.first_weight);
    if (is_first) std::fill_n(first, channels * inputs, -1.0f);
    std::fill_n(first + static_cast<std::ptrdiff_t>(channels * inputs), channels, -0.0f);
  }
  model->weights = *weights;
  model->storage = weights;
  return model;
}

TEST_P(Network, ZerosHaveTheSignOfThePlainOnes) {
  const test::BgrPicture black(64, 48, Bgr{});
  test::NetworkBuilder rectified(1), pooled(2);
  rectified.head(rectified.convolve_picture(4, true));
  expect_same(of_signed_zeros(*rectified.build()), black);
  // Beside the border zeros of both signs meet in a pool.
  pooled.head(pooled.pool(pooled.depthwise(pooled.convolve_picture(4, false), false)));
  const auto model = of_signed_zeros(*pooled.build());
  expect_same(model, black);
  const auto network = make(model, black);
  std::vector<NetworkFace> faces;
  ASSERT_TRUE(network->enqueue(black.view(), faces).ok());
  const auto negative = [](const NetworkCell& cell) { return std::signbit(cell.classes); };
  const auto cells = network->cells();
  EXPECT_GT(std::count_if(cells.begin(), cells.end(), negative), 50);
}

TEST_P(Network, AHeadsPartsMayDifferInTheirReLU) {
  const auto model = test::random_yunet(14, 4);
  const NetworkHead& head = model->heads[1];
  const int depth = head.boxes, point = model->layers[static_cast<std::size_t>(depth) - 1].input;
  for (const int tensor : {depth, point}) {
    auto other = std::make_shared<NetworkModel>(*model);
    other->layers[static_cast<std::size_t>(tensor) - 1].relu = true;
    expect_same(other, {96, 64, 15});
  }
}

TEST_P(Network, RefusesWhatItWasNotPlannedFor) {
  const test::BgrPicture picture(64, 48, 1), other(48, 64, 1);
  const auto network = make(test::random_yunet(1, 4), picture);
  std::vector<NetworkFace> faces(3);
  EXPECT_EQ(network->enqueue(other.view(), faces).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(network->enqueue({}, faces).code(), StatusCode::kInvalidArgument);
  EXPECT_TRUE(faces.empty());
  EXPECT_TRUE(network->enqueue(picture.view(), faces).ok());
}

TEST(NetworkCreate, SaysWhatIsWrong) {
  const auto code = [](Backend backend, std::shared_ptr<const NetworkModel> model,
                       const NetworkConfig& config, int width) {
    return FaceNetwork::create(backend, std::move(model), config, width, 64).status().code();
  };
  const auto model = test::random_yunet(1, 4);
  EXPECT_EQ(code(Backend::kCpu, model, {}, 64), StatusCode::kOk);
  EXPECT_EQ(code(Backend::kCuda, model, {}, 64), StatusCode::kUnsupported);
  EXPECT_EQ(code(Backend::kCpu, nullptr, {}, 64), StatusCode::kInvalidArgument);
  EXPECT_EQ(code(Backend::kCpu, model, {}, 0), StatusCode::kInvalidArgument);
  EXPECT_EQ(code(Backend::kCpu, model, {}, 20000), StatusCode::kUnsupported);
  EXPECT_EQ(code(Backend::kCpu, model, {.score_threshold = 1.5f}, 64),
            StatusCode::kInvalidArgument);
  auto broken = std::make_shared<NetworkModel>(*model);
  broken->layers[3].channels = 0;
  EXPECT_EQ(code(Backend::kCpu, broken, {}, 64), StatusCode::kCorrupt);
}

TEST_P(Network, StopsWhenItIsTold) {
  StopFlag stop;
  const test::BgrPicture picture(320, 320, 1);
  const auto network = make(test::random_yunet(1), picture, {}, &stop);
  std::vector<NetworkFace> faces(3);
  stop.raise();
  EXPECT_EQ(network->enqueue(picture.view(), faces).code(), StatusCode::kCancelled);
  EXPECT_TRUE(faces.empty());
  stop.lower();
  EXPECT_TRUE(network->enqueue(picture.view(), faces).ok());
}

double worked_ms() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return 1e3 * static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_nsec);
}

TEST_P(Network, ALongSearchStopsSoon) {
  StopFlag stop;
  const test::BgrPicture picture(2500, 2000, 1);
  const auto network = make(test::random_yunet(1), picture, {}, &stop);
  double most = 0;
  int cancelled = 0;
  for (int i = 0; i < 5; ++i) {
    Status status;
    std::vector<NetworkFace> faces;
    std::thread search([&] { status = network->enqueue(picture.view(), faces); });
    std::this_thread::sleep_for(std::chrono::milliseconds(4 * i));
    const double begin = worked_ms();
    stop.raise();
    search.join();
    const double worked = worked_ms() - begin;
    stop.lower();
    if (status.ok()) continue;  // a busy machine let it end first
    EXPECT_EQ(status.code(), StatusCode::kCancelled);
    most = std::max(most, worked);
    ++cancelled;
  }
  EXPECT_GT(cancelled, 0);
#ifndef CUFACE_SANITIZED
  EXPECT_LT(most, 20) << "ms of processor time";
#endif
}

TEST_P(Network, AllocatesNothingOnceItIsPlanned) {
  const test::BgrPicture picture(160, 96, 1);
  for (const auto precision : {NetworkPrecision::kFloat, NetworkPrecision::kInt16}) {
    const auto network =
        make(test::random_yunet(1), picture, {.score_threshold = 0, .precision = precision});
    std::vector<NetworkFace> faces;
    faces.reserve(64);
    const long before = test::allocations;
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(network->enqueue(picture.view(), faces).ok());
    EXPECT_EQ(test::allocations, before);
    EXPECT_GT(faces.size(), 0u);
  }
}

}  // namespace
}  // namespace cuface
