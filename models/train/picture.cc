#include "models/train/picture.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

#include "kernels/common/guarded.h"
#include "kernels/common/try.h"
#include "models/file_bytes.h"
#include "models/grey_pixels.h"
#include "models/train/pixbuf.h"
#include "models/xxh64.h"

namespace cuface::train {
namespace {

constexpr std::size_t kMostFileBytes = std::size_t{1} << 30;

/// The numbers of a PNM file's head, behind its two letters.
class PnmHead {
 public:
  explicit PnmHead(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  bool read(std::size_t& out) {
    skip();
    const char* begin = reinterpret_cast<const char*>(bytes_.data()) + at_;
    const std::from_chars_result result =
        std::from_chars(begin, reinterpret_cast<const char*>(bytes_.data()) + bytes_.size(), out);
    at_ += static_cast<std::size_t>(result.ptr - begin);
    return result.ec == std::errc();
  }
  /// The pixels: one blank behind the last number.
  std::span<const std::uint8_t> rest() const {
    return bytes_.subspan(std::min(at_ + 1, bytes_.size()));
  }

 private:
  void skip() {
    while (at_ < bytes_.size() && (bytes_[at_] == '#' || std::strchr(" \t\r\n", bytes_[at_]))) {
      if (bytes_[at_] == '#') {
        while (at_ < bytes_.size() && bytes_[at_] != '\n') ++at_;
      } else {
        ++at_;
      }
    }
  }

  std::span<const std::uint8_t> bytes_;
  std::size_t at_ = 2;
};

Status too_large(const std::string& path, std::size_t width, std::size_t height) {
  return {StatusCode::kUnsupported,
          path + ": " + std::to_string(width) + " x " + std::to_string(height) +
              " pixels are more than " + std::to_string(kMostPicturePixels >> 20) +
              " Mi; cut out the part with the objects, which gives the same samples"};
}

Result<GreyPicture> load_pnm(const FileBytes& file) {
  PnmHead head(file.bytes());
  const int channels = file.bytes()[1] == '6' ? 3 : 1;
  std::size_t width = 0, height = 0, most = 0;
  if (!head.read(width) || !head.read(height) || !head.read(most) || width == 0 || height == 0) {
    return Status(StatusCode::kCorrupt, file.path() + ": a damaged PGM or PPM picture");
  }
  if (most != 255) {
    return Status(StatusCode::kUnsupported, file.path() +
                                                ": a PGM or PPM picture with samples to " +
                                                std::to_string(most) + "; only 255 is read");
  }
  if (width > kMostPicturePixels || height > kMostPicturePixels / width) {
    return too_large(file.path(), width, height);
  }
  const std::size_t row = width * static_cast<std::size_t>(channels);
  if (head.rest().size() < row * height) {
    return Status(StatusCode::kCorrupt, file.path() + ": the picture ends before its last row");
  }
  return GreyPicture{grey_of(head.rest().data(), static_cast<int>(width), static_cast<int>(height),
                             static_cast<std::ptrdiff_t>(row), channels)};
}

bool is_png(const FileBytes& file) {
  constexpr std::uint8_t kPng[] = {0x89, 'P', 'N', 'G'};
  return file.bytes().size() >= sizeof kPng &&
         std::memcmp(file.bytes().data(), kPng, sizeof kPng) == 0;
}

Result<GreyPicture> load_png(const FileBytes& file) {
  CUFACE_TAKE(grey, load_png_luma(file.path()));
  return GreyPicture{std::move(grey)};
}

#ifdef CUFACE_PIXBUF
Result<GreyPicture> load_other(const FileBytes& file) {
  CUFACE_TAKE(decoded, decode_pixbuf(file.bytes(), kMostPicturePixels, file.path()));
  if (decoded.too_large) {
    return too_large(file.path(), static_cast<std::size_t>(decoded.width),
                     static_cast<std::size_t>(decoded.height));
  }
  return GreyPicture{
      grey_of(decoded.pixels, decoded.width, decoded.height, decoded.stride, decoded.channels),
      decoded.turned};
}
#else
Result<GreyPicture> load_other(const FileBytes& file) {
  return Status(StatusCode::kUnsupported,
                file.path() +
                    ": this build reads PNG, PGM and PPM only; for others install "
                    "libgdk-pixbuf-2.0-dev and build it again");
}
#endif

}  // namespace

Result<GreyPicture> load_picture(const std::string& path) {
  return guarded(path, [&]() -> Result<GreyPicture> {
    CUFACE_TAKE(opened, ModelFile::open(path));
    CUFACE_TAKE(file, opened.read(kMostFileBytes));
    const std::span<const std::uint8_t> bytes = file->bytes();
    const bool pnm = bytes.size() > 2 && bytes[0] == 'P' && (bytes[1] == '5' || bytes[1] == '6');
    if (pnm) return load_pnm(*file);
    return is_png(*file) ? load_png(*file) : load_other(*file);
  });
}

Result<GreyPicture> load_listed(const std::string& path, const std::string& where, bool skip_bad) {
  Result<GreyPicture> picture = load_picture(path);
  if (picture.ok()) return picture;
  return Status(picture.status().code(), (where.empty() ? "" : where + ": ") +
                                             picture.status().message() +
                                             (skip_bad ? "" : "; leave such out with --bad skip"));
}

std::uint64_t hash_of(ImageView<const std::uint8_t> grey) {
  Xxh64 hash;
  const std::uint32_t size[2] = {static_cast<std::uint32_t>(grey.width),
                                 static_cast<std::uint32_t>(grey.height)};
  hash.add({reinterpret_cast<const std::uint8_t*>(size), sizeof size});
  for (int y = 0; y < grey.height; ++y) {
    hash.add({grey.row(y), static_cast<std::size_t>(grey.width)});
  }
  return hash.value();
}

}  // namespace cuface::train
