// The network: what validate() refuses, plans, the layers against a second implementation, decoding
// against OpenCV's suppression.
#include <gtest/gtest.h>

#include <limits>

#include "kernels/network/network.h"
#include "kernels/network/rules.h"
#include "tests/kernels/networks.h"
#include "tests/kernels/versions.h"

namespace cuface {
namespace {

std::vector<Bgr> noise_picture(int width, int height, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<Bgr> pixels(static_cast<std::size_t>(width * height));
  for (Bgr& pixel : pixels) {
    const auto bits = random();
    pixel = {static_cast<std::uint8_t>(bits), static_cast<std::uint8_t>(bits >> 8),
             static_cast<std::uint8_t>(bits >> 16)};
  }
  return pixels;
}

ImageView<const Bgr> view_of(const std::vector<Bgr>& pixels, int width) {
  return {pixels.data(), width, static_cast<int>(pixels.size()) / width,
          width * static_cast<std::ptrdiff_t>(sizeof(Bgr))};
}

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

class Network : public test::EveryVersion {};
CUFACE_EVERY_VERSION(Network);

TEST_P(Network, LayersAreWhatTheyAreDefinedToBe) {
  const auto model = test::random_yunet(1, 4);
  const int width = 75, height = 41;
  const auto pixels = noise_picture(width, height, 2);
  auto network = FaceNetwork::create(Backend::kCpu, model, {}, width, height);
  ASSERT_TRUE(network.ok()) << network.status().message();
  std::vector<NetworkFace> faces;
  const Status status = network.value()->enqueue(view_of(pixels, width), faces);
  ASSERT_TRUE(status.ok()) << status.message();
  const auto plan = plan_network(*model, width, height);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  Definition definition(*model, plan.value(), view_of(pixels, width));
  ASSERT_EQ(network.value()->cells().size(), plan.value().cells);
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
            network.value()->cells()[grid.first + static_cast<std::size_t>(y * grid.columns + x)];
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

}  // namespace
}  // namespace cuface
