// Positive samples: windows of what is to be found, from labelled pictures or a .vec file.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "kernels/common/status.h"
#include "kernels/common/stop_flag.h"
#include "models/train/split.h"
#include "models/train/windows.h"

namespace cuface::train {

struct SampleOptions {
  WindowSize size;
  /// A picture that does not decode, a box outside of its picture or smaller than the window: left
  /// out and told, not an error.
  bool skip_bad = false;
  bool align = false;           ///< faces with known eyes are turned upright [S4.11]
  bool mirror = false;          ///< each sample also mirrored
  int threads = 0;              ///< 0 = as many as there are processors
  std::size_t most_notes = 10;  ///< told one by one of what was left out; then how many more
};

struct Samples {
  WindowList windows;
  std::vector<std::string> where;       ///< of each window: what names it, for messages
  std::vector<std::uint64_t> pictures;  ///< of each window: hash_of() its picture; 0 in a .vec file
  std::map<std::uint64_t, std::string> names;       ///< of each picture, by that
  std::map<std::uint64_t, PictureSketch> sketches;  ///< the same
  std::vector<std::string> notes;                   ///< what was left out, or may surprise
};

/// In the order of the list, each window once. An error names the file, the line and what to do.
/// kCancelled once `stop` is raised.
Result<Samples> load_samples(const std::string& path, const SampleOptions& options,
                             const StopFlag* stop = nullptr);

}  // namespace cuface::train
