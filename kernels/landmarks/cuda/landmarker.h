// forest of faces in device memory: the bits of Landmarker (landmarks.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "kernels/common/cuda/launch.h"
#include "kernels/common/cuda/runtime.h"
#include "kernels/common/geometry.h"
#include "kernels/common/host_device.h"
#include "kernels/common/image.h"
#include "kernels/common/status.h"
#include "kernels/faces/faces_cuda.h"
#include "kernels/landmarks/landmarks.h"
#include "kernels/landmarks/regression.h"
#include "kernels/landmarks/roll.h"

namespace cuface::cuda {

/// Coordinates of a leaf that lie together: a line of memory, and a warp to add them up.
inline constexpr int kLeafColumn = 32;

/// Makes the values of a compact model's leaves positive, so that two are added as one number.
inline constexpr int kCompactBias = kCompactLimit + 1;

/// What a stage has besides its leaves, in one piece of device memory. Sizes in bytes, multiples
/// of 16.
struct StageLayout {
  std::size_t pixels;  ///< Point delta[pool], then std::uint32_t anchor[pool]
  std::size_t splits;  ///< forest::PackedSplit [trees][splits_per_tree]

  CUFACE_HD StageLayout(int pool, int trees, int splits_per_tree)
      : pixels(rounded(static_cast<std::size_t>(pool) * (sizeof(Point) + sizeof(std::uint32_t)))),
        splits(rounded(static_cast<std::size_t>(trees) * static_cast<std::size_t>(splits_per_tree) *
                       sizeof(forest::PackedSplit))) {}
  CUFACE_HD std::size_t bytes() const { return pixels + splits; }
  CUFACE_HD static std::size_t rounded(std::size_t n) { return (n + 15) / 16 * 16; }
};

/// A ForestModel in device memory.
struct ForestTables {
  const Point* mean = nullptr;            ///< [landmarks]
  const forest::Lever* levers = nullptr;  ///< [landmarks]
  const unsigned char* stages = nullptr;  ///< StageLayout, one behind the other
  /// [columns][stages][trees][2^depth][kLeafColumn]; behind the last coordinate zeros.
  const float* leaves = nullptr;
  /// Of a compact model instead: [stages][trees][2^depth][compact_size()], each value +
  /// kCompactBias; anything behind the last coordinate.
  const std::uint16_t* compact_leaves = nullptr;
  const float* leaf_scales = nullptr;  ///< [stages][2 * landmarks]
  std::size_t column_leaves = 0;       ///< leaves of a column
  int landmarks = 0, trees = 0, depth = 0, pool = 0;

  CUFACE_HD int splits_per_tree() const { return (1 << depth) - 1; }
  CUFACE_HD StageLayout layout() const { return {pool, trees, splits_per_tree()}; }
  /// A stage's first leaf.
  CUFACE_HD std::size_t first_leaf(int stage) const {
    return static_cast<std::size_t>(stage) * static_cast<std::size_t>(trees) << depth;
  }
  /// Values of a compact leaf: whole pieces of 16 bytes.
  CUFACE_HD int compact_size() const { return (2 * landmarks + 7) / 8 * 8; }
};

/// A model's copy on the device (78 MB for dlib's 68 points, 39 compact), for all landmarkers of
/// one context. Immutable; shared by any threads. The last owner lets go with the context current
/// in which it was created.
class DeviceForest {
 public:
  /// Uploads and waits for it; the model is not kept. kCorrupt where validate() refuses it;
  /// kUnsupported for more than PackedSplit::kMaxPool feature pixels; kOutOfMemory.
  static Result<std::shared_ptr<const DeviceForest>> create(const ForestModel& model);

  ForestTables tables() const;
  int stages() const { return stages_; }
  const ConfidenceTable& confidence() const { return confidence_; }

 private:
  static Result<std::shared_ptr<const DeviceForest>> make(const ForestModel& model);

  DeviceBuffer<float> mean_, leaves_, leaf_scales_;
  DeviceBuffer<std::uint16_t> compact_leaves_;
  DeviceBuffer<forest::Lever> levers_;
  DeviceBuffer<unsigned char> tables_;
  int landmarks_ = 0, stages_ = 0, trees_ = 0, depth_ = 0, pool_ = 0;
  ConfidenceTable confidence_;
};

/// Create and enqueue in the context of the forest. Keeps nothing between frames: one object serves
/// any number of streams and threads.
class Landmarker {
 public:
  /// `iterations`: stages to run; 0, or more than the model has, = all. kUnsupported when the
  /// model's feature pixels and trees do not fit into the device's shared memory (2,048 and 12,000
  /// fit into the smallest, which is 64 KiB; dlib's models have 500).
  static Result<std::unique_ptr<Landmarker>> create(std::shared_ptr<const DeviceForest> forest,
                                                    int iterations = 0);
  /// The same with an upload of its own.
  static Result<std::unique_ptr<Landmarker>> create(std::shared_ptr<const ForestModel> model,
                                                    int iterations = 0);

  /// `out` gets the header and the faces of `in`, landmarks_per_face = landmarks(), and the points
  /// of every face in its box as `map` carries it, in pixels of `luma`, turned by what `rolls`
  /// knows of it (null: no face is turned). A face whose mapped box is empty or not finite, which
  /// the CPU refuses, gets all its points at (0, 0). What lies behind in->count faces is left as it
  /// was.
  ///
  /// All in device memory. `out` has device_faces_bytes() of landmarks() or more; it may be `in`
  /// itself, and must not overlap it otherwise. Several `lists` of faces lie that many bytes apart
  /// in both, and share the launch: the blocks of one begin where those of the one before end. No
  /// allocation, copy or wait. kInvalidArgument for a null pointer, an empty picture or no list.
  Status enqueue(ImageView<const std::uint8_t> luma, const DeviceFaces* in, const BoxMap& map,
                 DeviceFaces* out, Launcher launch, const RollState* rolls = nullptr,
                 int lists = 1) const;

  int landmarks() const { return forest_->tables().landmarks; }

 private:
  Landmarker(std::shared_ptr<const DeviceForest> forest, int stages, bool staged)
      : forest_(std::move(forest)), stages_(stages), staged_(staged) {}

  std::shared_ptr<const DeviceForest> forest_;
  int stages_;
  bool staged_;  ///< the next stage's tables wait in shared memory
};

}  // namespace cuface::cuda
