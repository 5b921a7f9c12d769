// Networks that find faces in our own file format.
#pragma once

#include <memory>
#include <string>

#include "kernels/common/status.h"
#include "kernels/network/network.h"
#include "models/container.h"

namespace cuface {

/// The model of a container of kind "network", validated; its weights stay in the file's bytes.
Result<std::shared_ptr<const NetworkModel>> read_network_file(const Container& container);

/// For a model that validate() accepts.
Status write_network_file(const NetworkModel& model, const Provenance& source,
                          const std::string& path);

}  // namespace cuface
