// cuface-train: models from pictures. A file for each command.
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "kernels/common/guarded.h"
#include "models/train/command.h"
#include "models/train/program.h"

namespace cuface::train {
namespace {

const Command* const kCommands[] = {&kDataCommand,   &kHeadsCommand, &kCascadeCommand,
                                    &kForestCommand, &kErtCommand,   &kShapeCommand,
                                    &kResumeCommand, &kInfoCommand};
const Training* const kTrainings[] = {&kCascadeTraining, &kForestTraining, &kShapeTraining};

void print_usage(std::FILE* to) {
  std::fputs("usage: cuface-train COMMAND [OPTION ...]\n\n", to);
  for (const Command* command : kCommands)
    std::fprintf(to, "  %-10s %s\n", command->name, command->summary);
  std::fputs(
      "\ncuface-train COMMAND --help lists its options; --version says which program this is\n\n"
      "exit status: 0 done; 1 an input is missing or damaged, or a file cannot be written; 2 "
      "wrong\n"
      "arguments; 3 ended early (Ctrl-C, or too few negatives): what there is has been written\n",
      to);
}

int run(const std::vector<std::string>& arguments) {
  const std::string name = arguments.empty() ? "" : arguments[0];
  if (name == "--help" || name == "-h") {
    print_usage(stdout);
    return kDone;
  }
  if (name == "--version") {
    std::printf("cuface-train %s (%s)\n", kVersion, kCommit);
    return kDone;
  }
  for (const Command* command : kCommands)
    if (name == command->name) return command->run({arguments.begin() + 1, arguments.end()});
  print_usage(stderr);
  return kUsage;
}

}  // namespace

const Training* find_training(const std::string& name) {
  for (const Training* training : kTrainings)
    if (name == training->name) return training;
  return nullptr;
}

int fail(const Status& status) {
  std::fprintf(stderr, "cuface-train: %s\n", status.message().c_str());
  return kBad;
}

}  // namespace cuface::train

int main(int argc, char** argv) {
  using namespace cuface;
  std::signal(SIGXFSZ, SIG_IGN);  // a limit to the size of files is an error like a full disk
  std::signal(SIGPIPE, SIG_IGN);  // nobody reads the progress: no reason to lose the training
  const Result<int> result = guarded("working", [&] {
    return Result<int>(train::run(std::vector<std::string>(argv + 1, argv + argc)));
  });
  int status = result.ok() ? result.value() : train::fail(result.status());
  // A full disk or a closed pipe must not pass for success.
  if (std::fflush(stdout) != 0 && status == train::kDone) {
    std::fprintf(stderr, "cuface-train: cannot write the output: %s\n", std::strerror(errno));
    status = train::kBad;
  }
  return status;
}
