// Writing a cascade: OpenCV's XML or our own file. Reading it back gives the same cascade, bit for
// bit.
#pragma once

#include <string>

#include "kernels/cascade/cascade.h"
#include "kernels/common/status.h"
#include "models/container.h"

namespace cuface {

/// The new layout of OpenCV's XML, as opencv_traincascade writes it, with `source` in the comment
/// at its head.
std::string cascade_xml(const CascadeModel& model, const Provenance& source);

/// Replaces `path`, as replace_file() does, by OpenCV's XML or, where the name ends in .cuface, by
/// our own file. kInvalidArgument for another ending, and for a cascade that the readers would
/// refuse; kCorrupt as validate() says; kIo. For a trained cascade `source` is
/// trained_provenance() (provenance.h).
Status write_cascade(const std::string& path, const CascadeModel& model, const Provenance& source);

}  // namespace cuface
