// The derived settings of edges, for code that computes the pixels.
#pragma once

#include "kernels/edges/edges.h"
#include "kernels/edges/rules.h"

namespace cuface {

/// `config` must be valid.
EdgeRules edge_rules(const EdgeConfig& config);

/// The configurations that create() refuses on both processors.
Status validate_plan(const EdgeConfig& config, int width, int height);
/// kInvalidArgument where a picture has not the planned size.
Status validate_run(ImageView<const std::uint8_t> grey, const EdgeViews& out, int width,
                    int height);

}  // namespace cuface
