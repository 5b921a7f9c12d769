// A landmark model as dlib's serialised shape_predictor, which dlib loads, and we do.
#pragma once

#include <string>

#include "kernels/common/status.h"
#include "kernels/landmarks/landmarks.h"

namespace cuface {

/// The bytes that dlib writes of the same model. Name, box maps and provenance have no place in
/// them. Empty for a compact model, whose leaves dlib does not know.
std::string dlib_dat_bytes(const ForestModel& model);

/// Writes them with replace_file(). kUnsupported for a compact model, kCorrupt as validate() says.
Status write_dlib_dat(const ForestModel& model, const std::string& path);

}  // namespace cuface
