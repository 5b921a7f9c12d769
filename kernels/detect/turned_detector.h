// A search at several angles (DetectConfig::roll).
#pragma once

#include <memory>

#include "kernels/detect/detect.h"
#include "kernels/detect/searcher.h"

namespace cuface {

/// For a valid configuration and model; as Detector::create.
Result<std::unique_ptr<Detector>> make_turned_detector(
    const std::shared_ptr<const CascadeModel>& model, const DetectConfig& config, int width,
    int height, const std::shared_ptr<SharedSearch>& shared);

}  // namespace cuface
