// How sure a trained model is of its points: its costs in faces that it has not seen, made hard.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "kernels/shape/search.h"
#include "kernels/shape_training/shape_training.h"

namespace cuface::shape {

/// What a search of one face has given.
struct SearchedFace {
  bool is_plain = false;      ///< neither its box nor its picture is made hard
  std::vector<double> costs;  ///< [landmarks], then the shape's
  std::vector<double> off;    ///< [landmarks]: in distances of the two points that measure a face
  std::vector<bool> covered;  ///< [landmarks]: by the rectangle; or none is
};

/// A face of which all landmarks are known, as it is, then with its box moved and scaled, then with
/// a grey rectangle over parts of it. `search` is of `model`.
std::vector<SearchedFace> search_hard(FaceSearch& search, const ShapeModel& model,
                                      const ShapeFaces& faces, std::size_t face);

struct Calibration {
  std::vector<UsualCost> usual;  ///< of plain faces, as ShapeModel::usual_costs
  std::vector<double> offsets;   ///< [landmarks]; no point is trusted more than it should be
  ScoreParts parts;
  ConfidenceTable table;
};
/// The shares of good points about each score, which fall or stay the same. A point is good within
/// a tenth. The parts of scores are those of a few that tell good points best, where a covered one
/// is none: a confidence shall tell what covers a face.
/// `mean_shape`: the model's that gets the calibration.
Calibration calibrate(std::span<const SearchedFace> faces, std::span<const double> mean_shape);

}  // namespace cuface::shape
