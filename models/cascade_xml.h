// OpenCV's cascade files: XML as written by opencv_traincascade (new layout) or opencv_haartraining
// (old layout) [S0.14, S0.19]. Parsing only; load_cascade (models.h) opens the file.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "kernels/cascade/cascade.h"
#include "kernels/common/status.h"

namespace cuface {

/// The validated cascade in `bytes`; its name is the file stem of `path`. kCorrupt or kUnsupported
/// (LBP and HOG cascades) with a message that starts with path, and the line where that is known.
/// Nothing is allocated from numbers that the file states. Thread-safe.
Result<std::shared_ptr<const CascadeModel>> parse_cascade_xml(std::string_view bytes,
                                                              const std::string& path);

}  // namespace cuface
