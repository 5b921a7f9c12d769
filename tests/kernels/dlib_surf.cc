#include "tests/kernels/dlib_surf.h"

#include <dlib/array2d.h>
#include <dlib/image_keypoint.h>

namespace cuface::test {

std::vector<Keypoint> dlib_surf(ImageView<const std::uint8_t> grey, long most) {
  dlib::array2d<unsigned char> picture(grey.height, grey.width);
  for (int y = 0; y < grey.height; ++y)
    for (int x = 0; x < grey.width; ++x) picture[y][x] = grey.at(x, y);
  std::vector<Keypoint> out;
  for (const dlib::surf_point& found : dlib::get_surf_points(picture, most)) {
    Keypoint k;
    k.x = static_cast<float>(found.p.center.x());
    k.y = static_cast<float>(found.p.center.y());
    k.size = static_cast<float>(found.p.scale * 9 / 1.2);  // of its box filter, as OpenCV has it
    out.push_back(k);
  }
  return out;
}

}  // namespace cuface::test
