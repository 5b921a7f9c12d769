// What jobs of any kind do with their files, and the options of a run that change no byte.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/common/status.h"
#include "models/train/checkpoint.h"
#include "models/train/options.h"

namespace cuface::train {

/// An absolute path without "..": what a checkpoint keeps. "" stays.
std::string from_root(const std::string& path);

/// Whether `what`, a model, can be written there: its name has one of these endings, and the folder
/// lets us. kInvalidArgument, kIo.
Status check_output(const char* what, const std::string& path,
                    std::initializer_list<std::string_view> endings);

/// Refuses to write over a training that somebody may want to go on with: `path` is free, or a
/// checkpoint that `may_go`. kInvalidArgument, also where that cannot be told.
Status check_is_free(const std::string& path, Result<bool> (*may_go)(const Checkpoint& checkpoint));

/// kInvalidArgument where the inputs `name`, at `path`, are not what they were.
Status expect_same(const char* name, const std::string& path, std::uint64_t before,
                   std::uint64_t now);

/// Of this process at most.
std::size_t peak_bytes();

}  // namespace cuface::train
