// What kernels/surf finds in a picture, for test_surf_twin.py.
//
//   surf_floats WIDTH HEIGHT UPRIGHT DESCRIPTOR_SIZE SAMPLING ORIENTATION WINDOW PRECISION <
//   PICTURE
//
// Enumerations are numbers. The picture has a byte a pixel. A line a keypoint: x, y, size, angle,
// then its descriptor.
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "kernels/surf/surf.h"

int main(int argc, char** argv) {
  using namespace cuface;
  if (argc != 9) return 2;
  const int width = std::atoi(argv[1]), height = std::atoi(argv[2]);
  SurfConfig config;
  config.upright = std::atoi(argv[3]) != 0;
  config.descriptor_size = std::atoi(argv[4]);
  config.sampling = static_cast<SurfSampling>(std::atoi(argv[5]));
  config.orientation = static_cast<SurfOrientation>(std::atoi(argv[6]));
  config.window = static_cast<SurfWindow>(std::atoi(argv[7]));
  config.precision = static_cast<SurfPrecision>(std::atoi(argv[8]));
  const std::string bytes{std::istreambuf_iterator<char>(std::cin), {}};
  if (bytes.size() != static_cast<std::size_t>(width) * static_cast<std::size_t>(height)) return 2;
  auto detector = SurfDetector::create(config);
  FloatFeatures found;
  if (!detector.ok() ||
      !detector.value()
           .run({reinterpret_cast<const std::uint8_t*>(bytes.data()), width, height, width}, found)
           .ok())
    return 1;
  for (std::size_t i = 0; i < found.keypoints.size(); ++i) {
    const Keypoint& k = found.keypoints[i];
    std::printf("%.9g %.9g %.9g %.9g", static_cast<double>(k.x), static_cast<double>(k.y),
                static_cast<double>(k.size), static_cast<double>(k.angle));
    for (std::size_t v = 0; v < found.floats_each(); ++v)
      std::printf(" %.9g", static_cast<double>(found.descriptor(i)[v]));
    std::printf("\n");
  }
  return 0;
}
