// The network in integers of 16 bits: its layers against a second implementation, every version
// against the plain one, its distance from the floats, and what holds whatever the weights are.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <ctime>
#include <memory>
#include <thread>
#include <vector>

#include "kernels/network/cpu/integer_program.h"
#include "kernels/network/integer_reference.h"
#include "kernels/network/integers.h"
#include "kernels/network/network.h"
#include "tests/kernels/networks.h"
#include "tests/kernels/versions.h"

namespace cuface {
namespace {

std::size_t size(int value) { return static_cast<std::size_t>(value); }

/// A layer's value by its definition alone, in doubles, which hold every step exactly. Values are
/// kept: each is asked for often.
class Definition {
 public:
  Definition(const NetworkModel& model, const network::IntegerModel& integers,
             const NetworkPlan& plan, ImageView<const Bgr> picture)
      : model_(model), integers_(integers), plan_(plan), picture_(picture) {
    for (const NetworkTensor& t : plan.tensors) values_.emplace_back(t.size(), std::nan(""));
  }

  double value(int tensor, int c, int y, int x) {
    const NetworkTensor& t = plan_.tensors[size(tensor)];
    if (x < 0 || y < 0 || x >= t.columns || y >= t.rows) return 0;
    if (tensor == 0) {
      if (x >= picture_.width || y >= picture_.height) return 0;
      const Bgr& p = picture_.at(x, y);
      return c == 0 ? p.b : c == 1 ? p.g : p.r;
    }
    double& kept = values_[size(tensor)][size((c * t.rows + y) * t.columns + x)];
    if (std::isnan(kept)) {
      const double made = make(size(tensor) - 1, c, y, x);
      kept = model_.layers[size(tensor) - 1].relu ? std::max(made, 0.0) : made;
      cut_ += kept == 32767 || kept == -32768;
    }
    return kept;
  }
  int cut() const { return cut_; }

 private:
  static double within(double value) { return std::clamp(value, -32768.0, 32767.0); }
  static double product(double value, double factor) {
    return std::floor(value * factor / 32768 + 0.5);
  }

  double make(std::size_t index, int c, int y, int x) {
    const NetworkLayer& l = model_.layers[index];
    const network::IntegerLayer& made = integers_.layers[index];
    const int inputs = plan_.tensors[size(l.input)].channels;
    const auto weight = [&](int i) -> double {
      return integers_.weights[made.first_weight + size(i)];
    };
    double sum = 0;
    if (l.op != NetworkOp::kMaxPool && l.op != NetworkOp::kUpsampleAdd) {
      sum = integers_.biases[made.first_bias + size(c)];
    }
    switch (l.op) {
      case NetworkOp::kPictureConvolution:
        for (int i = 0; i < 27; ++i)
          sum += weight(c * 27 + i) * value(0, i / 9, 2 * y + i % 9 / 3 - 1, 2 * x + i % 3 - 1);
        return within(std::floor(std::ldexp(sum, -made.shift)));
      case NetworkOp::kPointwise:
        for (int i = 0; i < inputs; ++i) sum += weight(c * inputs + i) * value(l.input, i, y, x);
        return within(std::floor(std::ldexp(sum, -made.shift)));
      case NetworkOp::kDepthwise:
        for (int i = 0; i < 9; ++i)
          sum = within(sum +
                       product(value(l.input, c, y + i / 3 - 1, x + i % 3 - 1), weight(c * 9 + i)));
        return sum;
      case NetworkOp::kMaxPool:
        sum = -1e9;
        for (int i = 0; i < 4; ++i)
          sum = std::max(sum, value(l.input, c, 2 * y + i / 2, 2 * x + i % 2));
        return sum;
      case NetworkOp::kUpsampleAdd:
        return within(product(value(l.input, c, y / 2, x / 2), weight(c)) +
                      product(value(l.other, c, y, x), weight(l.channels + c)));
    }
    return sum;
  }

