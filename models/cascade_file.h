// Haar cascades in our own file format.
#pragma once

#include <memory>
#include <string>

#include "kernels/cascade/cascade.h"
#include "kernels/common/status.h"
#include "models/container.h"

namespace cuface {

/// The model of a container of kind "cascade", validated.
Result<std::shared_ptr<const CascadeModel>> read_cascade_file(const Container& container);

Status write_cascade_file(const CascadeModel& model, const Provenance& source,
                          const std::string& path);

}  // namespace cuface
