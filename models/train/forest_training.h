// The training of a forest of landmarks (kernels/grow) with what stands around it: the error after
// each stage, and an early end where a validation set says so.
//
// forest_job.h keeps it in a checkpoint, command_forest.cc is the command.
#pragma once

#include <functional>
#include <vector>

#include "kernels/grow/grow.h"
#include "models/train/face_set.h"

namespace cuface::train {

/// The mean distance of a model's points from the labelled ones, as a share of the distance between
/// the centres of the eyes; of the box's width where the scheme has no known eyes. Of at most
/// `most` faces, from the first. The same with any number of threads.
Result<double> mean_error(std::shared_ptr<const ForestModel> model, FaceSet& faces, int threads,
                          std::size_t most = static_cast<std::size_t>(-1));

/// Errors once a stage is done.
struct StageError {
  int stage = 0;  ///< from 1
  double training = 0;
  double validation = -1;  ///< -1 without a validation set
};

struct ForestWatch {
  TrainingBackend backend = TrainingBackend::kCpu;
  int threads = 0;
  const StopFlag* stop = nullptr;
  bool spreads = false;  ///< the model has the spreads of its leaves
  int patience = 2;      ///< so many stages without a smaller error of validation end the training
  std::function<void(const GrownForest&)> tree;  ///< after each tree
  std::function<void(const GrownForest&, const StageError&)> stage;
};

struct TrainedForest {
  GrownForest forest;  ///< with all stages that were trained
  /// Of the stages up to the best one by validation, else of all.
  std::shared_ptr<const ForestModel> model;
  std::vector<StageError> errors;
  bool early = false;  ///< ended by validation
};

/// At most so many training faces tell the error of a stage.
inline constexpr std::size_t kErrorFaces = 1000;

/// As grow_forest(); `validation` may be null. From `begun` it comes to the bytes of an undisturbed
/// run, the early end included.
Result<TrainedForest> train_forest(FaceSet& faces, FaceSet* validation,
                                   const ForestOptions& options, const ForestWatch& watch,
                                   GrownForest begun = {}, ForestCost* cost = nullptr);

}  // namespace cuface::train
