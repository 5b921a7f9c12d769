// Pictures that mining looks at together: a GPU, where there is one, has searched them before.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/boost/feature_bank.h"
#include "kernels/common/image.h"
#include "kernels/common/status.h"
#include "kernels/common/stop_flag.h"
#include "kernels/common/workers.h"
#include "models/train/backgrounds.h"
#include "models/train/gpu_mining.h"
#include "models/train/mining_search.h"

namespace cuface::train {

struct MiningBatch {
  using Picture = std::shared_ptr<const Image<std::uint8_t>>;

  std::vector<MiningItem> items;
  Status status;  ///< of the search
  // For MiningBatches alone.
  std::vector<Result<Picture>> pictures;  ///< null: to be decoded yet
  bool is_begun = false;                  ///< by the GPU
  std::vector<std::size_t> item_of;       ///< of each picture that it searches
  std::vector<SearchedPicture> searched;  ///< behind finish()

  /// Indices of `items`, slowest to look at first, so that all threads end together.
  std::vector<std::size_t> longest_first() const;
};

/// begin() and finish() serve one thread at a time, which need not always be the same; look() is
/// thread-safe.
class MiningBatches {
 public:
  /// The first two must outlive it. `seed` is that of generated pictures.
  MiningBatches(const FeatureBank& bank, Backgrounds& backgrounds, std::uint64_t seed, int threads)
      : bank_(bank), backgrounds_(backgrounds), seed_(seed), decoders_(threads) {}

  /// Begins to search them on the GPU; null: there is none.
  MiningBatch begin(std::vector<MiningItem> items, GpuMining* gpu, const StopFlag* stop);
  /// Waits for what it found. Batches are finished in the order in which they began, on the same
  /// GPU.
  void finish(MiningBatch& batch, GpuMining* gpu);
  /// What the picture of items[at] gives, of a batch that is finished.
  MinedWindows look(const MiningBatch& batch, std::size_t at, MiningSearch& search);

 private:
  Status begin(MiningBatch& batch, GpuMining& gpu, const StopFlag* stop);

  const FeatureBank& bank_;
  Backgrounds& backgrounds_;
  const std::uint64_t seed_;
  Workers decoders_;
};

}  // namespace cuface::train
