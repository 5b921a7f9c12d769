// cuface-train heads: drawn heads, to try a training without photographs.
#include <cstdio>

#include "models/train/command.h"
#include "models/train/heads.h"
#include "models/train/options.h"
#include "models/train/stop_signals.h"

namespace cuface::train {
namespace {

int heads(const std::vector<std::string>& arguments) {
  HeadOptions heads;
  WindowSize size{heads.width, heads.height};
  std::string folder;
  std::uint64_t count = 1000, first = 0;
  int threads = 0;
  if (const auto status = parse_command_line(
          arguments, "heads", "--output DIR",
          "Draws heads with 68 exact points, and writes labels.csv for --images of forest.",
          {option("output", nullptr, "DIR", folder, "where pictures and labels go"),
           option("count", nullptr, "N", count, "heads"),
           option("first", nullptr, "N", first, "number of the first one"),
           option("seed", nullptr, "N", heads.seed, "of all that is drawn at random"),
           option("size", nullptr, "WxH", size, "of a picture"),
           option("threads", nullptr, "N", threads, "threads; 0 = all processors")}))
    return *status;
  constexpr std::uint64_t kMost = 1'000'000;
  if (folder.empty()) return wrong_usage("--output is missing");
  if (count < 1 || count > kMost || first > kMost)
    return wrong_usage("--count and --first must be at most 1000000");
  if (size.width < 64 || size.height < 64 || size.width > 4096 || size.height > 4096)
    return wrong_usage("--size must be 64x64 to 4096x4096");
  if (threads < 0 || threads > 1024) return wrong_usage("--threads must be 0 to 1024");
  heads.width = size.width;
  heads.height = size.height;
  StopFlag stop;
  const StopSignals signals(stop);
  const Status status = write_heads(heads, first, count, folder, threads, &stop);
  if (!status.ok()) return fail(status);
  std::printf("%s/labels.csv: written (%llu heads)\n", folder.c_str(),
              static_cast<unsigned long long>(count));
  return kDone;
}

}  // namespace

const Command kHeadsCommand = {"heads", "draws heads with labelled points", heads};

}  // namespace cuface::train
