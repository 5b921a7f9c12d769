// What cuface-train can do: a table of commands, and for checkpoints one of trainings. Whoever adds
// one writes its file and its line in cuface-train.cc.
#pragma once

#include <string>
#include <vector>

#include "kernels/common/status.h"
#include "models/train/checkpoint.h"

namespace cuface::train {

// Exit statuses.
inline constexpr int kDone = 0, kBad = 1, kUsage = 2;
inline constexpr int kStoppedEarly = 3;  ///< what there is so far has been written

struct Command {
  const char* name;
  const char* summary;
  int (*run)(const std::vector<std::string>& arguments);
};
extern const Command kCascadeCommand, kDataCommand, kErtCommand, kForestCommand, kHeadsCommand,
    kInfoCommand, kResumeCommand, kShapeCommand;

/// A kind of training that leaves checkpoints.
struct Training {
  const char* name;  ///< Checkpoint::training()
  /// Prints what the checkpoint holds.
  Status (*print)(const Checkpoint& checkpoint);
  /// Goes on from it; `arguments` are the options behind its name.
  int (*resume)(const Checkpoint& checkpoint, const std::vector<std::string>& arguments);
};
extern const Training kCascadeTraining, kForestTraining, kShapeTraining;
/// Null where this program has no such training.
const Training* find_training(const std::string& name);

/// Prints the message and returns kBad.
int fail(const Status& status);

}  // namespace cuface::train