  const NetworkModel& model_;
  const network::IntegerModel& integers_;
  const NetworkPlan& plan_;
  ImageView<const Bgr> picture_;
  std::vector<std::vector<double>> values_;
  int cut_ = 0;
};

/// Compares the plain version with the definition, cell by cell; returns how many values were cut.
int expect_defined(const NetworkModel& model, const network::IntegerModel& integers,
                   const test::BgrPicture& picture) {
  const NetworkPlan plan = plan_network(model, picture.width, picture.height).value();
  std::vector<NetworkCell> cells(plan.cells);
  EXPECT_TRUE(network::PlainIntegers(model, integers, plan).run(picture.view(), cells, nullptr));
  Definition definition(model, integers, plan, picture.view());
  std::size_t compared = 0;
  for (std::size_t g = 0; g < model.heads.size(); ++g) {
    const NetworkHead& head = model.heads[g];
    for (int i = 0; i < plan.grids[g].rows * plan.grids[g].columns; ++i) {
      const NetworkCell& cell = cells[plan.grids[g].first + size(i)];
      const auto compare = [&](float ours, int tensor, int c) {
        const double value =
            definition.value(tensor, c, i / plan.grids[g].columns, i % plan.grids[g].columns);
        EXPECT_EQ(ours, static_cast<float>(value) * integers.steps[size(tensor)][size(c)])
            << "tensor " << tensor << " channel " << c << " cell " << i;
        ++compared;
      };
      compare(cell.classes, head.classes, 0);
      compare(cell.objects, head.objects, 0);
      for (int c = 0; c < 4; ++c) compare(cell.box[c], head.boxes, c);
      for (int c = 0; c < 10; ++c) compare(cell.points[c], head.points, c);
    }
  }
  EXPECT_EQ(compared, 16 * plan.cells);
  EXPECT_GT(compared, 500u);
  return definition.cut();
}

/// Factors and biases of depthwise convolutions that drive values over the edge.
void overdrive(const NetworkModel& model, network::IntegerModel& integers) {
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    if (model.layers[i].op != NetworkOp::kDepthwise) continue;
    network::IntegerLayer& layer = integers.layers[i];
    for (int c = 0; c < model.layers[i].channels; ++c) {
      integers.biases[layer.first_bias + size(c)] = c % 2 ? 32767 : -32767;
      for (std::size_t tap = 0; tap < 9; ++tap) {
        integers.weights[layer.first_weight + size(c) * 9 + tap] = tap % 3 ? 32767 : -32767;
      }
    }
  }
}

TEST(NetworkIntegers, LayersAreWhatTheyAreDefinedToBe) {
  const test::BgrPicture picture(75, 41, 2);
  for (const auto& model : {test::random_yunet(1, 4), test::odd_network(5)}) {
    network::IntegerModel integers = network::in_integers(*model).value();
    EXPECT_EQ(expect_defined(*model, integers, picture), 0);
    overdrive(*model, integers);
    EXPECT_GT(expect_defined(*model, integers, picture), 500);
  }
}

std::unique_ptr<FaceNetwork> make(const std::shared_ptr<const NetworkModel>& model,
                                  const test::BgrPicture& picture, int threads = 1,
                                  const StopFlag* stop = nullptr) {
  auto made = FaceNetwork::create(Backend::kCpu, model,
                                  {.threads = threads, .precision = NetworkPrecision::kInt16},
                                  picture.width, picture.height, stop);
  EXPECT_TRUE(made.ok()) << made.status().message();
  return made.ok() ? std::move(made.value()) : nullptr;
}

class IntegerNetwork : public test::EveryVersion {};
CUFACE_EVERY_VERSION(IntegerNetwork);

void expect_same(const std::shared_ptr<const NetworkModel>& model, const test::BgrPicture& picture,
                 int threads = 1) {
  const NetworkPlan plan = plan_network(*model, picture.width, picture.height).value();
  const network::IntegerModel integers = network::in_integers(*model).value();
  std::vector<NetworkCell> expected(plan.cells);
  ASSERT_TRUE(
      network::PlainIntegers(*model, integers, plan).run(picture.view(), expected, nullptr));
  const auto network = make(model, picture, threads);
  ASSERT_TRUE(network);
  EXPECT_EQ(test::first_difference(*network, picture, expected), expected.size())
      << picture.width << "x" << picture.height << ", " << threads << " threads";
}

TEST_P(IntegerNetwork, EveryVersionHasTheBitsOfThePlainOne) {
  // 12: 48 channels, which are no whole number of the widest vectors.
  for (const auto& model : {test::random_yunet(3), test::random_yunet(4, 12), test::odd_network(5),
                            test::odd_network(6)}) {
    for (const auto& [width, height] : {std::pair{1, 1}, {33, 31}, {64, 160}, {161, 65}}) {
      expect_same(model, {width, height, 7});
    }
    expect_same(model, {40, 50, Bgr{}});
    expect_same(model, {40, 50, Bgr{255, 255, 255}});
  }
}

TEST_P(IntegerNetwork, EveryVersionCutsAsThePlainOneDoes) {
  if (!simd::vectors()) return;
  const auto model = test::random_yunet(3, 12);
  const test::BgrPicture picture(75, 41, 2);
  network::IntegerModel integers = network::in_integers(*model).value();
  overdrive(*model, integers);
  const NetworkPlan plan = plan_network(*model, picture.width, picture.height).value();
  std::vector<NetworkCell> expected(plan.cells), cells(plan.cells);
  network::PlainIntegers(*model, integers, plan).run(picture.view(), expected, nullptr);
  network::IntegerProgram program(*model, integers, plan, 16);
  ASSERT_TRUE(program.allocate(cells.data()));
  for (const network::Step& step : program.steps()) {
    for (int i = 0; i < step.rows; ++i) {
      make_integer_row(program, step.node, step.first + i, picture.view());
    }
  }
  EXPECT_EQ(std::memcmp(cells.data(), expected.data(), plan.cells * sizeof(NetworkCell)), 0);
}

TEST_P(IntegerNetwork, EveryVersionRunsAnyGraph) {
  int run = 0;
  for (unsigned seed = 0; seed < 24; ++seed) {
    const auto model = test::random_network(seed);
    if (!validate(*model).ok()) continue;  // no head, by chance
    expect_same(model, {50 + static_cast<int>(seed), 90, seed});
    ++run;
  }
  EXPECT_GT(run, 12);
}

TEST_P(IntegerNetwork, ThreadsChangeNothing) {
  expect_same(test::random_yunet(8), {320, 192, 9}, 3);
  expect_same(test::odd_network(10), {640, 600, 11}, 0);
}

TEST_P(IntegerNetwork, StopsWhenItIsTold) {
  StopFlag stop;
  const test::BgrPicture picture(320, 320, 1);
  const auto network = make(test::random_yunet(1), picture, 1, &stop);
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

TEST(NetworkIntegers, MakingThemStopsSoon) {
  const auto model = test::slow_network(1);
  ASSERT_TRUE(validate(*model).ok()) << validate(*model).message();
  double most = 0;
  for (int i = 0; i < 5; ++i) {
    StopFlag stop;
    Status status;
    std::thread create([&] {
      status = FaceNetwork::create(Backend::kCpu, model, {.precision = NetworkPrecision::kInt16},
                                   64, 64, &stop)
                   .status();
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(10 * i));
    const double begin = worked_ms();
    stop.raise();
    create.join();
    most = std::max(most, worked_ms() - begin);
    EXPECT_EQ(status.code(), StatusCode::kCancelled);
  }
#ifndef CUFACE_SANITIZED
  EXPECT_LT(most, 20) << "ms of processor time";
#endif
}

TEST_P(IntegerNetwork, StaysNearTheFloats) {
  const auto model = test::random_yunet(3);
  const test::BgrPicture picture(160, 96, 7);
  const auto integers = make(model, picture);
  auto floats = FaceNetwork::create(Backend::kCpu, model, {}, picture.width, picture.height);
  ASSERT_TRUE(floats.ok());
  std::vector<NetworkFace> faces;
  ASSERT_TRUE(integers->enqueue(picture.view(), faces).ok());
  ASSERT_TRUE(floats.value()->enqueue(picture.view(), faces).ok());
  double largest = 0, difference = 0;
  for (std::size_t i = 0; i < integers->cells().size(); ++i) {
    const NetworkCell &a = integers->cells()[i], &b = floats.value()->cells()[i];
    const auto compare = [&](float x, float y) {
      largest = std::max<double>(largest, std::fabs(y));
      difference = std::max<double>(difference, std::fabs(x - y));
    };
    compare(a.classes, b.classes);
    compare(a.objects, b.objects);
    for (int c = 0; c < 4; ++c) compare(a.box[c], b.box[c]);
    for (int c = 0; c < 10; ++c) compare(a.points[c], b.points[c]);
  }
  EXPECT_GT(largest, 0.1);
  EXPECT_GT(difference, 0);  // they are integers
  EXPECT_LT(difference, 0.02 * largest);
}

/// A copy with other weights: `change` of each.
template <class Change>
std::shared_ptr<const NetworkModel> changed(const NetworkModel& from, Change change) {
  const auto weights = std::make_shared<std::vector<float>>();
  for (const float w : from.weights) weights->push_back(change(w));
  auto model = std::make_shared<NetworkModel>(from);
  model->weights = *weights;
  model->storage = weights;
  return model;
}

TEST(NetworkIntegers, NoSumPasses31BitsWhateverTheWeights) {
  const auto random = test::odd_network(5);
  int sums = 0;
  double closest = 0;
  for (const auto& model :
       {random, test::random_yunet(3), changed(*random, [](float w) { return 30 * w; }),
        changed(*random, [](float w) { return 1e-20f * w; }),
        changed(*random, [](float) { return 0.0f; }),
        changed(*random, [](float w) { return w > 0.3f ? 9.0f : -1e-3f; })}) {
    ASSERT_TRUE(validate(*model).ok());
    const network::IntegerModel integers = network::in_integers(*model).value();
    ASSERT_EQ(integers.layers.size(), model->layers.size());
    EXPECT_GT(*std::min_element(integers.weights.begin(), integers.weights.end()), -32768);
    for (const auto& steps : integers.steps) {
      for (const float step : steps) EXPECT_TRUE(step > 0 && step <= 1e25f) << step;
    }
    for (std::size_t i = 0; i < model->layers.size(); ++i) {
      const NetworkLayer& layer = model->layers[i];
      const bool is_picture = layer.op == NetworkOp::kPictureConvolution;
      if (!is_picture && layer.op != NetworkOp::kPointwise) continue;
      const std::size_t taps =
          is_picture ? 27 : size(model->layers[size(layer.input) - 1].channels);
      for (std::size_t c = 0; c < size(layer.channels); ++c) {
        double sum = std::fabs(integers.biases[integers.layers[i].first_bias + c]);
        for (std::size_t tap = 0; tap < taps; ++tap) {
          sum += 32768.0 *
                 std::abs(integers.weights[integers.layers[i].first_weight + c * taps + tap]);
        }
        EXPECT_LE(sum, 2147483647.0) << "layer " << i << " channel " << c;
        closest = std::max(closest, sum);
        ++sums;
      }
    }
  }
  EXPECT_GT(sums, 1000);
  EXPECT_GT(closest, 1e9);  // the bound is used
}

}  // namespace
}  // namespace cuface
