// What mining finds in one picture: windows that pass the stages so far.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/boost/feature_bank.h"
#include "kernels/cascade/cascade.h"
#include "kernels/common/image.h"
#include "kernels/common/status.h"
#include "models/train/gpu_mining.h"
#include "models/train/windows.h"

namespace cuface::train {

/// One picture to look at.
struct MiningItem {
  bool generated = false;
  std::uint64_t picture = 0, pass = 0;
  std::uint64_t key = 0;  ///< of its draws
  std::size_t quota =
      1;             ///< windows to draw, counted as those that pass; to take of a search at most
  double share = 1;  ///< of the windows that a search finds: every one is as likely as any other
};

/// Whether windows are drawn where that share of them passes. Where less does a search of all is
/// quicker.
bool is_drawn(double passing);

/// What it gave.
struct MinedWindows {
  Status status;
  std::int64_t windows = 0, passed = 0;
  double in_picture = 0;  ///< that pass, of all; about, where they are more than a search keeps
  std::vector<std::uint8_t> pixels;   ///< of the chosen windows
  std::vector<std::uint64_t> hashes;  ///< of each one's pixels
};

/// What of a picture is looked at in a pass. Another pixel to begin with: where the step is 2 these
/// are other windows.
struct MiningPart {
  int dx, dy;
  double factor;

  MiningPart(const MiningItem& item, WindowSize window, int width, int height);
};

/// What one worker needs, kept from picture to picture: folders often hold pictures of one size.
class MiningSearch {
 public:
  /// Both must outlive it. `model` is the stages so far, which let the share `passing` of all
  /// windows through.
  MiningSearch(const FeatureBank& bank, const CascadeModel& model, double passing);
  MiningSearch(MiningSearch&&) noexcept;
  ~MiningSearch();

  /// Windows that pass all stages and are not flat. `on_gpu`: what a GPU found in the picture, or
  /// null; where that has pixels of all its windows the picture needs none. May throw
  /// std::bad_alloc.
  MinedWindows look(const MiningItem& item, ImageView<const std::uint8_t> picture,
                    const SearchedPicture* on_gpu);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cuface::train
