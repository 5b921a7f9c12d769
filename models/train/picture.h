// Pictures from files, in grey.
#pragma once

#include <cstdint>
#include <string>

#include "kernels/common/image.h"
#include "kernels/common/status.h"

namespace cuface::train {

/// So many pixels a picture may have: 400 MB of memory while it is decoded.
inline constexpr std::size_t kMostPicturePixels = std::size_t{1} << 27;

struct GreyPicture {
  Image<std::uint8_t> grey;
  bool turned = false;  ///< an EXIF tag asks for a rotation, which is not done
};

/// PGM and PPM (binary, 8 bits) by this program, PNG by libpng, which unlike gdk-pixbuf refuses a
/// file that was cut; all else by gdk-pixbuf, in a build that has it. Colours become grey by
/// kernels/luma's rule, and what is transparent lies over black: the same bytes whoever decodes.
/// kUnsupported where a picture is too large or its format is not read, kCorrupt where it does not
/// decode; every error names the file. Thread-safe.
Result<GreyPicture> load_picture(const std::string& path);
/// The same of a list's picture. An error begins with `where`, unless that is empty; where it ends
/// the reading, as --bad skip was not given, it says so.
Result<GreyPicture> load_listed(const std::string& path, const std::string& where, bool skip_bad);

/// Of the pixels and the size: what tells this picture from others, whatever its file's format.
std::uint64_t hash_of(ImageView<const std::uint8_t> grey);

}  // namespace cuface::train
