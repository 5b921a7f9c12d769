#include "kernels/network/integer_reference.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace cuface::network {
namespace {

std::size_t size(int value) { return static_cast<std::size_t>(value); }

}  // namespace

std::int16_t* PlainIntegers::plane(int tensor, int channel) {
  return const_cast<std::int16_t*>(std::as_const(*this).plane(tensor, channel));
}

const std::int16_t* PlainIntegers::plane(int tensor, int channel) const {
  const NetworkTensor& t = plan_.tensors[size(tensor)];
  return values_.data() + t.first + size(channel) * size(t.rows) * size(t.columns);
}

int PlainIntegers::byte(int colour, int y, int x) const {
  if (x < 0 || y < 0 || x >= picture_.width || y >= picture_.height) return 0;
  const Bgr& pixel = picture_.at(x, y);
  return colour == 0 ? pixel.b : colour == 1 ? pixel.g : pixel.r;
}

int PlainIntegers::value(int tensor, int channel, int y, int x) const {
  const NetworkTensor& t = plan_.tensors[size(tensor)];
  if (x < 0 || y < 0 || x >= t.columns || y >= t.rows) return 0;
  return plane(tensor, channel)[size(y) * size(t.columns) + size(x)];
}

int PlainIntegers::make(const NetworkLayer& layer, std::size_t index, int c, int y, int x) const {
  const IntegerLayer& made = integers_.layers[index];
  const std::int16_t* const weights = integers_.weights.data() + made.first_weight;
  const std::int32_t* const biases = integers_.biases.data() + made.first_bias;
  switch (layer.op) {
    case NetworkOp::kPictureConvolution: {
      std::int32_t sum = biases[c];
      for (int tap = 0; tap < 27; ++tap) {
        sum += weights[c * 27 + tap] * byte(tap / 9, 2 * y + tap % 9 / 3 - 1, 2 * x + tap % 3 - 1);
      }
      return cut(sum >> made.shift);
    }
    case NetworkOp::kPointwise: {
      const int inputs = plan_.tensors[size(layer.input)].channels;
      std::int32_t sum = biases[c];
      for (int i = 0; i < inputs; ++i) {
        sum += weights[c * inputs + i] * value(layer.input, i, y, x);
      }
      return cut(sum >> made.shift);
    }
    case NetworkOp::kDepthwise: {
      int sum = biases[c];
      for (int tap = 0; tap < 9; ++tap) {
        const int read = value(layer.input, c, y + tap / 3 - 1, x + tap % 3 - 1);
        sum = cut(sum + scaled(read, weights[c * 9 + tap]));
      }
      return sum;
    }
    case NetworkOp::kMaxPool: {
      int most = value(layer.input, c, 2 * y, 2 * x);
      for (int i = 1; i < 4; ++i) {
        most = std::max(most, value(layer.input, c, 2 * y + i / 2, 2 * x + i % 2));
      }
      return most;
    }
    case NetworkOp::kUpsampleAdd:
      return cut(scaled(value(layer.input, c, y / 2, x / 2), weights[c]) +
                 scaled(value(layer.other, c, y, x), weights[layer.channels + c]));
  }
  return 0;
}

bool PlainIntegers::run(ImageView<const Bgr> picture, std::span<NetworkCell> cells,
                        const StopFlag* stop) {
  picture_ = picture;
  for (std::size_t i = 0; i < model_.layers.size(); ++i) {
    const NetworkLayer& layer = model_.layers[i];
    const int tensor = static_cast<int>(i) + 1;
    const NetworkTensor& t = plan_.tensors[size(tensor)];
    for (int c = 0; c < layer.channels; ++c) {
      std::int16_t* out = plane(tensor, c);
      for (int y = 0; y < t.rows; ++y) {
        if (is_raised(stop)) return false;
        for (int x = 0; x < t.columns; ++x) {
          const int value = make(layer, i, c, y, x);
          *out++ = static_cast<std::int16_t>(layer.relu ? std::max(value, 0) : value);
        }
      }
    }
  }
  for (std::size_t g = 0; g < plan_.grids.size(); ++g) {
    const NetworkGrid& grid = plan_.grids[g];
    const NetworkHead& head = model_.heads[g];
    for (std::size_t i = 0; i < size(grid.rows) * size(grid.columns); ++i) {
      const auto of = [&](int tensor, int c) {
        return static_cast<float>(plane(tensor, c)[i]) * integers_.steps[size(tensor)][size(c)];
      };
      NetworkCell& cell = cells[grid.first + i];
      cell.classes = of(head.classes, 0);
      cell.objects = of(head.objects, 0);
      for (int c = 0; c < 4; ++c) cell.box[c] = of(head.boxes, c);
      for (int c = 0; c < 2 * kNetworkPoints; ++c) cell.points[c] = of(head.points, c);
    }
  }
  return true;
}

}  // namespace cuface::network
