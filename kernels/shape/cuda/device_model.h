// A shape model's copy in device memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/common/cuda/runtime.h"
#include "kernels/common/host_device.h"
#include "kernels/common/status.h"
#include "kernels/shape/constrain.h"
#include "kernels/shape/shape_model.h"
#include "kernels/texture/cuda/patch_memory.h"
#include "kernels/texture/float_hat.h"

namespace cuface::cuda {

/// A profile of one point on one level. `first` is where its numbers begin: of a line in `lines`,
/// of a HAT descriptor in `numbers`, of a patch the first block of its rows.
struct DeviceProfile {
  ProfileKind kind;
  std::uint32_t first;
  std::int32_t blocks;  ///< of a patch's rows
  float edge, base;     ///< a patch's
};

/// A ShapeModel as kernels read it.
struct ShapeTables {
  shape::ConstraintTables constraint;  ///< into device memory
  const double* mean_shape;            ///< [points][2]
  const ShapePoint* means;             ///< [levels][points], at the level's size
  const double* limits;                ///< [levels][modes]
  const ShapePoint* parts;             ///< [levels], as shape::ConstraintLevel has them
  const double* grams;
  const double* moments;
  const double* refit_limits;  ///< [points], where there are refits
  const ShapeNeighbours* neighbours;
  const DeviceProfile* profiles;  ///< [levels][points]
  const double* lines;
  const float* numbers;
  const PatchWords* patch_words;  ///< as DevicePatch has them
  const texture::PatchUnits* patch_rows;
  const texture::HatGradient* gradients;
  const texture::HatTaps *rows, *columns;  ///< [levels][rule.hat.rows], [levels][rule.hat.columns]
  ShapePoint centres[kMaxShapeLevels];
  double mean_squares[kMaxShapeLevels];
  double size, start_scale, window, rest;
  PatchRule patch;
  HatRule hat;
  LineRule line;
  std::int32_t patches[kMaxShapeLevels];  ///< sides of HAT's
  std::int32_t levels, iterations, refits;
  std::int32_t most_blocks;  ///< of a patch's rows
  /// A search is rounds: the iterations of all levels, the coarsest level first, then the refits.
  CUFACE_HD int rounds_of_levels() const { return levels * iterations; }
  CUFACE_HD int rounds() const { return rounds_of_levels() + refits; }
  ShapePyramid pyramid;
  const shape::UsualCost* usual_costs;  ///< [costs], where there are confidences
  const double* scores;                 ///< shape::score_matrix(), then [points] offsets; there
  std::int32_t costs;                   ///< that a score is made of
  shape::ScoreParts score_parts;
  ConfidenceTable confidence;
};

/// For all searchers of one context. Immutable; shared by any threads. The last owner lets go with
/// the context current in which it was created.
class DeviceShape {
 public:
  /// Uploads and waits for it; the model is not kept. kCorrupt where validate() refuses it.
  static Result<std::shared_ptr<const DeviceShape>> create(const ShapeModel& model);

  const ShapeTables& tables() const { return tables_; }
  bool has(ProfileKind kind) const { return has_[static_cast<std::size_t>(kind)]; }
  bool has_edges() const { return has_edges_; }
  /// How far the mean shape's size (shape_size()) reaches in x and in y.
  double size_across() const { return size_across_; }
  double size_down() const { return size_down_; }

 private:
  static Result<std::shared_ptr<const DeviceShape>> make(const ShapeModel& model);
  Status upload_profiles(const ShapeModel& model);
  Status upload_hats(const ShapeModel& model);
  Status upload_shape(const ShapeModel& model);

  ShapeTables tables_;
  bool has_[3] = {}, has_edges_ = false;
  double size_across_ = 0, size_down_ = 0;
  DeviceBuffer<double> mean_shape_, limits_, grams_, moments_, refit_limits_, eigenvectors_,
      weights_, lines_, scores_;
  DeviceBuffer<float> numbers_;
  DeviceBuffer<PatchWords> patch_words_;
  DeviceBuffer<texture::PatchUnits> patch_rows_;
  DeviceBuffer<shape::UsualCost> usual_costs_;
  DeviceBuffer<ShapePoint> means_, parts_;
  DeviceBuffer<ShapeNeighbours> neighbours_;
  DeviceBuffer<DeviceProfile> profiles_;
  DeviceBuffer<ShapeRule> rules_;
  DeviceBuffer<ShapeMove> moves_;
  DeviceBuffer<texture::HatGradient> gradients_;
  DeviceBuffer<texture::HatTaps> rows_, columns_;
};

}  // namespace cuface::cuda
