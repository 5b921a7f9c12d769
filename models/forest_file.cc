#include "models/forest_file.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/common/try.h"
#include "models/confidence_json.h"
#include "models/scheme_json.h"

namespace cuface {
namespace {

using Json = nlohmann::json;

static_assert(sizeof(ForestSplit) == 12, "splits are used as they lie in the file");

/// What is no number, or none that a float holds, becomes NaN, which validate() refuses.
float number(const Json& object, const char* key) {
  constexpr double kLargest = std::numeric_limits<float>::max();
  const auto it = object.find(key);
  const double value = it != object.end() && it->is_number() ? it->get<double>() : HUGE_VAL;
  return std::fabs(value) <= kLargest ? static_cast<float>(value)
                                      : std::numeric_limits<float>::quiet_NaN();
}

/// Of a model that was trained here nobody knows how far its samples are from each other.
Result<ConfidenceTable> confidence_of(const Container& container, int landmarks) {
  const auto said = container.header().find("confidence");
  if (said != container.header().end()) return confidence_from(*said);
  return container.provenance().training.empty() ? default_confidence(landmarks)
                                                 : ConfidenceTable{};
}

BoxMap box_map_of(const Json& map) {
  const auto square = map.find("square");
  return {number(map, "scale"), number(map, "shift_x"), number(map, "shift_y"),
          square != map.end() && square->is_boolean() && square->get<bool>()};
}

}  // namespace

Result<std::shared_ptr<const ForestModel>> read_forest_file(const Container& container) {
  const std::string& path = container.file()->path();
  auto model = std::make_shared<ForestModel>();
  model->name = container.name();
  model->landmarks = container.integer("landmarks", kMaxLandmarks);
  model->stages = container.integer("cascades", kMaxForestStages);
  model->trees = container.integer("trees", kMaxForestTrees);
  model->depth = container.integer("depth", kMaxForestDepth);
  model->pool = container.integer("pool", kMaxForestPool);
  model->mean_shape = container.block<float>("mean_shape");
  model->anchors = container.block<std::uint32_t>("anchors");
  model->deltas = container.block<float>("deltas");
  model->splits = container.block<ForestSplit>("splits");
  model->leaves = container.block<float>("leaves");
  model->compact_leaves = container.block<std::int16_t>("compact_leaves");
  model->leaf_scales = container.block<float>("leaf_scales");
  model->leaf_spreads = container.block<std::uint16_t>("leaf_spreads");
  model->storage = container.file();
  if (const auto maps = container.header().find("box_maps"); maps != container.header().end()) {
    if (!maps->is_object())
      return Status(StatusCode::kCorrupt, path + ": its header has a box map that is none");
    for (const auto& [name, map] : maps->items()) {
      model->box_maps.emplace_back(name, box_map_of(map.is_object() ? map : Json::object()));
    }
  }
  const auto refuse = [&path](const Status& why) {
    return Status(why.code(), path + ": not a usable landmark model: " + why.message());
  };
  if (const Status status = validate(*model, container.all_finite()); !status.ok())
    return refuse(status);
  if (const Status status =
          take(scheme_of(container, model->landmarks, mean_points(*model)), model->scheme);
      !status.ok())
    return refuse(status);
  if (const Status status = take(confidence_of(container, model->landmarks), model->confidence);
      !status.ok())
    return refuse(status);
  return std::shared_ptr<const ForestModel>(std::move(model));
}

Status write_forest_file(const ForestModel& model, const Provenance& source,
                         const std::string& path) {
  Json header = {{"landmarks", model.landmarks},
                 {"cascades", model.stages},
                 {"trees", model.trees},
                 {"depth", model.depth},
                 {"pool", model.pool}};
  for (const auto& [name, map] : model.box_maps) {
    header["box_maps"][name] = {{"scale", shortest(map.scale)},
                                {"shift_x", shortest(map.shift_x)},
                                {"shift_y", shortest(map.shift_y)}};
    if (map.square) header["box_maps"][name]["square"] = true;
  }
  if (model.confidence.is_known()) header["confidence"] = to_json(model.confidence);
  put_scheme(model.scheme, header);
  std::vector<Block> blocks = {block_of("mean_shape", model.mean_shape),
                               block_of("anchors", model.anchors), block_of("deltas", model.deltas),
                               block_of("splits", model.splits)};
  if (model.is_compact()) {
    blocks.push_back(block_of("compact_leaves", model.compact_leaves));
    blocks.push_back(block_of("leaf_scales", model.leaf_scales));
  } else {
    blocks.push_back(block_of("leaves", model.leaves));
  }
  if (!model.leaf_spreads.empty()) blocks.push_back(block_of("leaf_spreads", model.leaf_spreads));
  return write_container(path, "forest", std::move(header), source, blocks);
}

std::shared_ptr<const ForestModel> compact_forest(const ForestModel& model) {
  struct Tables {
    std::vector<std::int16_t> leaves;
    std::vector<float> scales;
    std::shared_ptr<const void> rest;
  };
  const auto size = static_cast<std::size_t>(model.leaf_size());
  const auto stages = static_cast<std::size_t>(model.stages);
  const std::size_t values = model.leaves.size() / stages;  // of a stage
  auto tables = std::make_shared<Tables>();
  tables->leaves.resize(model.leaves.size());
  tables->scales.resize(stages * size);
  tables->rest = model.storage;
  for (std::size_t c = 0; c < stages; ++c) {
    const std::span<const float> from = model.leaves.subspan(c * values, values);
    float* const scale = tables->scales.data() + c * size;
    for (std::size_t i = 0; i < values; ++i) {
      scale[i % size] = std::max(scale[i % size], std::abs(from[i]));
    }
    for (std::size_t i = 0; i < size; ++i) scale[i] /= kCompactLimit;
    for (std::size_t i = 0; i < values; ++i) {
      const float unit = scale[i % size];
      const float steps = unit > 0 ? from[i] / unit : 0.0f;  // up to the limit and a rounding
      constexpr float kLimit = kCompactLimit;
      tables->leaves[c * values + i] =
          static_cast<std::int16_t>(std::lrint(std::clamp(steps, -kLimit, kLimit)));
    }
  }
  auto compact = std::make_shared<ForestModel>(model);
  compact->leaves = {};
  compact->compact_leaves = tables->leaves;
  compact->leaf_scales = tables->scales;
  compact->storage = std::move(tables);
  return compact;
}

}  // namespace cuface
