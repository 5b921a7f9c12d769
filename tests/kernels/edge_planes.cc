// What kernels/edges makes of a picture, for test_edges_twin.py.
//
//   edge_planes WIDTH HEIGHT [KEY=VALUE]... < PICTURE > RESULTS
//
// KEY: a member of EdgeConfig; enumerators are numbers. The picture has a byte a pixel. The results
// are the map, the magnitude and the angle, a byte a pixel each, and the map once more, unpacked
// from its bits.
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "kernels/edges/edges.h"

namespace {

using namespace cuface;

int fail(const std::string& what) {
  std::fprintf(stderr, "edge_planes: %s\n", what.c_str());
  return 1;
}

bool set(EdgeConfig& config, const std::string& key, const char* text) {
  const int number = std::atoi(text);
  if (key == "kernel_size")
    config.kernel_size = number;
  else if (key == "sigma")
    config.sigma = std::atof(text);
  else if (key == "op")
    config.op = static_cast<GradientOperator>(number);
  else if (key == "aperture")
    config.aperture = number;
  else if (key == "norm")
    config.norm = static_cast<GradientNorm>(number);
  else if (key == "low")
    config.low = std::atof(text);
  else if (key == "high")
    config.high = std::atof(text);
  else if (key == "linking")
    config.linking = static_cast<Linking>(number);
  else if (key == "apron")
    config.apron = number;
  else if (key == "thinning")
    config.thinning = static_cast<Thinning>(number);
  else if (key == "convolution")
    config.convolution = static_cast<Convolution>(number);
  else
    return false;
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  if (argc < 3) return fail("usage: edge_planes WIDTH HEIGHT [KEY=VALUE]...");
  const int width = std::atoi(argv[1]), height = std::atoi(argv[2]);
  EdgeConfig config;
  for (int i = 3; i < argc; ++i) {
    const std::string text = argv[i];
    const std::size_t at = text.find('=');
    if (at == std::string::npos || !set(config, text.substr(0, at), argv[i] + at + 1))
      return fail("no key: " + text);
  }
  Result<EdgeDetector> detector = EdgeDetector::create(config, width, height);
  if (!detector.ok()) return fail(detector.status().message());
  const std::size_t pixels = static_cast<std::size_t>(width) * static_cast<std::size_t>(height);
  const std::vector<char> picture{std::istreambuf_iterator<char>(std::cin), {}};
  if (picture.size() != pixels) return fail("the picture has another size");
  std::vector<std::uint8_t> results(4 * pixels);
  const auto plane = [&](std::size_t i) {
    return ImageView<std::uint8_t>{results.data() + i * pixels, width, height, width};
  };
  Image<std::uint64_t> bits((width + 63) / 64, height);
  const Status status = detector.value().run(
      {reinterpret_cast<const std::uint8_t*>(picture.data()), width, height, width},
      {plane(0), plane(1), plane(2), bits.view()});
  if (!status.ok()) return fail(status.message());
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x)
      plane(3).at(x, y) = bits.view().at(x / 64, y) >> (x % 64) & 1 ? 255 : 0;
  }
  std::cout.write(reinterpret_cast<const char*>(results.data()),
                  static_cast<std::streamsize>(results.size()));
  return std::cout.flush() ? 0 : 1;
}
