// Lists of launches as CUDA graphs: one submission each.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <list>
#include <memory>

#include "kernels/common/cuda/launch.h"
#include "kernels/common/status.h"

namespace cuface::cuda {

/// The graphs of somebody who submits much the same list again and again. A list with the kernels
/// of an earlier one goes into that one's graph: only the arguments that differ are set, so that
/// nothing is allocated. Other kernels, or other arguments inside of an if, make a new graph; the
/// one that has not been used for longest goes when there are kMost.
///
/// For one thread at a time, with the same context current throughout, the destructor included.
class GraphSet {
 public:
  static constexpr std::size_t kMost = 8;

  struct Built {
    int graphs = 0;         ///< made so far
    int nodes = 0;          ///< of the last one made
    int conditional = 0;    ///< of these, in a conditional node
    std::uint64_t set = 0;  ///< arguments or events that were set anew, over all submissions
  };

  /// What becomes of an if. Where the driver refuses conditional nodes it is kLaunched.
  enum class Ifs {
    kConditional,  ///< a conditional node
    kLaunched,     ///< its kernels are launched always, as on a stream, and look themselves
  };

  GraphSet() : GraphSet(Ifs::kConditional) {}
  explicit GraphSet(Ifs ifs);
  ~GraphSet();
  GraphSet(GraphSet&&) noexcept;
  GraphSet& operator=(GraphSet&&) noexcept;

  /// One launch of a graph on `stream`. Of the list only LaunchList::launched_as() changes.
  /// kInvalidArgument for an empty list and ifs that do not match.
  Status submit(LaunchList& list, cudaStream_t stream);

  const Built& built() const { return built_; }

 private:
  class Graph;
  Status prepare(LaunchList& list);

  Ifs ifs_;
  std::list<std::unique_ptr<Graph>> graphs_;  ///< the last used first
  Built built_;
};

}  // namespace cuface::cuda
