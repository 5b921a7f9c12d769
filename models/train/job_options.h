// Options of a job by name, in checkpoints and in records of trainings.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "models/train/checkpoint.h"
#include "models/train/options.h"

namespace cuface::train {

/// An object of names and texts.
nlohmann::json as_json(const std::vector<Option>& options);
/// Sets the options by that object of the checkpoint's head. One that it lacks, as the program that
/// wrote it did not have it, keeps its value. kCorrupt where one is wrong, or is missing and empty
/// is no value of it.
Status read_options(const Checkpoint& file, const char* key, const std::vector<Option>& options);

/// 16 digits.
std::string as_hex(std::uint64_t value);

}  // namespace cuface::train
