// What the settings of edges come to, for whoever runs its pixels.
#pragma once

#include "kernels/edges/edges.h"
#include "kernels/edges/rules.h"

namespace cuface {

/// Of a config that is valid.
EdgeRules edge_rules(const EdgeConfig& config);

/// What create() of both processors refuses.
Status validate_plan(const EdgeConfig& config, int width, int height);
/// kInvalidArgument where a picture has not the planned size.
Status validate_run(ImageView<const std::uint8_t> grey, const EdgeViews& out, int width,
                    int height);

}  // namespace cuface
