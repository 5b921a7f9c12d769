// cuface-train info and resume: of checkpoints of any training.
#include <algorithm>

#include "models/train/command.h"
#include "models/train/options.h"

namespace cuface::train {
namespace {

/// The checkpoint that the arguments name first, and its training.
struct Found {
  int status = kDone;  ///< else there is nothing, and it was said why
  const Training* training = nullptr;
  std::unique_ptr<Checkpoint> checkpoint;
};

Found find(const std::string& path) {
  Found found;
  Result<Checkpoint> read = Checkpoint::read(path);
  if (!read.ok()) {
    found.status = fail(read.status());
    return found;
  }
  found.training = find_training(read.value().training());
  if (!found.training) {
    found.status =
        fail({StatusCode::kUnsupported,
              path + ": a checkpoint of the training \"" + shortened(read.value().training()) +
                  "\", which this cuface-train has not; resume it with the one that "
                  "wrote it"});
    return found;
  }
  found.checkpoint = std::make_unique<Checkpoint>(std::move(read.value()));
  return found;
}

bool is_help(const std::string& argument) { return argument == "--help" || argument == "-h"; }

int info(const std::vector<std::string>& arguments) {
  if (arguments.size() != 1 || is_help(arguments[0])) {
    const bool help = std::any_of(arguments.begin(), arguments.end(), is_help);
    std::fputs("usage: cuface-train info CHECKPOINT\n", help ? stdout : stderr);
    return help ? kDone : kUsage;
  }
  const Found found = find(arguments[0]);
  if (found.status != kDone) return found.status;
  const Status status = found.training->print(*found.checkpoint);
  return status.ok() ? kDone : fail(status);
}

int resume(const std::vector<std::string>& arguments) {
  if (arguments.empty() || arguments[0].empty() || arguments[0][0] == '-') {
    const bool help = std::any_of(arguments.begin(), arguments.end(), is_help);
    std::fputs(
        "usage: cuface-train resume CHECKPOINT [OPTION ...]\n"
        "       cuface-train resume CHECKPOINT --help    options of that training\n",
        help ? stdout : stderr);
    return help ? kDone : kUsage;
  }
  const Found found = find(arguments[0]);
  if (found.status != kDone) return found.status;
  return found.training->resume(*found.checkpoint, {arguments.begin() + 1, arguments.end()});
}

}  // namespace

const Command kInfoCommand = {"info", "says what a checkpoint holds", info};
const Command kResumeCommand = {"resume", "goes on from a checkpoint", resume};

}  // namespace cuface::train
