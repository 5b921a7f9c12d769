#include "kernels/boost/window_sums.h"

#include <string>

#include "kernels/cascade/evaluate.h"
#include "kernels/integral/integral.h"

namespace cuface::boost {

Status check_windows(const TrainingSamples& samples, int width, int height) {
  const auto invalid = [](const std::string& why) {
    return Status(StatusCode::kInvalidArgument, why);
  };
  if (samples.width != width || samples.height != height) {
    return invalid("the samples have " + std::to_string(samples.width) + "x" +
                   std::to_string(samples.height) + " pixels, the window has " +
                   std::to_string(width) + "x" + std::to_string(height));
  }
  if (samples.count() > kMostTrainingSamples) {
    return invalid(std::to_string(samples.count()) + " samples are more than the " +
                   std::to_string(kMostTrainingSamples) + " that can be trained on");
  }
  if (samples.pixels.size() != samples.count() * static_cast<std::size_t>(width * height))
    return invalid("there are not as many windows as labels");
  return {};
}

WindowSums::WindowSums(int width, int height, bool tilted) : width_(width), height_(height) {
  const auto plane = static_cast<std::size_t>((width + 1) * (height + 1));
  layout_.stride = width + 1;
  layout_.tilted = static_cast<std::ptrdiff_t>(plane);
  sums_.resize(tilted ? 2 * plane : plane);
  squared_.resize(plane);
}

void WindowSums::make(const std::uint8_t* pixels) {
  const auto view = [&](std::uint32_t* plane) {
    return ImageView<std::uint32_t>{plane, width_ + 1, height_ + 1,
                                    (width_ + 1) * std::ptrdiff_t{sizeof *plane}};
  };
  const ImageView<const std::uint8_t> window{pixels, width_, height_, width_};
  integral_squared(window, view(sums_.data()), view(squared_.data()));
  if (sums_.size() > squared_.size()) integral_tilted(window, view(sums_.data() + layout_.tilted));
}

// Over the window less a border of one pixel.
float WindowSums::norm() const {
  const auto inner = [&](const std::vector<std::uint32_t>& plane) {
    const auto at = [&](int x, int y) {
      return plane[static_cast<std::size_t>(layout_.offset(x, y))];
    };
    return at(1, 1) - at(width_ - 1, 1) - at(1, height_ - 1) + at(width_ - 1, height_ - 1);
  };
  return inverse_norm((width_ - 2) * (height_ - 2), inner(sums_), inner(squared_));
}

}  // namespace cuface::boost
