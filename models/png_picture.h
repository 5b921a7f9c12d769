// Pictures in PNG files.
#pragma once

#include <cstdint>
#include <string>

#include "kernels/common/image.h"
#include "kernels/common/status.h"

namespace cuface {

/// So many pixels a picture may have.
inline constexpr std::size_t kMostPngPixels = std::size_t{1} << 26;

/// A PNG file's picture, 0xAARRGGBB, not premultiplied. Errors as below, and kUnsupported for one
/// without transparency.
Result<Image<std::uint32_t>> load_png_with_alpha(const std::string& path,
                                                 std::size_t most_pixels = kMostPngPixels);

/// A PNG file's picture in grey, over black where it is transparent. kUnsupported in a build
/// without libpng and for a picture that is too large, kCorrupt for a file that is damaged or
/// something else. Every error names the file.
Result<Image<std::uint8_t>> load_png_grey(const std::string& path);

/// The same in colour, whether it has transparency or not: of each pixel's four bytes the first is
/// red, the last alpha.
Result<Image<std::uint32_t>> load_png_rgba(const std::string& path);

/// Writes grey pixels to a PNG file, as replace_file() does without waiting for
/// the disk. kIo; kUnsupported without libpng.
Status save_png_grey(ImageView<const std::uint8_t> grey, const std::string& path);

/// The same in colour: of each pixel's three bytes the first is red, so the view has three times
/// the picture's width.
Status save_png_rgb(ImageView<const std::uint8_t> rgb, const std::string& path);

}  // namespace cuface
