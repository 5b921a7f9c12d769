// Where a model comes from and what may be done with it.
#pragma once

#include "models/container.h"
#include "models/file_bytes.h"
#include "models/models.h"

namespace cuface {

/// Of a file of any format, which holds that kind: what our own file keeps, or else the file's
/// name, its SHA-256 (reads all of it) and the licence as far as it is known.
Provenance provenance_of(const std::shared_ptr<const FileBytes>& file, ModelKind kind);

}  // namespace cuface
