// Landmark regression on the CPU: the plain reference, and the choice between it and vector code.
#include <algorithm>
#include <optional>

#include "kernels/common/guarded.h"
#include "kernels/common/simd.h"
#include "kernels/common/try.h"
#include "kernels/landmarks/cpu/regress.h"
#include "kernels/landmarks/landmarks.h"
#include "kernels/landmarks/regression.h"

namespace cuface {
namespace {

using namespace forest;

// A shape is read as points and summed as a row of coordinates.
static_assert(sizeof(Point) == 2 * sizeof(float) && alignof(Point) == alignof(float));

/// One face after the other, tree by tree.
class PlainRegression {
 public:
  explicit PlainRegression(const ForestModel& model)
      : shape_(static_cast<std::size_t>(model.leaf_size())),
        pool_(static_cast<std::size_t>(model.pool)),
        sums_(shape_.size()) {}

  /// The coordinates found, in the unit box.
  std::span<const float> run(const ForestModel& m, int stages, std::span<const Lever> levers,
                             const PixelReader& pixels) {
    const std::span<const Point> points(reinterpret_cast<const Point*>(shape_.data()),
                                        levers.size());
    const std::size_t size = shape_.size();
    const ForestSplit* splits = m.splits.data();
    std::size_t first_leaf = 0;  // of the tree
    std::copy(m.mean_shape.begin(), m.mean_shape.end(), shape_.begin());
    for (int stage = 0; stage < stages; ++stage) {
      const std::size_t pool = static_cast<std::size_t>(stage) * pool_.size();
      read_pool(pixels, levers, points, m.anchors.subspan(pool, pool_.size()),
                m.deltas.data() + 2 * pool, pool_.data());
      std::fill(sums_.begin(), sums_.end(), 0);
      for (int tree = 0; tree < m.trees; ++tree) {
        const std::size_t leaf = (first_leaf + walk_tree(splits, m.depth, pool_.data())) * size;
        for (std::size_t i = 0; i < size; ++i) {
          if (m.is_compact()) {
            sums_[i] += m.compact_leaves[leaf + i];
          } else {
            shape_[i] += m.leaves[leaf + i];
          }
        }
        splits += m.splits_per_tree();
        first_leaf += static_cast<std::size_t>(m.leaves_per_tree());
      }
      if (!m.is_compact()) continue;
      add_scaled(sums_.data(), m.leaf_scales.data() + static_cast<std::size_t>(stage) * size, size,
                 shape_.data());
    }
    return shape_;
  }

 private:
  std::vector<float> shape_, pool_;
  std::vector<std::int32_t> sums_;  // of a compact model's leaves
};

class CpuLandmarker final : public Landmarker {
 public:
  CpuLandmarker(std::shared_ptr<const ForestModel> model, int stages, const StopFlag* stop)
      : model_(std::move(model)),
        stop_(stop),
        stages_(stages),
        levers_(levers_of(mean_points(*model_))),
        plain_(*model_) {
    faces_.reserve(kFacesTogether);
    if (!VectorForest::takes(*model_)) return;
    vector_.emplace(*model_, stages_);
    scratch_.emplace(*model_);
  }

  Status enqueue(ImageView<const std::uint8_t> luma, std::span<const Box> boxes,
                 std::span<Point> out, std::span<const Roll> rolls) override {
    return guarded("finding landmarks", [&] { return find(luma, boxes, out, rolls); });
  }

 private:
  Status find(ImageView<const std::uint8_t> luma, std::span<const Box> boxes, std::span<Point> out,
              std::span<const Roll> rolls) {
    const std::size_t landmarks = levers_.size();
    if (!luma.data || luma.width < 1 || luma.height < 1) {
      return {StatusCode::kInvalidArgument, "landmarks need a picture of at least one pixel"};
    }
    if (out.size() != boxes.size() * landmarks) {
      return {StatusCode::kInvalidArgument, "landmarks need room for every point of every box"};
    }
    if (!rolls.empty() && rolls.size() != boxes.size()) {
      return {StatusCode::kInvalidArgument, "landmarks need the roll of every box, or of none"};
    }
    if (!std::all_of(boxes.begin(), boxes.end(), is_usable)) {
      return {StatusCode::kInvalidArgument, "a face box is empty or not finite"};
    }
    const bool vectors = vector_ && simd::vectors() && takes(luma);
    for (std::size_t first = 0; first < boxes.size(); first += kFacesTogether) {
      if (is_raised(stop_)) return cancelled();
      faces_.clear();
      const std::size_t last = std::min<std::size_t>(first + kFacesTogether, boxes.size());
      for (std::size_t i = first; i < last; ++i) {
        faces_.emplace_back(luma, boxes[i], rolls.empty() ? Roll{} : rolls[i]);
      }
      if (vectors) regress_vector(*model_, *vector_, stages_, levers_, faces_, *scratch_);
      for (std::size_t i = 0; i < faces_.size(); ++i) {
        const std::span<const float> shape =
            vectors ? scratch_->shape(i) : plain_.run(*model_, stages_, levers_, faces_[i]);
        for (std::size_t p = 0; p < landmarks; ++p) {
          out[(first + i) * landmarks + p] = faces_[i].to_picture({shape[2 * p], shape[2 * p + 1]});
        }
      }
    }
    return {};
  }

  std::shared_ptr<const ForestModel> model_;
  const StopFlag* const stop_;
  int stages_;
  std::vector<Lever> levers_;
  std::vector<PixelReader> faces_;
  PlainRegression plain_;
  std::optional<VectorForest> vector_;  // for a model that it takes
  std::optional<VectorScratch> scratch_;
};

Result<std::unique_ptr<Landmarker>> plan(Backend backend, std::shared_ptr<const ForestModel> model,
                                         int iterations, const StopFlag* stop) {
  if (backend != Backend::kCpu) {
    return Status(StatusCode::kUnsupported, "this build has no CUDA landmark regression");
  }
  CUFACE_TRY(simd::status());
  if (!model) return Status(StatusCode::kInvalidArgument, "landmarks need a model");
  CUFACE_TRY(validate(*model, true));
  CUFACE_TAKE(stages, cascades_to_run(iterations, model->stages));
  return std::unique_ptr<Landmarker>(
      std::make_unique<CpuLandmarker>(std::move(model), stages, stop));
}

}  // namespace

Result<std::unique_ptr<Landmarker>> Landmarker::create(Backend backend,
                                                       std::shared_ptr<const ForestModel> model,
                                                       int iterations, const StopFlag* stop) {
  return guarded("planning landmarks",
                 [&] { return plan(backend, std::move(model), iterations, stop); });
}

}  // namespace cuface
