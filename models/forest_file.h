// Landmark models in our own file format.
#pragma once

#include <memory>
#include <string>

#include "kernels/common/status.h"
#include "kernels/landmarks/landmarks.h"
#include "models/container.h"

namespace cuface {

/// The model of a container of kind "forest", validated; its tables stay in the file's bytes.
Result<std::shared_ptr<const ForestModel>> read_forest_file(const Container& container);

/// Exact or compact, as the model is.
Status write_forest_file(const ForestModel& model, const Provenance& source,
                         const std::string& path);

/// The same model with integer leaves (docs/design/landmarks.md): each coordinate of a cascade is
/// rounded to kCompactLimit steps of its largest value. Shares the other tables. `model` is exact
/// and has passed validate().
std::shared_ptr<const ForestModel> compact_forest(const ForestModel& model);

}  // namespace cuface
