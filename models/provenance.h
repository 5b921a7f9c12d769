// Where a model comes from and what may be done with it.
#pragma once

#include <memory>
#include <string>

#include "models/container.h"
#include "models/file_bytes.h"
#include "models/models.h"

namespace cuface {

/// Of a file of any format, which holds that kind: what our own file keeps, or an XML file's
/// provenance_comment(), or else the file's name, its SHA-256 (reads all of it) and the licence as
/// far as it is known. kCorrupt where what is kept is not sound.
Result<Provenance> provenance_of(const std::shared_ptr<const FileBytes>& file, ModelKind kind);

/// Of a model that is trained here and written to `path`.
Provenance trained_provenance(const std::string& path, TrainingRecord training);

/// A comment for the head of an XML file, with a line feed at its end.
std::string provenance_comment(const Provenance& source);

}  // namespace cuface
