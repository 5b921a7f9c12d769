// cuface-train data: samples out of labelled pictures, in two sides.
#include <cstdint>
#include <cstdio>

#include "kernels/common/try.h"
#include "models/train/command.h"
#include "models/train/data_set.h"
#include "models/train/options.h"
#include "models/train/stop_signals.h"

namespace cuface::train {
namespace {

std::string counted(const DataSide& side) {
  return std::to_string(side.positives.where.size()) + " samples, " +
         std::to_string(side.negatives.where.size()) + " negatives, " +
         std::to_string(side.backgrounds.size()) + " backgrounds";
}

Status make(const DataOptions& options, const std::string& output, bool pictures) {
  CUFACE_TRY(check_is_new(output));  // known before the pictures are read
  StopFlag stop;
  const StopSignals signals(stop);
  CUFACE_TAKE(set, make_data_set(options, &stop));
  for (const std::string& note : set.notes) std::fprintf(stderr, "%s\n", note.c_str());
  CUFACE_TRY(write_data_set(set, options, output, pictures));
  std::printf("%s/train  %s\n", output.c_str(), counted(set.train).c_str());
  if (options.test > 0) std::printf("%s/test   %s\n", output.c_str(), counted(set.test).c_str());
  return {};
}

int data(const std::vector<std::string>& arguments) {
  DataOptions made;
  made.samples.align = true;
  made.samples.most_notes = SIZE_MAX;  // a line for each that is left out
  std::string output;
  bool pictures = false;
  const Choice<bool> kBadChoices[] = {{false, "stop", "stop"}, {true, "skip", "skip"}};
  const std::vector<Option> options = {
      option("positives", nullptr, "PATH", made.positives,
             "what is to be found: boxes or points in a list (.csv, .json, imglab's .xml, OpenCV's "
             ".txt), or a folder of pictures of nothing else"),
      option("negatives", nullptr, "PATH", made.negatives,
             "backgrounds, where there is nothing to find: a folder of pictures, or a list; each "
             "is cut in four"),
      option("output", nullptr, "FOLDER", output, "a new folder for all that is made"),
      option("size", nullptr, "WxH", made.samples.size, "pixels of a sample"),
      option("test", nullptr, "SHARE", made.test, "how much is kept for a test: 0 to below 1"),
      option("seed", nullptr, "N", made.seed, "another one chooses another test"),
      option("align", nullptr, made.samples.align,
             "turn faces with labelled eyes upright (default; --no-align does not)"),
      option("mirror", nullptr, made.samples.mirror, "take each sample mirrored, too"),
      option("pictures", nullptr, pictures, "write each sample as a PNG, too"),
      option("bad", nullptr, "stop|skip", made.samples.skip_bad, kBadChoices,
             "what to do at a picture or a box that cannot be used"),
      option("threads", nullptr, "N", made.samples.threads, "threads; 0 = all processors")};
  if (const auto status = parse_command_line(
          arguments, "data", "--positives PATH [--negatives PATH] --output FOLDER",
          "Makes samples to train and to test with, out of labelled pictures.", options))
    return *status;
  if (made.positives.empty()) return wrong_usage("--positives is missing");
  if (output.empty()) return wrong_usage("--output is missing");
  if (made.samples.threads < 0 || made.samples.threads > 1024)
    return wrong_usage("--threads must be 0 to 1024");
  if (const Status status = validate(made); !status.ok()) return wrong_usage(status.message());
  const Status status = make(made, output, pictures);
  if (status.code() == StatusCode::kCancelled) {
    std::fprintf(stderr, "cuface-train: stopped; nothing was written\n");
    return kStoppedEarly;
  }
  return status.ok() ? kDone : fail(status);
}

}  // namespace

const Command kDataCommand = {"data", "makes samples to train and to test with", data};

}  // namespace cuface::train
