// Pictures that gdk-pixbuf decodes; in a build without it there is nothing here.
#pragma once

#ifdef CUFACE_PIXBUF

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "kernels/common/status.h"

namespace cuface::train {

struct DecodedPixbuf {
  std::shared_ptr<const void> owner;
  const std::uint8_t* pixels = nullptr;
  int width = 0, height = 0, channels = 0;  ///< 3 or 4 bytes a pixel
  std::ptrdiff_t stride = 0;
  bool turned = false;     ///< EXIF asks for a rotation
  bool too_large = false;  ///< nothing was decoded
};

/// kCorrupt, with gdk-pixbuf's reason. `path` is used in messages only.
Result<DecodedPixbuf> decode_pixbuf(std::span<const std::uint8_t> bytes, std::size_t most_pixels,
                                    const std::string& path);

}  // namespace cuface::train

#endif
