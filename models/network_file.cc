#include "models/network_file.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <vector>

namespace cuface {
namespace {

// The records of the file: 32-bit fields only, independent of the structs' layout.
struct LayerRecord {
  std::int32_t op, input, other, channels, relu;
  std::uint32_t first_weight;
};
struct HeadRecord {
  std::int32_t classes, objects, boxes, points;
};
static_assert(sizeof(LayerRecord) == 24 && sizeof(HeadRecord) == 16);

/// The file's numbers for what a layer does: the place in this list.
constexpr NetworkOp kOps[] = {NetworkOp::kPictureConvolution, NetworkOp::kPointwise,
                              NetworkOp::kDepthwise, NetworkOp::kMaxPool, NetworkOp::kUpsampleAdd};

Status corrupt(const Container& container, const std::string& what) {
  return {StatusCode::kCorrupt, container.file()->path() + ": not a usable network: " + what};
}

}  // namespace

Result<std::shared_ptr<const NetworkModel>> read_network_file(const Container& container) {
  auto model = std::make_shared<NetworkModel>();
  model->name = container.name();
  for (const LayerRecord& r : container.block<LayerRecord>("layers")) {
    if (r.op < 0 || r.op >= static_cast<std::int32_t>(std::size(kOps))) {
      return corrupt(container, "layer " + std::to_string(model->layers.size()) +
                                    " is of an unknown kind, " + std::to_string(r.op));
    }
    model->layers.push_back(
        {kOps[r.op], r.input, r.other, r.channels, r.relu != 0, r.first_weight});
  }
  for (const HeadRecord& r : container.block<HeadRecord>("heads")) {
    model->heads.push_back({r.classes, r.objects, r.boxes, r.points});
  }
  model->weights = container.block<float>("weights");
  model->storage = container.file();
  if (const Status status = validate(*model); !status.ok()) {
    return corrupt(container, status.message());
  }
  return std::shared_ptr<const NetworkModel>(std::move(model));
}

Status write_network_file(const NetworkModel& model, const Provenance& source,
                          const std::string& path) {
  std::vector<LayerRecord> layers;
  for (const NetworkLayer& l : model.layers) {
    const auto op = std::find(std::begin(kOps), std::end(kOps), l.op) - std::begin(kOps);
    layers.push_back({static_cast<std::int32_t>(op), l.input, l.other, l.channels, l.relu ? 1 : 0,
                      static_cast<std::uint32_t>(l.first_weight)});
  }
  std::vector<HeadRecord> heads;
  for (const NetworkHead& h : model.heads) {
    heads.push_back({h.classes, h.objects, h.boxes, h.points});
  }
  return write_container(
      path, "network", nlohmann::json::object(), source,
      {block_of("layers", std::span<const LayerRecord>(layers)),
       block_of("heads", std::span<const HeadRecord>(heads)), block_of("weights", model.weights)});
}

}  // namespace cuface
