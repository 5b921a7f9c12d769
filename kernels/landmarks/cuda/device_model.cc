// The model's copy on the device, laid out for the kernel's copies into shared memory.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "kernels/common/cuda/tables.h"
#include "kernels/common/guarded.h"
#include "kernels/common/try.h"
#include "kernels/landmarks/cuda/landmarker.h"

namespace cuface::cuda {
namespace {

/// All stages' tables as StageLayout says.
std::vector<unsigned char> pack_tables(const ForestModel& model) {
  const StageLayout layout(model.pool, model.trees, model.splits_per_tree());
  const auto pool = static_cast<std::size_t>(model.pool);
  const std::size_t splits = model.splits.size() / static_cast<std::size_t>(model.stages);
  std::vector<unsigned char> tables(layout.bytes() * static_cast<std::size_t>(model.stages));
  for (std::size_t c = 0; c < static_cast<std::size_t>(model.stages); ++c) {
    unsigned char* to = tables.data() + c * layout.bytes();
    std::memcpy(to, model.deltas.data() + c * pool * 2, pool * sizeof(Point));
    std::memcpy(to + pool * sizeof(Point), model.anchors.data() + c * pool,
                pool * sizeof(std::uint32_t));
    to += layout.pixels;
    for (std::size_t i = 0; i < splits; ++i) {
      const ForestSplit& split = model.splits[c * splits + i];
      const auto packed = forest::PackedSplit::of(split.a, split.b, split.threshold);
      std::memcpy(to + i * sizeof packed, &packed, sizeof packed);
    }
  }
  return tables;
}

/// Column by column and in pieces, so that no second copy of all leaves is made.
Status upload_leaves(const ForestModel& model, DeviceBuffer<float>& to) {
  const auto size = static_cast<std::size_t>(model.leaf_size());
  constexpr std::size_t kWidth = kLeafColumn;
  const std::size_t leaves = model.leaves.size() / size, columns = (size + kWidth - 1) / kWidth;
  CUFACE_TRY(take(DeviceBuffer<float>::create(columns * leaves * kWidth), to));
  constexpr std::size_t kPiece = 1 << 16;  // leaves: 8 MiB
  std::vector<float> piece(std::min(leaves, kPiece) * kWidth);
  for (std::size_t c = 0; c < columns; ++c) {
    const std::size_t first = c * kWidth, count = std::min(kWidth, size - first);
    std::fill(piece.begin(), piece.end(), 0.0f);
    for (std::size_t begin = 0; begin < leaves; begin += kPiece) {
      const std::size_t n = std::min(kPiece, leaves - begin);
      for (std::size_t i = 0; i < n; ++i)
        std::copy_n(model.leaves.data() + (begin + i) * size + first, count,
                    piece.data() + i * kWidth);
      CUFACE_TRY(check(cudaMemcpy(to.data() + (c * leaves + begin) * kWidth, piece.data(),
                                  n * kWidth * sizeof(float), cudaMemcpyHostToDevice),
                       "uploading the landmark model"));
    }
  }
  return {};
}

/// A compact model's, leaf by leaf.
std::vector<std::uint16_t> pack_leaves(const ForestModel& model, int padded_size) {
  const auto size = static_cast<std::size_t>(model.leaf_size());
  const auto padded = static_cast<std::size_t>(padded_size);
  std::vector<std::uint16_t> packed(model.compact_leaves.size() / size * padded);
  for (std::size_t i = 0; i < model.compact_leaves.size(); ++i)
    packed[i / size * padded + i % size] =
        static_cast<std::uint16_t>(model.compact_leaves[i] + kCompactBias);
  return packed;
}

}  // namespace

Result<std::shared_ptr<const DeviceForest>> DeviceForest::create(const ForestModel& model) {
  return guarded("uploading the landmark model", [&] { return make(model); });
}

Result<std::shared_ptr<const DeviceForest>> DeviceForest::make(const ForestModel& model) {
  CUFACE_TRY(validate(model, true));
  if (model.pool > forest::PackedSplit::kMaxPool) {
    return Status(StatusCode::kUnsupported, "the landmark model has " + std::to_string(model.pool) +
                                                " feature pixels a stage; on CUDA at most " +
                                                std::to_string(forest::PackedSplit::kMaxPool) +
                                                " are possible");
  }
  const auto forest = std::make_shared<DeviceForest>();
  forest->landmarks_ = model.landmarks;
  forest->confidence_ = model.confidence;
  forest->stages_ = model.stages;
  forest->trees_ = model.trees;
  forest->depth_ = model.depth;
  forest->pool_ = model.pool;
  const std::vector<unsigned char> tables = pack_tables(model);
  CUFACE_TRY(take(upload(model.mean_shape), forest->mean_));
  const std::vector<forest::Lever> levers = forest::levers_of(mean_points(model));
  CUFACE_TRY(take(upload(levers), forest->levers_));
  CUFACE_TRY(take(upload(tables), forest->tables_));
  if (model.is_compact()) {
    const auto leaves = pack_leaves(model, forest->tables().compact_size());
    CUFACE_TRY(take(upload(leaves), forest->compact_leaves_));
    CUFACE_TRY(take(upload(model.leaf_scales), forest->leaf_scales_));
  } else {
    CUFACE_TRY(upload_leaves(model, forest->leaves_));
  }
  // Streams that do not wait for the default stream must not see half of it.
  CUFACE_TRY(check(cudaStreamSynchronize(nullptr), "uploading the landmark model"));
  return std::shared_ptr<const DeviceForest>(forest);
}

ForestTables DeviceForest::tables() const {
  // Points are read from rows of coordinates.
  static_assert(sizeof(Point) == 2 * sizeof(float) && alignof(Point) == alignof(float));
  const std::size_t column_leaves = static_cast<std::size_t>(stages_) *
                                    static_cast<std::size_t>(trees_) * (std::size_t{1} << depth_);
  return {reinterpret_cast<const Point*>(mean_.data()),
          levers_.data(),
          tables_.data(),
          leaves_.data(),
          compact_leaves_.data(),
          leaf_scales_.data(),
          column_leaves,
          landmarks_,
          trees_,
          depth_,
          pool_};
}

}  // namespace cuface::cuda
