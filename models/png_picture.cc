#include "models/png_picture.h"

#include <bit>
#include <cstddef>
#include <span>
#include <vector>

#ifdef CUFACE_PNG
#include <png.h>
#endif

#include "kernels/common/try.h"
#include "models/file_bytes.h"
#include "models/output_file.h"

namespace cuface {

#ifdef CUFACE_PNG
namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 28;

/// Frees what libpng holds.
struct PngImage {
  png_image image{};
  PngImage() { image.version = PNG_IMAGE_VERSION; }
  ~PngImage() { png_image_free(&image); }
  PngImage(const PngImage&) = delete;
  PngImage& operator=(const PngImage&) = delete;
};

/// The picture in T a pixel, as libpng's `format` has it; over black where that has no alpha.
template <typename T>
Result<Image<T>> load(const std::string& path, png_uint_32 format, std::size_t most_pixels,
                      bool needs_alpha = false) {
  CUFACE_TAKE(file, ModelFile::open(path));
  CUFACE_TAKE(bytes, file.read(kMostBytes));
  PngImage reader;
  const auto corrupt = [&] {
    return Status(StatusCode::kCorrupt, path + ": no PNG picture, or a damaged one (libpng: " +
                                            reader.image.message + ")");
  };
  if (!png_image_begin_read_from_memory(&reader.image, bytes->bytes().data(),
                                        bytes->bytes().size()))
    return corrupt();
  const std::size_t width = reader.image.width, height = reader.image.height;
  if (width * height > most_pixels)
    return Status(StatusCode::kUnsupported, path + ": a picture of " + std::to_string(width) +
                                                " x " + std::to_string(height) +
                                                " pixels is too large");
  if (needs_alpha && !(reader.image.format & PNG_FORMAT_FLAG_ALPHA))
    return Status(StatusCode::kUnsupported, path + ": the picture has no transparency");
  reader.image.format = format;
  const png_color black{0, 0, 0};
  Image<T> picture(static_cast<int>(width), static_cast<int>(height));
  // libpng counts a row in samples of a byte.
  if (!png_image_finish_read(&reader.image, &black, picture.view().data,
                             static_cast<png_int_32>(picture.view().stride), nullptr))
    return corrupt();
  return picture;
}

Status save(ImageView<const std::uint8_t> samples, png_uint_32 format, int of_pixel,
            const std::string& path) {
  PngImage writer;
  writer.image.width = static_cast<png_uint_32>(samples.width / of_pixel);
  writer.image.height = static_cast<png_uint_32>(samples.height);
  writer.image.format = format;
  const auto write = [&](void* to, png_alloc_size_t& bytes) {
    return png_image_write_to_memory(&writer.image, to, &bytes, 0, samples.data,
                                     static_cast<png_int_32>(samples.stride), nullptr);
  };
  png_alloc_size_t bytes = PNG_IMAGE_PNG_SIZE_MAX(writer.image);
  std::vector<std::byte> png(bytes);
  if (!write(png.data(), bytes)) {
    return {StatusCode::kIo, path + ": cannot be written (libpng: " + writer.image.message + ")"};
  }
  return replace_file(path, {std::span(png).first(bytes)}, false);
}

}  // namespace

Result<Image<std::uint8_t>> load_png_grey(const std::string& path) {
  return load<std::uint8_t>(path, PNG_FORMAT_GRAY, kMostPngPixels);
}

Result<Image<std::uint32_t>> load_png_with_alpha(const std::string& path, std::size_t most_pixels) {
  constexpr png_uint_32 kArgb =
      std::endian::native == std::endian::little ? PNG_FORMAT_BGRA : PNG_FORMAT_ARGB;
  return load<std::uint32_t>(path, kArgb, most_pixels, true);
}

Result<Image<std::uint32_t>> load_png_rgba(const std::string& path) {
  return load<std::uint32_t>(path, PNG_FORMAT_RGBA, kMostPngPixels);
}

Status save_png_grey(ImageView<const std::uint8_t> grey, const std::string& path) {
  return save(grey, PNG_FORMAT_GRAY, 1, path);
}

Status save_png_rgb(ImageView<const std::uint8_t> rgb, const std::string& path) {
  return save(rgb, PNG_FORMAT_RGB, 3, path);
}
#else
namespace {

Status no_png(const std::string& path) {
  return {StatusCode::kUnsupported,
          path +
              ": this gst-cuface was built without PNG (Debian: install libpng-dev, then build it "
              "again)"};
}

}  // namespace

Result<Image<std::uint8_t>> load_png_grey(const std::string& path) { return no_png(path); }
Result<Image<std::uint32_t>> load_png_with_alpha(const std::string& path, std::size_t) {
  return no_png(path);
}

Result<Image<std::uint32_t>> load_png_rgba(const std::string& path) { return no_png(path); }

Status save_png_grey(ImageView<const std::uint8_t>, const std::string& path) {
  return no_png(path);
}
Status save_png_rgb(ImageView<const std::uint8_t>, const std::string& path) { return no_png(path); }
#endif

}  // namespace cuface
