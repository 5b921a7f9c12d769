// Shape models in our own file format.
#pragma once

#include <memory>
#include <string>

#include "kernels/common/status.h"
#include "kernels/shape/shape_model.h"
#include "models/container.h"

namespace cuface {

/// The model of a container of kind "shape", validated; its tables stay in the file's bytes.
Result<std::shared_ptr<const ShapeModel>> read_shape_file(const Container& container);

/// For a model that validate() accepts.
Status write_shape_file(const ShapeModel& model, const Provenance& source, const std::string& path);

}  // namespace cuface
