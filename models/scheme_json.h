// A landmark scheme as JSON: "scheme" in the header of a model file, and a file of its own for
// cuface-model convert --scheme.
//
// {"eyes": [left, right, count], "low": {"point": 8, "is": "chin"}, "mouth": [first, count],
//  "jaw": [first, count], "size": [left, right, below], "curves": [[first, last, closed], ...]}
//
// Each part may be missing: it is then not known. Others are refused.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "kernels/common/status.h"
#include "kernels/faces/landmark_scheme.h"
#include "models/container.h"

namespace cuface {

nlohmann::json to_json(const LandmarkScheme& scheme);
/// Of a model of so many points; validated. kCorrupt, with what is wrong.
Result<LandmarkScheme> scheme_from(const nlohmann::json& json, int points);
/// What a model file says; where it says nothing, known_scheme() of the mean shape.
Result<LandmarkScheme> scheme_of(const Container& container, int points,
                                 std::span<const Point> mean_shape);
/// Into the header of a model file, where it differs from what is known without.
void put_scheme(const LandmarkScheme& scheme, nlohmann::json& header);

/// For a header: the double with the float's shortest text, so that it says 0.95, not 0.949999988.
double shortest(float value);

/// A file of at most 64 KiB; what is no JSON is null.
Result<nlohmann::json> load_small_json(const std::string& path);
/// Of such a file; messages begin with its name.
Result<LandmarkScheme> load_scheme(const std::string& path, int points);
/// "eyes, mouth, jaw, 9 curves", or "not known".
std::string summary(const LandmarkScheme& scheme);

}  // namespace cuface
