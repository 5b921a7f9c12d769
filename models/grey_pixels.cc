#include "models/grey_pixels.h"

#include <cstring>

#include "kernels/common/try.h"
#include "kernels/luma/luma.h"
#include "models/png_picture.h"

namespace cuface {

Image<std::uint8_t> grey_of(const std::uint8_t* pixels, int width, int height,
                            std::ptrdiff_t stride, int channels) {
  Image<std::uint8_t> grey(width, height);
  Image<std::uint8_t> over_black;
  if (channels == 1) {
    for (int y = 0; y < height; ++y) {
      std::memcpy(grey.view().row(y), pixels + y * stride, static_cast<std::size_t>(width));
    }
    return grey;
  }
  if (channels == 4) {
    over_black = Image<std::uint8_t>(width * 3, height);
    for (int y = 0; y < height; ++y) {
      const std::uint8_t* from = pixels + y * stride;
      std::uint8_t* to = over_black.view().row(y);
      for (int x = 0; x < width; ++x) {
        for (int c = 0; c < 3; ++c) {
          to[3 * x + c] =
              static_cast<std::uint8_t>((from[4 * x + c] * from[4 * x + 3] + 127) / 255);
        }
      }
    }
    pixels = over_black.view().data;
    stride = over_black.view().stride;
  }
  FrameView frame;
  frame.width = width;
  frame.height = height;
  frame.rgb = true;
  for (int c = 0; c < 3; ++c) {
    // luma() only reads through it.
    frame.component[c].data = const_cast<std::uint8_t*>(pixels) + c;
    frame.component[c].stride = stride;
    frame.component[c].pixel_stride = 3;
  }
  luma(frame, grey.view());
  return grey;
}

Result<Image<std::uint8_t>> load_png_luma(const std::string& path) {
  CUFACE_TAKE(rgba, load_png_rgba(path));
  const ImageView<std::uint32_t> view = rgba.view();
  return grey_of(reinterpret_cast<const std::uint8_t*>(view.data), view.width, view.height,
                 view.stride, 4);
}

}  // namespace cuface
