#include "models/shape_file.h"

#include <limits>
#include <utility>
#include <vector>

#include "kernels/common/try.h"
#include "models/confidence_json.h"
#include "models/scheme_json.h"

namespace cuface {
namespace {

using Json = nlohmann::json;

// Used as they lie in the file.
static_assert(sizeof(ShapeProfile) == 8 && sizeof(ShapeNeighbours) == 12 &&
              sizeof(ShapeTerm) == 16);
static_assert(sizeof(shape::UsualCost) == 16);
static_assert(sizeof(ShapeRule) == 136 && sizeof(ShapeMove) == 16);

struct NamedInteger {
  const char* name;
  int& value;
};
struct NamedNumber {
  const char* name;
  double& value;
};

std::vector<NamedInteger> integers_of(ShapeModel& m) {
  return {{"landmarks", m.points},        {"modes", m.modes},
          {"levels", m.levels},           {"iterations", m.iterations},
          {"size_left", m.size_left},     {"size_right", m.size_right},
          {"size_below", m.size_below},   {"first_rule_level", m.first_rule_level},
          {"line_length", m.line.length}, {"line_reach", m.line.reach},
          {"line_step", m.line.step},     {"hat_rows", m.hat.rows},
          {"hat_columns", m.hat.columns}, {"hat_bins", m.hat.bins},
          {"hat_patch", m.hat.patch},     {"hat_patch_change", m.hat.patch_change},
          {"hat_reach", m.hat.reach},     {"hat_step", m.hat.step}};
}

/// What a file may leave out: the first models had neither patches nor a choice of the search.
struct Optional {
  int constraint = 0, pyramid = 0, bilinear = 1;
};
std::vector<NamedInteger> optional_integers_of(ShapeModel& m, Optional& o) {
  return {{"constraint", o.constraint},
          {"pyramid", o.pyramid},
          {"refits", m.refits},
          {"patch_side", m.patch.side},
          {"patch_reach", m.patch.reach},
          {"patch_step", m.patch.step},
          {"patch_gradient", m.patch.gradient},
          {"patch_bilinear", o.bilinear}};
}
std::vector<NamedNumber> optional_numbers_of(ShapeModel& m) {
  return {{"rest", m.rest},
          {"patch_q", m.patch.q},
          {"patch_likelihood", m.patch.likelihood},
          {"least_weight", m.least_weight},
          {"noise", m.noise}};
}

std::vector<NamedNumber> numbers_of(ShapeModel& m) {
  return {{"size", m.size},
          {"mode_limit", m.mode_limit},
          {"missing_within", m.missing_within},
          {"start_scale", m.start_scale},
          {"window", m.window},
          {"hat_sigma", m.hat.sigma},
          {"hat_length", m.hat.length}};
}

/// What is no such number becomes one that validate() refuses.
int integer_of(const Json& header, const char* name) {
  constexpr int kNone = std::numeric_limits<int>::min(), kMost = 1 << 20;
  const auto it = header.find(name);
  if (it == header.end() || !it->is_number_integer()) return kNone;
  if (it->is_number_unsigned()) {
    const auto value = it->get<std::uint64_t>();
    return value <= kMost ? static_cast<int>(value) : kNone;
  }
  const auto value = it->get<std::int64_t>();
  return value >= -kMost && value <= kMost ? static_cast<int>(value) : kNone;
}

double number_of(const Json& header, const char* name) {
  const auto it = header.find(name);
  return it != header.end() && it->is_number() ? it->get<double>()
                                               : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

Result<std::shared_ptr<const ShapeModel>> read_shape_file(const Container& container) {
  auto model = std::make_shared<ShapeModel>();
  model->name = container.name();
  for (const auto& [name, value] : integers_of(*model)) {
    value = integer_of(container.header(), name);
  }
  for (const auto& [name, value] : numbers_of(*model)) value = number_of(container.header(), name);
  Optional optional;
  for (const auto& [name, value] : optional_integers_of(*model, optional)) {
    if (container.header().contains(name)) value = integer_of(container.header(), name);
  }
  for (const auto& [name, value] : optional_numbers_of(*model)) {
    if (container.header().contains(name)) value = number_of(container.header(), name);
  }
  model->constraint = static_cast<ShapeConstraint>(optional.constraint);
  model->pyramid = static_cast<ShapePyramid>(optional.pyramid);
  model->patch.is_bilinear = optional.bilinear != 0;
  model->mean_shape = container.block<double>("mean_shape");
  model->eigenvalues = container.block<double>("eigenvalues");
  model->eigenvectors = container.block<double>("eigenvectors");
  model->weights = container.block<double>("weights");
  model->refit_limits = container.block<double>("refit_limits");
  model->neighbours = container.block<ShapeNeighbours>("neighbours");
  model->profiles = container.block<ShapeProfile>("profiles");
  model->numbers = container.block<double>("numbers");
  model->rules = container.block<ShapeRule>("rules");
  model->moves = container.block<ShapeMove>("moves");
  model->storage = container.file();
  const auto refuse = [&container](const Status& why) {
    return Status(why.code(),
                  container.file()->path() + ": not a usable shape model: " + why.message());
  };
  model->usual_costs = container.block<shape::UsualCost>("usual_costs");
  model->score_offsets = container.block<double>("score_offsets");
  if (const auto said = container.header().find("confidence"); said != container.header().end()) {
    const auto confidence = shape_confidence_from(*said);
    if (!confidence.ok()) return refuse(confidence.status());
    model->confidence = confidence.value().table;
    model->score_parts = confidence.value().parts;
  }
  if (const Status status = validate(*model); !status.ok()) return refuse(status);
  if (const Status status =
          take(scheme_of(container, model->points, mean_points(*model)), model->scheme);
      !status.ok())
    return refuse(status);
  return std::shared_ptr<const ShapeModel>(std::move(model));
}

Status write_shape_file(const ShapeModel& model, const Provenance& source,
                        const std::string& path) {
  ShapeModel named = model;
  Json header = Json::object();
  for (const auto& [name, value] : integers_of(named)) header[name] = value;
  for (const auto& [name, value] : numbers_of(named)) header[name] = value;
  Optional optional{static_cast<int>(model.constraint), static_cast<int>(model.pyramid),
                    model.patch.is_bilinear};
  for (const auto& [name, value] : optional_integers_of(named, optional)) header[name] = value;
  for (const auto& [name, value] : optional_numbers_of(named)) header[name] = value;
  put_scheme(model.scheme, header);
  if (model.confidence.is_known())
    header["confidence"] = to_json(model.confidence, model.score_parts);
  return write_container(
      path, "shape", std::move(header), source,
      {block_of("mean_shape", model.mean_shape), block_of("eigenvalues", model.eigenvalues),
       block_of("eigenvectors", model.eigenvectors), block_of("weights", model.weights),
       block_of("refit_limits", model.refit_limits), block_of("neighbours", model.neighbours),
       block_of("profiles", model.profiles), block_of("numbers", model.numbers),
       block_of("rules", model.rules), block_of("moves", model.moves),
       block_of("usual_costs", model.usual_costs), block_of("score_offsets", model.score_offsets)});
}

}  // namespace cuface
