// Writing a file so that nobody ever sees half of it.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>

#include "kernels/common/status.h"

namespace cuface {

/// Writes the pieces, one behind the other, into a file beside `path`, has them on the disk, and
/// renames it to `path`: that is the old file or the whole new one at any time, also when the
/// machine fails. kIo with the path and the reason; then the file beside it is gone. Waiting for
/// the disk takes milliseconds: who writes thousands of files that can be made again passes false.
Status replace_file(const std::string& path,
                    std::initializer_list<std::span<const std::byte>> pieces,
                    bool wait_for_disk = true);

}  // namespace cuface
