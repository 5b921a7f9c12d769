// A table of confidences as JSON: "confidence" in the header of a model file, and a file of its own
// for cuface-model convert --confidence.
//
// {"first": -22, "at": [1.0, 0.99, ...]}: the confidences of the scores 2^first, 2^(first + 1), ...
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "kernels/common/status.h"
#include "kernels/faces/point_confidence.h"
#include "kernels/shape/confidence.h"

namespace cuface {

/// Of dlib's 68 points, by tests/full/confidence (docs/results/confidence.json): for models of
/// which nobody knows how they were trained, and that say nothing themselves.
inline constexpr ConfidenceTable kForestConfidence = {
    -24, 22, {0.9997f, 0.9997f, 0.9997f, 0.9997f, 0.9997f, 0.9997f, 0.9991f, 0.9953f,
              0.9775f, 0.9287f, 0.8265f, 0.6811f, 0.4893f, 0.2951f, 0.176f,  0.1017f,
              0.0293f, 0.0293f, 0.0293f, 0.0293f, 0.0293f, 0.0293f}};

/// That, for a forest of 68 points; models of other points are not calibrated.
inline ConfidenceTable default_confidence(int landmarks) {
  return landmarks == 68 ? kForestConfidence : ConfidenceTable{};
}

nlohmann::json to_json(const ConfidenceTable& table);
/// kCorrupt, with what is wrong.
Result<ConfidenceTable> confidence_from(const nlohmann::json& json);
/// Of a file, as load_scheme().
Result<ConfidenceTable> load_confidence(const std::string& path);

/// How sure a shape model is of its points. In a model file's header only the first two are.
struct ShapeConfidence {
  ConfidenceTable table;
  shape::ScoreParts parts;                    ///< "parts", which older files lack, or have four of
  std::vector<shape::UsualCost> usual_costs;  ///< middle and spread of each point, and of the shape
  std::vector<double> offsets;                ///< of each point's score, or none
};
nlohmann::json to_json(const ConfidenceTable& table, const shape::ScoreParts& parts);
/// Of a header. kCorrupt, with what is wrong.
Result<ShapeConfidence> shape_confidence_from(nlohmann::json json);
/// Of a file, with "usual_costs" and perhaps "offsets".
Result<ShapeConfidence> load_shape_confidence(const std::string& path);

}  // namespace cuface
