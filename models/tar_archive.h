// The regular files of a tar archive, as views into its bytes.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "kernels/common/status.h"

namespace cuface {

/// By path, without the first folder ("src/asm.h"). Entries of other kinds are passed over, names
/// over 100 bytes too. kCorrupt: no tar archive, one that is cut, more than 10,000 entries, or two
/// files of one name. Messages start with `path`.
Result<std::map<std::string, std::string_view>> read_tar(std::span<const std::uint8_t> bytes,
                                                         const std::string& path);

}  // namespace cuface
