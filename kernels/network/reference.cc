#include "kernels/network/reference.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "kernels/network/rules.h"

namespace cuface::network {
namespace {

std::size_t size(int value) { return static_cast<std::size_t>(value); }

/// Whether a tap of a 3x3 neighbourhood lies in the tensor.
bool is_inside(int x, int y, const NetworkTensor& tensor) {
  return x >= 0 && x < tensor.columns && y >= 0 && y < tensor.rows;
}

}  // namespace

float* PlainForward::plane(int tensor, int channel) {
  const NetworkTensor& t = plan_.tensors[size(tensor)];
  return values_.data() + t.first + size(channel) * size(t.rows) * size(t.columns);
}

void PlainForward::convolve_picture(const NetworkLayer& layer, int tensor, int channel,
                                    ImageView<const Bgr> picture) {
  const NetworkTensor& t = plan_.tensors[size(tensor)];
  const float* const weights = model_.weights.data() + layer.first_weight;
  float* out = plane(tensor, channel);
  for (int y = 0; y < t.rows && !is_raised(stop_); ++y) {
    for (int x = 0; x < t.columns; ++x, ++out) {
      const float* w = weights + size(channel) * 27;
      float sum = weights[size(layer.channels) * 27 + size(channel)];
      for (int colour = 0; colour < 3; ++colour) {
        for (int tap = 0; tap < 9; ++tap, ++w) {
          const int px = 2 * x + tap % 3 - 1, py = 2 * y + tap / 3 - 1;
          float value = 0;
          if (px >= 0 && px < picture.width && py >= 0 && py < picture.height) {
            const Bgr& pixel = picture.at(px, py);
            value = static_cast<float>(colour == 0 ? pixel.b : colour == 1 ? pixel.g : pixel.r);
          }
          sum += *w * value;
        }
      }
      *out = layer.relu ? rectified(sum) : sum;
    }
  }
}

void PlainForward::convolve_points(const NetworkLayer& layer, int tensor, int channel) {
  const NetworkTensor& t = plan_.tensors[size(tensor)];
  const int inputs = plan_.tensors[size(layer.input)].channels;
  const std::size_t pixels = size(t.rows) * size(t.columns);
  const float* const weights = model_.weights.data() + layer.first_weight;
  float* const out = plane(tensor, channel);
  // A sum of each pixel, all of them one input channel further at a time.
  std::fill(out, out + pixels, weights[size(layer.channels) * size(inputs) + size(channel)]);
  for (int i = 0; i < inputs && !is_raised(stop_); ++i) {
    const float w = weights[size(channel) * size(inputs) + size(i)];
    const float* const in = plane(layer.input, i);
    for (std::size_t p = 0; p < pixels; ++p) out[p] += w * in[p];
  }
  if (layer.relu) std::transform(out, out + pixels, out, rectified);
}

void PlainForward::convolve_depth(const NetworkLayer& layer, int tensor, int channel) {
  const NetworkTensor& t = plan_.tensors[size(tensor)];
  const float* const weights = model_.weights.data() + layer.first_weight;
  const float* const w = weights + size(channel) * 9;
  const float* const in = plane(layer.input, channel);
  float* out = plane(tensor, channel);
  for (int y = 0; y < t.rows && !is_raised(stop_); ++y) {
    for (int x = 0; x < t.columns; ++x, ++out) {
      float sum = weights[size(layer.channels) * 9 + size(channel)];
      for (int tap = 0; tap < 9; ++tap) {
        const int px = x + tap % 3 - 1, py = y + tap / 3 - 1;
        sum += w[tap] * (is_inside(px, py, t) ? in[size(py) * size(t.columns) + size(px)] : 0.0f);
      }
      *out = layer.relu ? rectified(sum) : sum;
    }
  }
}

void PlainForward::pool(const NetworkLayer& layer, int tensor, int channel) {
  const NetworkTensor& t = plan_.tensors[size(tensor)];
  const std::size_t row = 2 * size(t.columns);
  const float* const in = plane(layer.input, channel);
  float* out = plane(tensor, channel);
  for (int y = 0; y < t.rows; ++y) {
    for (int x = 0; x < t.columns; ++x, ++out) {
      const float* const at = in + 2 * size(y) * row + 2 * size(x);
      *out = larger(larger(at[0], at[1]), larger(at[row], at[row + 1]));
    }
  }
}

void PlainForward::add_upsampled(const NetworkLayer& layer, int tensor, int channel) {
  const NetworkTensor& t = plan_.tensors[size(tensor)];
  const float* const in = plane(layer.input, channel);
  const float* other = plane(layer.other, channel);
  float* out = plane(tensor, channel);
  for (int y = 0; y < t.rows; ++y) {
    for (int x = 0; x < t.columns; ++x, ++out, ++other) {
      *out = in[size(y / 2) * size(t.columns / 2) + size(x / 2)] + *other;
    }
  }
}

bool PlainForward::run(ImageView<const Bgr> picture, std::span<NetworkCell> cells,
                       const StopFlag* stop, std::vector<std::vector<float>>* largest) {
  stop_ = stop;
  for (std::size_t i = 0; i < model_.layers.size(); ++i) {
    const NetworkLayer& layer = model_.layers[i];
    const int tensor = static_cast<int>(i) + 1;
    for (int channel = 0; channel < layer.channels; ++channel) {
      if (is_raised(stop)) return false;
      switch (layer.op) {
        case NetworkOp::kPictureConvolution:
          convolve_picture(layer, tensor, channel, picture);
          break;
        case NetworkOp::kPointwise:
          convolve_points(layer, tensor, channel);
          break;
        case NetworkOp::kDepthwise:
          convolve_depth(layer, tensor, channel);
          break;
        case NetworkOp::kMaxPool:
          pool(layer, tensor, channel);
          break;
        case NetworkOp::kUpsampleAdd:
          add_upsampled(layer, tensor, channel);
          break;
      }
      if (!largest) continue;
      const NetworkTensor& t = plan_.tensors[size(tensor)];
      const float* const made = plane(tensor, channel);
      float& most = (*largest)[size(tensor)][size(channel)];
      for (std::size_t j = 0; j < size(t.rows) * size(t.columns); ++j) {
        most = std::max(most, std::fabs(made[j]));
      }
    }
  }
  if (is_raised(stop)) return false;
  for (std::size_t g = 0; g < plan_.grids.size(); ++g) {
    const NetworkGrid& grid = plan_.grids[g];
    const NetworkHead& head = model_.heads[g];
    for (std::size_t i = 0; i < size(grid.rows) * size(grid.columns); ++i) {
      NetworkCell& cell = cells[grid.first + i];
      cell.classes = plane(head.classes, 0)[i];
      cell.objects = plane(head.objects, 0)[i];
      for (int c = 0; c < 4; ++c) cell.box[c] = plane(head.boxes, c)[i];
      for (int c = 0; c < 2 * kNetworkPoints; ++c) cell.points[c] = plane(head.points, c)[i];
    }
  }
  return true;
}

}  // namespace cuface::network
