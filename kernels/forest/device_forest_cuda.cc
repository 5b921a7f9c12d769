// The model's copy on the device.
#include <cstddef>
#include <span>

#include "kernels/forest/forest_cuda.h"

namespace cuface::cuda {
namespace {

template <typename T>
Status upload(std::span<const T> from, DeviceBuffer<T>& to) {
  auto buffer = DeviceBuffer<T>::create(from.size());
  if (!buffer.ok()) return buffer.status();
  to = std::move(buffer.value());
  return check(cudaMemcpy(to.data(), from.data(), from.size_bytes(), cudaMemcpyHostToDevice),
               "uploading the landmark model");
}

}  // namespace

Result<std::shared_ptr<const DeviceForest>> DeviceForest::create(const ForestModel& model) {
  if (model.is_compact()) {
    return Status(StatusCode::kUnsupported,
                  "landmarks on CUDA need the exact model: convert it without --compact");
  }
  const auto forest = std::make_shared<DeviceForest>();
  forest->landmarks_ = model.landmarks;
  forest->cascades_ = model.cascades;
  forest->trees_ = model.trees;
  forest->depth_ = model.depth;
  forest->pool_ = model.pool;
  if (Status s = upload(model.mean_shape, forest->mean_); !s.ok()) return s;
  if (Status s = upload(model.anchors, forest->anchors_); !s.ok()) return s;
  if (Status s = upload(model.deltas, forest->deltas_); !s.ok()) return s;
  if (Status s = upload(model.splits, forest->splits_); !s.ok()) return s;
  if (Status s = upload(model.leaves, forest->leaves_); !s.ok()) return s;
  // Streams that do not wait for the default stream must not see half of it.
  if (Status s = check(cudaStreamSynchronize(nullptr), "uploading the landmark model"); !s.ok())
    return s;
  return std::shared_ptr<const DeviceForest>(forest);
}

ForestTables DeviceForest::tables() const {
  // Points are read from rows of coordinates.
  static_assert(sizeof(Point) == 2 * sizeof(float) && alignof(Point) == alignof(float));
  return {reinterpret_cast<const Point*>(mean_.data()),
          anchors_.data(),
          reinterpret_cast<const Point*>(deltas_.data()),
          splits_.data(),
          leaves_.data(),
          landmarks_,
          trees_,
          depth_,
          pool_};
}

}  // namespace cuface::cuda
