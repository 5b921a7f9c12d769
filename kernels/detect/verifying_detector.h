// A search after which the followed faces that it has not found are verified
// (DetectConfig::verify).
#pragma once

#include <memory>

#include "kernels/detect/detect.h"
#include "kernels/detect/searcher.h"

namespace cuface {

/// For a valid configuration and model; as Detector::create.
Result<std::unique_ptr<Detector>> make_verifying_detector(
    const std::shared_ptr<const CascadeModel>& model, const DetectConfig& config, int width,
    int height, const std::shared_ptr<SharedSearch>& shared);

}  // namespace cuface
