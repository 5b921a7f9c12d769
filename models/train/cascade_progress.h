// What a cascade's training tells: where it stands, what a stage has come to, and early whether the
// backgrounds will do.
#pragma once

#include <string>

#include "models/train/cascade_training.h"
#include "models/train/progress.h"

namespace cuface::train {

/// The first of these stages, from 1, that will not find its negatives in so many backgrounds, by
/// what the last one that is done found; 0 where all will, or where it is too early to say.
int starving_stage(const CascadeState& state, const CascadeSettings& settings,
                   std::size_t backgrounds);

/// What to do then.
std::string more_backgrounds_advice();

class CascadeProgress {
 public:
  /// All must outlive it.
  CascadeProgress(const CascadeSettings& settings, std::size_t backgrounds, Progress& progress);

  void step(const CascadeState& state, CascadeStep step);

 private:
  std::string mining(const CascadeState& state) const;
  std::string boosting(const CascadeState& state) const;
  std::string stage(const CascadeState& state) const;
  void warn_of_few(const CascadeState& state);
  std::string head(std::size_t stage) const;

  const CascadeSettings& settings_;
  const std::size_t backgrounds_;
  Progress& progress_;
  std::size_t warned_ = 0;  ///< of the backgrounds, at this stage
  bool foretold_ = false;
};

}  // namespace cuface::train
